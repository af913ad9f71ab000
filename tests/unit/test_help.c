#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/pipeline.h"

static struct str text;

static int tear_down(void **state)
{
    (void)state;
    str_free(&text);
    return mem_live() == 0 ? 0 : -1;
}

static bool help(const char *word, const char **nearest)
{
    str_clear(&text);
    return pl_help(word, &text, nearest);
}

static void kind_shows_all_its_keys(void **state)
{
    const char *near;

    (void)state;
    assert_true(help("train", &near));
    assert_non_null(strstr(text.text, "uses: train: "));
    assert_non_null(strstr(text.text, "  lr: a number, above 0 (required)\n"));
    assert_non_null(strstr(text.text, "  optimizer.type: sgd | "));
    assert_non_null(strstr(text.text, "example: batch_size: 128\n"));
    assert_true(help("same_as", &near));
    assert_non_null(strstr(text.text, "operators.NAME.same_as: "));
    assert_non_null(strstr(text.text, " | cross_entropy"));
}

static void key_is_shown_wherever_it_stands(void **state)
{
    const char *near;

    (void)state;
    assert_true(help("batch_size", &near));
    assert_non_null(strstr(text.text, "  train.with.batch_size: "));
    assert_non_null(strstr(text.text, "  evaluate.with.batch_size: "));
    assert_true(help("mirrors", &near));
    assert_non_null(strstr(text.text, "  datasets.NAME.mirrors: "));
    assert_true(help("needs", &near));
    assert_non_null(strstr(text.text, "  stages.NAME.needs: "));
}

static void keys_at_the_top_are_explained(void **state)
{
    static const char *const keys[] = {"version",  "name",   "extends",
                                       "imports",  "vars",   "defaults",
                                       "datasets", "models", "stages"};
    const char *near;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct str want = {0};

        str_addf(&want, "  %s: ", keys[i]);
        assert_true(help(keys[i], &near));
        assert_non_null(strstr(text.text, want.text));
        assert_non_null(strstr(text.text, "example: "));
        str_free(&want);
    }
    for (i = 0; i < 2; i++)
        assert_true(help(i ? "column" : "matrix", &near));
}

static void path_is_looked_up_by_its_last_key(void **state)
{
    const char *near;

    (void)state;
    assert_true(help("stages.train.with.epochs", &near));
    assert_non_null(strstr(text.text, "train.with.epochs: "));
}

static void unknown_word_gets_the_nearest(void **state)
{
    const char *near;

    (void)state;
    assert_false(help("batchsize", &near));
    assert_string_equal(near, "batch_size");
    assert_false(help("qqqqqqqq", &near));
    assert_null(near);
}

static void every_kind_has_a_line(void **state)
{
    static const char *const kinds[] = {"fetch", "summary", "train", "evaluate",
                                        "autograd"};
    size_t i;

    (void)state;
    str_clear(&text);
    pl_help_kinds(&text);
    for (i = 0; i < sizeof kinds / sizeof *kinds; i++)
        assert_non_null(strstr(text.text, kinds[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kind_shows_all_its_keys),
        cmocka_unit_test(key_is_shown_wherever_it_stands),
        cmocka_unit_test(keys_at_the_top_are_explained),
        cmocka_unit_test(path_is_looked_up_by_its_last_key),
        cmocka_unit_test(unknown_word_gets_the_nearest),
        cmocka_unit_test(every_kind_has_a_line),
    };

    return cmocka_run_group_tests(tests, NULL, tear_down);
}
