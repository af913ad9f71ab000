/* One lane of plain C: see cpu_vec.h, which includes this. */
#ifndef NN_CPU_VEC_SCALAR_H
#define NN_CPU_VEC_SCALAR_H

#include <stdint.h>
#include <string.h>

#include "nn/cpu/cpu_vec_base.h"

#define VL ((int64_t)1)
#define ISA(name) name##_scalar
typedef float V;
typedef uint32_t VI;
typedef int VM;

AI V v_set1(float a)
{
    return a;
}

AI V v_load(const float *p)
{
    return *p;
}

AI void v_store(float *p, V a)
{
    *p = a;
}

/* A single lane is never partial: the _n forms see n == 1 at most. */
AI V v_load_n(const float *p, int64_t n)
{
    return n > 0 ? *p : 0.0f;
}

AI void v_store_n(float *p, V a, int64_t n)
{
    if (n > 0)
        *p = a;
}

AI V v_add(V a, V b)
{
    return a + b;
}

AI V v_sub(V a, V b)
{
    return a - b;
}

AI V v_mul(V a, V b)
{
    return a * b;
}

AI V v_div(V a, V b)
{
    return a / b;
}

AI V v_fma(V a, V b, V c)
{
    return __builtin_fmaf(a, b, c);
}

AI V v_fnma(V a, V b, V c)
{
    return __builtin_fmaf(-a, b, c);
}

AI V v_sqrt(V a)
{
    return __builtin_sqrtf(a);
}

/* As the instructions: b where the two do not compare. */
AI V v_min(V a, V b)
{
    return a < b ? a : b;
}

AI V v_max(V a, V b)
{
    return a > b ? a : b;
}

AI VM v_lt(V a, V b)
{
    return a < b;
}

AI VM v_le(V a, V b)
{
    return a <= b;
}

AI V v_select(VM m, V yes, V no)
{
    return m ? yes : no;
}

AI V v_first(V a, int64_t n)
{
    return n > 0 ? a : 0.0f;
}

AI VI vi_bits(V a)
{
    VI i;

    memcpy(&i, &a, sizeof i);
    return i;
}

AI V vi_as_float(VI a)
{
    V f;

    memcpy(&f, &a, sizeof f);
    return f;
}

AI V vi_to_float(VI a)
{
    return (float)(int32_t)a;
}

AI VI vi_set1(uint32_t a)
{
    return a;
}

AI VI vi_load(const uint32_t *p)
{
    return *p;
}

AI void vi_store(uint32_t *p, VI a)
{
    *p = a;
}

AI VI vi_add(VI a, VI b)
{
    return a + b;
}

AI VI vi_sub(VI a, VI b)
{
    return a - b;
}

AI VI vi_and(VI a, VI b)
{
    return a & b;
}

AI VI vi_or(VI a, VI b)
{
    return a | b;
}

AI VI vi_xor(VI a, VI b)
{
    return a ^ b;
}

AI VI vi_shl(VI a, int n)
{
    return a << n;
}

AI VI vi_shr(VI a, int n)
{
    return a >> n;
}

AI VI vi_sar(VI a, int n)
{
    return (uint32_t)((int32_t)a >> n);
}

AI VI vi_mul(VI *lo, VI a, VI b)
{
    uint64_t p = (uint64_t)a * b;

    *lo = (uint32_t)p;
    return (uint32_t)(p >> 32);
}

AI VI vi_count(VI acc, VM m)
{
    return acc + (m ? 1u : 0u);
}

AI V v_bytes(const uint8_t *p)
{
    return (float)*p;
}

#endif
