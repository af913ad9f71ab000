/* All kernels of one instruction set. */
#include "nn/cpu/isa_parts.h"

#if defined(ISA_AVX512)
#define NAME "avx512"
#elif defined(ISA_AVX2)
#define NAME "avx2"
#else
#define NAME "scalar"
#endif

const struct cpu_kernels ISA(cpu_kernels) = {
    .name = NAME,
    .elem = &ISA(cpu_elem),
    .row = &ISA(cpu_row),
    .loss = &ISA(cpu_loss),
    .reduce = &ISA(cpu_reduce),
    .gemm = &ISA(cpu_gemm),
    .pool = &ISA(cpu_pool),
    .optim = &ISA(cpu_optim),
};
