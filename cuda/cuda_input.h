/* Batches on their way to the GPU, in one of three ways (nn_data_path):
 * DEVICE keeps the whole set there as it is stored (bytes stay bytes) and
 * gathers by index; PINNED gathers on the host into pinned memory and copies
 * the next batch while this one is trained on; PAGEABLE gathers and copies as
 * a plain notebook does. Same bits whichever. */
#ifndef CUDA_INPUT_H
#define CUDA_INPUT_H

#include "cuda/cuda_backend.h"

int cuda_input_new(struct cuda_input **out, struct err *err);
void cuda_input_free(struct cuda_input *in, struct cuda *cu); /* NULL is fine */

/* Forgets data sets and batches ahead: a stage that ends may free them. The
 * stream has nothing to do. */
void cuda_input_forget(struct cuda_input *in, struct cuda *cu);

/* The host's part of a BATCH call: which samples it takes, and, but for
 * DEVICE, all of it. Comes before each launch of a graph with the call in. */
int cuda_input_begin(struct cuda *cu, const struct nn_call *batch,
                     struct err *err);

#endif
