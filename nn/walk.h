/* Broadcasting by numpy's rule: shapes aligned at the last dimension, a
 * dimension of 1 repeated. */
#ifndef NN_WALK_H
#define NN_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "nn/tensor.h"

/* A walk over a shape in row-major order with the place of each element in
 * two tensors, which may repeat. Dimensions that both walk alike are merged;
 * the last one is the run that a kernel does in one go. */
struct nn_walk {
    int ndim;
    int64_t dim[NN_MAX_DIMS];
    int64_t step[2][NN_MAX_DIMS]; /* elements; 0: repeated */
    int64_t run;                  /* dim of the last */
    int64_t runs;                 /* product of the others */
};

/* Walks over full; a and b broadcast to it. false: they do not. */
bool nn_walk_init(struct nn_walk *w, const struct nn_shape *full,
                  const struct nn_shape *a, const struct nn_shape *b);

/* Where run r begins in both tensors. */
void nn_walk_offsets(const struct nn_walk *w, int64_t r, int64_t offset[2]);

/* How far apart the elements of a run are in tensor k: 0 or 1. */
static inline int64_t nn_walk_step(const struct nn_walk *w, int k)
{
    return w->step[k][w->ndim - 1];
}

#endif
