/* Drawing the points of one series. */
#ifndef PIPELINE_CHART_SERIES_H
#define PIPELINE_CHART_SERIES_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/base/str.h"
#include "pipeline/chart.h"
#include "pipeline/chart_axis.h"

enum { CHART_MAX_MARKERS = 60 };

/* The rectangle that a series is drawn in, in pixels, and its scales. */
struct pl_plot {
    double left, right, top, bottom;
    const struct pl_scale *x, *y;
};

/* How a series is told from the others. */
struct pl_look {
    int colour, dash, marker; /* from 0 */
    bool line, markers, guide;
};
struct pl_look pl_series_look(const struct pl_chart *c, size_t i);

/* Draws series i of c. ERR_NOMEM only. */
int pl_series_add(struct str *out, const struct pl_chart *c, size_t i,
                  const struct pl_plot *plot, struct err *err);

/* Draws the crosses of series i, where y is NaN or infinite. */
void pl_series_add_gaps(struct str *out, const struct pl_chart *c, size_t i,
                        const struct pl_plot *plot);
bool pl_series_has_gaps(const struct pl_chart_series *s);
/* A cross, to be stroked. */
void pl_cross_add(struct str *out, double x, double y);

/* A marker without text; its element is left open for a <title>. */
void pl_marker_begin(struct str *out, int marker, double x, double y);
void pl_marker_end(struct str *out, int marker);

/* v with six significant digits. */
void pl_chart_add_value(struct str *out, double v);

#endif
