/* The spans of a profile by time and by number, for what a device tells. */
#ifndef PIPELINE_PROFILE_GPU_SPANS_H
#define PIPELINE_PROFILE_GPU_SPANS_H

#include <stddef.h>
#include <stdint.h>

#include "pipeline/profile_traced.h"

struct gpu_span_id {
    int64_t id;
    size_t span;
};

struct gpu_spans {
    const struct pl_traced *t;
    size_t *parent; /* of each span the one that encloses it; SIZE_MAX */
    struct gpu_span_id *id;
    size_t n_ids;
};

/* *s is to be ended by gpu_spans_free either way; t must outlive it. */
int gpu_spans_make(struct gpu_spans *s, const struct pl_traced *t,
                   struct err *err);
void gpu_spans_free(struct gpu_spans *s);

/* Indices into t->span, SIZE_MAX: there is none. The span of that number; the
 * phase at that time. */
size_t gpu_spans_find(const struct gpu_spans *s, int64_t id);
size_t gpu_spans_phase(const struct gpu_spans *s, int64_t time);
/* Cuts what thread tid did from *begin to *end so that it lies in a span, or
 * within its whole length beside the spans in there: in span, where that is
 * known (not SIZE_MAX), else in the one at its middle. */
void gpu_spans_fit(const struct gpu_spans *s, size_t span, int32_t tid,
                   int64_t *begin, int64_t *end);

#endif
