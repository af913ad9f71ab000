/* Elementwise kernels. All return what the launch gave; n is at least 1,
 * dtype NN_F32 or NN_F64 and the type of every float operand. */
#ifndef CUDA_K_ELEM_H
#define CUDA_K_ELEM_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#include "nn/op.h"
#include "nn/walk.h"

/* y[i] = op(x[i]): RELU TANH SIGMOID GELU NEG EXP LOG LOG1P SQRT ABS, POW for
 * the cube */
cudaError_t k_unary(enum nn_op_id op, enum nn_dtype dtype, void *y,
                    const void *x, int64_t n, cudaStream_t stream);
/* y = op(a, b) over a walk of both: ADD SUB MUL DIV MAXIMUM MAXIMUM_SHARE and
 * the gradients of unary operators (dy, x or y) */
cudaError_t k_binary(enum nn_op_id op, enum nn_dtype dtype, void *y,
                     const void *a, const void *b, const struct nn_walk *w,
                     cudaStream_t stream);
/* y = x * value, value rounded to the type; x may be y */
cudaError_t k_scale(enum nn_dtype dtype, void *y, const void *x, double value,
                    int64_t n, cudaStream_t stream);
/* y = exp(p log(x)); float64: pow */
cudaError_t k_pow(enum nn_dtype dtype, void *y, const void *x, double p,
                  int64_t n, cudaStream_t stream);
cudaError_t k_fill(enum nn_dtype dtype, void *y, double value, int64_t n,
                   cudaStream_t stream);
/* y over the walk's shape = x, where its first steps lead */
cudaError_t k_expand(enum nn_dtype dtype, void *y, const void *x,
                     const struct nn_walk *w, cudaStream_t stream);

/* A sum over some dimensions, each result one chain from +0 in the row-major
 * order of what is summed. */
struct k_sum_to {
    int n_kept, n_summed;
    int64_t kept[NN_MAX_DIMS], kept_step[NN_MAX_DIMS]; /* in x */
    int64_t summed[NN_MAX_DIMS], summed_step[NN_MAX_DIMS];
    int64_t results, terms; /* products of kept and summed */
};
cudaError_t k_sum_to(enum nn_dtype dtype, void *y, const void *x,
                     const struct k_sum_to *s, cudaStream_t stream);

/* samples rows; step (device) is the Philox counter's second word */
struct k_dropout {
    uint32_t key[2], layer;
    int64_t samples, row, first;
    float p;
    double scale;
};
cudaError_t k_dropout(enum nn_dtype dtype, void *y, const void *x,
                      const struct k_dropout *d, const uint32_t *step,
                      cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
