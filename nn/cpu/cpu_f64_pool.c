/* Windows in float64. */
#include "nn/cpu/cpu_f64.h"

#define POOL_FLOAT64
#include "nn/cpu/cpu_pool_loops.h"

const struct cpu_pool_kernels cpu_pool_f64 = POOL_KERNELS;
