/* Convolutions and pools: one thread to each result, terms in the order of
 * nn/op.h. dtype is NN_F32 or NN_F64, the type of every operand. */
#ifndef CUDA_K_IMAGE_H
#define CUDA_K_IMAGE_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#include "nn/tensor.h"

/* x (n, c, h, w), weight (o, c, kh, kw), y (n, o, oh, ow) */
struct k_conv {
    int64_t n, c, h, w, o, kh, kw, oh, ow, stride, padding;
};
cudaError_t k_conv2d(enum nn_dtype dtype, void *y, const void *x,
                     const void *weight, const void *bias,
                     const struct k_conv *v, cudaStream_t stream);
cudaError_t k_conv2d_grad_input(enum nn_dtype dtype, void *dx, const void *dy,
                                const void *weight, const struct k_conv *v,
                                cudaStream_t stream);
cudaError_t k_conv2d_grad_weight(enum nn_dtype dtype, void *dw, const void *dy,
                                 const void *x, const struct k_conv *v,
                                 cudaStream_t stream);

/* planes of (h, w), windows (oh, ow) */
struct k_pool {
    int64_t planes, h, w, oh, ow, kernel, stride, padding;
};
cudaError_t k_max_pool2d(enum nn_dtype dtype, void *y, const void *x,
                         const struct k_pool *p, cudaStream_t stream);
cudaError_t k_max_pool2d_grad(enum nn_dtype dtype, void *dx, const void *dy,
                              const void *x, const struct k_pool *p,
                              cudaStream_t stream);
cudaError_t k_avg_pool2d(enum nn_dtype dtype, void *y, const void *x,
                         const struct k_pool *p, cudaStream_t stream);
cudaError_t k_avg_pool2d_grad(enum nn_dtype dtype, void *dx, const void *dy,
                              const struct k_pool *p, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
