/* Kernels over rows of the last dimension, and sums along an axis. dtype is
 * NN_F32 or NN_F64, the type of every float operand. */
#ifndef CUDA_K_ROWS_H
#define CUDA_K_ROWS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#include "nn/op.h"

/* SOFTMAX LOG_SOFTMAX (a: x), SOFTMAX_GRAD LOG_SOFTMAX_GRAD (a: dy, b: y);
 * rows and cols at least 1 */
cudaError_t k_softmax(enum nn_op_id op, enum nn_dtype dtype, void *y,
                      const void *a, const void *b, int64_t rows, int64_t cols,
                      cudaStream_t stream);

/* x (outer, len, inner) -> y (outer, inner) */
struct k_axis {
    int64_t outer, len, inner;
};
/* Sums, divided by len where mean; lanes: in 16 lanes (inner is 1), else
 * chains in index order. len may be 0. */
cudaError_t k_sum(enum nn_dtype dtype, void *y, const void *x,
                  const struct k_axis *a, bool lanes, bool mean,
                  cudaStream_t stream);
/* The first largest; NaN counts as largest. len at least 1. */
cudaError_t k_max(enum nn_dtype dtype, void *y, const void *x,
                  const struct k_axis *a, cudaStream_t stream);
/* dx = dy at the first largest, else 0 */
cudaError_t k_max_grad(enum nn_dtype dtype, void *dx, const void *dy,
                       const void *x, const struct k_axis *a,
                       cudaStream_t stream);
/* y (rows) = where the first largest of each row stands */
cudaError_t k_argmax(enum nn_dtype dtype, int32_t *y, const void *x,
                     int64_t rows, int64_t cols, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
