/* What all of cpu_vec.h's variants are written with. */
#ifndef NN_CPU_VEC_BASE_H
#define NN_CPU_VEC_BASE_H

#define AI static inline __attribute__((always_inline))

/* Unrolls the loop after it; clang ignores the pragma of gcc. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

#endif
