/* The pictures of a run, as SVG texts that stand alone: no script, no font and
 * no file beside them. They follow the reader's light or dark setting, and
 * equal input gives equal bytes. */
#ifndef PIPELINE_CHART_H
#define PIPELINE_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/err.h"
#include "nn/base/str.h"

struct pl_chart_axis {
    const char *label; /* "loss", "accuracy (%)"; NULL or "": none */
    bool log;          /* values of 0 and below are left out */
    bool whole;        /* ticks at whole numbers only: epochs, steps */
    /* Bounds that no tick crosses (0 and 100 for %); both 0: none. */
    double least, most;
    /* n_ticks > 0: ticks at these instead of at round numbers, in rising order;
     * the axis reaches over all of them. For values such as 32, 128, 512. */
    const double *tick;
    size_t n_ticks;
};

/* Points are joined in the order given; one that is NaN or infinite (or not
 * positive on a log axis) breaks the line. Colour, dashes and markers follow
 * the position of the series in its chart, so that lines can be told apart in
 * grey too; up to 60 points have markers. */
struct pl_chart_series {
    const char *name; /* for the legend; NULL or "": not in the legend */
    const double *x, *y;
    /* Both or none, n each: how far y spreads, low <= y <= high; a band around
     * a line, bars at the markers of a scatter chart. */
    const double *low, *high;
    size_t n;
    /* No measurement but a line to hold measurements against: thin, dashed,
     * in the colour of the axes, without markers. Last in the chart, so that
     * it takes no colour from another. */
    bool guide;
    bool right;    /* measured on the right axis */
    size_t smooth; /* > 1: y pale, and a line of its mean over that many points
                      around each */
    int colour, dash; /* 1, 2, ...: not those of its position */
};

enum pl_chart_kind {
    PL_CHART_LINE,
    PL_CHART_SCATTER /* the markers alone */
};

/* Everything is borrowed. Texts are UTF-8; what XML cannot hold is replaced. */
struct pl_chart {
    enum pl_chart_kind kind;
    const char *title; /* wraps when long */
    const char *desc;  /* for screen readers; NULL: made from the series */
    struct pl_chart_axis x, left, right;
    const struct pl_chart_series *series;
    size_t n;
    /* Points whose y is NaN or infinite are crosses at the frame: at its foot
     * for -inf, else at its head, a row for each series; the legend says so.
     * An infinite x stands at the side. */
    bool mark_gaps;
    const char *watermark; /* across the plot, "simulated"; NULL: none */
};

/* Appends the picture to out: 760 wide, the plot 300 high. Any number of
 * points draws quickly: more than a picture can show are thinned to the
 * smallest and largest of each column of pixels. ERR_NOMEM only. */
int pl_chart_svg(struct str *out, const struct pl_chart *c, struct err *err);

/* A confusion matrix: count[i * n + j] samples of class i were taken for j. */
struct pl_matrix {
    const char *title;
    const char *const *labels; /* n names; NULL: 0, 1, ... */
    const int64_t *count;      /* n * n, none negative */
    size_t n;
};

/* Appends a heat map: rows are the true classes, with the accuracy of each,
 * columns what was predicted; the shade is the share of the row, on a square
 * root scale so that rare mistakes are seen. Counts are written into the cells
 * of up to 30 classes. ERR_NOMEM only. */
int pl_matrix_svg(struct str *out, const struct pl_matrix *m, struct err *err);

#endif
