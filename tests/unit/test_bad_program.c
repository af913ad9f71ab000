/* Every tests/bad/program/NAME.yaml with the exact errors in NAME.err: those of
 * the config, or, where it has none, that of the first program that fails. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>

#include "nn/base/io.h"
#include "pipeline/config.h"
#include "pipeline/recipe.h"
#include "program_fixture.h"

static const char folder[] = "tests/bad/program";

enum { AT_LEAST = 60 };

/* Runs the program of a stage; its error goes to d, with its place. */
static void run_stage(struct fixture *f, const struct pl_stage *s,
                      struct pl_diag *d)
{
    const struct pl_autograd_with *with = s->with;
    size_t i;
    int rc = 0;

    assert_true(prog_read(&f->p, with->tensors,
                          pl_node_get(with->node, "program"), &f->arena, d));
    assert_int_equal(
        prog_run_begin(&f->run, f->be, &f->p.source, &f->arena, &f->err), 0);
    for (i = 0; rc == 0 && i < f->p.n_tensors; i++)
        rc = prog_run_give(&f->run, &f->p.tensors[i], &f->err);
    if (rc == 0)
        rc = prog_run_stmts(&f->run, f->p.stmts, &f->err);
    if (rc != 0)
        pl_diag_error(d, prog_loc(&f->p.source, f->run.where), "%s",
                      f->err.msg);
}

static bool same_as_wanted(struct fixture *f, const char *path,
                           const char *want)
{
    struct arena arena = {0};
    struct pl_diag d = {.arena = &arena};
    struct pl_config *c;
    struct str got = {0};
    bool same;
    int rc = pl_config_load(&c, path, NULL, &d, NULL);

    if (rc == 0)
        run_stage(f, &c->stages[0], &d);
    pl_diag_print(&d, &got, false);
    same = d.errors > 0 && got.text && strcmp(got.text, want) == 0;
    if (!same)
        print_error("%s: result %d\n--- wanted\n%s--- got\n%s\n", path, rc,
                    want, got.text ? got.text : "");
    drop(f);
    pl_config_free(c);
    arena_free(&arena);
    str_free(&got);
    return same;
}

/* True if the errors of folder/name are those in its .err. */
static bool check_file(struct fixture *f, const char *name)
{
    char path[512], wanted[520], *want;
    size_t len;
    bool same;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)snprintf(wanted, sizeof wanted, "%.*s.err",
                   (int)(strlen(path) - strlen(".yaml")), path);
    if (io_read_file(&want, &len, wanted, 1 << 20, NULL) != 0) {
        print_error("there is no %s\n", wanted);
        return false;
    }
    same = same_as_wanted(f, path, want);
    mem_free(want);
    return same;
}

static void every_bad_program_gets_its_exact_error(void **state)
{
    DIR *dir = opendir(folder);
    struct dirent *e;
    int n = 0, wrong = 0;

    assert_non_null(dir);
    while ((e = readdir(dir))) {
        const char *dot = strrchr(e->d_name, '.');

        if (!dot || strcmp(dot, ".yaml") != 0)
            continue;
        n++;
        wrong += !check_file(*state, e->d_name);
    }
    (void)closedir(dir);
    assert_int_equal(wrong, 0);
    assert_true(n >= AT_LEAST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(every_bad_program_gets_its_exact_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
