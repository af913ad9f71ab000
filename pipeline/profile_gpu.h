/* What a device recorded of the traced steps, each event in its place: the
 * step, phase and operator that it belongs to, and the call that gave it. */
#ifndef PIPELINE_PROFILE_GPU_H
#define PIPELINE_PROFILE_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/device_trace.h"
#include "pipeline/profile_traced.h"

#define PL_GPU_NONE SIZE_MAX

struct pl_gpu_event {
    const struct nn_device_event *of;
    /* As it is drawn, in ns. Two clocks differ a little: a call is cut to the
     * span that it was made in; what a device did begins no earlier than its
     * launch and than the end of what went before it on its stream. */
    int64_t begin, end;
    const struct nn_call *call; /* the operator; NULL: of none */
    const char *phase;          /* "": of none */
    size_t span;   /* in pl_traced.span: the operator's; PL_GPU_NONE */
    size_t step;   /* in pl_traced.step */
    size_t launch; /* not of a call: what gave it, in pl_traced_gpu.call */
    size_t gave;   /* of a call: how many */
};

/* Of each stream of each device what follows each other in one phase of one
 * step. */
struct pl_gpu_phase {
    const char *name; /* never "" */
    size_t first, n;  /* of pl_traced_gpu.op */
    int64_t begin, end;
    size_t span; /* the phase's on the CPU; PL_GPU_NONE */
};

struct pl_traced_gpu {
    const struct nn_device_trace *trace;
    struct pl_gpu_event *call; /* by thread and time */
    size_t n_calls;
    struct pl_gpu_event *op; /* kernels, copies, fills by stream and time */
    size_t n_ops;
    struct pl_gpu_phase *phase; /* in the order of op */
    size_t n_phases;
    /* Left out: work whose launch, or a launch whose work was not recorded. */
    uint64_t unmatched;
};

/* What happened outside the traced steps is left out, and so are launches that
 * were captured, which gave the device nothing. t and trace outlive *out.
 * ERR_NOMEM. */
int pl_gpu_read(struct pl_traced_gpu *out, const struct pl_traced *t,
                const struct nn_device_trace *trace, struct err *err);
void pl_gpu_clear(struct pl_traced_gpu *g);

/* Whether two events are on one stream. */
bool pl_gpu_same_stream(const struct pl_gpu_event *a,
                        const struct pl_gpu_event *b);

/* Of one step, from its begin to its end or that of its last work. */
struct pl_gpu_sums {
    int64_t begin, end; /* ns */
    int64_t busy;       /* ns in which some stream worked */
    int64_t h2d_ns, h2d_bytes, wait_ns;
    int64_t kernels, launches;
};
/* step: in t->step. ERR_NOMEM. */
int pl_gpu_sum_up(const struct pl_traced_gpu *g, const struct pl_traced *t,
                  size_t step, struct pl_gpu_sums *out, struct err *err);

/* layer,op,role,phase,kernel,count,total_us,...,bytes: a row for each kernel,
 * copy and fill of each operator; share is of the time of the traced steps. */
int pl_gpu_kernels_csv(const struct pl_traced_gpu *g, const struct pl_traced *t,
                       struct str *out, struct err *err);

/* The last step: its phases on the CPU and on the GPU, and a row a stream. See
 * pl_traced_track_svg. ERR_NOMEM. */
int pl_gpu_track_svg(const struct pl_traced_gpu *g, const struct pl_traced *t,
                     const char *about, struct str *out, struct err *err);

#endif
