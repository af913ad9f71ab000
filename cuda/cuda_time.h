/* The device's own clock: events on the computing stream. */
#ifndef CUDA_TIME_H
#define CUDA_TIME_H

#include "cuda/cuda_backend.h"

int cuda_mark(struct nn_backend *be, int i, struct err *err);
int cuda_elapsed(struct nn_backend *be, int i, int j, double *seconds,
                 struct err *err);
void cuda_marks_free(struct cuda *cu);

#endif
