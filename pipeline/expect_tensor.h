/* Expectations about named values that may be tensors. */
#ifndef PIPELINE_EXPECT_TENSOR_H
#define PIPELINE_EXPECT_TENSOR_H

#include "nn/base/str.h"
#include "pipeline/config.h"
#include "pipeline/metrics.h"

/* Whether values hold a tensor of that name: "w" has the elements "w.0", "w.1",
 * a matrix "W.0.0", ... (values.json of an autograd program). */
bool pl_expect_is_tensor(const struct pl_metrics *values, const char *name);

/* Judges e->value, which is a tensor: each element against the bound, against
 * its place in a list of bounds (row by row), or against the same element of
 * e->other, whose shape must agree. What is not finite satisfies nothing.
 * Appends what was measured. holds judges two numbers. */
bool pl_expect_tensor(struct str *measured, const struct pl_expect *e,
                      const struct pl_metrics *values,
                      bool (*holds)(const struct pl_expect *e, double a,
                                    double b));

#endif
