/* The functions of a program that images need: convolution, pools, norms. */
#include "pipeline/prog_ops.h"

#include "nn/norm.h"

static void take(const struct prog_call *c, struct nn_tensor **in)
{
    int i;

    for (i = 0; i < c->n_in; i++)
        in[i] = c->in[i]->t;
}

/* The weight is a plain tensor here and may lie otherwise in the backend. */
PROG_APPLY(conv2d)
{
    union nn_attrs attrs = {.conv = {1, 0}};
    struct nn_tensor *in[PROG_MAX_IN];
    int rc;

    if ((c->given[0] && prog_call_whole(c, 0, &attrs.conv.stride, err) != 0) ||
        (c->given[1] && prog_call_whole(c, 1, &attrs.conv.padding, err) != 0))
        return ERR_SHAPE;
    take(c, in);
    if (c->n_in < 3)
        c->rule = "y = conv2d(x, W); dx = conv2d_input(g, W); "
                  "dW = conv2d_weight(g, x)";
    rc = nn_tape_weight(r->tape, in[1], &in[1], err);
    return rc != 0 ? rc
                   : nn_tape_apply(r->tape, NN_OP_CONV2D, in, c->n_in, &attrs,
                                   &c->out, err);
}

/* The stride is the kernel's size unless it is said. */
PROG_APPLY(pool2d)
{
    union nn_attrs attrs = {.pool = {0, 0, 0}};
    struct nn_tensor *in[PROG_MAX_IN];

    if (prog_call_whole(c, 0, &attrs.pool.kernel, err) != 0 ||
        (c->given[1] && prog_call_whole(c, 1, &attrs.pool.stride, err) != 0) ||
        (c->given[2] && prog_call_whole(c, 2, &attrs.pool.padding, err) != 0))
        return ERR_SHAPE;
    if (!c->given[1])
        attrs.pool.stride = attrs.pool.kernel;
    c->attr = c->param[0];
    c->attr_name = "k";
    take(c, in);
    return nn_tape_apply(r->tape, c->fn->op, in, c->n_in, &attrs, &c->out, err);
}

/* By the batch's own statistics, as in training; no running ones are kept. */
PROG_APPLY(batch_norm)
{
    struct nn_batch_norm_opts opts = {.eps = 1e-5, .train = true};
    struct nn_tensor *in[PROG_MAX_IN];

    if (c->given[0])
        opts.eps = c->param[0];
    take(c, in);
    return nn_batch_norm(r->tape, in[0], in[1], in[2], &opts, &c->out, err);
}

PROG_APPLY(layer_norm)
{
    union nn_attrs attrs = {.norm = {.eps = 1e-5}};
    struct nn_tensor *in[PROG_MAX_IN];

    if (c->given[0])
        attrs.norm.eps = c->param[0];
    take(c, in);
    return nn_tape_apply(r->tape, c->fn->op, in, c->n_in, &attrs, &c->out, err);
}
