/* Steps and their phases in a trace, and which call launched what. */
#ifndef PIPELINE_TRACE_STEPS_H
#define PIPELINE_TRACE_STEPS_H

#include "pipeline/trace_read.h"

/* An annotation that stands in a step and in no operator or annotation. */
struct trace_phase {
    int64_t ts, end; /* ns */
    uint32_t name;
    const struct trace_slice *slice;
};

struct trace_step {
    int64_t number, ts, end;
    const struct trace_phase *phase; /* in order of time */
    size_t n_phases;
    const struct trace_slice *slice;
};

/* A slice by its correlation. */
struct trace_link {
    int64_t link;
    const struct trace_slice *slice;
};

struct trace_steps {
    struct trace_step *step; /* in order of time */
    size_t n;
    struct trace_phase *phase;
    size_t n_phases;
    struct trace_link *call; /* runtime calls by correlation, none without */
    size_t n_calls;
    struct trace_link *gpu; /* kernels and copies alike */
    size_t n_gpu;
};

/* *s is to be ended by trace_steps_free either way; t must outlive it. */
int trace_steps_make(struct trace_steps *s, const struct trace *t,
                     struct err *err);
void trace_steps_free(struct trace_steps *s);

/* The step at time ts, or NULL. */
const struct trace_step *trace_step_at(const struct trace_steps *s, int64_t ts);
/* How many of its phases are going on at ts: 0, 1, or 2 for more; *first is one
 * of them. */
size_t trace_phases_at(const struct trace_step *step, int64_t ts,
                       const struct trace_phase **first);
/* The first of those with that correlation, and how many there are. */
const struct trace_link *trace_links(const struct trace_link *link, size_t n,
                                     int64_t correlation, size_t *found);
/* The call that launched a kernel or copy; NULL: none, or several. */
const struct trace_slice *trace_launch_of(const struct trace_steps *s,
                                          const struct trace_slice *gpu_op);
/* Whether a call of that name puts something on a GPU's timeline; whether as
 * much as a graph has. */
bool trace_is_launch(const char *call);
bool trace_is_graph_launch(const char *call);

#endif
