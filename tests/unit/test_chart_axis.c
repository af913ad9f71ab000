#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/chart.h"
#include "pipeline/chart_axis.h"

static void expect_ticks(const struct pl_scale *s, const char *want)
{
    struct str out = {0};
    int i;

    for (i = 0; i < s->n_ticks; i++) {
        str_add(&out, i ? " " : "");
        pl_scale_add_tick(&out, s, i);
    }
    assert_string_equal(out.text ? out.text : "", want);
    str_free(&out);
}

static const struct {
    double lo, hi;
    const char *ticks;
} linear_cases[] = {
    {0.01, 3.15, "0 1 2 3 4"},
    {0.0848, 0.2134, "0.05 0.10 0.15 0.20 0.25"},
    {93.91, 97.48, "93 94 95 96 97 98"},
    {-1, 1, "-1.0 -0.5 0.0 0.5 1.0"},
    {0.5, 0.5, "0.44 0.46 0.48 0.50 0.52 0.54 0.56"},
    {0, 0, "-1.0 -0.5 0.0 0.5 1.0"},
    {1, 0, "0.0 0.2 0.4 0.6 0.8 1.0"}, /* no values */
    {0, 45000, "0 10,000 20,000 30,000 40,000 50,000"},
    {0, 9e8, "0.0 0.2 0.4 0.6 0.8 1.0"},
    {1e-7, 3e-7, "0 50 100 150 200 250 300"},
    {-1e300, 1e300, "-1.0 -0.5 0.0 0.5 1.0"},
    {1e9, 1e9 + 10,
     "1.000000000 1.000000002 1.000000004 1.000000006 "
     "1.000000008 1.000000010"},
};

static void linear_ticks_are_round_and_enclose_the_values(void **state)
{
    const struct pl_chart_axis axis = {0};
    struct pl_scale s;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof linear_cases / sizeof *linear_cases; i++) {
        double lo = linear_cases[i].lo, hi = linear_cases[i].hi;

        pl_scale_fit(&s, &axis, lo, hi, 6, true);
        expect_ticks(&s, linear_cases[i].ticks);
        assert_true(lo > hi || (s.lo <= lo && s.hi >= hi));
    }
}

static void power_of_ten_goes_to_the_label(void **state)
{
    const struct pl_chart_axis axis = {0};
    struct str out = {0};
    struct pl_scale s;

    (void)state;
    pl_scale_fit(&s, &axis, 0, 9e8, 6, true);
    pl_scale_add_label(&out, &s, "bytes");
    assert_string_equal(out.text, "bytes (\xc3\x97"
                                  "10\xe2\x81\xb9)");
    str_clear(&out);
    pl_scale_fit(&s, &axis, 0, 3e-10, 6, true);
    pl_scale_add_label(&out, &s, "");
    assert_string_equal(out.text, "\xc3\x97"
                                  "10\xe2\x81\xbb\xc2\xb9\xc2\xb2");
    str_free(&out);
}

static void whole_axis_has_no_fractions(void **state)
{
    const struct pl_chart_axis axis = {.whole = true};
    struct pl_scale s;

    (void)state;
    pl_scale_fit(&s, &axis, 0.002, 1, 10, false);
    expect_ticks(&s, "0 1");
    pl_scale_fit(&s, &axis, 1, 1, 10, false);
    expect_ticks(&s, "0 1 2");
}

static void no_tick_crosses_the_bounds(void **state)
{
    const struct pl_chart_axis percent = {.most = 100};
    const struct pl_chart_axis plain = {0};
    struct pl_scale left, s;

    (void)state;
    pl_scale_fit(&s, &percent, 100, 100, 6, true);
    expect_ticks(&s, "90 92 94 96 98 100");
    pl_scale_fit(&left, &plain, 0.0, 0.35, 6, true);
    pl_scale_align(&s, &percent, 71, 99.2, &left);
    expect_ticks(&s, "60 70 80 90 100");
    pl_scale_align(&s, &percent, 5, 100, &left);
    expect_ticks(&s, "0 50 100");
}

