/* The pieces of a profile's pictures: rows of bars over one axis of time. */
#ifndef PIPELINE_PROFILE_TRACK_H
#define PIPELINE_PROFILE_TRACK_H

#include <stdbool.h>
#include <stdint.h>

#include "nn/base/str.h"
#include "nn/op.h"
#include "pipeline/profile_traced.h"

/* Pixels. */
enum {
    TRACK_WIDTH = 960,
    TRACK_LEFT = 96,
    TRACK_PLOT = 840,
    TRACK_BAR = 30,
    TRACK_GAP = 12,
    TRACK_LINE = 18,
    TRACK_LEVELS = 4,  /* heights that numbers below short slices stand at */
    TRACK_LEGEND = 120 /* slices told by number */
};

/* A bar. Texts are borrowed until the picture is whole. */
struct track_slice {
    int64_t begin, end; /* ns */
    const char *name;
    const struct nn_call *call; /* its layer stands behind the name; NULL */
    const char *phase;          /* gives the colour; "": grey */
    int64_t number;             /* >= 0: "#number" behind the name */
};

struct track {
    struct str *out;
    int64_t begin, length; /* ns, length > 0 */
    int n_legend;
    struct track_slice legend[TRACK_LEGEND];
    double used[TRACK_LEVELS]; /* right end of what stands at each level */
};

/* A picture's part is drawn into body; its height is known at the end. */
void track_begin(struct track *k, struct str *body, int64_t begin, int64_t end);
/* Each row between the two; track_row_end gives the height that it took. */
void track_row_begin(struct track *k, const char *label, double y);
void track_slice(struct track *k, const struct track_slice *s, double y);
double track_row_end(const struct track *k, int n_legend_before);
/* A bar alone, with the text that shows where a pointer rests. */
void track_bar(struct track *k, const struct track_slice *s, double y);
void track_text(struct track *k, double x, double y, const char *anchor,
                const char *text);
/* The axis, and the names of numbered slices; they return where they end. */
double track_axis(struct track *k, double y);
double track_legend(struct track *k, double y);
/* Of a phase; the last one is grey. */
int track_colour(const char *phase);
/* The whole picture; simulated: watermarked as one of the tests' double. */
void track_frame(struct str *out, const struct str *body, double height,
                 const char *title, bool simulated);

struct track_slice track_span(const struct prof_span *s);

#endif
