/* The recorded step as a CUDA graph: captured once, launched every step. */
#ifndef CUDA_GRAPH_H
#define CUDA_GRAPH_H

#include "nn/step.h"

int cuda_step_prepare(struct nn_backend *be, struct nn_step *step,
                      struct err *err);
int cuda_step_run(struct nn_backend *be, struct nn_step *step, struct err *err);
void cuda_step_release(struct nn_backend *be, struct nn_step *step);

#endif
