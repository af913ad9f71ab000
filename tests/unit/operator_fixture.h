/* Own operators from the text of an entry of `operators:`, for tests. */
#ifndef TESTS_UNIT_OPERATOR_FIXTURE_H
#define TESTS_UNIT_OPERATOR_FIXTURE_H

#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/operator_check.h"
#include "pipeline/yaml.h"
#include "tests/unit/device_fixture.h"

struct fixture {
    struct nn_backend *be;
    struct arena arena;
    struct pl_diag d;
    struct pl_file file;
    struct pl_operator o;
    struct pl_operator_result r;
    struct err err;
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

static inline int teardown(void **state)
{
    struct fixture *f = *state;

    arena_free(&f->arena);
    nn_backend_close(f->be);
    mem_free(f);
    return mem_live() == 0 ? 0 : -1;
}

/* Reads "NAME: {forward: ..., backward: ...}"; false after an error. */
static inline bool read_operator(struct fixture *f, const char *text)
{
    struct pl_node *root;

    memset(&f->o, 0, sizeof f->o);
    f->d.n = f->d.errors = 0;
    f->file = (struct pl_file){.path = "a.yaml", .text = text};
    f->file.len = strlen(text);
    root = pl_yaml_parse(&f->file, 0, &f->arena, &f->d);
    return root && root->kind == PL_MAP &&
           pl_operator_read(&f->o, &root->pairs[0], &f->arena, &f->d);
}

/* Reads and tests it. */
static inline void test_operator(struct fixture *f, const char *text)
{
    struct pl_operator_opts opts = pl_operator_opts();

    if (!read_operator(f, text))
        fail_msg("%s: %s", text, f->d.n ? f->d.item[0].msg : "not read");
    if (pl_operator_test(&f->r, &f->o, f->be, &opts, &f->arena, &f->err) != 0)
        fail_msg("%s: %s", text, f->err.msg);
}

static inline void must_hold(struct fixture *f, const char *text)
{
    test_operator(f, text);
    if (!f->r.grad_ok)
        fail_msg("%s: %s", text, pl_operator_fault(&f->r, &f->arena));
    if (f->o.same_as && !(f->r.compared && f->r.close))
        fail_msg("%s: differs by %g in %s", text, f->r.close_error,
                 f->r.differs ? f->r.differs : "shape");
}

#endif
