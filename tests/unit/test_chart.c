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
#include "tests/unit/chart_fixture.h"

static const double accuracies[] = {93.91, 95.62, 96.57, 97.16, 97.48};

/* The d="..." of the i-th line of class "line", without the legend's. */
static void line_path(const char *svg, char *buf, size_t size)
{
    const char *p = svg, *end;

    while ((p = strstr(p, "<path class=\"line")) != NULL) {
        p = strstr(p, " d=\"") + 4;
        end = strchr(p, '"');
        assert_true((size_t)(end - p) < size);
        memcpy(buf, p, (size_t)(end - p));
        buf[end - p] = '\0';
    }
}

/* Where the left axis begins. */
static double plot_top(const char *svg)
{
    const char *p = strstr(svg, "class=\"axis\"");
    double top = 0;

    p = strstr(strstr(p, "d=\"M") + 4, "d=\"M");
    assert_int_equal(sscanf(p, "d=\"M%*f,%lf", &top), 1);
    return top;
}

static void curve_has_axes_legend_and_description(void **state)
{
    const struct pl_chart_series s[] = {
        {.name = "test loss", .x = steps, .y = losses, .n = 5},
        {.name = "test accuracy",
         .x = steps,
         .y = accuracies,
         .n = 5,
         .right = true}};
    const struct pl_chart c = chart_of(s, 2);
    char *svg = draw(&c);

    (void)state;
    assert_non_null(strstr(svg, "role=\"img\""));
    assert_non_null(strstr(svg, "<title>title</title>"));
    assert_non_null(
        strstr(svg, "<desc>Line chart over epoch. test loss: 5 points, the "
                    "last 0.0848, between 0.0848 and 0.2134. test accuracy: 5 "
                    "points, the last 97.48, between 93.91 and 97.48.</desc>"));
    assert_non_null(strstr(svg, "prefers-color-scheme:dark"));
    assert_non_null(strstr(svg, ">test accuracy (right axis)</text>"));
    assert_non_null(strstr(svg, "class=\"f1\">accuracy (%)</text>"));
    assert_int_equal(count(svg, "<path class=\"line s0 d0\""), 2);
    assert_int_equal(count(svg, "<path class=\"line s1 d1\""), 2);
    assert_int_equal(count(svg, "<circle"), 6); /* and one in the legend */
    assert_non_null(strstr(svg, "<title>test loss at 2: 0.1489</title>"));
    mem_free(svg);
}

static void equal_input_gives_equal_bytes(void **state)
{
    const struct pl_chart_series s = {
        .name = "loss", .x = steps, .y = losses, .n = 5};
    const struct pl_chart c = chart_of(&s, 1);
    char *a = draw(&c), *b = draw(&c);

    (void)state;
    assert_string_equal(a, b);
    mem_free(a);
    mem_free(b);
}

static void nan_and_infinity_break_the_line(void **state)
{
    const double y[] = {1, 2, NAN, 3, INFINITY};
    const struct pl_chart_series s = {.name = "a", .x = steps, .y = y, .n = 5};
    const struct pl_chart c = chart_of(&s, 1);
    char *svg = draw(&c);
    char d[200];

    (void)state;
    line_path(svg, d, sizeof d);
    assert_int_equal(count(d, "M"), 2);
    assert_int_equal(count(d, "L"), 1);
    assert_string_equal(d + strlen(d) - 2, "h0"); /* a dot */
    assert_int_equal(count(svg, "<circle"), 4);
    mem_free(svg);
}

static void what_is_not_finite_is_marked_on_request(void **state)
{
    const double x[] = {1, 2, INFINITY, NAN, 9, 9}, ok[] = {1, 2, 3, 4, 5, 6};
    const double y[] = {1, INFINITY, NAN, NAN, -INFINITY, NAN};
    const struct pl_chart_series s[] = {{.name = "a", .x = x, .y = ok, .n = 2},
                                        {.name = "b", .x = x, .y = y, .n = 6}};
    struct pl_chart c = chart_of(s, 2);
    char *svg = draw(&c);

    (void)state;
    assert_int_equal(count(svg, "inf or nan"), 0);
    assert_int_equal(count(svg, "class=\"cross"), 0);
    mem_free(svg);
    c.mark_gaps = true;
    svg = draw(&c);
    assert_int_equal(count(svg, ">inf or nan<"), 1);
    assert_int_equal(count(svg, "<g class=\"cross axis\">"), 1);
    assert_int_equal(count(svg, "<g class=\"cross s1\">"), 1);
    /* The legend's; at 2, inf and nan at 9 (one place), -inf at 9. */
    assert_int_equal(count(svg, "m-3.5,-3.5"), 4);
    assert_non_null(strstr(svg, ">9<")); /* the axis reaches that far */
    mem_free(svg);
    c.n = 1;
    svg = draw(&c);
    assert_int_equal(count(svg, "inf or nan"), 0);
    mem_free(svg);
}

