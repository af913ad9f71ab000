/* How busy and how fast the machine is at a moment: what a time hangs on that
 * no setting fixes. */
#ifndef PIPELINE_HOST_STATE_H
#define PIPELINE_HOST_STATE_H

#include "nn/backend.h"
#include "pipeline/nvml.h"

/* NaN: it cannot be told. */
struct pl_host_state {
    double cpu_mhz;          /* of the core that asks */
    double load;             /* processes that ran or wanted to, last minute */
    double steal, ticks;     /* of all cores since the start of the machine */
    struct pl_gpu_state gpu; /* of be */
};

void pl_host_state(struct pl_host_state *out, const struct nn_backend *be);
/* Percent of the time between the two that other guests of the same machine
 * took; NaN if it cannot be told. */
double pl_host_steal(const struct pl_host_state *before,
                     const struct pl_host_state *after);

#endif
