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
PROG_APPLY(pool2d);
PROG_APPLY(layer_norm);
PROG_APPLY(matmul);
PROG_APPLY(linear);
PROG_APPLY(detach);
PROG_APPLY(shares);
PROG_APPLY(requires);
PROG_APPLY(is_leaf);
PROG_APPLY(has_grad);
PROG_APPLY(backward);
PROG_APPLY(zero_grad);

#endif
