/* Operators that move numbers about without changing them, rows of a table
 * among them, and changes of type. */
#include "cuda/cuda_dispatch.h"
#include "cuda/cuda_ops.h"
#include "cuda/k_move.h"

/* A tensor around one axis: (outer, len, inner). */
struct around {
    int64_t outer, len, inner;
};

static struct around around(const struct nn_tensor *t, int axis)
{
    struct around a = {1, t->shape.dim[axis], 1};

    for (int i = 0; i < axis; i++)
        a.outer *= t->shape.dim[i];
    for (int i = axis + 1; i < t->shape.ndim; i++)
        a.inner *= t->shape.dim[i];
    return a;
}

static bool axis_of(const struct nn_tensor *t, int axis)
{
    return axis >= 0 && axis < t->shape.ndim;
}

/* x and y differ in the length of one axis only. */
static bool alike_but(const struct nn_tensor *x, const struct nn_tensor *y,
                      int axis)
{
    struct nn_shape s = x->shape;

    if (!axis_of(x, axis) || !axis_of(y, axis) || x->dtype != y->dtype)
        return false;
    s.dim[axis] = y->shape.dim[axis];
    return nn_shape_eq(&s, &y->shape);
}

/* [start, start + y's length) of x's axis goes to y; back with into. */
static int move_slice(struct cuda *cu, const struct nn_tensor *x,
                      const struct nn_tensor *y, const struct nn_call *call,
                      int64_t start, struct err *err)
{
    bool into = call->op != NN_OP_SLICE;
    int axis =
        call->op == NN_OP_CAT ? call->attrs.cat.axis : call->attrs.slice.axis;
    struct around whole = around(x, axis), part = around(y, axis);
    size_t size = nn_dtype_size(x->dtype);
    char *at = (char *)cuda_data(x) + (size_t)(start * whole.inner) * size;
    int64_t step = whole.len * whole.inner, n = part.len * part.inner;
    struct k_strips out = {cuda_data(y), at, n, step, whole.outer, n};
    struct k_strips in = {at, cuda_data(y), step, n, whole.outer, n};

    if (whole.outer == 0 || n == 0)
        return 0;
    return CU(k_strips(into ? &in : &out, size, cu->stream), err);
}

CUDA_OP(slice)
{
    const bool grad = call->op == NN_OP_SLICE_GRAD;
    const struct nn_tensor *whole = grad ? call->out[0] : call->in[0];
    const struct nn_tensor *part = grad ? call->in[0] : call->out[0];
    const int axis = call->attrs.slice.axis;
    const int64_t start = call->attrs.slice.start;
    int rc = 0;

    if (!alike_but(whole, part, axis) || start < 0 ||
        start > whole->shape.dim[axis] - part->shape.dim[axis])
        return cuda_shape_error(call, err);
    if (grad && nn_tensor_numel(whole) > 0)
        rc = CU(cudaMemsetAsync(cuda_data(whole), 0, nn_tensor_bytes(whole),
                                cu->stream),
                err);
    return rc == 0 ? move_slice(cu, whole, part, call, start, err) : rc;
}

CUDA_OP(cat)
{
    const struct nn_tensor *y = call->out[0];
    const int axis = call->attrs.cat.axis;
    int64_t at = 0;
    int rc = 0, i;

    for (i = 0; i < call->n_in; i++) {
        if (!alike_but(y, call->in[i], axis))
            return cuda_shape_error(call, err);
        at += call->in[i]->shape.dim[axis];
    }
    if (at != y->shape.dim[axis])
        return cuda_shape_error(call, err);
    for (i = 0, at = 0; rc == 0 && i < call->n_in; i++) {
        rc = move_slice(cu, y, call->in[i], call, at, err);
        at += call->in[i]->shape.dim[axis];
    }
    return rc;
}

CUDA_OP(transpose)
{
    const struct nn_tensor *x = call->in[0], *y = call->out[0];
    int a = call->attrs.transpose.a, b = call->attrs.transpose.b;
    int first = a < b ? a : b, last = a < b ? b : a;
    struct nn_shape want = x->shape;
    struct k_swap s = {.mid = 1,
                       .y = cuda_data(y),
                       .x = cuda_data(x),
                       .n = nn_tensor_numel(x)};

    if (!axis_of(x, a) || !axis_of(x, b) || x->dtype != y->dtype)
        return cuda_shape_error(call, err);
    want.dim[a] = x->shape.dim[b];
    want.dim[b] = x->shape.dim[a];
    if (!nn_shape_eq(&want, &y->shape))
        return cuda_shape_error(call, err);
    if (s.n == 0)
        return 0;
    s.p = a == b ? 1 : x->shape.dim[first];
    s.q = x->shape.dim[last];
    s.inner = around(x, last).inner;
    for (int i = first + 1; i < last; i++)
        s.mid *= x->shape.dim[i];
    return CU(k_swap(&s, nn_dtype_size(x->dtype), cu->stream), err);
}

CUDA_OP(cast)
{
    const struct nn_tensor *x = call->in[0], *y = call->out[0];

    if (!nn_shape_eq(&x->shape, &y->shape) || x->dtype == NN_F16 ||
        x->dtype == NN_BF16 || (y->dtype != NN_F32 && y->dtype != NN_F64))
        return cuda_shape_error(call, err);
    if (nn_tensor_numel(x) == 0)
        return 0;
    return CU(k_cast(cuda_data(y), y->dtype, cuda_data(x), x->dtype,
                     nn_tensor_numel(x), cu->stream),
              err);
}

/* table (V, D), rows (n, D); false where they do not fit. */
static bool table_of(struct k_table *t, const struct nn_call *call,
                     const struct nn_tensor *table,
                     const struct nn_tensor *rows)
{
    int64_t n = nn_tensor_numel(call->in[1]);

    if (table->shape.ndim != 2 ||
        nn_tensor_numel(rows) != n * table->shape.dim[1])
        return false;
    *t = (struct k_table){.table = cuda_data(table),
                          .rows = cuda_data(rows),
                          .index = cuda_data(call->in[1]),
                          .n = n,
                          .width = table->shape.dim[1],
                          .height = table->shape.dim[0],
                          .op = (int)call->op};
    return true;
}

CUDA_OP(embedding)
{
    struct k_table t;

    if (!table_of(&t, call, call->in[0], call->out[0]))
        return cuda_shape_error(call, err);
    if (t.n * t.width == 0)
        return 0;
    return CU(k_take_rows(call->in[0]->dtype, &t, cu->fault, cu->stream), err);
}

CUDA_OP(embedding_grad)
{
    const struct nn_tensor *table = call->out[0];
    struct k_table t;
    int rc;

    if (!table_of(&t, call, table, call->in[0]))
        return cuda_shape_error(call, err);
    if (nn_tensor_numel(table) == 0)
        return 0;
    rc = CU(cudaMemsetAsync(cuda_data(table), 0, nn_tensor_bytes(table),
                            cu->stream),
            err);
    if (rc != 0 || t.n == 0)
        return rc;
    return CU(k_add_rows(table->dtype, &t, cu->fault, cu->stream), err);
}
