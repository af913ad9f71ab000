/* The GPU's own records, and the operator that is at hand when they are made:
 * told to CUPTI by the number of its span, and to whatever tool listens
 * (nsys) by an NVTX range. */
#ifndef CUDA_TRACE_H
#define CUDA_TRACE_H

#include "cuda/cuda_backend.h"
#include "nn/device_trace.h"

int cuda_trace_begin(struct nn_backend *be, struct err *err);
int cuda_trace_end(struct nn_backend *be, struct nn_device_trace **out,
                   struct err *err);
void cuda_trace_free(struct cuda *cu); /* ends what was not ended */

/* Around what the host gives to the device under be.at_span; 0: under none. */
void cuda_trace_push(struct cuda *cu);
void cuda_trace_pop(struct cuda *cu);
/* The nodes that are captured from now on are this call's; NULL: nobody's. */
void cuda_trace_capture(struct cuda *cu, const struct nn_call *call);

#endif
