/* Calls of a recorded step that the device does in fewer kernels, under fusion:
 * all. Same bits. */
#ifndef CUDA_FUSE_H
#define CUDA_FUSE_H

#include "cuda/cuda_backend.h"
#include "nn/step.h"

/* A loss and its gradient with respect to the logits. What the gradient has of
 * the loss (largest logit, exponentials and their sum) is computed once. */
struct cuda_loss_pair {
    const struct nn_call *loss; /* CROSS_ENTROPY, summed */
    const struct nn_call *grad; /* its CROSS_ENTROPY_GRAD */
};

/* Whether call i of the step is the gradient of such a pair, which is then run
 * in its place. */
bool cuda_fuse_loss(struct cuda_loss_pair *out, const struct nn_step *s, int i);
int cuda_run_loss_pair(struct cuda *cu, const struct cuda_loss_pair *pair,
                       struct err *err);

/* Whether nothing is left to do for call i: the loss of a pair, and the filling
 * of its upstream gradient with a number that it holds since the step was
 * recorded. */
bool cuda_fuse_drops(const struct nn_step *s, int i);

#endif
