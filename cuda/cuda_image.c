/* Convolutions and pools. */
#include "cuda/cuda_dispatch.h"
#include "cuda/cuda_ops.h"
#include "cuda/k_image.h"
#include "cuda/k_rows.h"

/* All sizes; false where x, w and y do not fit each other. */
static bool conv_of(struct k_conv *v, const struct nn_call *call,
                    const struct nn_tensor *x, const struct nn_tensor *w,
                    const struct nn_tensor *y)
{
    const int64_t *dx = x->shape.dim, *dw = w->shape.dim, *dy = y->shape.dim;
    int64_t stride = call->attrs.conv.stride;
    int64_t padding = call->attrs.conv.padding;

    if (x->shape.ndim != 4 || w->shape.ndim != 4 || y->shape.ndim != 4 ||
        dx[0] != dy[0] || dx[1] != dw[1] || dw[0] != dy[1] || stride < 1 ||
        padding < 0 || dx[2] + 2 * padding < dw[2] ||
        dx[3] + 2 * padding < dw[3] ||
        dy[2] != (dx[2] + 2 * padding - dw[2]) / stride + 1 ||
        dy[3] != (dx[3] + 2 * padding - dw[3]) / stride + 1)
        return false;
    *v = (struct k_conv){dx[0], dx[1], dx[2], dx[3],  dw[0],  dw[2],
                         dw[3], dy[2], dy[3], stride, padding};
    return true;
}

CUDA_OP(conv2d)
{
    const struct nn_tensor *x = call->in[0], *w = call->in[1];
    const struct nn_tensor *b = call->n_in > 2 ? call->in[2] : NULL;
    const struct nn_tensor *y = call->out[0];
    struct k_conv v;

    if (!conv_of(&v, call, x, w, y) || (b && nn_tensor_numel(b) != v.o))
        return cuda_shape_error(call, err);
    if (nn_tensor_numel(y) == 0)
        return 0;
    return CU(k_conv2d(x->dtype, cuda_data(y), cuda_data(x), cuda_data(w),
                       b ? cuda_data(b) : NULL, &v, cu->stream),
              err);
}

CUDA_OP(conv2d_grad_input)
{
    const struct nn_tensor *dy = call->in[0], *w = call->in[1];
    const struct nn_tensor *dx = call->out[0];
    struct k_conv v;

    if (!conv_of(&v, call, dx, w, dy))
        return cuda_shape_error(call, err);
    if (nn_tensor_numel(dx) == 0)
        return 0;
    return CU(k_conv2d_grad_input(dx->dtype, cuda_data(dx), cuda_data(dy),
                                  cuda_data(w), &v, cu->stream),
              err);
}

CUDA_OP(conv2d_grad_weight)
{
    const struct nn_tensor *dy = call->in[0], *x = call->in[1];
    const struct nn_tensor *dw = call->out[0];
    struct k_conv v;

    if (!conv_of(&v, call, x, dw, dy))
        return cuda_shape_error(call, err);
    if (nn_tensor_numel(dw) == 0)
        return 0;
    return CU(k_conv2d_grad_weight(x->dtype, cuda_data(dw), cuda_data(dy),
                                   cuda_data(x), &v, cu->stream),
              err);
}

/* The positions of a sample in 16 lanes, then a chain over the samples. */
CUDA_OP(conv2d_grad_bias)
{
    const struct nn_tensor *dy = call->in[0], *db = call->out[0];
    const int64_t *d = dy->shape.dim;
    struct k_axis places, samples;
    void *sums;
    int rc;

    if (dy->shape.ndim != 4 || nn_tensor_numel(db) != d[1])
        return cuda_shape_error(call, err);
    places = (struct k_axis){d[0] * d[1], d[2] * d[3], 1};
    samples = (struct k_axis){1, d[0], d[1]};
    if (d[1] == 0)
        return 0;
    rc = cuda_workspace(
        cu, (size_t)(places.outer + 1) * nn_dtype_size(dy->dtype), &sums, err);
    if (rc == 0 && places.outer > 0)
        rc = CU(k_sum(dy->dtype, sums, cuda_data(dy), &places, true, false,
                      cu->stream),
                err);
    if (rc != 0)
        return rc;
    return CU(k_sum(dy->dtype, cuda_data(db), sums, &samples, false, false,
                    cu->stream),
              err);
}

/* wide (B,C,H,W), narrow (B,C,H',W'); false where they do not fit. */
static bool pool_of(struct k_pool *p, const struct nn_call *call,
                    const struct nn_tensor *wide,
                    const struct nn_tensor *narrow)
{
    const int64_t *d = wide->shape.dim, *n = narrow->shape.dim;
    int64_t kernel = call->attrs.pool.kernel;
    int64_t stride = call->attrs.pool.stride;
    int64_t padding = call->attrs.pool.padding;
    int64_t h, w;

    if (wide->shape.ndim != 4 || narrow->shape.ndim != 4 || d[0] != n[0] ||
        d[1] != n[1] || kernel < 1 || stride < 1 || padding < 0 ||
        padding > kernel / 2)
        return false;
    h = d[2] + 2 * padding - kernel;
    w = d[3] + 2 * padding - kernel;
    if (h < 0 || w < 0 || n[2] != h / stride + 1 || n[3] != w / stride + 1)
        return false;
    *p = (struct k_pool){d[0] * d[1], d[2],   d[3],   n[2],
                         n[3],        kernel, stride, padding};
    return true;
}

CUDA_OP(max_pool2d)
{
    const struct nn_tensor *x = call->in[0], *y = call->out[0];
    struct k_pool p;

    if (!pool_of(&p, call, x, y))
        return cuda_shape_error(call, err);
    if (nn_tensor_numel(y) == 0)
        return 0;
    return CU(
        k_max_pool2d(x->dtype, cuda_data(y), cuda_data(x), &p, cu->stream),
        err);
}

CUDA_OP(max_pool2d_grad)
{
    const struct nn_tensor *dy = call->in[0], *x = call->in[1];
    const struct nn_tensor *dx = call->out[0];
    struct k_pool p;

    if (!pool_of(&p, call, x, dy) || !nn_shape_eq(&dx->shape, &x->shape))
        return cuda_shape_error(call, err);
    if (nn_tensor_numel(dx) == 0)
        return 0;
    return CU(k_max_pool2d_grad(x->dtype, cuda_data(dx), cuda_data(dy),
                                cuda_data(x), &p, cu->stream),
              err);
}

CUDA_OP(avg_pool2d)
{
    const bool grad = call->op == NN_OP_AVG_POOL2D_GRAD;
    const struct nn_tensor *in = call->in[0], *out = call->out[0];
    struct k_pool p;

    if (!pool_of(&p, call, grad ? out : in, grad ? in : out))
        return cuda_shape_error(call, err);
    if (nn_tensor_numel(out) == 0)
        return 0;
    if (grad)
        return CU(k_avg_pool2d_grad(in->dtype, cuda_data(out), cuda_data(in),
                                    &p, cu->stream),
                  err);
    return CU(
        k_avg_pool2d(in->dtype, cuda_data(out), cuda_data(in), &p, cu->stream),
        err);
}
