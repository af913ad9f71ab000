/* Checking one operator: its gradients against central differences, its
 * numbers against a reference. */
#ifndef PIPELINE_OPCHECK_H
#define PIPELINE_OPCHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "nn/backend.h"
#include "nn/gradcheck.h"
#include "pipeline/reference.h"

struct pl_opcheck_opts {
    double eps; /* of the central differences */
    double gradcheck_tolerance;
    double rtol, atol;     /* float64: |a - b| <= atol + rtol |b| */
    double rtol32, atol32; /* float32 */
    uint64_t seed;
};

/* The largest error, and whether every element was within its tolerance. */
struct pl_compared {
    bool made, close;
    double max_error;
};

struct pl_opcheck {
    struct nn_gradcheck_result grad;
    bool grad_ok;
    struct pl_compared f64, f32; /* against the reference */
    struct pl_compared forms;    /* fused against unfused, float32: same bits */
};

/* Runs all checks that c has data for. c->out.data NULL: no reference. A form
 * that has an unfused twin (linear with act, cross_entropy) is compared with
 * it. An error is a failure to run; a wrong number is in the result. */
int pl_opcheck_run(struct pl_opcheck *out, struct nn_backend *be,
                   const struct pl_ref_case *c,
                   const struct pl_opcheck_opts *opts, struct err *err);
bool pl_opcheck_passed(const struct pl_opcheck *o);

#endif
