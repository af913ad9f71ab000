/* Windows in float32. */
#include "nn/cpu/isa_parts.h"

#include "nn/cpu/cpu_pool_loops.h"

const struct cpu_pool_kernels ISA(cpu_pool) = POOL_KERNELS;
