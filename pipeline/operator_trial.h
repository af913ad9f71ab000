/* One try of an own operator on inputs of its own, in float64. Shared by
 * operator_check.c and operator_trial.c. */
#ifndef PIPELINE_OPERATOR_TRIAL_H
#define PIPELINE_OPERATOR_TRIAL_H

#include "nn/base/arena.h"
#include "nn/base/rng.h"
#include "pipeline/builtin.h"
#include "pipeline/operator.h"

/* Zero-initialise, set o, be and shape. */
struct operator_trial {
    const struct pl_operator *o;
    struct nn_backend *be;
    struct nn_shape shape[PL_OPERATOR_IN];
    struct arena arena; /* of all numbers */
    double *data[PL_OPERATOR_IN];
    struct nn_tensor *in[PL_OPERATOR_IN];
    double *y, *weight; /* weight: of each y, the gradient that is put in */
    double *moved;      /* y, of inputs that were moved */
    int64_t n_y;
    struct nn_shape y_shape;
    bool finite; /* all of y */
    double *grad[PL_OPERATOR_IN];
    struct nn_shape grad_shape[PL_OPERATOR_IN];
    /* what a built-in one gives: y and grad, or of a loss their sum over the
     * samples */
    double *sum, *sum_grad[PL_OPERATOR_IN];
    int64_t n_sum;
};

struct operator_builtin {
    double *y, *grad[PL_OPERATOR_IN]; /* in the operands' order, or NULL */
    int64_t n_y;
};

/* Makes the inputs, drawn from within the interval (a target's from 0 to 1, or
 * class numbers). */
int operator_trial_draw(struct operator_trial *t, const float interval[2],
                        struct rng_mt *gen, struct err *err);
/* y and finite, and the weights. ERR_SHAPE: forward does not fit the shapes. */
int operator_trial_forward(struct operator_trial *t, struct rng_mt *gen,
                           struct err *err);
/* grad, sum and sum_grad. ERR_SHAPE: backward fails. */
int operator_trial_backward(struct operator_trial *t, struct err *err);
/* *change: the sum of weight * (y there - y) with one element of operand i at
 * another value. */
int operator_trial_moved(struct operator_trial *t, int i, int64_t at,
                         double value, double *change, struct err *err);
/* The same inputs through the operator that o is said to be. */
int operator_trial_builtin(struct operator_builtin *out,
                           struct operator_trial *t, struct err *err);
void operator_trial_end(struct operator_trial *t);

#endif
