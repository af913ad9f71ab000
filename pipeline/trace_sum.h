/* Sums a trace up while it is read, so that what is kept of it are steps,
 * phases and when the GPUs were busy, not every slice. It wants of each thread
 * that its operators, its calls and its other slices each come in order of
 * time, as PyTorch and this program write them. */
#ifndef PIPELINE_TRACE_SUM_H
#define PIPELINE_TRACE_SUM_H

#include "pipeline/trace_read.h"

/* Slices of one name. Times in ns; self: without what they enclose of their
 * own group. */
struct trace_stat {
    const char *name;
    uint64_t n;
    int64_t total, self;
};

struct trace_interval {
    int64_t from, to; /* ns */
};

enum trace_stream { STREAM_OPS, STREAM_CALLS, STREAM_OTHER, TRACE_STREAMS };

struct trace_sum_track; /* what is under way on one track */

struct trace_sum {
    bool disorder; /* reading ended as slices came out of order */
    struct trace_stat *stat[TRACE_STREAMS], *gpu; /* by name, n_names each */
    size_t n_names;
    struct trace_sum_track *track;
    size_t n_tracks;
    int64_t from, to; /* of all slices; from > to: there is none */
};

struct trace_sum *trace_sum_new(void);    /* NULL: no memory */
void trace_sum_free(struct trace_sum *x); /* NULL is fine */

/* Takes a slice into t->sum. ERR_CORRUPT with disorder set: it had to come
 * earlier; ERR_NOMEM. */
int trace_sum_add(struct trace *t, const struct trace_slice *s,
                  struct err *err);
/* Nothing more comes. */
int trace_sum_end(struct trace *t, struct err *err);

/* When something ran on a track of a GPU, and how often; merged where they
 * touch, and not sorted. */
const struct trace_interval *trace_sum_busy(const struct trace_sum *x,
                                            size_t track, size_t *n,
                                            uint64_t *ops);

#endif
