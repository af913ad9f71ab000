/* Shapes of the operators that move numbers about or pick some of them. */
#include "nn/op_rules.h"

static int bad_axis(const struct nn_call *call, int axis, struct err *err)
{
    return err_set(err, ERR_SHAPE, "%s: axis %d is not one of %d dimensions",
                   nn_op_name(call->op), axis, call->in[0]->shape.ndim);
}

static bool has_axis(const struct nn_tensor *x, int axis)
{
    return axis >= 0 && axis < x->shape.ndim;
}

static int check_rows(const struct nn_call *call, struct err *err)
{
    int i;

    for (i = 0; i < call->n_in; i++)
        if (call->in[i]->layout != NN_ROWS)
            return err_set(err, ERR_SHAPE, "%s takes plain rows, no weight",
                           nn_op_name(call->op));
    return 0;
}

NN_SHAPE_RULE(max)
{
    const struct nn_tensor *x = call->in[0];
    int axis = call->attrs.reduce.axis;
    int rc = nn_shape_reduce(call, shape, dtype, err);

    if (rc != 0)
        return rc;
    if ((axis == NN_AXIS_ALL ? nn_tensor_numel(x) : x->shape.dim[axis]) == 0)
        return err_set(err, ERR_SHAPE, "max over no elements at all");
    return 0;
}

NN_SHAPE_RULE(transpose)
{
    int a = call->attrs.transpose.a, b = call->attrs.transpose.b;
    const struct nn_tensor *x = call->in[0];

    if (!has_axis(x, a))
        return bad_axis(call, a, err);
    if (!has_axis(x, b))
        return bad_axis(call, b, err);
    *shape = x->shape;
    shape->dim[a] = x->shape.dim[b];
    shape->dim[b] = x->shape.dim[a];
    *dtype = x->dtype;
    return check_rows(call, err);
}

NN_SHAPE_RULE(slice)
{
    const struct nn_tensor *x = call->in[0];
    int axis = call->attrs.slice.axis;
    int64_t start = call->attrs.slice.start, stop = call->attrs.slice.stop;

    if (!has_axis(x, axis))
        return bad_axis(call, axis, err);
    if (start < 0 || stop < start || stop > x->shape.dim[axis])
        return err_set(err, ERR_SHAPE,
                       "slice %lld to %lld is not within the %lld of axis %d",
                       (long long)start, (long long)stop,
                       (long long)x->shape.dim[axis], axis);
    *shape = x->shape;
    shape->dim[axis] = stop - start;
    *dtype = x->dtype;
    return check_rows(call, err);
}

NN_SHAPE_RULE(cat)
{
    int axis = call->attrs.cat.axis, i, d;
    const struct nn_tensor *x = call->in[0];
    char a[96], b[96];

    if (!has_axis(x, axis))
        return bad_axis(call, axis, err);
    *shape = x->shape;
    *dtype = x->dtype;
    for (i = 1; i < call->n_in; i++) {
        const struct nn_tensor *y = call->in[i];
        bool fits = y->shape.ndim == shape->ndim && y->dtype == x->dtype;

        for (d = 0; fits && d < shape->ndim; d++)
            fits = d == axis || y->shape.dim[d] == x->shape.dim[d];
        if (!fits)
            return err_set(
                err, ERR_SHAPE, "cat along axis %d cannot join %s %s and %s %s",
                axis, nn_dtype_name(x->dtype),
                nn_shape_text(&x->shape, a, sizeof a), nn_dtype_name(y->dtype),
                nn_shape_text(&y->shape, b, sizeof b));
        shape->dim[axis] += y->shape.dim[axis];
    }
    return check_rows(call, err);
}

NN_SHAPE_RULE(cast)
{
    enum nn_dtype from = call->in[0]->dtype, to = call->attrs.cast.dtype;

    if ((to != NN_F32 && to != NN_F64) || from == NN_F16 || from == NN_BF16)
        return err_set(err, ERR_SHAPE, "cast cannot turn %s into %s",
                       nn_dtype_name(from), nn_dtype_name(to));
    *shape = call->in[0]->shape;
    *dtype = to;
    return check_rows(call, err);
}

NN_SHAPE_RULE(embedding)
{
    const struct nn_tensor *table = call->in[0], *index = call->in[1];
    char a[96], b[96];

    if ((table->dtype != NN_F32 && table->dtype != NN_F64) ||
        index->dtype != NN_I32)
        return err_set(err, ERR_SHAPE,
                       "embedding takes a float table and int32 indices, not "
                       "%s and %s",
                       nn_dtype_name(table->dtype),
                       nn_dtype_name(index->dtype));
    if (table->shape.ndim != 2 || index->shape.ndim >= NN_MAX_DIMS)
        return err_set(err, ERR_SHAPE,
                       "embedding takes a table (V, D) and indices of fewer "
                       "than %d dimensions, not %s and %s",
                       NN_MAX_DIMS, nn_shape_text(&table->shape, a, sizeof a),
                       nn_shape_text(&index->shape, b, sizeof b));
    *shape = index->shape;
    shape->dim[shape->ndim++] = table->shape.dim[1];
    *dtype = table->dtype;
    return check_rows(call, err);
}
