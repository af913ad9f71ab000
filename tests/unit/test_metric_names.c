#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "pipeline/metric_names.h"

static void names_of_a_kind_are_known_and_others_are_not(void **state)
{
    (void)state;
    assert_true(pl_metric_known(&pl_kind_train, "test.accuracy"));
    assert_true(pl_metric_known(&pl_kind_train, "step.zero_grad"));
    assert_false(pl_metric_known(&pl_kind_train, "accuracy"));
    assert_false(pl_metric_known(&pl_kind_train, "test.accuracy.x"));
    assert_true(pl_metric_known(&pl_kind_evaluate, "accuracy"));
    assert_false(pl_metric_known(&pl_kind_evaluate, ""));
    assert_true(pl_metric_known(&pl_kind_fetch, "bytes"));
    assert_true(pl_metric_known(&pl_kind_summary, "state_bytes.adam"));
    assert_false(pl_metric_known(&pl_kind_summary, "state_bytes"));
}

static void an_autograd_stage_may_have_any(void **state)
{
    char names[PL_METRIC_NAMES][PL_METRIC_LEN];

    (void)state;
    assert_true(pl_metric_known(&pl_kind_autograd, "whatever.0"));
    assert_int_equal(pl_metric_names(&pl_kind_autograd, "x", names), 0);
}

static bool listed(const char *want, const char *for_name)
{
    char names[PL_METRIC_NAMES][PL_METRIC_LEN];
    size_t n = pl_metric_names(&pl_kind_summary, for_name, names), i;

    for (i = 0; i < n; i++)
        if (strcmp(names[i], want) == 0)
            return true;
    return false;
}

static void a_free_part_is_that_of_the_mistyped_name(void **state)
{
    char longest[200];

    (void)state;
    assert_true(listed("state_bytes.adam", "state_byte.adam"));
    assert_true(listed("layers", "x"));
    assert_false(listed("state_bytes.", "state_bytes"));
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    memcpy(longest, "s.", 2);
    assert_true(listed("layers", longest));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_a_kind_are_known_and_others_are_not),
        cmocka_unit_test(an_autograd_stage_may_have_any),
        cmocka_unit_test(a_free_part_is_that_of_the_mistyped_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
