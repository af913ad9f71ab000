/* Sixteen lanes of AVX-512 (F, VL, BW, DQ): see cpu_vec.h, which includes this.
 */
#ifndef NN_CPU_VEC_AVX512_H
#define NN_CPU_VEC_AVX512_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "nn/cpu/cpu_vec_base.h"

#define VL ((int64_t)16)
#define ISA(name) name##_avx512
typedef __m512 V;     /* floats */
typedef __m512i VI;   /* 32-bit integers */
typedef __mmask16 VM; /* one truth value a lane */

AI __mmask16 v_lanes(int64_t n)
{
    return (__mmask16)((1u << n) - 1);
}

AI V v_set1(float a)
{
    return _mm512_set1_ps(a);
}

AI V v_load(const float *p)
{
    return _mm512_loadu_ps(p);
}

AI void v_store(float *p, V a)
{
    _mm512_storeu_ps(p, a);
}

AI V v_load_n(const float *p, int64_t n)
{
    return _mm512_maskz_loadu_ps(v_lanes(n), p);
}

AI void v_store_n(float *p, V a, int64_t n)
{
    _mm512_mask_storeu_ps(p, v_lanes(n), a);
}

AI V v_add(V a, V b)
{
    return _mm512_add_ps(a, b);
}

AI V v_sub(V a, V b)
{
    return _mm512_sub_ps(a, b);
}

AI V v_mul(V a, V b)
{
    return _mm512_mul_ps(a, b);
}

AI V v_div(V a, V b)
{
    return _mm512_div_ps(a, b);
}

AI V v_fma(V a, V b, V c)
{
    return _mm512_fmadd_ps(a, b, c);
}

AI V v_fnma(V a, V b, V c)
{
    return _mm512_fnmadd_ps(a, b, c);
}

AI V v_sqrt(V a)
{
    return _mm512_sqrt_ps(a);
}

AI V v_min(V a, V b)
{
    return _mm512_min_ps(a, b);
}

AI V v_max(V a, V b)
{
    return _mm512_max_ps(a, b);
}

AI VM v_lt(V a, V b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}

AI VM v_le(V a, V b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ);
}

AI V v_select(VM m, V yes, V no)
{
    return _mm512_mask_blend_ps(m, no, yes);
}

AI V v_first(V a, int64_t n)
{
    return _mm512_maskz_mov_ps(v_lanes(n), a);
}

AI VI vi_bits(V a)
{
    return _mm512_castps_si512(a);
}

AI V vi_as_float(VI a)
{
    return _mm512_castsi512_ps(a);
}

AI V vi_to_float(VI a)
{
    return _mm512_cvtepi32_ps(a);
}

AI VI vi_set1(uint32_t a)
{
    return _mm512_set1_epi32((int32_t)a);
}

AI VI vi_load(const uint32_t *p)
{
    return _mm512_loadu_si512(p);
}

AI void vi_store(uint32_t *p, VI a)
{
    _mm512_storeu_si512(p, a);
}

AI VI vi_add(VI a, VI b)
{
    return _mm512_add_epi32(a, b);
}

AI VI vi_sub(VI a, VI b)
{
    return _mm512_sub_epi32(a, b);
}

AI VI vi_and(VI a, VI b)
{
    return _mm512_and_si512(a, b);
}

AI VI vi_or(VI a, VI b)
{
    return _mm512_or_si512(a, b);
}

AI VI vi_xor(VI a, VI b)
{
    return _mm512_xor_si512(a, b);
}

#define vi_shl(a, n) _mm512_slli_epi32((a), (n))
#define vi_shr(a, n) _mm512_srli_epi32((a), (n))
#define vi_sar(a, n) _mm512_srai_epi32((a), (n))

/* High and low halves of the 64-bit products. */
AI VI vi_mul(VI *lo, VI a, VI b)
{
    VI even = _mm512_mul_epu32(a, b);
    VI odd =
        _mm512_mul_epu32(_mm512_srli_epi64(a, 32), _mm512_srli_epi64(b, 32));

    *lo = _mm512_mask_mov_epi32(even, 0xaaaa, _mm512_slli_epi64(odd, 32));
    return _mm512_mask_mov_epi32(_mm512_srli_epi64(even, 32), 0xaaaa, odd);
}

/* acc with one more in every lane where m holds */
AI VI vi_count(VI acc, VM m)
{
    return _mm512_mask_add_epi32(acc, m, acc, _mm512_set1_epi32(1));
}

AI V v_bytes(const uint8_t *p)
{
    __m128i b = _mm_loadu_si128((const void *)p);

    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(b));
}

#endif
