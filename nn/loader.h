/* The order in which samples reach training, epoch by epoch: that of PyTorch's
 * DataLoader, iterated once an epoch. */
#ifndef NN_LOADER_H
#define NN_LOADER_H

#include <stdbool.h>
#include <stdint.h>

#include "nn/base/err.h"
#include "nn/base/rng.h"
#include "nn/data.h"

struct nn_loader_opts {
    int64_t batch_size; /* >= 1 */
    bool shuffle;
    bool drop_last;  /* leave out the last batch if it is not full */
    int extra_iters; /* >= 0: other loaders that the notebook iterates after
                      * each epoch of this one (its test loader), each without
                      * shuffle: they draw from the same generator */
};

/* Batch i of an epoch is samples order[first .. first + count) of data. */
struct nn_loader {
    const struct nn_data *data; /* borrowed */
    struct rng_mt *gen; /* borrowed: the default generator, which also made
                         * the initial weights */
    struct nn_loader_opts opts;
    int64_t *order;      /* data->n numbers, the same memory in every epoch */
    struct rng_mt start; /* gen as this epoch began */
    bool in_epoch;
};

/* *out is the caller's (nn_loader_free); data and gen must outlive it. Nothing
 * is drawn yet. ERR_CONFIG if an option is out of range or drop_last leaves no
 * batch. */
int nn_loader_new(struct nn_loader **out, const struct nn_data *data,
                  struct rng_mt *gen, const struct nn_loader_opts *opts,
                  struct err *err);
void nn_loader_free(struct nn_loader *l); /* NULL is fine */

/* Draws the workers' base seed, then with shuffle the sampler's seed, and
 * fills order: randperm(n) of a fresh generator, or 0 .. n - 1. */
void nn_loader_begin_epoch(struct nn_loader *l);
/* Draws what the extra loaders would. */
void nn_loader_end_epoch(struct nn_loader *l);

int64_t nn_loader_batches(const struct nn_loader *l); /* of an epoch */
/* 0 <= i < nn_loader_batches. */
void nn_loader_batch(const struct nn_loader *l, int64_t i, int64_t *first,
                     int64_t *count);

/* What to save in order to resume: the generator as the epoch began, or as it
 * is between epochs. After restore and begin_epoch the order is that of the
 * saved epoch again, and all later ones follow. */
const struct rng_mt *nn_loader_state(const struct nn_loader *l);
void nn_loader_restore(struct nn_loader *l, const struct rng_mt *state);

#endif
