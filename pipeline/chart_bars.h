/* Bars side by side, in groups. See pipeline/chart.h for what all pictures
 * have in common. */
#ifndef PIPELINE_CHART_BARS_H
#define PIPELINE_CHART_BARS_H

#include <stddef.h>

#include "nn/base/err.h"
#include "nn/base/str.h"
#include "pipeline/chart.h"

struct pl_bar_series {
    const char *name;    /* for the legend */
    const double *value; /* of each group; NaN: none, which is said */
};

/* Everything is borrowed; texts are UTF-8. */
struct pl_bars {
    const char *title;
    const char *desc; /* for screen readers; NULL: made from the series */
    struct pl_chart_axis axis;
    const char *const *groups; /* n_groups names */
    size_t n_groups;
    const struct pl_bar_series *series;
    size_t n;
    const char *watermark; /* across the bars, "SIMULATED"; NULL: none */
};

/* Appends the picture: groups from the top down, a bar a series in each, from
 * left to right, with its value behind it. A linear axis begins at 0; on a log
 * axis values of 0 and below have no bar. ERR_NOMEM only. */
int pl_bars_svg(struct str *out, const struct pl_bars *c, struct err *err);

#endif
