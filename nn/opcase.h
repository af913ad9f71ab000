/* An operator with its settings under the name that a reference table uses:
 * "cross_entropy" with label smoothing, "linear" fused with relu, ... One way
 * to apply them all, for checks. */
#ifndef NN_OPCASE_H
#define NN_OPCASE_H

#include <stdbool.h>
#include <stdint.h>

#include "nn/tape.h"

struct nn_opcase {
    const char *op;
    bool sum;               /* a loss is summed, not averaged */
    double label_smoothing; /* cross_entropy */
    double pos_weight;      /* bce_with_logits; 0 and 1: none */
    double exponent;        /* pow */
    int dim;                /* sum, max, cat, ...: the axis; NN_AXIS_ALL: all */
    int dim2;               /* transpose: the other one */
    int64_t start, stop;    /* slice */
    int64_t kernel, stride, padding; /* conv2d, pools; stride 0: its default */
    double eps;                      /* norms */
    double p;                        /* dropout */
    enum nn_act act;                 /* linear: an activation behind it... */
    bool unfused;                    /* ...as an operator of its own */
    bool composed; /* cross_entropy as log_softmax, times one-hot, summed */
};

/* Whether op is known, and how many operands it takes. */
bool nn_opcase_known(const char *op, int *n_in);
/* Operand i of op is a class index (int32), no float. */
bool nn_opcase_is_index(const char *op, int i);
/* Operand i of op is a weight matrix (NN_WEIGHT). */
bool nn_opcase_is_weight(const char *op, int i);

int nn_opcase_apply(const struct nn_opcase *c, struct nn_tape *tape,
                    struct nn_tensor *const *in, struct nn_tensor **out,
                    struct err *err);

#endif
