/* Spreads, guides, watermarks and given ticks of a chart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/chart.h"
#include "tests/unit/chart_fixture.h"

static const double low[] = {0.2, 0.14, 0.11, 0.09, 0.08};
static const double high[] = {0.3, 0.2, 0.12, 0.1, 0.09};

/* How many numbers of a path's d="..." there are, behind the text before. */
static int count_points(const char *svg, const char *before)
{
    const char *p = strstr(svg, before);
    int n = 0;

    assert_non_null(p);
    p = strstr(p, "d=\"") + 3;
    for (; *p && *p != '"'; p++)
        n += *p == ',';
    return n;
}

static void band_goes_there_along_high_and_back_along_low(void **state)
{
    static const double torn[] = {0.2, 0.14, NAN, 0.09, 0.08};
    struct pl_chart_series s = {.name = "step",
                                .x = steps,
                                .y = losses,
                                .low = low,
                                .high = high,
                                .n = 5};
    struct pl_chart c = chart_of(&s, 1);
    char *svg = draw(&c);

    (void)state;
    assert_int_equal(count_points(svg, "class=\"band f0\""), 10);
    assert_non_null(strstr(svg, "step at 1: 0.2134 (0.2 to 0.3)"));
    assert_non_null(strstr(svg, ">0.30<")); /* the axis reaches over it */
    mem_free(svg);
    s.low = torn; /* in two pieces */
    svg = draw(&c);
    assert_int_equal(count_points(svg, "class=\"band f0\""), 8);
    mem_free(svg);
    s.low = NULL;
    svg = draw(&c);
    assert_null(strstr(svg, "class=\"band"));
    mem_free(svg);
}

static void spread_below_a_log_axis_ends_at_its_foot(void **state)
{
    static const double zero[] = {0, 0, 0, 0, 0};
    const struct pl_chart_series s = {
        .x = steps, .y = losses, .low = zero, .high = high, .n = 5};
    struct pl_chart c = chart_of(&s, 1);
    char *svg;

    (void)state;
    c.left.log = true;
    svg = draw(&c); /* which looks that all lies inside */
    assert_int_equal(count_points(svg, "class=\"band f0\""), 10);
    mem_free(svg);
}

static void scatter_has_bars(void **state)
{
    const struct pl_chart_series s = {
        .x = steps, .y = losses, .low = low, .high = high, .n = 5};
    struct pl_chart c = chart_of(&s, 1);
    const char *p;
    char *svg;
    int n = 0;

    (void)state;
    c.kind = PL_CHART_SCATTER;
    svg = draw(&c);
    p = strstr(svg, "<g class=\"bar s0\">");
    assert_non_null(p);
    for (; (p = strstr(p, "h8m-4,0L")) != NULL; p++)
        n++;
    assert_int_equal(n, 5);
    assert_null(strstr(svg, "class=\"band"));
    mem_free(svg);
}

static void guide_is_a_line_without_markers(void **state)
{
    const struct pl_chart_series s[] = {
        {.name = "step", .x = steps, .y = losses, .n = 5},
        {.name = "work", .x = steps, .y = losses, .n = 5, .guide = true},
    };
    struct pl_chart c = chart_of(s, 2);
    const char *p;
    char *svg;
    int n = 0;

    (void)state;
    c.kind = PL_CHART_SCATTER; /* a guide is a line even here */
    svg = draw(&c);
    for (p = svg; (p = strstr(p, "<path class=\"guide\"")) != NULL; p++)
        n++;
    assert_int_equal(n, 2); /* in the legend and in the plot */
    assert_null(strstr(svg, "work at"));
    assert_null(strstr(svg, "class=\"f1\""));
    mem_free(svg);
}

static void watermark_lies_across_the_plot(void **state)
{
    const struct pl_chart_series s = {.x = steps, .y = losses, .n = 5};
    struct pl_chart c = chart_of(&s, 1);
    char *svg = draw(&c);

    (void)state;
    assert_null(strstr(svg, "class=\"mark\""));
    mem_free(svg);
    c.watermark = "SIMULATED <1>";
    svg = draw(&c);
    assert_non_null(strstr(svg, "class=\"mark\""));
    assert_non_null(strstr(svg, ">SIMULATED &lt;1&gt;<"));
    mem_free(svg);
}

static void given_ticks_that_crowd_are_left_out(void **state)
{
    static const double crowd[] = {1, 1.01, 1.02, 3, 5};
    const struct pl_chart_series s = {.x = steps, .y = losses, .n = 5};
    struct pl_chart c = chart_of(&s, 1);
    char *svg;

    (void)state;
    c.x.tick = crowd;
    c.x.n_ticks = 5;
    svg = draw(&c);
    assert_non_null(strstr(svg, ">1<"));
    assert_null(strstr(svg, ">1.01<"));
    assert_non_null(strstr(svg, ">3<"));
    assert_non_null(strstr(svg, ">5<"));
    mem_free(svg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(band_goes_there_along_high_and_back_along_low),
        cmocka_unit_test(spread_below_a_log_axis_ends_at_its_foot),
        cmocka_unit_test(scatter_has_bars),
        cmocka_unit_test(guide_is_a_line_without_markers),
        cmocka_unit_test(watermark_lies_across_the_plot),
        cmocka_unit_test(given_ticks_that_crowd_are_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
