/* Running programs from texts, for tests. */
#ifndef TESTS_UNIT_PROGRAM_FIXTURE_H
#define TESTS_UNIT_PROGRAM_FIXTURE_H

#include <string.h>

#include "nn/base/mem.h"
#include "nn/base/str.h"
#include "pipeline/prog_check.h"
#include "pipeline/prog_run.h"
#include "tests/unit/device_fixture.h"

struct fixture {
    struct nn_backend *be;
    struct arena arena;
    struct pl_diag d;
    struct prog_program p;
    struct prog_frozen frozen;
    struct prog_run run;
    struct err err;
    struct str said;
};

static inline int setup(void **state)
{
    struct fixture *f = mem_zalloc(sizeof *f);

    *state = f;
    if (!f)
        return -1;
    f->d.arena = &f->arena;
    return device_open(&f->be, 1, &f->err);
}

/* Forgets the program, its run and its errors. */
static inline void drop(struct fixture *f)
{
    if (f->run.tape)
        prog_run_end(&f->run);
    mem_free(f->frozen.data);
    arena_free(&f->arena);
    str_free(&f->said);
    memset(&f->frozen, 0, sizeof f->frozen);
    memset(&f->p, 0, sizeof f->p);
    memset(&f->said, 0, sizeof f->said);
    f->d.n = f->d.errors = 0;
    f->d.nomem = false;
    err_clear(&f->err);
}

static inline int teardown(void **state)
{
    struct fixture *f = *state;

    drop(f);
    nn_backend_close(f->be);
    mem_free(f);
    return mem_live() == 0 ? 0 : -1;
}

static inline void hear(void *user, const char *line)
{
    struct fixture *f = user;

    str_addf(&f->said, "%s\n", line);
}

/* A vector (n > 0) or a scalar (n 0) that the program is given. */
static inline void give(struct fixture *f, const char *name, const double *v,
                        int64_t n, bool requires_grad)
{
    struct prog_tensor *t;

    if (!f->p.tensors)
        f->p.tensors = arena_array(&f->arena, 16, sizeof *f->p.tensors);
    t = &f->p.tensors[f->p.n_tensors++];
    t->name = name;
    t->shape = n ? nn_shape1(n) : nn_shape0();
    t->dtype = NN_F64;
    t->requires_grad = requires_grad;
    t->data = arena_array(&f->arena, n ? (size_t)n : 1, sizeof *t->data);
    memcpy(t->data, v, (n ? (size_t)n : 1) * sizeof *v);
}

/* Parses and checks text: the number of errors. */
static inline size_t check(struct fixture *f, const char *text)
{
    prog_source_text(&f->p.source, text);
    f->p.stmts = prog_parse(&f->p.source, &f->arena, &f->d);
    if (f->p.stmts)
        prog_check(&f->p, &f->d);
    return f->d.errors;
}

/* The same, and runs it. */
static inline int run(struct fixture *f, const char *text)
{
    size_t i;
    int rc;

    if (check(f, text) > 0)
        return err_set(&f->err, ERR_CONFIG, "%s",
                       f->d.n ? f->d.item[0].msg : "");
    if (f->d.nomem)
        return err_set(&f->err, ERR_NOMEM, "out of memory");
    rc = prog_run_begin(&f->run, f->be, &f->p.source, &f->arena, &f->err);
    f->run.frozen = &f->frozen;
    f->run.say = hear;
    f->run.user = f;
    for (i = 0; rc == 0 && i < f->p.n_tensors; i++)
        rc = prog_run_give(&f->run, &f->p.tensors[i], &f->err);
    return rc != 0 ? rc : prog_run_stmts(&f->run, f->p.stmts, &f->err);
}

static inline void must_run(struct fixture *f, const char *text)
{
    if (run(f, text) != 0)
        fail_msg("%s", f->err.msg);
}

/* Element i of the value called name, or of its gradient. */
static inline double number(struct fixture *f, const char *name, int64_t i)
{
    struct prog_value *v = prog_run_get(&f->run, name);
    double *n;

    assert_non_null(v);
    if (v->kind != PROG_V_TENSOR)
        return v->number;
    n = prog_numbers(v->t, &f->arena, &f->err);
    assert_non_null(n);
    return n[i];
}

static inline double gradient(struct fixture *f, const char *name, int64_t i)
{
    struct prog_value *v = prog_run_get(&f->run, name);
    double *n;

    assert_non_null(v);
    assert_true(v->t->grad_ready);
    n = prog_numbers(v->t->grad, &f->arena, &f->err);
    assert_non_null(n);
    return n[i];
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

#endif
