/* What all of cpu_vec.h's variants are written with. CUDA kernels compile the
 * scalar one too, with an AI of their own (cuda/cuda_math.cuh). */
#ifndef NN_CPU_VEC_BASE_H
#define NN_CPU_VEC_BASE_H

#ifndef AI
#define AI static inline __attribute__((always_inline))
#endif

/* Unrolls the loop after it, as each compiler wants to be told. */
#if defined(__CUDACC__)
#define UNROLL _Pragma("unroll")
#elif defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#endif
