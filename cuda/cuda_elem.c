/* Operators that work element by element on tensors of one shape. */
#include <string.h>

#include "cuda/cuda_dispatch.h"
#include "cuda/cuda_ops.h"
#include "cuda/k_elem.h"

static bool same_numel(const struct nn_call *call)
{
    int64_t n = nn_tensor_numel(call->out[0]);

    for (int i = 0; i < call->n_in; i++)
        if (nn_tensor_numel(call->in[i]) != n)
            return false;
    return true;
}

/* A walk over n elements of two tensors that lie alike. */
static struct nn_walk alike(int64_t n)
{
    struct nn_walk w = {
        .ndim = 1, .dim = {n}, .step = {{1}, {1}}, .run = n, .runs = 1};

    return w;
}

CUDA_OP(unary)
{
    const struct nn_tensor *x = call->in[0], *y = call->out[0];
    int64_t n = nn_tensor_numel(y);

    if (!same_numel(call))
        return cuda_shape_error(call, err);
    if (n == 0)
        return 0;
    return CU(
        k_unary(call->op, x->dtype, cuda_data(y), cuda_data(x), n, cu->stream),
        err);
}

CUDA_OP(unary_grad)
{
    const struct nn_tensor *dy = call->in[0], *x = call->in[1];
    struct nn_walk w = alike(nn_tensor_numel(dy));

    if (!same_numel(call))
        return cuda_shape_error(call, err);
    if (w.run == 0)
        return 0;
    return CU(k_binary(call->op, dy->dtype, cuda_data(call->out[0]),
                       cuda_data(dy), cuda_data(x), &w, cu->stream),
              err);
}

/* The exponents that nn/op.h names, else exp(p log(x)). */
CUDA_OP(pow)
{
    const struct nn_tensor *x = call->in[0], *y = call->out[0];
    int64_t n = nn_tensor_numel(y);
    void *to = cuda_data(y), *from = cuda_data(x);
    double p = call->attrs.scalar;
    struct nn_walk w = alike(n);

    if (!same_numel(call))
        return cuda_shape_error(call, err);
    if (n == 0)
        return 0;
    if (p == 0.0)
        return CU(k_fill(y->dtype, to, 1.0, n, cu->stream), err);
    if (p == 0.5)
        return CU(k_unary(NN_OP_SQRT, y->dtype, to, from, n, cu->stream), err);
    if (p == 1.0)
        return CU(k_scale(y->dtype, to, from, 1.0, n, cu->stream), err);
    if (p == 2.0)
        return CU(k_binary(NN_OP_MUL, y->dtype, to, from, from, &w, cu->stream),
                  err);
    if (p == 3.0)
        return CU(k_unary(NN_OP_POW, y->dtype, to, from, n, cu->stream), err);
    return CU(k_pow(y->dtype, to, from, p, n, cu->stream), err);
}

CUDA_OP(scale)
{
    const struct nn_tensor *x = call->in[0], *y = call->out[0];
    int64_t n = nn_tensor_numel(y);

    if (!same_numel(call))
        return cuda_shape_error(call, err);
    if (n == 0)
        return 0;
    return CU(k_scale(y->dtype, cuda_data(y), cuda_data(x), call->attrs.scalar,
                      n, cu->stream),
              err);
}

CUDA_OP(dropout)
{
    const struct nn_tensor *x = call->in[0], *y = call->out[0];
    int64_t n = nn_tensor_numel(x);
    int64_t samples = x->shape.ndim > 0 ? x->shape.dim[0] : 1;
    double p = call->attrs.dropout.p;
    uint64_t seed = call->attrs.dropout.seed;
    struct k_dropout d = {
        .key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
        .layer = call->attrs.dropout.layer,
        .samples = samples,
        .row = samples > 0 ? n / samples : 0,
        .first = call->attrs.dropout.first,
        .p = (float)p,
        .scale = 1.0 / (1.0 - p),
    };

    if (!same_numel(call))
        return cuda_shape_error(call, err);
    if (n == 0)
        return 0;
    return CU(k_dropout(x->dtype, cuda_data(y), cuda_data(x), &d,
                        &cu->scalars->step, cu->stream),
              err);
}

CUDA_OP(fill)
{
    const struct nn_tensor *y = call->out[0];
    int64_t n = nn_tensor_numel(y);

    if (n == 0)
        return 0;
    return CU(k_fill(y->dtype, cuda_data(y), call->attrs.scalar, n, cu->stream),
              err);
}

CUDA_OP(copy)
{
    const struct nn_tensor *x = call->in[0], *y = call->out[0];
    size_t size = nn_tensor_bytes(y);

    if (x->dtype != y->dtype || nn_tensor_numel(x) != nn_tensor_numel(y))
        return cuda_shape_error(call, err);
    if (size == 0 || cuda_data(x) == cuda_data(y))
        return 0;
    return CU(cudaMemcpyAsync(cuda_data(y), cuda_data(x), size,
                              cudaMemcpyDeviceToDevice, cu->stream),
              err);
}

CUDA_OP(add_into)
{
    const struct nn_tensor *x = call->in[0], *y = call->out[0];
    struct nn_walk w = alike(nn_tensor_numel(y));

    if (!same_numel(call))
        return cuda_shape_error(call, err);
    if (w.run == 0)
        return 0;
    return CU(k_binary(NN_OP_ADD, y->dtype, cuda_data(y), cuda_data(y),
                       cuda_data(x), &w, cu->stream),
              err);
}

CUDA_OP(clear_grad)
{
    const struct nn_tensor *y = call->out[0];
    size_t size = nn_tensor_bytes(y);

    if (call->attrs.set_to_none || size == 0)
        return 0;
    return CU(cudaMemsetAsync(cuda_data(y), 0, size, cu->stream), err);
}
