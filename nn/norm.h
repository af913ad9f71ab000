/* Batch normalisation as one operator of several calls: the statistics of a
 * batch, what is done with them, and the running ones that evaluation uses. */
#ifndef NN_NORM_H
#define NN_NORM_H

#include "nn/tape.h"

/* Vectors of C, and the count of batches as one int64. */
struct nn_running {
    struct nn_tensor *mean, *var, *batches;
};

struct nn_batch_norm_opts {
    double eps;
    double momentum; /* of the running statistics */
    bool train;      /* x's own statistics, else the running ones */
    const struct nn_running *running; /* NULL: none are kept */
};

/* x (B,C) or (B,C,...) -> *out alike, owned by the tape; w and b (C). In
 * training the running statistics move on. */
int nn_batch_norm(struct nn_tape *tape, struct nn_tensor *x,
                  struct nn_tensor *w, struct nn_tensor *b,
                  const struct nn_batch_norm_opts *opts, struct nn_tensor **out,
                  struct err *err);

#endif
