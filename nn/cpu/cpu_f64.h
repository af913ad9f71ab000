/* The float64 kernels, between their own files. */
#ifndef NN_CPU_F64_H
#define NN_CPU_F64_H

#include "nn/cpu/cpu_kernels.h"

extern const struct cpu_elem_kernels cpu_elem_f64;
extern const struct cpu_loss_kernels cpu_loss_f64;
extern const struct cpu_pool_kernels cpu_pool_f64;

void cpu_f64_cross_entropy(void *l, const void *x, const int32_t *target,
                           int64_t rows, int64_t cols,
                           const struct cpu_loss *loss);
void cpu_f64_cross_entropy_grad(void *dx, const void *g, const void *x,
                                const int32_t *target, int64_t rows,
                                int64_t cols, const struct cpu_loss *loss);

#endif
