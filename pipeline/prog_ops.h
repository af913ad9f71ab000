/* What the functions of a program do; the rows of prog_fn.c name them. */
#ifndef PIPELINE_PROG_OPS_H
#define PIPELINE_PROG_OPS_H

#include "pipeline/prog_run.h"

/* c->in are tensors; leaves the result in c->out (or c->truth), and, where the
 * operator's own text does not fit, a rule in c->rule. */
#define PROG_APPLY(name) \
    int prog_apply_##name(struct prog_run *r, struct prog_call *c, \
                          struct err *err)

PROG_APPLY(plain);
PROG_APPLY(pow);
PROG_APPLY(reduce);
PROG_APPLY(rows);
PROG_APPLY(dropout);
PROG_APPLY(loss);
PROG_APPLY(reshape);
PROG_APPLY(squeeze);
PROG_APPLY(unsqueeze);
PROG_APPLY(transpose);
PROG_APPLY(slice);
PROG_APPLY(cat);
PROG_APPLY(cast);
PROG_APPLY(embedding);
PROG_APPLY(conv2d);
PROG_APPLY(pool2d);
PROG_APPLY(batch_norm);
PROG_APPLY(layer_norm);
PROG_APPLY(matmul);
PROG_APPLY(linear);
PROG_APPLY(logsumexp);
PROG_APPLY(one_hot);
PROG_APPLY(step);
PROG_APPLY(sign);
PROG_APPLY(isfinite);
PROG_APPLY(detach);
PROG_APPLY(shares);
PROG_APPLY(requires);
PROG_APPLY(is_leaf);
PROG_APPLY(has_grad);
PROG_APPLY(backward);
PROG_APPLY(zero_grad);

/* Parameter i, which must be a whole number. */
int prog_call_whole(const struct prog_call *c, int i, int64_t *out,
                    struct err *err);
/* Parameter i as an axis of ndim, counted from behind where it is below 0. */
int prog_call_axis(const struct prog_call *c, int i, int ndim, int *out,
                   struct err *err);
/* The class or row numbers of t, a float tensor, as int32; int32 as it is. */
int prog_as_index(struct prog_run *r, struct nn_tensor *t,
                  struct nn_tensor **out, struct err *err);

#endif
