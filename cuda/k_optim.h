/* The optimizers, one pass over flat memory, and gradient clipping. float32;
 * what changes from step to step is read from device memory. */
#ifndef CUDA_K_OPTIM_H
#define CUDA_K_OPTIM_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "cuda/cuda_scalars.h"

#ifdef __cplusplus
extern "C" {
#endif

struct k_sgd {
    float momentum, weight_decay;
    int nesterov;
};
/* m NULL: without momentum. *flag counts on: the p that are not finite. */
cudaError_t k_sgd(float *p, const float *g, float *m, int64_t n,
                  const struct k_sgd *o, const struct cuda_scalars *scalars,
                  int32_t *flag, cudaStream_t stream);

struct k_adam {
    float beta1, one_minus_beta1, beta2, one_minus_beta2, eps, weight_decay;
    int decoupled;
};
struct k_adam_block {
    float *p, *m, *v;
    const float *g;
    int64_t n;
};
cudaError_t k_adam(const struct k_adam_block *b, const struct k_adam *o,
                   const struct cuda_scalars *scalars, int32_t *flag,
                   cudaStream_t stream);

/* sums (rows) = for each row of x (rows, cols) the chain of fma(x, x, s) */
cudaError_t k_row_squares(float *sums, const float *x, int64_t rows,
                          int64_t cols, cudaStream_t stream);
/* *total += the pairwise tree over sums (n), which are overwritten */
cudaError_t k_add_tree(float *total, float *sums, int64_t n,
                       cudaStream_t stream);
/* *norm = sqrt(*norm); *factor = max_norm / (*norm + 1e-6) */
cudaError_t k_clip_factor(float *norm, float *factor, float max_norm,
                          cudaStream_t stream);
/* x *= *factor, unless that is 1 or more */
cudaError_t k_clip_scale(float *x, int64_t n, const float *factor,
                         cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
