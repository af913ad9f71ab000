#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/chart.h"
#include "pipeline/chart_axis.h"

static const double steps[] = {1, 2, 3, 4, 5};
static const double losses[] = {0.2134, 0.1489, 0.1157, 0.0952, 0.0848};
static const double accuracies[] = {93.91, 95.62, 96.57, 97.16, 97.48};

/* ---- helpers ---- */

static size_t count(const char *text, const char *what)
{
    size_t n = 0;

    for (text = strstr(text, what); text; text = strstr(text + 1, what))
        n++;
    return n;
}

/* Every tag is closed by one of its name, in the right order. */
static void expect_well_formed(const char *xml)
{
    const char *open[16] = {NULL};
    size_t len[16] = {0};
    int depth = 0;

    for (xml = strchr(xml, '<'); xml; xml = strchr(xml + 1, '<')) {
        const char *end = strchr(xml, '>');
        size_t n = strcspn(xml + 1, " />\n");

        assert_non_null(end);
        if (xml[1] == '/') {
            assert_true(depth > 0);
            depth--;
            n = strcspn(xml + 2, ">");
            assert_int_equal(n, len[depth]);
            assert_memory_equal(xml + 2, open[depth], n);
        } else if (end[-1] != '/') {
            assert_true(depth < 16);
            open[depth] = xml + 1;
            len[depth++] = n;
        }
    }
    assert_int_equal(depth, 0);
}

/* Every point of every line lies in the picture. */
static void expect_inside(const char *svg, double height)
{
    const char *p = svg;
    double x, y;

    while ((p = strstr(p, " d=\"M")) != NULL) {
        const char *end = strchr(p += 4, '"');

        for (; p < end; p += strcspn(p + 1, "ML\"") + 1)
            if (sscanf(p, "%*1[ML]%lf,%lf", &x, &y) == 2) {
                if (!(x >= 0 && x <= 760 && y >= 0 && y <= height))
                    fail_msg("%g,%g lies outside", x, y);
            }
    }
}

static char *draw(const struct pl_chart *c)
{
    struct err err = {0};
    struct str out = {0};
    double height;

    assert_int_equal(pl_chart_svg(&out, c, &err), 0);
    expect_well_formed(out.text);
    height = strtod(strstr(out.text, "height=\"") + 8, NULL);
    expect_inside(out.text, height);
    return out.text;
}

static struct pl_chart chart_of(const struct pl_chart_series *s, size_t n)
{
    return (struct pl_chart){.title = "title",
                             .x = {.label = "epoch", .whole = true},
                             .left = {.label = "loss"},
                             .right = {.label = "accuracy (%)", .most = 100},
                             .series = s,
                             .n = n};
}

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

/* ---- axes ---- */

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

/* ---- charts ---- */

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

/* ---- matrix ---- */

static char *draw_matrix(const struct pl_matrix *m)
{
    struct err err = {0};
    struct str out = {0};

    assert_int_equal(pl_matrix_svg(&out, m, &err), 0);
    expect_well_formed(out.text);
    return out.text;
}

static void matrix_shows_counts_and_accuracies(void **state)
{
    static const int64_t n[] = {98, 2, 0, 30, 70, 0, 0, 0, 0};
    static const char *const labels[] = {"cat", "dog & co", "none"};
    const struct pl_matrix m = {"Confusion", labels, n, 3};
    char *svg = draw_matrix(&m);

    (void)state;
    assert_non_null(strstr(svg, "class=\"dark\">98</text>"));
    assert_non_null(strstr(svg, "text-anchor=\"middle\">30</text>"));
    assert_int_equal(count(svg, "class=\"faint\">0</text>"), 5);
    assert_int_equal(count(svg, ">dog &amp; co</text>"), 2);
    assert_non_null(strstr(svg, ">98.0 %</text>"));
    assert_non_null(strstr(svg, ">70.0 %</text>"));
    assert_non_null(strstr(svg, ">\xe2\x80\x93</text>")); /* no sample */
    assert_non_null(strstr(svg, ">168 of 200 right: 84.0 %</text>"));
    mem_free(svg);
}

static void matrix_of_many_classes_has_no_counts(void **state)
{
    int64_t *n = mem_array(50 * 50, sizeof *n);
    const struct pl_matrix m = {"Many", NULL, n, 50};
    char *svg;
    size_t i;

    (void)state;
    for (i = 0; i < 50; i++)
        n[i * 50 + i] = 1234567;
    svg = draw_matrix(&m);
    assert_null(strstr(svg, ">1234567<"));
    assert_int_equal(count(svg, ">48</text>"), 2);
    mem_free(svg);
    mem_free(n);
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
        cmocka_unit_test(linear_ticks_are_round_and_enclose_the_values),
        cmocka_unit_test(power_of_ten_goes_to_the_label),
        cmocka_unit_test(whole_axis_has_no_fractions),
        cmocka_unit_test(no_tick_crosses_the_bounds),
        cmocka_unit_test(both_axes_share_one_grid),
        cmocka_unit_test(log_ticks_are_decades_or_their_parts),
        cmocka_unit_test(curve_has_axes_legend_and_description),
        cmocka_unit_test(equal_input_gives_equal_bytes),
        cmocka_unit_test(nan_and_infinity_break_the_line),
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
        cmocka_unit_test(matrix_shows_counts_and_accuracies),
        cmocka_unit_test(matrix_of_many_classes_has_no_counts),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
