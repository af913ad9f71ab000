/* Losses: a term for each row or element, then one chain over them. dtype is
 * NN_F32 or NN_F64, the type of every float operand. */
#ifndef CUDA_K_LOSS_H
#define CUDA_K_LOSS_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "cuda/cuda_fault.h"

#ifdef __cplusplus
extern "C" {
#endif
#include "nn/op.h"

struct k_loss {
    double scale;       /* of each term */
    double keep, share; /* 1 - label_smoothing, label_smoothing / classes */
    double pos_weight;  /* bce */
    int smooth;
    int op; /* enum nn_op_id, for the fault */
};

/* l (rows) = the terms; a target outside [0, cols) is noted in *fault, its
 * term is 0. */
cudaError_t k_cross_entropy(enum nn_dtype dtype, void *l, const void *x,
                            const int32_t *target, int64_t rows, int64_t cols,
                            const struct k_loss *o, struct cuda_fault *fault,
                            cudaStream_t stream);
/* dx (rows, cols), g one number; targets as above. */
cudaError_t k_cross_entropy_grad(enum nn_dtype dtype, void *dx, const void *g,
                                 const void *x, const int32_t *target,
                                 int64_t rows, int64_t cols,
                                 const struct k_loss *o,
                                 struct cuda_fault *fault, cudaStream_t stream);

/* Terms l and dx of float32 logits in one kernel, to the bits of the two; and,
 * where sum is not NULL, for at most K_LOSS_BOTH_ROWS rows, their k_chain. dx
 * and x do not overlap. */
struct k_loss_both {
    float *l, *dx, *sum;
    const float *g, *x;
    const int32_t *target;
    int64_t rows, cols;
    struct k_loss o;
    struct cuda_fault *fault;
};
enum { K_LOSS_BOTH_BLOCK = 512, K_LOSS_BOTH_ROWS = 64 };
cudaError_t k_cross_entropy_both(const struct k_loss_both *b,
                                 cudaStream_t stream);

/* Of n pairs: BCE_WITH_LOGITS MSE give terms l; their _GRAD, dx with g */
cudaError_t k_pair_loss(enum nn_op_id op, enum nn_dtype dtype, void *l,
                        const void *x, const void *y, int64_t n,
                        const struct k_loss *o, cudaStream_t stream);
cudaError_t k_pair_grad(enum nn_op_id op, enum nn_dtype dtype, void *dx,
                        const void *g, const void *x, const void *y, int64_t n,
                        const struct k_loss *o, cudaStream_t stream);

/* *sum = the chain of x[i] * scale from +0 */
cudaError_t k_chain(enum nn_dtype dtype, void *sum, const void *x, int64_t n,
                    double scale, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
