/* Checking an own operator: its gradients against central differences, and all
 * of it against the built-in one that it is said to be, in float64. */
#ifndef PIPELINE_OPERATOR_CHECK_H
#define PIPELINE_OPERATOR_CHECK_H

#include "nn/base/arena.h"
#include "pipeline/operator.h"

/* Of one gradient: the element that is off the most. */
struct pl_operator_grad {
    const char *name; /* "dW" */
    bool ok;
    /* the largest |backward - difference| / max(1, |backward|, |difference|);
     * infinite where one is not a number or its shape is wrong */
    double max_error;
    int64_t checked, off; /* elements compared, and those past the tolerance */
    int64_t kinks; /* left out: the two one-sided differences do not agree */
    const char *element;    /* "dW[1, 2]", or NULL */
    double backward, slope; /* there */
    struct nn_shape x;      /* of that case */
    const char *why;        /* what is wrong but for numbers, or NULL */
};

struct pl_operator_result {
    struct pl_operator_grad grad[PL_OPERATOR_IN];
    int n_grad;
    bool grad_ok;       /* all of them */
    double grad_error;  /* the largest */
    const char *broken; /* why backward did not run, with its place, or NULL */
    /* with same_as: */
    bool compared, close;
    double close_error;  /* the largest |a - b| */
    const char *differs; /* "y" or "dW": where it is; or NULL */
    int cases;           /* shapes and inputs that were tried */
};

struct pl_operator_opts {
    double eps;        /* of the differences */
    double tolerance;  /* of a gradient's error */
    double rtol, atol; /* |a - b| <= atol + rtol |b|, b the built-in one's */
    uint64_t seed;
    bool (*stop)(void *user); /* NULL: never */
    void *user;
};
struct pl_operator_opts pl_operator_opts(void); /* what is usual */

/* Tries o on be with random inputs of several shapes; those that forward does
 * not fit, and inputs whose y is not finite, are left out. Texts of the result
 * are in arena. What is wrong with o is in the result; ERR_SHAPE if forward
 * fits nothing that was tried. */
int pl_operator_test(struct pl_operator_result *out,
                     const struct pl_operator *o, struct nn_backend *be,
                     const struct pl_operator_opts *opts, struct arena *arena,
                     struct err *err);

/* "dW[1, 2] is 0.5 by backward and -0.5 by differences, ...": the first thing
 * that is wrong with the gradients; NULL: out of memory. */
const char *pl_operator_fault(const struct pl_operator_result *r,
                              struct arena *arena);

#endif
