/* A training curve, drawn, for tests of charts. */
#ifndef TESTS_UNIT_CHART_FIXTURE_H
#define TESTS_UNIT_CHART_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/chart.h"
#include "tests/unit/svg_fixture.h"

static const double steps[] = {1, 2, 3, 4, 5};
static const double losses[] = {0.2134, 0.1489, 0.1157, 0.0952, 0.0848};

/* Every point of every line lies in the picture. */
static inline void expect_inside(const char *svg, double height)
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

static inline char *draw(const struct pl_chart *c)
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

static inline struct pl_chart chart_of(const struct pl_chart_series *s,
                                       size_t n)
{
    return (struct pl_chart){.title = "title",
                             .x = {.label = "epoch", .whole = true},
                             .left = {.label = "loss"},
                             .right = {.label = "accuracy (%)", .most = 100},
                             .series = s,
                             .n = n};
}

#endif
