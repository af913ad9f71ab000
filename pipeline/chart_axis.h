/* Where the values of an axis lie, and its ticks. */
#ifndef PIPELINE_CHART_AXIS_H
#define PIPELINE_CHART_AXIS_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/base/str.h"
#include "pipeline/chart.h"

enum { SCALE_MAX_TICKS = 32 };

struct pl_scale {
    bool log;
    double lo, hi; /* lo < hi; what stands at 0 and at 1 */
    double step;   /* between ticks; 0 on a log axis */
    int n_ticks;
    double tick[SCALE_MAX_TICKS];
    int decimals;    /* of the ticks */
    int exponent;    /* ticks stand for their text times 10^exponent */
    bool scientific; /* log: "2x10^-7" */
    bool given;      /* the ticks are the axis' own */
};

/* What an axis can show: finite, above 0 on a log axis. */
bool pl_scale_takes(bool log, double v);

/* A scale over lo..hi (lo > hi: there are no values) with about target ticks,
 * at 1, 2 or 5 times a power of ten. round: lo and hi move out to ticks. */
void pl_scale_fit(struct pl_scale *s, const struct pl_chart_axis *axis,
                  double lo, double hi, int target, bool round);

/* The same with its ticks at the heights of those of left, so that one grid
 * serves both. Both are linear. */
void pl_scale_align(struct pl_scale *s, const struct pl_chart_axis *axis,
                    double lo, double hi, const struct pl_scale *left);

/* 0 at lo, 1 at hi. v is one that the scale takes. */
double pl_scale_at(const struct pl_scale *s, double v);

void pl_scale_add_tick(struct str *out, const struct pl_scale *s, int i);
/* The axis' label with the power of ten that its ticks leave out. */
void pl_scale_add_label(struct str *out, const struct pl_scale *s,
                        const char *label);

#endif
