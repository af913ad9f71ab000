/* Matrix products by the one arithmetic, and what stands beside those of the
 * vendor's library. */
#ifndef CUDA_K_GEMM_H
#define CUDA_K_GEMM_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#include "nn/op.h"

/* c (m,n), rows = act(bias + a (m,k) b (k,n)). Strides count elements; one of
 * each pair is 1. c must not be a or b. */
struct k_gemm {
    int64_t m, n, k;
    const void *a;
    int64_t a_row, a_col; /* (i,p) at a[i * a_row + p * a_col] */
    const void *b;
    int64_t b_row, b_col; /* (p,j) at b[p * b_row + j * b_col] */
    void *c;
    const void *bias; /* (n) or NULL */
    enum nn_act act;
};
/* Each result one chain of fma in the order of k from its bias, or +0, and
 * + 0.0f at the end. m and n at least 1. */
cudaError_t k_gemm(enum nn_dtype dtype, const struct k_gemm *g,
                   cudaStream_t stream);

/* y (rows,cols) = act(y + bias), float32; bias may be NULL */
cudaError_t k_bias_act(float *y, const float *bias, int64_t rows, int64_t cols,
                       enum nn_act act, cudaStream_t stream);
/* db (cols) = for each column of dy the chain of adds over the rows from +0,
 * + 0.0f */
cudaError_t k_bias_grad(enum nn_dtype dtype, void *db, const void *dy,
                        int64_t rows, int64_t cols, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
