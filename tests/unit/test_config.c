/* Mistakes and their exact messages are in tests/bad/config. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>
#include <time.h>

#include "tests/unit/config_fixture.h"

static const char *needs_of(struct fixture *f, const char *id)
{
    const struct pl_stage *s = pl_config_stage(f->c, id);
    size_t i;

    assert_non_null(s);
    str_clear(&f->out);
    str_add(&f->out, "");
    for (i = 0; i < s->n_needs; i++)
        str_addf(&f->out, "%s%s", i ? " " : "", s->needs[i]);
    return f->out.text;
}

static const char *order(struct fixture *f)
{
    size_t i;

    str_clear(&f->out);
    for (i = 0; i < f->c->n_stages; i++)
        str_addf(&f->out, "%s%s", i ? " " : "", f->c->stages[i].id);
    return f->out.text;
}

static double seconds(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void the_shipped_configs_load(void **state)
{
    static const char *const paths[] = {"configs/q1.yaml", "configs/q2.yaml",
                                        "configs/operators.yaml",
                                        "configs/blobs.yaml"};
    size_t i;

    for (i = 0; i < sizeof paths / sizeof *paths; i++)
        must_load_path(*state, paths[i], NULL);
}

static void q2_says_what_it_should(void **state)
{
    struct fixture *f = *state;
    const struct pl_train_with *w;
    const struct pl_stage *s;
    const struct pl_dataset *ds;

    must_load_path(f, "configs/q2.yaml", NULL);
    w = train(f);
    s = pl_config_stage(f->c, "train");
    ds = pl_config_dataset(f->c, "mnist");
    assert_string_equal(f->c->name, "q2");
    assert_string_equal(f->c->recipe, "hidden_dim=256 batch_size=128 "
                                      "optim_method=adam lr=0.001 epochs=5");
    assert_int_equal(w->batch_size, 128);
    assert_int_equal(w->epochs, 5);
    assert_true(w->lr == 1e-3);
    assert_int_equal(w->optimizer.type, PL_OPT_ADAM);
    assert_true(w->optimizer.beta2 == 0.999);
    assert_int_equal(w->checkpoint.every_n_epochs, 1);
    assert_true(w->shuffle);
    assert_int_equal(s->n_expect, 1);
    assert_string_equal(s->expect[0].metric, "test.accuracy");
    assert_int_equal(s->expect[0].relation, PL_REL_GT);
    assert_true(s->expect[0].bound == 0.97 && s->expect[0].points == 20);
    assert_int_equal(ds->files.n, 4);
    assert_int_equal(ds->mirrors.n, 3);
    assert_true(ds->divide == 255);
    assert_true(io_exists(((const char *const *)ds->mirrors.items)[0]));
    assert_string_equal(order(f), "fetch-mnist train evaluate");
    assert_string_equal(needs_of(f, "train"), "fetch-mnist");
    assert_string_equal(needs_of(f, "evaluate"), "train fetch-mnist");
    assert_true(pl_config_stage(f->c, "fetch-mnist")->implied);
}

static void later_layers_win(void **state)
{
    struct fixture *f = *state;

    write_file(f, "a.yaml", base);
    write_file(f, "b.yaml",
               "vars: {epochs: 7}\n"
               "defaults: {seed: 1, train: {seed: 2, drop_last: true}}\n");
    write_file(f, "c.yaml",
               "version: 1\nname: c\nextends: [a.yaml, b.yaml]\n"
               "stages: {train: {with: {drop_last: false}}}\n");
    must_load(f, "c.yaml", NULL);
    assert_string_equal(f->c->name, "c");
    assert_int_equal(train(f)->epochs, 7);
    assert_int_equal(train(f)->seed, 2);
    assert_false(train(f)->drop_last);
    assert_int_equal(train(f)->batch_size, 32);
}

static void paths_are_relative_to_their_file(void **state)
{
    struct fixture *f = *state;
    const struct pl_dataset *ds;
    char path[128], want[160];

    (void)snprintf(path, sizeof path, "%s/sub", f->dir);
    assert_int_equal(mkdir(path, 0700), 0);
    write_file(f, "sub/d.yaml",
               "datasets: {d: {type: csv, target: y, mirrors: data,\n"
               "  files: {train: t.csv}}}\n");
    write_file(f, "a.yaml",
               "version: 1\nname: a\nextends: sub/d.yaml\n"
               "stages: {get: {uses: fetch, with: {dataset: d}}}\n");
    must_load(f, "a.yaml", NULL);
    ds = pl_config_dataset(f->c, "d");
    (void)snprintf(want, sizeof want, "%s/sub/data", f->dir);
    assert_string_equal(((const char *const *)ds->mirrors.items)[0], want);
    must_load(f, "a.yaml", (const char *const[]){"datasets.d.mirrors=x", NULL});
    ds = pl_config_dataset(f->c, "d");
    assert_string_equal(((const char *const *)ds->mirrors.items)[0], "x");
}

static void references_keep_what_they_refer_to(void **state)
{
    struct fixture *f = *state;
    const struct pl_stage *s;

    assert_int_equal(setenv("PIPELINE_TEST_EPOCHS", "4", 1), 0);
    write_file(f, "a.yaml", base);
    write_file(
        f, "b.yaml",
        "version: 1\nname: ${vars.word}-1\nextends: a.yaml\n"
        "vars:\n"
        "  word: run\n"
        "  epochs: ${env.PIPELINE_TEST_EPOCHS}\n"
        "  opt: {type: sgd, momentum: \"${vars.m}\"}\n"
        "  m: 0.${vars.digit}\n"
        "  digit: 7\n"
        "stages:\n"
        "  train:\n"
        "    with: {optimizer: \"${vars.opt}\", seed: \"1${vars.digit}\"}\n"
        "    expect:\n"
        "      - {metric: test.loss, gt: 0, why: \"$${x} "
        "${env.PIPELINE_NO:-none}\"}\n");
    must_load(f, "b.yaml", NULL);
    s = pl_config_stage(f->c, "train");
    assert_string_equal(f->c->name, "run-1");
    assert_int_equal(train(f)->epochs, 4);
    assert_int_equal(train(f)->seed, 17);
    assert_true(train(f)->optimizer.momentum == 0.7);
    assert_string_equal(s->expect[0].why, "${x} none");
}

static void a_written_fetch_stage_is_used(void **state)
{
    struct fixture *f = *state;

    write_file(f, "a.yaml",
               "version: 1\nname: a\n"
               "datasets: {d: {type: csv, target: y, mirrors: m,\n"
               "  files: {train: t.csv}}}\n"
               "models: {m: {layers: [{type: linear, out: 2}]}}\n"
               "defaults: {fetch: {stall_timeout: 5s}}\n"
               "stages:\n"
               "  s: {uses: summary, with: {dataset: d, model: m}}\n"
               "  t: {uses: summary, with: {dataset: d, model: m}, needs: u}\n"
               "  u: {uses: autograd, with: {operators: all}}\n"
               "  get: {uses: fetch, with: {dataset: d}, retries: 2,\n"
               "        timeout: 15m}\n");
    must_load(f, "a.yaml", NULL);
    assert_string_equal(order(f), "get s u t");
    assert_string_equal(needs_of(f, "t"), "u get");
    assert_int_equal(pl_config_stage(f->c, "get")->retries, 2);
    assert_true(pl_config_stage(f->c, "get")->timeout == 900);
    assert_true(
        ((const struct pl_fetch_with *)pl_config_stage(f->c, "get")->with)
            ->stall_timeout == 5);
}

static void expectations_are_read(void **state)
{
    struct fixture *f = *state;
    const struct pl_expect *e;

    write_file(f, "a.yaml", base);
    write_file(
        f, "b.yaml",
        "version: 1\nname: b\nextends: a.yaml\n"
        "stages:\n  train:\n    expect:\n"
        "      - {metric: test.loss, close: 2, atol: 0.1, requires: cuda}\n"
        "      - {metric: test.loss, close_to: train.loss}\n"
        "      - {file: curve.csv, exists: true}\n"
        "      - {manual: true, text: reads well, points: 5}\n");
    must_load(f, "b.yaml", NULL);
    e = pl_config_stage(f->c, "train")->expect;
    assert_int_equal(e[0].relation, PL_REL_CLOSE);
    assert_true(e[0].atol == 0.1 && e[0].rtol == 0 && e[0].bound == 2);
    assert_string_equal(e[0].requires_device, "cuda");
    assert_int_equal(e[1].relation, PL_REL_CLOSE_TO);
    assert_string_equal(e[1].other, "train.loss");
    assert_true(e[1].atol == 1e-8 && e[1].rtol == 1e-5);
    assert_int_equal(e[2].relation, PL_REL_EXISTS);
    assert_string_equal(e[2].file, "curve.csv");
    assert_true(e[3].manual && e[3].points == 5);
}

static void a_missing_file_is_an_io_error(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};

    assert_int_equal(pl_config_load(&f->c, "/no/such.yaml", NULL, &f->d, &err),
                     ERR_IO);
    assert_null(f->c);
    assert_non_null(strstr(err.msg, "/no/such.yaml"));
}

static void a_file_is_at_most_a_mebibyte(void **state)
{
    struct fixture *f = *state;
    struct str s = {0};
    struct err err = {0};
    char path[128];
    double start;
    int i;

    for (i = 0; i < 1000000; i++)
        str_addf(&s, "k%d: 1\n", i);
    write_file(f, "a.yaml", s.text);
    str_free(&s);
    (void)snprintf(path, sizeof path, "%s/a.yaml", f->dir);
    start = seconds();
    assert_int_equal(pl_config_load(&f->c, path, NULL, &f->d, &err), ERR_IO);
    assert_true(seconds() - start < 0.2);
    assert_non_null(strstr(err.msg, "larger"));
}

/* Many names and references in a file of allowed size. */
static void a_file_full_of_references_is_quick(void **state)
{
    struct fixture *f = *state;
    struct str s = {0};
    double start;
    int i;

    str_add(&s, "version: 1\nname: b\nextends: a.yaml\nvars:\n  v0: 1\n");
    for (i = 1; i < 900; i++)
        str_addf(&s, "  v%d: [\"${vars.v0}\", \"x${vars.v0}\"]\n", i);
    str_add(&s, "x-many:\n");
    for (i = 0; i < 20000; i++)
        str_addf(&s, "  k%d: \"${vars.v%d}\"\n", i, i % 900);
    write_file(f, "a.yaml", base);
    write_file(f, "b.yaml", s.text);
    str_free(&s);
    start = seconds();
    must_load(f, "b.yaml", NULL);
    assert_true(seconds() - start < 2.0); /* 0.1 without sanitizers */
}

