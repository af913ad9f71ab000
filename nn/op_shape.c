#include "nn/op_rules.h"

/* Two shapes in words, for messages. */
struct pair_text {
    char a[96], b[96];
};

static struct pair_text pair_text(const struct nn_tensor *a,
                                  const struct nn_tensor *b)
{
    struct pair_text t;

    (void)nn_shape_text(&a->shape, t.a, sizeof t.a);
    (void)nn_shape_text(&b->shape, t.b, sizeof t.b);
    return t;
}

static bool is_float(const struct nn_tensor *t)
{
    return t->dtype == NN_F32 || t->dtype == NN_F64;
}

int nn_shape_floats(const struct nn_call *call, struct err *err)
{
    int i;

    for (i = 0; i < call->n_in; i++)
        if (!is_float(call->in[i]) || call->in[i]->dtype != call->in[0]->dtype)
            return err_set(err, ERR_SHAPE,
                           "%s takes float32 or float64 tensors of one type, "
                           "not %s and %s",
                           nn_op_name(call->op),
                           nn_dtype_name(call->in[0]->dtype),
                           nn_dtype_name(call->in[i]->dtype));
    return 0;
}

NN_SHAPE_RULE(linear)
{
    const struct nn_tensor *x = call->in[0], *w = call->in[1];
    const struct nn_tensor *b = call->n_in > 2 ? call->in[2] : NULL;
    struct pair_text t = pair_text(x, w);

    if (nn_shape_floats(call, err) != 0)
        return ERR_SHAPE;
    if (x->shape.ndim != 2 || w->shape.ndim != 2 || w->layout != NN_WEIGHT ||
        x->shape.dim[1] != w->shape.dim[1])
        return err_set(err, ERR_SHAPE,
                       "linear takes x (B, in) and a weight (out, in), not %s "
                       "and %s",
                       t.a, t.b);
    if (b && (b->shape.ndim != 1 || b->shape.dim[0] != w->shape.dim[0])) {
        t = pair_text(b, w);
        return err_set(err, ERR_SHAPE, "bias %s does not fit the weight %s",
                       t.a, t.b);
    }
    *shape = nn_shape2(x->shape.dim[0], w->shape.dim[0]);
    *dtype = x->dtype;
    return 0;
}

NN_SHAPE_RULE(matmul)
{
    const struct nn_tensor *a = call->in[0], *b = call->in[1];
    struct pair_text t = pair_text(a, b);
    int ta = call->attrs.matmul.ta, tb = call->attrs.matmul.tb;

    if (nn_shape_floats(call, err) != 0)
        return ERR_SHAPE;
    if (a->shape.ndim != 2 || b->shape.ndim != 2 || a->layout != NN_ROWS ||
        b->layout != NN_ROWS || a->shape.dim[1 - ta] != b->shape.dim[tb])
        return err_set(err, ERR_SHAPE, "matmul cannot multiply %s%s by %s%s",
                       t.a, ta ? " transposed" : "", t.b,
                       tb ? " transposed" : "");
    *shape = nn_shape2(a->shape.dim[ta], b->shape.dim[1 - tb]);
    *dtype = a->dtype;
    return 0;
}

NN_SHAPE_RULE(unary)
{
    *shape = call->in[0]->shape;
    *dtype = call->in[0]->dtype;
    return nn_shape_floats(call, err);
}

NN_SHAPE_RULE(gradient)
{
    (void)err;
    *shape = call->in[1]->shape;
    *dtype = call->in[1]->dtype;
    return 0;
}

NN_SHAPE_RULE(rows)
{
    if (call->in[0]->shape.ndim < 1)
        return err_set(err, ERR_SHAPE, "%s takes at least one dimension",
                       nn_op_name(call->op));
    return nn_shape_unary(call, shape, dtype, err);
}

NN_SHAPE_RULE(cross_entropy)
{
    const struct nn_tensor *x = call->in[0], *y = call->in[1];
    struct pair_text t = pair_text(x, y);

    if (!is_float(x) || x->shape.ndim != 2 || y->shape.ndim != 1 ||
        x->shape.dim[0] != y->shape.dim[0])
        return err_set(err, ERR_SHAPE,
                       "cross_entropy takes logits (B, C) and targets (B,), "
                       "not %s and %s",
                       t.a, t.b);
    if (y->dtype != NN_I32)
        return err_set(err, ERR_SHAPE,
                       "cross_entropy takes class indices (int32), not %s",
                       nn_dtype_name(y->dtype));
    *shape =
        call->attrs.loss.per_sample ? nn_shape1(x->shape.dim[0]) : nn_shape0();
    *dtype = x->dtype;
    return 0;
}

NN_SHAPE_RULE(pair_loss)
{
    const struct nn_tensor *x = call->in[0], *y = call->in[1];
    struct pair_text t = pair_text(x, y);

    if (nn_shape_floats(call, err) != 0)
        return ERR_SHAPE;
    if (!nn_shape_eq(&x->shape, &y->shape) || x->shape.ndim < 1)
        return err_set(err, ERR_SHAPE,
                       "%s takes two tensors of one shape, not %s and %s",
                       nn_op_name(call->op), t.a, t.b);
    *shape =
        call->attrs.loss.per_sample ? nn_shape1(x->shape.dim[0]) : nn_shape0();
    *dtype = x->dtype;
    return 0;
}

NN_SHAPE_RULE(broadcast)
{
    const struct nn_shape *a = &call->in[0]->shape, *b = &call->in[1]->shape;
    struct pair_text t = pair_text(call->in[0], call->in[1]);
    int n = a->ndim > b->ndim ? a->ndim : b->ndim;
    int i;

    if (nn_shape_floats(call, err) != 0)
        return ERR_SHAPE;
    shape->ndim = n;
    for (i = 0; i < n; i++) { /* i counts from the last dimension */
        int64_t p = i < a->ndim ? a->dim[a->ndim - 1 - i] : 1;
        int64_t q = i < b->ndim ? b->dim[b->ndim - 1 - i] : 1;

        if (p != q && p != 1 && q != 1)
            return err_set(err, ERR_SHAPE, "%s cannot broadcast %s with %s",
                           nn_op_name(call->op), t.a, t.b);
        shape->dim[n - 1 - i] = p == 1 ? q : p;
    }
    *dtype = call->in[0]->dtype;
    return 0;
}

NN_SHAPE_RULE(reduce)
{
    const struct nn_shape *x = &call->in[0]->shape;
    int axis = call->attrs.reduce.axis;
    int i;

    *dtype = call->in[0]->dtype;
    if (nn_shape_floats(call, err) != 0)
        return ERR_SHAPE;
    *shape = nn_shape0();
    if (axis == NN_AXIS_ALL)
        return 0;
    if (axis < 0 || axis >= x->ndim)
        return err_set(err, ERR_SHAPE, "axis %d is not one of %d dimensions",
                       axis, x->ndim);
    for (i = 0; i < x->ndim; i++)
        if (i != axis)
            shape->dim[shape->ndim++] = x->dim[i];
    return 0;
}

NN_SHAPE_RULE(argmax)
{
    const struct nn_tensor *x = call->in[0];

    if (!is_float(x) || x->shape.ndim != 2 || x->shape.dim[1] < 1)
        return err_set(err, ERR_SHAPE, "argmax takes a float (B, C) tensor");
    *shape = nn_shape1(x->shape.dim[0]);
    *dtype = NN_I32;
    return 0;
}
