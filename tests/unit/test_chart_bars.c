#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "nn/base/mem.h"
#include "pipeline/chart_bars.h"
#include "tests/unit/svg_fixture.h"

static const char *const groups[] = {"linear 0", "a < b & c", "none here"};
static const double one[] = {10, 0, NAN}, two[] = {1000, 2.5, INFINITY};
static const struct pl_bar_series series[] = {{"b=32", one}, {"b=1024", two}};

static char *draw(const struct pl_bars *c)
{
    struct err err = {0};
    struct str out = {0};

    assert_int_equal(pl_bars_svg(&out, c, &err), 0);
    expect_well_formed(out.text);
    return out.text;
}

static double width_of(const char *svg, const char *class, size_t number)
{
    char want[32];
    const char *p = svg;
    size_t i;

    (void)snprintf(want, sizeof want, "<rect class=\"%s\"", class);
    for (i = 0; i <= number; i++) {
        p = strstr(p + (i > 0), want);
        assert_non_null(p);
    }
    p = strstr(p, "width=\"");
    assert_non_null(p);
    return strtod(p + 7, NULL);
}

static void bars_are_as_long_as_their_values(void **state)
{
    static const double v[] = {10, 40};
    static const struct pl_bar_series s = {"x", v};
    const struct pl_bars c = {.title = "t",
                              .axis = {.label = "us"},
                              .groups = groups,
                              .n_groups = 2,
                              .series = &s,
                              .n = 1};
    char *svg = draw(&c);

    (void)state;
    /* the first one is that of the legend */
    assert_true(fabs(width_of(svg, "f0", 2) / width_of(svg, "f0", 1) - 4) <
                0.01);
    mem_free(svg);
}

static void values_stand_behind_and_what_is_missing_is_said(void **state)
{
    const struct pl_bars c = {.title = "Bars",
                              .axis = {.label = "us", .log = true},
                              .groups = groups,
                              .n_groups = 3,
                              .series = series,
                              .n = 2};
    char *svg = draw(&c);

    (void)state;
    assert_non_null(strstr(svg, ">a &lt; b &amp; c</text>"));
    assert_non_null(strstr(svg, ">1000</text>"));
    assert_non_null(strstr(svg, ">2.5</text>"));
    assert_int_equal(count(svg, ">none</text>"), 2);
    assert_int_equal(count(svg, ">0</text>"), 1); /* no bar on a log axis */
    assert_int_equal(count(svg, "<rect class=\"f0\""), 2);
    assert_int_equal(count(svg, "<rect class=\"f1\""), 3);
    assert_non_null(strstr(svg, "linear 0: b=32 10, b=1024 1000."));
    mem_free(svg);
}

static void nothing_to_draw_is_said(void **state)
{
    const struct pl_bars c = {.title = "Bars", .axis = {.log = true}};
    char *svg = draw(&c);

    (void)state;
    assert_non_null(strstr(svg, ">no data</text>"));
    mem_free(svg);
}

static void running_out_of_memory_is_an_error(void **state)
{
    const struct pl_bars c = {.title = "Bars",
                              .axis = {.label = "us", .log = true},
                              .groups = groups,
                              .n_groups = 3,
                              .series = series,
                              .n = 2};
    long n;
    int rc = -1;

    (void)state;
    for (n = 1; rc != 0 && n < 1000; n++) {
        struct str out = {0};

        mem_fail_after(n);
        rc = pl_bars_svg(&out, &c, NULL);
        mem_fail_after(0);
        if (rc != 0)
            assert_int_equal(rc, ERR_NOMEM);
        str_free(&out);
        assert_int_equal(mem_live(), 0);
    }
    assert_int_equal(rc, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bars_are_as_long_as_their_values),
        cmocka_unit_test(values_stand_behind_and_what_is_missing_is_said),
        cmocka_unit_test(nothing_to_draw_is_said),
        cmocka_unit_test(running_out_of_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
