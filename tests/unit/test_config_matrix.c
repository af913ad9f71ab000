/* What cells become is in tests/good, mistakes in tests/bad/config. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <time.h>

#include "tests/unit/config_fixture.h"

static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void cells_are_known_by_their_stage(void **state)
{
    struct fixture *f = *state;
    const struct pl_stage *s;

    write_file(f, "a.yaml", base);
    write_file(f, "b.yaml",
               "version: 1\nname: b\nextends: a.yaml\n"
               "stages: {train: {matrix: {batch_size: [8, 16]}}}\n");
    must_load(f, "b.yaml", NULL);
    assert_null(pl_config_stage(f->c, "train"));
    s = pl_config_stage(f->c, "train@batch_size=16");
    assert_non_null(s);
    assert_true(pl_stage_is(s, "train"));
    assert_true(pl_stage_is(s, s->id));
    assert_false(pl_stage_is(s, "train@batch_size=8"));
    assert_string_equal(s->dir, "train/batch_size=16");
    assert_string_equal(pl_node_get(s->cell, "batch_size")->text, "16");
    assert_ptr_equal(s->home, f->c);
}

static void the_command_line_reaches_a_matrix(void **state)
{
    struct fixture *f = *state;

    write_file(f, "a.yaml", base);
    write_file(f, "b.yaml",
               "version: 1\nname: b\nextends: a.yaml\n"
               "stages: {train: {matrix: {batch_size: [8, 16]}}}\n");
    must_load(f, "b.yaml",
              (const char *const[]){"stages.train.matrix.batch_size=[1, 2, 3]",
                                    "stages.train.with.seed=4", NULL});
    assert_int_equal(f->c->n_stages, 3);
    assert_non_null(pl_config_stage(f->c, "train@batch_size=3"));
    must_load(f, "b.yaml", (const char *const[]){"~stages.train.matrix", NULL});
    assert_int_equal(f->c->n_stages, 1);
}

/* A secret must not become a part of a path. */
static void the_environment_is_not_in_names(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(setenv("PIPELINE_TEST_SEED", "4711", 1), 0);
    write_file(f, "a.yaml", base);
    write_file(f, "b.yaml",
               "version: 1\nname: b\nextends: a.yaml\n"
               "stages: {train: {matrix: {\n"
               "  seed: [\"${env.PIPELINE_TEST_SEED}\", 2]}}}\n");
    must_load(f, "b.yaml", NULL);
    assert_non_null(pl_config_stage(f->c, "train@seed=0"));
    assert_non_null(pl_config_stage(f->c, "train@seed=2"));
}

static void a_thousand_cells_are_quick(void **state)
{
    struct fixture *f = *state;
    struct str s = {0};
    double start;
    int i;

    str_add(&s, "version: 1\nname: b\nextends: a.yaml\n"
                "stages:\n  train: {matrix: {seed: [0");
    for (i = 1; i < 1000; i++)
        str_addf(&s, ", %d", i);
    str_add(&s, "]}}\n  last: {uses: autograd, needs: train,\n"
                "         with: {operators: all}}\n");
    write_file(f, "a.yaml", base);
    write_file(f, "b.yaml", s.text);
    str_free(&s);
    start = seconds();
    must_load(f, "b.yaml", NULL);
    assert_true(seconds() - start < 2.0); /* 0.1 without sanitizers */
    assert_int_equal(f->c->n_stages, 1001);
    assert_int_equal(pl_config_stage(f->c, "last")->n_needs, 1000);
    assert_string_equal(f->c->stages[1000].id, "last");
}

static void running_out_of_memory_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    static const char *const files[] = {"matrix",       "matrix_include",
                                        "matrix_names", "imports",
                                        "stages_dir",   "expectations"};
    size_t k;

    for (k = 0; k < sizeof files / sizeof *files; k++) {
        long before = mem_live(), i;
        char path[64];
        int rc = ERR_NOMEM;

        (void)snprintf(path, sizeof path, "tests/good/%s.yaml", files[k]);
        for (i = 1; rc != 0 && i < 5000; i++) {
            struct arena arena = {0};
            struct pl_diag d = {.arena = &arena};
            struct err err = {0};

            mem_fail_after(i);
            rc = pl_config_load(&f->c, path, NULL, &d, &err);
            mem_fail_after(0);
            arena_free(&arena);
            if (rc == 0)
                break;
            assert_int_equal(rc, ERR_NOMEM);
            assert_null(f->c);
            assert_int_equal(mem_live(), before);
        }
        assert_int_equal(rc, 0);
        assert_true(i > 20);
        pl_config_free(f->c);
        f->c = NULL;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(cells_are_known_by_their_stage),
        TEST(the_command_line_reaches_a_matrix),
        TEST(the_environment_is_not_in_names),
        TEST(a_thousand_cells_are_quick),
        TEST(running_out_of_memory_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
