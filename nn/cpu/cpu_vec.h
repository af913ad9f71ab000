/* A small portable vector of float32: VL = 1, 8 or 16 lanes by ISA_SCALAR,
 * ISA_AVX2 or ISA_AVX512. Every operation is exact or rounds once, lane by
 * lane, so all three compute the same bits. Included by isa_*.c only; all is
 * static, so that no instruction of one ISA ends up in another's symbols. */
#ifndef NN_CPU_VEC_H
#define NN_CPU_VEC_H

#include <stdint.h>

#if defined(ISA_AVX512)
#include "nn/cpu/cpu_vec_avx512.h"
#elif defined(ISA_AVX2)
#include "nn/cpu/cpu_vec_avx2.h"
#else
#include "nn/cpu/cpu_vec_scalar.h"
#endif

AI V v_zero(void)
{
    return v_set1(0.0f);
}

AI V v_abs(V a)
{
    return vi_as_float(vi_and(vi_bits(a), vi_set1(0x7fffffff)));
}

AI V v_neg(V a)
{
    return vi_as_float(vi_xor(vi_bits(a), vi_set1(0x80000000)));
}

AI float v_lane0(V a)
{
    float t[VL];

    v_store(t, a);
    return t[0];
}

/* a, which is not negative, with the sign of b */
AI V v_with_sign(V a, V b)
{
    VI sign = vi_and(vi_bits(b), vi_set1(0x80000000));

    return vi_as_float(vi_or(vi_bits(a), sign));
}

/* The first min(n, VL) lanes, n > 0; zeros in the rest. */
AI V v_load_upto(const float *p, int64_t n)
{
    return n >= VL ? v_load(p) : v_load_n(p, n);
}

AI void v_store_upto(float *p, V a, int64_t n)
{
    if (n >= VL)
        v_store(p, a);
    else
        v_store_n(p, a, n);
}

/* 0 where |a| < bound; NaN stays */
AI V v_snap(V a, float bound)
{
    return v_select(v_lt(v_abs(a), v_set1(bound)), v_zero(), a);
}

/* relu as nn/op.h has it: NaN stays NaN, -0 becomes +0 */
AI V v_relu(V a)
{
    return v_select(v_le(a, v_zero()), v_zero(), a);
}

/* y[i] = f(x[i]); x and y may be the same */
AI void v_map(float *y, const float *x, int64_t n, V f(V))
{
    int64_t i = 0;

    for (; i + VL <= n; i += VL)
        v_store(y + i, f(v_load(x + i)));
    if (i < n)
        v_store_n(y + i, f(v_load_n(x + i, n - i)), n - i);
}

/* A sum in 16 lanes (lanes16 in nn/op.h). A lane is never -0, so that adding
 * the +0 of a masked lane changes nothing. */
struct lanes {
    V v[16 / VL];
};

AI void lanes_zero(struct lanes *s)
{
    UNROLL
    for (int j = 0; j < 16 / VL; j++)
        s->v[j] = v_zero();
}

/* adds elements i to i + VL - 1, i a multiple of VL */
AI void lanes_add(struct lanes *s, int64_t i, V a)
{
    int j = (int)(i / VL % (16 / VL));

    s->v[j] = v_add(s->v[j], a);
}

AI float lanes_total(const struct lanes *s)
{
    float t[16];

    for (int j = 0; j < 16 / VL; j++)
        v_store(t + j * VL, s->v[j]);
    for (int w = 8; w >= 1; w /= 2)
        for (int j = 0; j < w; j++)
            t[j] += t[j + w];
    return t[0];
}

#endif