static void both_axes_share_one_grid(void **state)
{
    const struct pl_chart_axis plain = {0}, percent = {.most = 100};
    struct pl_scale left, right;
    double hi, lo;

    (void)state;
    for (hi = 0.1; hi < 4; hi += 0.13)
        for (lo = 1; lo < 99; lo += 7) {
            pl_scale_fit(&left, &plain, 0, hi, 6, true);
            pl_scale_align(&right, &percent, lo, 99.5, &left);
            assert_true(right.lo <= lo && right.hi >= 99.5);
            assert_true(fabs((left.hi - left.lo) / left.step -
                             (right.hi - right.lo) / right.step) < 1e-6);
        }
}

static void log_ticks_are_decades_or_their_parts(void **state)
{
    const struct pl_chart_axis axis = {.log = true};
    struct pl_scale s;

    (void)state;
    pl_scale_fit(&s, &axis, 32, 2048, 10, true);
    expect_ticks(&s, "20 50 100 200 500 1,000 2,000 5,000");
    pl_scale_fit(&s, &axis, 0.003, 40, 6, true);
    expect_ticks(&s, "0.001 0.01 0.1 1 10 100");
    pl_scale_fit(&s, &axis, 1e-9, 1e-8, 6, true);
    expect_ticks(&s, "10\xe2\x81\xbb\xe2\x81\xb9 "
                     "2\xc3\x97"
                     "10\xe2\x81\xbb\xe2\x81\xb9 "
                     "5\xc3\x97"
                     "10\xe2\x81\xbb\xe2\x81\xb9 "
                     "10\xe2\x81\xbb\xe2\x81\xb8");
    pl_scale_fit(&s, &axis, 10, 10, 6, true);
    expect_ticks(&s, "5 10 20");
    pl_scale_fit(&s, &axis, 1e-300, 1e300, 6, true);
    assert_true(s.n_ticks >= 3 && s.n_ticks <= 8);
    assert_false(pl_scale_takes(true, 0));
    assert_false(pl_scale_takes(true, -1));
}

static void given_ticks_are_shown_in_full(void **state)
{
    static const double batch[] = {32, 128, 512, 2048};
    static const double rate[] = {0, 0.25, 0.375};
    struct pl_chart_axis axis = {.log = true, .tick = batch, .n_ticks = 4};
    struct pl_scale s;

    (void)state;
    pl_scale_fit(&s, &axis, 100, 4096, 10, false);
    expect_ticks(&s, "32 128 512 2,048");
    assert_true(s.lo < 32 && s.hi > 4096 && pl_scale_at(&s, 32) > 0);
    axis.log = false;
    pl_scale_fit(&s, &axis, 32, 2048, 10, false);
    expect_ticks(&s, "32 128 512 2,048");
    assert_true(s.lo < 32 && s.hi > 2048);
    axis = (struct pl_chart_axis){.tick = rate, .n_ticks = 3};
    pl_scale_fit(&s, &axis, 0.25, 0.25, 10, false);
    expect_ticks(&s, "0 0.25 0.375");
    axis.log = true; /* which cannot show 0 */
    pl_scale_fit(&s, &axis, 0.25, 0.25, 10, false);
    expect_ticks(&s, "0.25 0.375");
    axis.n_ticks = 1;
    pl_scale_fit(&s, &axis, 32, 2048, 10, false);
    expect_ticks(&s, "20 50 100 200 500 1,000 2,000 5,000");
    axis = (struct pl_chart_axis){.log = true, .tick = batch, .n_ticks = 1};
    pl_scale_fit(&s, &axis, 32, 32, 10, false);
    expect_ticks(&s, "32");
    assert_true(fabs(pl_scale_at(&s, 32) - 0.5) < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_ticks_are_round_and_enclose_the_values),
        cmocka_unit_test(power_of_ten_goes_to_the_label),
        cmocka_unit_test(whole_axis_has_no_fractions),
        cmocka_unit_test(no_tick_crosses_the_bounds),
        cmocka_unit_test(both_axes_share_one_grid),
        cmocka_unit_test(log_ticks_are_decades_or_their_parts),
        cmocka_unit_test(given_ticks_are_shown_in_full),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