static void running_out_of_memory_leaves_nothing(void **state)
{
    struct fixture *f = *state;
    static const char *const o[] = {"lr=0.02", "stages.train.with.seed=3",
                                    "~stages.train.with.checkpoint"};
    const struct pl_config_opts opts = {.overrides = o, .n_overrides = 3};
    long before = mem_live(), i;
    int rc = ERR_NOMEM;

    for (i = 1; rc != 0 && i < 5000; i++) {
        struct arena arena = {0};
        struct pl_diag d = {.arena = &arena};
        struct err err = {0};

        mem_fail_after(i);
        rc = pl_config_load(&f->c, "configs/q2.yaml", &opts, &d, &err);
        mem_fail_after(0);
        arena_free(&arena);
        if (rc == 0)
            break;
        assert_int_equal(rc, ERR_NOMEM);
        assert_int_equal(err.code, ERR_NOMEM);
        assert_null(f->c);
        assert_int_equal(d.n, 0);
        assert_int_equal(mem_live(), before);
    }
    assert_int_equal(rc, 0);
    assert_true(i > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_shipped_configs_load),
        TEST(q2_says_what_it_should),
        TEST(later_layers_win),
        TEST(paths_are_relative_to_their_file),
        TEST(references_keep_what_they_refer_to),
        TEST(a_written_fetch_stage_is_used),
        TEST(expectations_are_read),
        TEST(a_missing_file_is_an_io_error),
        TEST(a_file_is_at_most_a_mebibyte),
        TEST(a_file_full_of_references_is_quick),
        TEST(running_out_of_memory_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
