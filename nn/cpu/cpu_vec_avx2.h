/* Eight lanes of AVX2 and FMA: see cpu_vec.h, which includes this. */
#ifndef NN_CPU_VEC_AVX2_H
#define NN_CPU_VEC_AVX2_H

#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "nn/cpu/cpu_vec_base.h"

#define VL ((int64_t)8)
#define ISA(name) name##_avx2
typedef __m256 V;
typedef __m256i VI;
typedef __m256 VM;

AI __m256i v_lanes(int64_t n)
{
    static const int32_t table[16] = {-1, -1, -1, -1, -1, -1, -1, -1};

    return _mm256_loadu_si256((const void *)(table + 8 - n));
}

AI V v_set1(float a)
{
    return _mm256_set1_ps(a);
}

AI V v_load(const float *p)
{
    return _mm256_loadu_ps(p);
}

AI void v_store(float *p, V a)
{
    _mm256_storeu_ps(p, a);
}

AI V v_load_n(const float *p, int64_t n)
{
    return _mm256_maskload_ps(p, v_lanes(n));
}

AI void v_store_n(float *p, V a, int64_t n)
{
    _mm256_maskstore_ps(p, v_lanes(n), a);
}

AI V v_add(V a, V b)
{
    return _mm256_add_ps(a, b);
}

AI V v_sub(V a, V b)
{
    return _mm256_sub_ps(a, b);
}

AI V v_mul(V a, V b)
{
    return _mm256_mul_ps(a, b);
}

AI V v_div(V a, V b)
{
    return _mm256_div_ps(a, b);
}

AI V v_fma(V a, V b, V c)
{
    return _mm256_fmadd_ps(a, b, c);
}

AI V v_fnma(V a, V b, V c)
{
    return _mm256_fnmadd_ps(a, b, c);
}

AI V v_sqrt(V a)
{
    return _mm256_sqrt_ps(a);
}

AI V v_min(V a, V b)
{
    return _mm256_min_ps(a, b);
}

AI V v_max(V a, V b)
{
    return _mm256_max_ps(a, b);
}

AI VM v_lt(V a, V b)
{
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}

AI VM v_le(V a, V b)
{
    return _mm256_cmp_ps(a, b, _CMP_LE_OQ);
}

AI V v_select(VM m, V yes, V no)
{
    return _mm256_blendv_ps(no, yes, m);
}

AI V v_first(V a, int64_t n)
{
    return _mm256_and_ps(a, _mm256_castsi256_ps(v_lanes(n)));
}

AI VI vi_bits(V a)
{
    return _mm256_castps_si256(a);
}

AI V vi_as_float(VI a)
{
    return _mm256_castsi256_ps(a);
}

AI V vi_to_float(VI a)
{
    return _mm256_cvtepi32_ps(a);
}

AI VI vi_set1(uint32_t a)
{
    return _mm256_set1_epi32((int32_t)a);
}

AI VI vi_load(const uint32_t *p)
{
    return _mm256_loadu_si256((const void *)p);
}

AI void vi_store(uint32_t *p, VI a)
{
    _mm256_storeu_si256((void *)p, a);
}

AI VI vi_add(VI a, VI b)
{
    return _mm256_add_epi32(a, b);
}

AI VI vi_sub(VI a, VI b)
{
    return _mm256_sub_epi32(a, b);
}

AI VI vi_and(VI a, VI b)
{
    return _mm256_and_si256(a, b);
}

AI VI vi_or(VI a, VI b)
{
    return _mm256_or_si256(a, b);
}

AI VI vi_xor(VI a, VI b)
{
    return _mm256_xor_si256(a, b);
}

#define vi_shl(a, n) _mm256_slli_epi32((a), (n))
#define vi_shr(a, n) _mm256_srli_epi32((a), (n))
#define vi_sar(a, n) _mm256_srai_epi32((a), (n))

AI VI vi_mul(VI *lo, VI a, VI b)
{
    VI even = _mm256_mul_epu32(a, b);
    VI odd =
        _mm256_mul_epu32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32));

    *lo = _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
    return _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
}

AI VI vi_count(VI acc, VM m)
{
    return _mm256_sub_epi32(acc, _mm256_castps_si256(m));
}

AI V v_bytes(const uint8_t *p)
{
    __m128i b = _mm_loadl_epi64((const void *)p);

    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(b));
}

#endif
