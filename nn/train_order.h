/* The order of the calls that a training loop makes, with PyTorch's meaning
 * (zero_grad with set_to_none). Gradients stay from step to step until they
 * are cleared, and backward adds to what is there; an optimizer that finds no
 * gradients changes nothing. */
#ifndef NN_TRAIN_ORDER_H
#define NN_TRAIN_ORDER_H

#include <stdbool.h>

#include "nn/base/err.h"

enum nn_part {
    NN_PART_ZERO_GRAD,
    NN_PART_FORWARD,
    NN_PART_LOSS, /* where it is not named it belongs to forward */
    NN_PART_BACKWARD,
    NN_PART_STEP,
    NN_PART_COUNT
};
const char *nn_part_name(enum nn_part p); /* "zero_grad", ... */

/* n 0: forward, zero_grad, backward, step. Room for one more than there are
 * different ones, so that too long a list is told as one with a part twice. */
struct nn_train_order {
    enum nn_part part[NN_PART_COUNT + 1];
    int n;
};

/* ERR_CONFIG unless forward, backward and step are there once, zero_grad and
 * loss at most once, and forward, loss, backward follow each other in this
 * order. *bad (may be NULL) is the index of what is wrong, n when something is
 * missing. */
int nn_train_order_check(const struct nn_train_order *o, int *bad,
                         struct err *err);

/* What an order that passed the check comes to. */
struct nn_order_plan {
    struct nn_train_order order; /* never empty */
    bool adds;          /* nothing clears the gradients that backward adds to */
    bool carries;       /* a step begins with gradients of the one before that
                           count: they are part of the state */
    bool updates;       /* the optimizer finds gradients ... */
    bool updates_first; /* ... in the first step too */
    bool between;       /* the optimizer stands between forward and backward */
};
struct nn_order_plan nn_train_order_plan(const struct nn_train_order *o);

/* Where p stands in the order, or -1. */
int nn_train_order_index(const struct nn_train_order *o, enum nn_part p);

#endif
