/* What every kernel source begins with. nvcc compiles it for the GPU; the tests
 * compile the very same sources for the CPU (tests/cuda/cusim.h, which defines
 * CUSIM and these macros itself).
 *
 * House rules of kernels: no float atomics, no warp-lockstep assumptions (every
 * exchange between lanes by __shfl_*_sync or after __syncwarp), no fast-math
 * intrinsics, every fused multiply-add written as fmaf (the build says
 * -fmad=false), results independent of grid and block sizes. A float32 kernel
 * gives the CPU backend's bits: nn/op.h defines them. */
#ifndef CUDA_KERNEL_H
#define CUDA_KERNEL_H

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/cuda_fault.h"

#ifndef CUSIM
/* Kernels carry C names, so that profiles show them plainly. */
#define KERNEL extern "C" __global__ void
/* clang-format off */
#define LAUNCH(kernel, grid, block, shared, stream, ...) \
    ((kernel)<<<(grid), (block), (shared), (stream)>>>(__VA_ARGS__), \
     cudaGetLastError())
/* clang-format on */
#define SHARED_DYN(type, name) extern __shared__ type name[]
#endif

enum { CUDA_BLOCK = 256 };

/* Blocks of CUDA_BLOCK threads for n items, at most 65535 * 16: kernels loop
 * with a stride over what is left. */
static inline unsigned cuda_grid(int64_t n)
{
    int64_t blocks = (n + CUDA_BLOCK - 1) / CUDA_BLOCK;
    int64_t most = (int64_t)65535 * 16;

    return (unsigned)(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

/* for (i = this thread's first item; i < n; i += stride) */
#define EACH(i, n) \
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < (n); \
         i += (int64_t)gridDim.x * blockDim.x)

/* True if index is in [0, limit); else the fault is noted, if it is the
 * first. */
__device__ static inline bool cuda_in_range(struct cuda_fault *f, int op,
                                            int64_t where, int64_t index,
                                            int64_t limit)
{
    if (index >= 0 && index < limit)
        return true;
    if (atomicCAS(&f->set, 0, 1) == 0) {
        f->op = op;
        f->where = where;
        f->value = index;
        f->limit = limit;
    }
    return false;
}

#endif
