/* Operators over rows of the last dimension, and sums. */
#include "nn/cpu/cpu_ops.h"

struct row_job {
    const struct cpu_kernels *k;
    enum cpu_rowwise kernel;
    enum nn_dtype dtype;
    void *y;
    const void *a, *b;
    int64_t len, inner;
};

static void rowwise_range(void *arg, int64_t begin, int64_t end)
{
    const struct row_job *j = arg;
    int64_t at = begin * j->len;

    j->k->row->rowwise[j->kernel](
        cpu_at(j->y, at, j->dtype), cpu_at(j->a, at, j->dtype),
        j->b ? cpu_at(j->b, at, j->dtype) : NULL, end - begin, j->len);
}

CPU_OP(softmax)
{
    static const enum cpu_rowwise kernel[NN_OP_COUNT] = {
        [NN_OP_SOFTMAX] = CPU_SOFTMAX,
        [NN_OP_SOFTMAX_GRAD] = CPU_SOFTMAX_GRAD,
        [NN_OP_LOG_SOFTMAX] = CPU_LOG_SOFTMAX,
        [NN_OP_LOG_SOFTMAX_GRAD] = CPU_LOG_SOFTMAX_GRAD,
    };
    const struct nn_tensor *x = call->in[0], *y = call->out[0];
    int64_t n = nn_tensor_numel(x);
    struct row_job j = {.k = cpu_kernels_of(cpu, x->dtype),
                        .kernel = kernel[call->op],
                        .dtype = x->dtype,
                        .y = cpu_data(y),
                        .a = cpu_data(x)};

    if (x->shape.ndim < 1 || nn_tensor_numel(y) != n)
        return cpu_shape_error(call, err);
    if (call->n_in > 1) {
        if (nn_tensor_numel(call->in[1]) != n)
            return cpu_shape_error(call, err);
        j.b = cpu_data(call->in[1]);
    }
    j.len = x->shape.dim[x->shape.ndim - 1];
    if (n > 0)
        cpu_parallel(cpu, n / j.len, 1, 8 * j.len, rowwise_range, &j);
    return 0;
}

static void sum_rows_range(void *arg, int64_t begin, int64_t end)
{
    const struct row_job *j = arg;

    j->k->reduce->sum_rows(cpu_at(j->y, begin, j->dtype),
                           cpu_at(j->a, begin * j->len, j->dtype), end - begin,
                           j->len);
}

static void sum_outer_range(void *arg, int64_t begin, int64_t end)
{
    const struct row_job *j = arg;

    for (int64_t o = begin; o < end; o++)
        j->k->reduce->sum_cols(cpu_at(j->y, o * j->inner, j->dtype),
                               cpu_at(j->a, o * j->len * j->inner, j->dtype),
                               j->len, j->inner, j->inner);
}

/* x is (outer, len, inner): what is summed lies inner elements apart. */
static void sum(struct cpu *cpu, struct row_job *j, int64_t outer, bool lanes)
{
    if (lanes)
        cpu_parallel(cpu, outer, 1, j->len, sum_rows_range, j);
    else
        cpu_parallel(cpu, outer, 1, j->len * j->inner, sum_outer_range, j);
}

CPU_OP(reduce)
{
    const struct nn_tensor *x = call->in[0], *y = call->out[0];
    const int axis = call->attrs.reduce.axis, ndim = x->shape.ndim;
    struct row_job j = {.k = cpu_kernels_of(cpu, x->dtype),
                        .dtype = x->dtype,
                        .y = cpu_data(y),
                        .a = cpu_data(x),
                        .len = nn_tensor_numel(x),
                        .inner = 1};
    int64_t outer = 1;
    union cpu_number count;

    if (axis != NN_AXIS_ALL) {
        if (axis < 0 || axis >= ndim)
            return cpu_shape_error(call, err);
        j.len = x->shape.dim[axis];
        for (int i = 0; i < axis; i++)
            outer *= x->shape.dim[i];
        for (int i = axis + 1; i < ndim; i++)
            j.inner *= x->shape.dim[i];
    }
    if (nn_tensor_numel(y) != outer * j.inner)
        return cpu_shape_error(call, err);
    sum(cpu, &j, outer, axis == NN_AXIS_ALL || axis == ndim - 1);
    count = cpu_number(x->dtype, (double)j.len);
    if (call->op == NN_OP_MEAN)
        j.k->elem->binary[CPU_DIV](j.y, j.y, 1, &count, 0, outer * j.inner);
    return 0;
}

static void argmax_range(void *arg, int64_t begin, int64_t end)
{
    const struct row_job *j = arg;

    j->k->row->argmax((int32_t *)j->y + begin,
                      cpu_at(j->a, begin * j->len, j->dtype), end - begin,
                      j->len);
}

CPU_OP(argmax)
{
    const struct nn_tensor *x = call->in[0];
    struct row_job j = {.k = cpu_kernels_of(cpu, x->dtype),
                        .dtype = x->dtype,
                        .y = cpu_data(call->out[0]),
                        .a = cpu_data(x)};

    if (x->shape.ndim != 2 || x->shape.dim[1] < 1 ||
        nn_tensor_numel(call->out[0]) != x->shape.dim[0])
        return cpu_shape_error(call, err);
    j.len = x->shape.dim[1];
    cpu_parallel(cpu, x->shape.dim[0], 1, 4 * j.len, argmax_range, &j);
    return 0;
}
