/* Normalisation. x of batch_norm is (samples, channels, places); its sums over
 * a channel are made with k_sum. dtype is NN_F32 or NN_F64, the type of every
 * float operand. */
#ifndef CUDA_K_NORM_H
#define CUDA_K_NORM_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#include "nn/tensor.h"

struct k_batch_norm {
    int64_t n, channels, places; /* n numbers in all */
    const void *x, *dy, *mean, *var, *w, *b;
    double eps;
};
/* v (channels) /= count */
cudaError_t k_divide(enum nn_dtype dtype, void *v, double count,
                     int64_t channels, cudaStream_t stream);
/* (x - mean)^2 */
cudaError_t k_square_centred(enum nn_dtype dtype, void *y,
                             const struct k_batch_norm *o, cudaStream_t stream);
/* xhat * w + b */
cudaError_t k_batch_norm(enum nn_dtype dtype, void *y,
                         const struct k_batch_norm *o, cudaStream_t stream);
/* dy * xhat */
cudaError_t k_times_xhat(enum nn_dtype dtype, void *y,
                         const struct k_batch_norm *o, cudaStream_t stream);
/* (w r) * dy, or with s and t, which are means over a channel, (w r) * ((dy -
 * s) - xhat t) */
cudaError_t k_batch_norm_grad(enum nn_dtype dtype, void *dx,
                              const struct k_batch_norm *o, const void *s,
                              const void *t, cudaStream_t stream);
/* old = (1 - momentum) * old + momentum * (now * factor) */
cudaError_t k_move_towards(enum nn_dtype dtype, void *old, const void *now,
                           double momentum, double factor, int64_t channels,
                           cudaStream_t stream);
/* *count += 1 */
cudaError_t k_count(int64_t *count, cudaStream_t stream);

struct k_layer_norm {
    int64_t rows, cols;
    const void *x, *dy, *w, *b;
    double eps;
};
cudaError_t k_layer_norm(enum nn_dtype dtype, void *y,
                         const struct k_layer_norm *o, cudaStream_t stream);
cudaError_t k_layer_norm_grad(enum nn_dtype dtype, void *dx,
                              const struct k_layer_norm *o,
                              cudaStream_t stream);
/* dy * xhat */
cudaError_t k_row_times_xhat(enum nn_dtype dtype, void *y,
                             const struct k_layer_norm *o, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
