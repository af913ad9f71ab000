/* CUPTI's records as events of a trace. */
#ifndef CUDA_TRACE_READ_H
#define CUDA_TRACE_READ_H

#include "cuda/cuda_cupti.h"
#include "cuda/cuda_trace_graph.h"
#include "nn/base/err.h"
#include "nn/device_trace.h"

/* Reads the buffers that were kept into t, whose device is known. The nodes
 * are sorted. ERR_NOMEM. */
int cuda_trace_read(struct nn_device_trace *t, const struct cupti *c,
                    const struct cuda_nodes *nodes, struct err *err);

#endif