static void log_axis_leaves_out_what_is_not_positive(void **state)
{
    const double y[] = {1, 0, 10, -5, 100};
    const struct pl_chart_series s = {.name = "a", .x = steps, .y = y, .n = 5};
    struct pl_chart c = chart_of(&s, 1);
    char *svg;

    (void)state;
    c.left.log = true;
    svg = draw(&c);
    assert_int_equal(count(svg, "<circle"), 4);
    mem_free(svg);
}

static void chart_without_points_says_so(void **state)
{
    const double y[] = {NAN, INFINITY};
    const struct pl_chart_series s = {.name = "a", .x = steps, .y = y, .n = 2};
    struct pl_chart c = chart_of(NULL, 0);
    char *svg = draw(&c);

    (void)state;
    assert_non_null(strstr(svg, ">no data</text>"));
    mem_free(svg);
    c = chart_of(&s, 1);
    svg = draw(&c);
    assert_non_null(strstr(svg, ">no data</text>"));
    mem_free(svg);
}

static void extreme_values_stay_in_the_picture(void **state)
{
    static const double sets[][4] = {{1, 1, 1, 1},
                                     {0, 0, 0, 0},
                                     {-1e308, 1e308, 1e300, -1e300},
                                     {5e-324, 1e-310, 0, 1e-300},
                                     {1e15, 1e15 + 1, 1e15 - 1, 1e15},
                                     {-3, -2.999999999999, -3, -3},
                                     {1e-300, 1e300, 1, 0}};
    size_t i, log;

    (void)state;
    for (i = 0; i < sizeof sets / sizeof *sets; i++)
        for (log = 0; log < 4; log++) {
            const struct pl_chart_series s[] = {
                {.name = "a", .x = steps, .y = sets[i], .n = 4},
                {.name = "b",
                 .x = sets[i],
                 .y = sets[i],
                 .n = 4,
                 .right = true}};
            struct pl_chart c = chart_of(s, 2);

            c.left.log = log & 1;
            c.x.log = log & 2;
            c.x.whole = false;
            c.right.most = 0;
            mem_free(draw(&c));
        }
}

static void many_points_are_thinned_but_keep_their_extremes(void **state)
{
    enum { N = 100000 };
    double *x = mem_array(N, sizeof *x), *y = mem_array(N, sizeof *y);
    struct pl_chart_series s = {.name = "loss", .x = x, .y = y, .n = N};
    const struct pl_chart c = chart_of(&s, 1);
    static char d[100000];
    char *svg, top[32], bottom[32];
    size_t i;

    (void)state;
    for (i = 0; i < N; i++) {
        x[i] = (double)i;
        y[i] = 0.5 + 0.1 * sin((double)i);
    }
    y[50001] = 1; /* spikes of one point up to the top and down to the bottom */
    y[70003] = 0;
    svg = draw(&c);
    line_path(svg, d, sizeof d);
    assert_true(count(d, "L") < 4 * 760);
    assert_int_equal(count(d, "M"), 1);
    (void)snprintf(top, sizeof top, ",%gL", plot_top(svg));
    (void)snprintf(bottom, sizeof bottom, ",%gL", plot_top(svg) + 300);
    assert_non_null(strstr(d, top));
    assert_non_null(strstr(d, bottom));
    mem_free(svg);
    s.smooth = 1000;
    svg = draw(&c);
    assert_int_equal(count(svg, "class=\"pale s0\""), 1);
    mem_free(svg);
    mem_free(x);
    mem_free(y);
}

static void smoothed_line_runs_through_the_means(void **state)
{
    const double y[] = {0, 2, 0, 2, 0};
    const struct pl_chart_series s = {
        .name = "a", .x = steps, .y = y, .n = 5, .smooth = 2};
    const struct pl_chart c = chart_of(&s, 1);
    char *svg = draw(&c);
    double first, second, third;
    char d[200];

    (void)state;
    line_path(svg, d, sizeof d);
    /* Windows of one point back and the point itself: 0, 1, 1, 1, 1. */
    assert_int_equal(
        sscanf(d, "M%*f,%lfL%*f,%lfL%*f,%lf", &first, &second, &third), 3);
    assert_true(first - second == 150 && second == third);
    assert_int_equal(count(svg, "<circle"), 0);
    mem_free(svg);
}

static void texts_are_escaped_and_repaired(void **state)
{
    const struct pl_chart_series s = {
        .name = "a<b & \"c\"", .x = steps, .y = losses, .n = 5};
    struct pl_chart c = chart_of(&s, 1);
    char *svg;

    (void)state;
    c.title = "x < y\x01\xff\xc3\xa9";
    svg = draw(&c);
    assert_non_null(strstr(svg, ">a&lt;b &amp; &quot;c&quot;</text>"));
    assert_non_null(strstr(svg, ">x &lt; y \xef\xbf\xbd\xc3\xa9</text>"));
    mem_free(svg);
}

