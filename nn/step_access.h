/* For nn/step_memory.c: which call of a recorded step reads, writes or drops
 * which logical tensor. */
#ifndef NN_STEP_ACCESS_H
#define NN_STEP_ACCESS_H

#include "nn/step_memory.h"
#include "nn/train.h"

/* What a call does to a tensor. */
enum {
    NN_ACCESS_READ = 1,
    NN_ACCESS_WRITE = 2,
    NN_ACCESS_PART = 4, /* with WRITE: some of it stays as it was */
    NN_ACCESS_ZERO = 8, /* clear grad, if it is there */
    NN_ACCESS_DROP = 16 /* clear grad with set_to_none */
};

struct nn_access {
    int call, tensor;
    unsigned what;
    bool last; /* nothing of it is read after this call */
};

/* How long a tensor stays. */
enum nn_stay {
    NN_STAY_USED,   /* from a write to its last access */
    NN_STAY_STEP,   /* to the end of the step: the host reads it */
    NN_STAY_ALWAYS, /* once there, until it is dropped */
    NN_STAY_BEFORE  /* the same, and it is there from the start */
};

struct nn_access_list {
    struct nn_memory_tensor *tensor;
    enum nn_stay *stay;
    size_t n_tensor, cap_tensor;
    struct nn_access *access; /* in the order of the calls, one for each
                                 tensor that a call touches */
    size_t n_access, cap_access;
    int64_t padding;
    /* the storages: tensors [first, first + n), views of params, or one */
    struct nn_block {
        const struct nn_storage *st;
        const struct nn_params *params; /* NULL: one, on the tape */
        int first, n;
    } * block;
    size_t n_block, cap_block;
};

/* Of the step; ERR_NOMEM. started: gradients and state are there before. */
int nn_access_find(struct nn_access_list *out, const struct nn_trainer *t,
                   const struct nn_step *step, bool started, struct err *err);
void nn_access_free(struct nn_access_list *a);

#endif
