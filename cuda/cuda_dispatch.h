/* From a call to the function that puts it on the stream. */
#ifndef CUDA_DISPATCH_H
#define CUDA_DISPATCH_H

#include "cuda/cuda_backend.h"

bool cuda_supports(const struct nn_backend *be, const struct nn_call *call);
/* Enqueues; errors of the work itself come with the next wait. */
int cuda_run(struct nn_backend *be, const struct nn_call *call,
             struct err *err);
/* ERR_SHAPE: the operator with the shapes of its operands. */
int cuda_shape_error(const struct nn_call *call, struct err *err);

#endif
