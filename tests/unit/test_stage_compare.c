/* What compare stages name, and what the named ones were told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/compare.h"
#include "tests/unit/config_fixture.h"

static const char text[] =
    "version: 1\n"
    "name: c\n"
    "datasets: {blobs: {type: synthetic}}\n"
    "models: {mlp: {layers: [{type: linear, out: 2}]}}\n"
    "defaults: {dataset: blobs, model: mlp, lr: 0.1}\n"
    "stages:\n"
    "  step:\n"
    "    uses: profile\n"
    "    matrix: {batch_size: [32, 64]}\n"
    "    with: {optimizer: adam, execution: eager}\n"
    "  long:\n"
    "    uses: profile\n"
    "    with: {optimizer: {type: sgd, momentum: 0.5}, batch_size: 8}\n"
    "  answer: {uses: compare, with: {from: [long, step], show: kernels}}\n";

static const char *setting(struct fixture *f, const char *stage,
                           const char *key)
{
    return pl_compare_setting(pl_config_stage(f->c, stage), key);
}

static void settings_are_found_as_written_or_by_default(void **state)
{
    struct fixture *f = *state;

    write_file(f, "a.yaml", text);
    must_load(f, "a.yaml", NULL);
    assert_string_equal(setting(f, "step@batch_size=64", "batch_size"), "64");
    assert_string_equal(setting(f, "step@batch_size=64", "lr"), "0.1");
    assert_string_equal(setting(f, "step@batch_size=64", "n_step"), "5");
    assert_string_equal(setting(f, "step@batch_size=64", "optimizer"), "adam");
    assert_string_equal(setting(f, "step@batch_size=64", "optimizer.type"),
                        "adam");
    assert_string_equal(setting(f, "long", "optimizer"), "sgd");
    assert_string_equal(setting(f, "long", "optimizer.type"), "sgd");
    assert_string_equal(setting(f, "long", "optimizer.momentum"), "0.5");
    assert_string_equal(setting(f, "long", "execution"), "recorded");
    assert_null(setting(f, "long", "batchsize"));
    assert_null(setting(f, "long", "optimizer.width"));
    assert_null(setting(f, "long", "lr.x"));
    assert_null(setting(f, "long", ""));
}

static void what_is_compared_is_needed(void **state)
{
    struct fixture *f = *state;
    const struct pl_stage *s;

    write_file(f, "a.yaml", text);
    must_load(f, "a.yaml", NULL);
    s = pl_config_stage(f->c, "answer");
    assert_int_equal(s->n_needs, 3);
    assert_string_equal(s->needs[0], "long");
    assert_string_equal(s->needs[1], "step@batch_size=32");
    assert_string_equal(s->needs[2], "step@batch_size=64");
    assert_ptr_equal(s->kind, &pl_kind_compare);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(settings_are_found_as_written_or_by_default),
        TEST(what_is_compared_is_needed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
