/* Gradients by backward against central differences, in float64. */
#ifndef NN_GRADCHECK_H
#define NN_GRADCHECK_H

#include <stdint.h>

#include "nn/tape.h"

/* Applies what is to be checked to the inputs; *out belongs to the tape. */
typedef int (*nn_gradcheck_fn)(void *user, struct nn_tape *tape,
                               struct nn_tensor *const *in,
                               struct nn_tensor **out, struct err *err);

struct nn_gradcheck_result {
    /* the largest |backward - difference| / max(1, |backward|, |difference|) */
    double max_error;
    int input; /* where it was */
    int64_t element;
    int64_t checked; /* elements compared */
};

struct nn_gradcheck {
    struct nn_tensor *const *in;
    int n;
    nn_gradcheck_fn fn;
    void *user; /* handed to fn */
    double eps;
    uint64_t seed;
};

/* in: n tensors; those that require a gradient are float64 leaves made so by
 * nn_tensor_require_grad and are moved by +-eps element by element (and set
 * back). The function's output is weighed with fixed numbers in [-1, 1] drawn
 * from seed, so that every output element counts. Kinks: the caller keeps its
 * inputs further than eps from them. */
int nn_gradcheck(struct nn_gradcheck_result *out, struct nn_backend *be,
                 const struct nn_gradcheck *what, struct err *err);

#endif