static void long_title_wraps_and_is_cut_in_the_end(void **state)
{
    struct pl_chart c = chart_of(NULL, 0);
    char title[1000] = "";
    char *svg;
    int i;

    (void)state;
    c.title = "hidden_dim=256 batch_size=128 optim_method=sgd_momentum lr=0.01 "
              "epochs=5 weight_decay=0.001";
    svg = draw(&c);
    assert_int_equal(count(svg, "class=\"title\""), 2);
    mem_free(svg);
    for (i = 0; i < 999; i++)
        title[i] = 'a';
    c.title = title;
    svg = draw(&c);
    assert_int_equal(count(svg, "class=\"title\""), 4);
    assert_non_null(strstr(svg, "\xe2\x80\xa6</text>"));
    mem_free(svg);
}

static void legend_rows_stand_above_the_plot(void **state)
{
    static const char name[] = ">a name of some length</text>";
    struct pl_chart_series s[8];
    struct pl_chart c = chart_of(s, 8);
    double y, top;
    const char *p;
    char *svg;
    size_t i;

    (void)state;
    for (i = 0; i < 8; i++)
        s[i] = (struct pl_chart_series){
            .name = "a name of some length", .x = steps, .y = losses, .n = 5};
    svg = draw(&c);
    assert_int_equal(count(svg, name), 8);
    top = plot_top(svg);
    for (p = strstr(svg, name); p; p = strstr(p + 1, name)) {
        const char *at = p;

        while (strncmp(at, " y=\"", 4) != 0)
            at--;
        y = strtod(at + 4, NULL);
        assert_true(y < top);
    }
    mem_free(svg);
}

static double luminance(const char *hex)
{
    unsigned rgb = (unsigned)strtoul(hex, NULL, 16);
    double sum = 0, part;
    static const double weight[] = {0.0722, 0.7152, 0.2126};
    int i;

    for (i = 0; i < 3; i++, rgb >>= 8) {
        part = (rgb & 255) / 255.0;
        part =
            part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4);
        sum += weight[i] * part;
    }
    return sum;
}

/* WCAG 2.1, 1.4.11: 3:1 for graphics. */
static void colours_contrast_with_their_background(void **state)
{
    const struct pl_chart c = chart_of(NULL, 0);
    char *svg = draw(&c);
    const char *p = svg, *dark = strstr(svg, "@media");
    double back, ink;
    int n = 0;

    (void)state;
    for (p = strstr(p, "{stroke:#"); p; p = strstr(p + 1, "{stroke:#")) {
        if (p[-2] != 's') /* grid and axis are fainter */
            continue;
        back = luminance(p < dark ? "ffffff" : "0d1117");
        ink = luminance(p + 9);
        assert_true((fmax(back, ink) + 0.05) / (fmin(back, ink) + 0.05) >= 3);
        n++;
    }
    assert_int_equal(n, 12);
    mem_free(svg);
}

static void scatter_has_markers_alone(void **state)
{
    const struct pl_chart_series s = {
        .name = "runs", .x = steps, .y = losses, .n = 5};
    struct pl_chart c = chart_of(&s, 1);
    char *svg;

    (void)state;
    c.kind = PL_CHART_SCATTER;
    svg = draw(&c);
    assert_int_equal(count(svg, "class=\"line "), 0);
    assert_int_equal(count(svg, "<circle"), 6);
    mem_free(svg);
}

static void every_failed_allocation_is_survived(void **state)
{
    static const int64_t cells[] = {9, 1, 0, 10};
    const struct pl_matrix m = {"m", NULL, cells, 2};
    const struct pl_chart_series s = {
        .name = "a", .x = steps, .y = losses, .n = 5, .smooth = 3};
    const struct pl_chart c = chart_of(&s, 1);
    long live = mem_live(), n;
    int kind, rc;

    (void)state;
    for (kind = 0; kind < 2; kind++)
        for (rc = ERR_NOMEM, n = 1; rc != 0; n++) {
            struct err err = {0};
            struct str out = {0};

            mem_fail_after(n);
            rc = kind ? pl_matrix_svg(&out, &m, &err)
                      : pl_chart_svg(&out, &c, &err);
            mem_fail_after(0);
            assert_true(rc == 0 || rc == ERR_NOMEM);
            str_free(&out);
            assert_int_equal(mem_live(), live);
            assert_true(n < 1000);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(curve_has_axes_legend_and_description),
        cmocka_unit_test(equal_input_gives_equal_bytes),
        cmocka_unit_test(nan_and_infinity_break_the_line),
        cmocka_unit_test(what_is_not_finite_is_marked_on_request),
        cmocka_unit_test(log_axis_leaves_out_what_is_not_positive),
        cmocka_unit_test(chart_without_points_says_so),
        cmocka_unit_test(extreme_values_stay_in_the_picture),
        cmocka_unit_test(many_points_are_thinned_but_keep_their_extremes),
        cmocka_unit_test(smoothed_line_runs_through_the_means),
        cmocka_unit_test(texts_are_escaped_and_repaired),
        cmocka_unit_test(long_title_wraps_and_is_cut_in_the_end),
        cmocka_unit_test(legend_rows_stand_above_the_plot),
        cmocka_unit_test(colours_contrast_with_their_background),
        cmocka_unit_test(scatter_has_markers_alone),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
