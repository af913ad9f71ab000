/* Ranges with our labels for tools that listen by NVTX: `nsys profile pipeline
 * run ...` shows phases ("forward") and operators ("linear 0 forward"). Where
 * no tool is attached, or the toolkit has no NVTX, cuda.nvtx is NULL and there
 * are none. */
#ifndef CUDA_NVTX_H
#define CUDA_NVTX_H

#include "cuda/cuda_backend.h"

void cuda_nvtx_open(struct cuda *cu);
void cuda_nvtx_close(struct cuda *cu);

/* The calls of cuda.nvtx, which is not NULL. The phase goes on until another
 * begins or the host waits for the device. */
void cuda_nvtx_phase(struct cuda *cu, const char *name); /* NULL: it ends */
void cuda_nvtx_begin(struct cuda *cu, const struct nn_call *call);
void cuda_nvtx_begin_named(struct cuda *cu, const char *name);
void cuda_nvtx_end(struct cuda *cu);

#endif
