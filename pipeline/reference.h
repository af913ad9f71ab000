/* Reference numbers of single operators: inputs, result and gradients as
 * another framework computed them, from a JSON file ("cases": [{"op", "attrs",
 * "in", "out", "grad_out", "grad"}, ...]; tensors are {"shape", "data"},
 * row-major). */
#ifndef PIPELINE_REFERENCE_H
#define PIPELINE_REFERENCE_H

#include <stddef.h>
#include <stdint.h>

#include "nn/base/arena.h"
#include "nn/base/err.h"
#include "nn/opcase.h"
#include "nn/tensor.h"

struct pl_ref_tensor {
    const char *name;
    struct nn_shape shape;
    double *data; /* NULL: absent */
    double *grad; /* NULL: no gradient is given */
};

struct pl_ref_case {
    struct nn_opcase op;
    const char *title; /* "cross_entropy label_smoothing=0.1" */
    struct pl_ref_tensor in[NN_MAX_IN];
    int n_in;
    struct pl_ref_tensor out; /* data NULL: nothing to compare with */
    double *grad_out;
};

struct pl_reference {
    struct arena arena;
    const char *source; /* "PyTorch 1.13.0a0" */
    struct pl_ref_case *cases;
    size_t n;
};

/* ERR_CORRUPT names path, case and field. End with pl_reference_free. */
int pl_reference_read(struct pl_reference *r, const char *path,
                      struct err *err);
void pl_reference_free(struct pl_reference *r);

#endif
