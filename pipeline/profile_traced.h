/* What a profile's record says: steps, phases, operators; and the files that
 * are made of it. */
#ifndef PIPELINE_PROFILE_TRACED_H
#define PIPELINE_PROFILE_TRACED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/prof.h"
#include "nn/base/str.h"
#include "nn/op.h"

/* All calls of one operator in one place of the step. Times in ns. */
struct pl_traced_op {
    const struct nn_call *call; /* the first of them */
    int64_t count, total, min, max;
};

struct pl_traced {
    const struct prof_span **span; /* by thread and time; see nn/base/prof.h */
    size_t n;
    uint64_t lost;
    const struct prof_span **step; /* the ProfilerSteps among them */
    size_t n_steps;
    int64_t steps_ns;                 /* all of them */
    int64_t phase_ns[NN_PHASE_COUNT]; /* of all steps */
    struct pl_traced_op *op;          /* in the order of their first calls */
    size_t n_ops;
};

/* Reads what p recorded, which outlives *out. ERR_NOMEM. */
int pl_traced_read(struct pl_traced *out, const struct prof *p,
                   struct err *err);
void pl_traced_clear(struct pl_traced *t);

/* The spans of the last step, itself first; *n may be 0. */
const struct prof_span *const *pl_traced_last(const struct pl_traced *t,
                                              size_t *n);
double pl_ms(int64_t ns);

/* "4.210 us", "12.3 ms": as long as it has to be. */
void pl_add_duration(struct str *s, int64_t ns);

/* layer,op,role,phase,count,total_us,mean_us,min_us,max_us,share: a row an
 * operator; share is of the time of the traced steps. */
void pl_traced_ops_csv(const struct pl_traced *t, struct str *out);

/* The last step as three tracks, and as one bar with its length and phases.
 * about: what was traced, for the title; simulated: by the tests' double of a
 * GPU, which is written across it. There is a last step. */
void pl_traced_track_svg(const struct pl_traced *t, const char *about,
                         bool simulated, struct str *out);
void pl_traced_span_svg(const struct pl_traced *t, const char *about,
                        bool simulated, struct str *out);

struct pl_traced_gpu;
/* track,name,layer,op,role,phase,begin_us,end_us of the last step, from its
 * begin: tracks step, phase, operator, and of a device (gpu may be NULL) call
 * and "stream 7". */
void pl_traced_last_csv(const struct pl_traced *t,
                        const struct pl_traced_gpu *gpu, struct str *out);
/* For tables: a text with commas or quotes in quotes; "layer,op,role,phase"
 * of a call, NULL: the phase alone. */
void pl_traced_csv_text(struct str *s, const char *text);
void pl_traced_csv_call(struct str *s, const struct nn_call *call,
                        const char *phase);
/* Whether two calls are one operator in one place of the step. */
bool pl_traced_same_op(const struct nn_call *a, const struct nn_call *b);

struct pl_trace_fact;
struct nn_step_memory;
/* What there may be beside the spans; each may be NULL. */
struct pl_traced_more {
    const struct pl_traced_gpu *gpu;
    const struct nn_step_memory *memory; /* timed */
};
/* The trace as a file; see pipeline/trace_write.h. */
int pl_traced_write(const struct pl_traced *t, const struct pl_traced_more *m,
                    const char *path, const struct pl_trace_fact *fact,
                    size_t n_facts, struct err *err);

#endif
