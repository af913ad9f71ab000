/* Shapes of convolution, pooling and normalisation. */
#include "nn/op_rules.h"

/* Windows of kernel that fit into size with padding on both sides; 0: none. */
static int64_t windows(int64_t size, int64_t kernel, int64_t stride,
                       int64_t padding)
{
    int64_t room = size + 2 * padding - kernel;

    return room < 0 ? 0 : room / stride + 1;
}

NN_SHAPE_RULE(conv2d)
{
    const struct nn_tensor *x = call->in[0], *w = call->in[1];
    const struct nn_tensor *b = call->n_in > 2 ? call->in[2] : NULL;
    int64_t stride = call->attrs.conv.stride;
    int64_t padding = call->attrs.conv.padding;
    const int64_t *dx = x->shape.dim, *dw = w->shape.dim;
    char s[96], t[96];

    if (nn_shape_floats(call, err) != 0)
        return ERR_SHAPE;
    (void)nn_shape_text(&x->shape, s, sizeof s);
    (void)nn_shape_text(&w->shape, t, sizeof t);
    if (x->shape.ndim != 4 || w->shape.ndim != 4 || w->layout != NN_WEIGHT ||
        dx[1] != dw[1])
        return err_set(err, ERR_SHAPE,
                       "conv2d takes x (B, in, H, W) and a weight (out, in, "
                       "kh, kw), not %s and %s",
                       s, t);
    if (b && (b->shape.ndim != 1 || b->shape.dim[0] != dw[0]))
        return err_set(err, ERR_SHAPE,
                       "conv2d: a bias of %lld does not fit the weight %s",
                       (long long)nn_tensor_numel(b), t);
    if (stride < 1 || padding < 0 || padding > INT32_MAX)
        return err_set(err, ERR_SHAPE,
                       "conv2d: stride %lld must be 1 or more and padding "
                       "%lld 0 or more",
                       (long long)stride, (long long)padding);
    *dtype = x->dtype;
    *shape = x->shape;
    shape->dim[1] = dw[0];
    shape->dim[2] = windows(dx[2], dw[2], stride, padding);
    shape->dim[3] = windows(dx[3], dw[3], stride, padding);
    if (shape->dim[2] < 1 || shape->dim[3] < 1)
        return err_set(err, ERR_SHAPE,
                       "conv2d: the kernel of %s does not fit into %s", t, s);
    return 0;
}

NN_SHAPE_RULE(pool2d)
{
    const struct nn_tensor *x = call->in[0];
    int64_t kernel = call->attrs.pool.kernel;
    int64_t stride = call->attrs.pool.stride;
    int64_t padding = call->attrs.pool.padding;
    const char *op = nn_op_name(call->op);
    char s[96];

    if (nn_shape_floats(call, err) != 0)
        return ERR_SHAPE;
    (void)nn_shape_text(&x->shape, s, sizeof s);
    if (x->shape.ndim != 4)
        return err_set(err, ERR_SHAPE, "%s takes x (B, C, H, W), not %s", op,
                       s);
    if (kernel < 1 || stride < 1 || padding < 0 || padding > kernel / 2)
        return err_set(err, ERR_SHAPE,
                       "%s: kernel %lld and stride %lld must be 1 or more, "
                       "padding %lld at most half the kernel",
                       op, (long long)kernel, (long long)stride,
                       (long long)padding);
    *dtype = x->dtype;
    *shape = x->shape;
    shape->dim[2] = windows(x->shape.dim[2], kernel, stride, padding);
    shape->dim[3] = windows(x->shape.dim[3], kernel, stride, padding);
    if (shape->dim[2] < 1 || shape->dim[3] < 1)
        return err_set(err, ERR_SHAPE,
                       "%s: a kernel of %lld does not fit into %s", op,
                       (long long)kernel, s);
    return 0;
}

NN_SHAPE_RULE(batch_norm)
{
    const struct nn_tensor *x = call->in[0];
    char s[96], t[96];
    int i;

    if (nn_shape_floats(call, err) != 0)
        return ERR_SHAPE;
    for (i = 1; i < call->n_in; i++)
        if (x->shape.ndim < 2 || call->in[i]->shape.ndim != 1 ||
            call->in[i]->shape.dim[0] != x->shape.dim[1])
            return err_set(
                err, ERR_SHAPE,
                "batch_norm takes x (B, C, ...) and vectors of C, not "
                "%s and %s",
                nn_shape_text(&x->shape, s, sizeof s),
                nn_shape_text(&call->in[i]->shape, t, sizeof t));
    return nn_shape_unary(call, shape, dtype, err);
}

NN_SHAPE_RULE(layer_norm)
{
    const struct nn_shape *x = &call->in[0]->shape, *w = &call->in[1]->shape;
    bool fits = w->ndim >= 1 && w->ndim <= x->ndim &&
                nn_shape_eq(w, &call->in[2]->shape);
    char s[96], t[96];
    int i;

    for (i = 1; fits && i <= w->ndim; i++)
        fits = w->dim[w->ndim - i] == x->dim[x->ndim - i];
    if (!fits)
        return err_set(err, ERR_SHAPE,
                       "layer_norm takes x (..., D) and a weight and a bias "
                       "(D), not %s and %s",
                       nn_shape_text(x, s, sizeof s),
                       nn_shape_text(w, t, sizeof t));
    return nn_shape_unary(call, shape, dtype, err);
}
