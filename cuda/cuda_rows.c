/* Operators over rows of the last dimension, and sums. */
#include "cuda/cuda_dispatch.h"
#include "cuda/cuda_ops.h"
#include "cuda/k_elem.h"
#include "cuda/k_rows.h"

CUDA_OP(softmax)
{
    const struct nn_tensor *x = call->in[0], *y = call->out[0];
    const struct nn_tensor *b = call->n_in > 1 ? call->in[1] : NULL;
    int64_t n = nn_tensor_numel(x), cols;

    if (x->shape.ndim < 1 || nn_tensor_numel(y) != n ||
        (b && nn_tensor_numel(b) != n))
        return cuda_shape_error(call, err);
    if (n == 0)
        return 0;
    cols = x->shape.dim[x->shape.ndim - 1];
    return CU(k_softmax(call->op, x->dtype, cuda_data(y), cuda_data(x),
                        b ? cuda_data(b) : NULL, n / cols, cols, cu->stream),
              err);
}

/* x as (outer, len, inner) along axis; false: there is no such axis. */
static bool axis_of(struct k_axis *a, const struct nn_shape *s, int axis)
{
    *a = (struct k_axis){1, nn_shape_numel(s), 1};
    if (axis == NN_AXIS_ALL)
        return true;
    if (axis < 0 || axis >= s->ndim)
        return false;
    a->len = s->dim[axis];
    for (int i = 0; i < axis; i++)
        a->outer *= s->dim[i];
    for (int i = axis + 1; i < s->ndim; i++)
        a->inner *= s->dim[i];
    return true;
}

CUDA_OP(reduce)
{
    const struct nn_tensor *x = call->in[0], *y = call->out[0];
    int axis = call->attrs.reduce.axis;
    bool lanes = axis == NN_AXIS_ALL || axis == x->shape.ndim - 1;
    struct k_axis a;

    if (!axis_of(&a, &x->shape, axis) ||
        nn_tensor_numel(y) != a.outer * a.inner)
        return cuda_shape_error(call, err);
    if (a.outer * a.inner == 0)
        return 0;
    return CU(k_sum(x->dtype, cuda_data(y), cuda_data(x), &a, lanes,
                    call->op == NN_OP_MEAN, cu->stream),
              err);
}

CUDA_OP(max)
{
    const struct nn_tensor *x = call->in[0], *y = call->out[0];
    struct k_axis a;

    if (!axis_of(&a, &x->shape, call->attrs.reduce.axis) || a.len < 1 ||
        nn_tensor_numel(y) != a.outer * a.inner)
        return cuda_shape_error(call, err);
    if (a.outer * a.inner == 0)
        return 0;
    return CU(k_max(x->dtype, cuda_data(y), cuda_data(x), &a, cu->stream), err);
}

CUDA_OP(max_grad)
{
    const struct nn_tensor *dy = call->in[0], *x = call->in[1];
    const struct nn_tensor *dx = call->out[0];
    struct k_axis a;

    if (!axis_of(&a, &x->shape, call->attrs.reduce.axis) ||
        nn_tensor_numel(dy) != a.outer * a.inner ||
        nn_tensor_numel(dx) != nn_tensor_numel(x))
        return cuda_shape_error(call, err);
    if (nn_tensor_numel(x) == 0)
        return 0;
    return CU(k_max_grad(x->dtype, cuda_data(dx), cuda_data(dy), cuda_data(x),
                         &a, cu->stream),
              err);
}

CUDA_OP(argmax)
{
    const struct nn_tensor *x = call->in[0];

    if (x->shape.ndim != 2 || x->shape.dim[1] < 1 ||
        nn_tensor_numel(call->out[0]) != x->shape.dim[0])
        return cuda_shape_error(call, err);
    if (x->shape.dim[0] == 0)
        return 0;
    return CU(k_argmax(x->dtype, cuda_data(call->out[0]), cuda_data(x),
                       x->shape.dim[0], x->shape.dim[1], cu->stream),
              err);
}
