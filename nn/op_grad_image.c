/* Gradients of convolution, pooling and normalisation. */
#include "nn/op_rules.h"

NN_GRAD_RULE(conv2d)
{
    const struct nn_call *f = &node->call;
    struct nn_call c;
    int rc;

    c = nn_grad_call(NN_OP_CONV2D_GRAD_INPUT, grad_out, f->in[1]);
    c.attrs = f->attrs;
    c.role = NN_ROLE_GRAD_INPUT;
    rc = nn_grad_emit(tape, &c, f->in[0], err);
    if (rc != 0)
        return rc;
    c = nn_grad_call(NN_OP_CONV2D_GRAD_WEIGHT, grad_out, f->in[0]);
    c.attrs = f->attrs;
    c.role = NN_ROLE_GRAD_WEIGHT;
    rc = nn_grad_emit(tape, &c, f->in[1], err);
    if (rc != 0 || f->n_in < 3)
        return rc;
    c = nn_grad_call(NN_OP_CONV2D_GRAD_BIAS, grad_out, NULL);
    c.role = NN_ROLE_GRAD_BIAS;
    return nn_grad_emit(tape, &c, f->in[2], err);
}

NN_GRAD_RULE(max_pool2d)
{
    struct nn_tensor *x = node->call.in[0];
    struct nn_call c = nn_grad_call(NN_OP_MAX_POOL2D_GRAD, grad_out, x);

    c.attrs = node->call.attrs;
    return nn_grad_emit(tape, &c, x, err);
}

NN_GRAD_RULE(avg_pool2d)
{
    struct nn_call c = nn_grad_call(NN_OP_AVG_POOL2D_GRAD, grad_out, NULL);

    c.attrs = node->call.attrs;
    return nn_grad_emit(tape, &c, node->call.in[0], err);
}

NN_GRAD_RULE(batch_norm)
{
    const struct nn_call *f = &node->call;
    struct nn_tensor *x = f->in[0], *w = f->in[1], *b = f->in[2];
    struct nn_tensor *mean = f->in[3], *var = f->in[4];
    struct nn_call c = {.op = NN_OP_BATCH_NORM_GRAD_INPUT,
                        .n_in = 5,
                        .in = {grad_out, x, w, mean, var},
                        .attrs = f->attrs,
                        .role = NN_ROLE_GRAD_INPUT};
    int rc = nn_grad_emit(tape, &c, x, err);

    if (rc != 0)
        return rc;
    c = (struct nn_call){.op = NN_OP_BATCH_NORM_GRAD_WEIGHT,
                         .n_in = 4,
                         .in = {grad_out, x, mean, var},
                         .attrs = f->attrs,
                         .role = NN_ROLE_GRAD_WEIGHT};
    rc = nn_grad_emit(tape, &c, w, err);
    if (rc != 0)
        return rc;
    c = nn_grad_call(NN_OP_BATCH_NORM_GRAD_BIAS, grad_out, NULL);
    c.role = NN_ROLE_GRAD_BIAS;
    return nn_grad_emit(tape, &c, b, err);
}

NN_GRAD_RULE(layer_norm)
{
    const struct nn_call *f = &node->call;
    struct nn_tensor *x = f->in[0], *w = f->in[1], *b = f->in[2];
    struct nn_call c = {.op = NN_OP_LAYER_NORM_GRAD_INPUT,
                        .n_in = 3,
                        .in = {grad_out, x, w},
                        .attrs = f->attrs,
                        .role = NN_ROLE_GRAD_INPUT};
    int rc = nn_grad_emit(tape, &c, x, err);

    if (rc != 0)
        return rc;
    c = nn_grad_call(NN_OP_LAYER_NORM_GRAD_WEIGHT, grad_out, x);
    c.attrs = f->attrs;
    c.role = NN_ROLE_GRAD_WEIGHT;
    rc = nn_grad_emit(tape, &c, w, err);
    if (rc != 0)
        return rc;
    c = nn_grad_call(NN_OP_SUM_TO, grad_out, NULL);
    c.role = NN_ROLE_GRAD_BIAS;
    return nn_grad_emit(tape, &c, b, err);
}
