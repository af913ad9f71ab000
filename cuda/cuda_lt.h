/* Matrix products with what follows them in one kernel, by cuBLASLt. */
#ifndef CUDA_LT_H
#define CUDA_LT_H

#include "cuda/cuda_backend.h"
#include "cuda/k_gemm.h"

/* Whether g, float32, is such a product: a bias, or a bias and relu. */
bool cuda_lt_fits(const struct k_gemm *g);

/* c = act(a b + bias). What the library needs for a shape is found once and
 * kept. ERR_DEVICE, ERR_NOMEM. */
int cuda_lt_multiply(struct cuda *cu, const struct k_gemm *g, struct err *err);

void cuda_lt_free(struct cuda_lt *lt); /* NULL is fine */

#endif
