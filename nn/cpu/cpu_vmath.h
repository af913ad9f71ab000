/* exp, log, log1p, tanh, sigmoid and erf of float32 from fixed sequences of
 * fma, so that every instruction set gives the same bits; within 2 ulp of the
 * exact value for every float (tests/soak/ulp.c tries them all).
 *
 * The polynomials are minimax fits made with Sollya, coefficients rounded to
 * float32 in the fit: fpminimax(f, exponents, [|SG...|], range, relative), for
 * erf's tail remez with weight erfc. The maximum error of each fit stands by
 * it, relative unless it says otherwise; 1 ulp is 6e-8 to 1.2e-7. */
#ifndef NN_CPU_VMATH_H
#define NN_CPU_VMATH_H

#include "nn/cpu/cpu_vec.h"

#define LOG2E 0x1.715476p+0f
#define LN2_HI 0x1.62e430p-1f
#define LN2_LO (-0x1.05c610p-29f)

/* 2^n for integers -126 <= n <= 127 */
AI V vm_pow2(VI n)
{
    return vi_as_float(vi_shl(vi_add(n, vi_set1(127)), 23));
}

/* x = n ln 2 + r, |r| <= ln(2)/2; exp(r) = 1 + r + r^2 q(r), fit 3.3e-9. The
 * power of two is applied in two halves: the first is exact, so that a
 * denormal result is rounded once. Outside the clamp the result is 0 or inf. */
AI V v_exp(V x)
{
    const V magic = v_set1(0x1.8p23f); /* adding it rounds to an integer */
    V t, n, r, q;
    VI i, half;

    x = v_max(v_set1(-104.0f), v_min(v_set1(89.0f), x)); /* NaN passes */
    t = v_fma(x, v_set1(LOG2E), magic);
    n = v_sub(t, magic);
    r = v_fnma(n, v_set1(LN2_HI), x);
    r = v_fnma(n, v_set1(LN2_LO), r);
    q = v_set1(0x1.694ac4p-10f);
    q = v_fma(q, r, v_set1(0x1.12398ep-7f));
    q = v_fma(q, r, v_set1(0x1.555a28p-5f));
    q = v_fma(q, r, v_set1(0x1.555492p-3f));
    q = v_fma(q, r, v_set1(0x1.fffffap-2f));
    q = v_fma(q, r, v_set1(1.0f));
    q = v_fma(q, r, v_set1(1.0f));
    i = vi_sub(vi_bits(t), vi_bits(magic));
    half = vi_sar(i, 1);
    return v_mul(v_mul(q, vm_pow2(half)), vm_pow2(vi_sub(i, half)));
}

/* log(2^e (1 + f)), 1 + f in [sqrt(1/2), sqrt(2)):
 * log(1 + f) = f - f^2/2 + f^3 q(f), fit 7.9e-9 */
AI V vm_log_of_parts(V e, V f)
{
    V z = v_mul(f, f), q, y;

    q = v_set1(-0x1.2a6f80p-4f);
    q = v_fma(q, f, v_set1(0x1.015976p-3f));
    q = v_fma(q, f, v_set1(-0x1.0e96ccp-3f));
    q = v_fma(q, f, v_set1(0x1.239ce2p-3f));
    q = v_fma(q, f, v_set1(-0x1.5466fep-3f));
    q = v_fma(q, f, v_set1(0x1.99944ep-3f));
    q = v_fma(q, f, v_set1(-0x1.000234p-2f));
    q = v_fma(q, f, v_set1(0x1.555570p-2f));
    y = v_mul(v_mul(f, z), q);
    y = v_fma(e, v_set1(LN2_LO), y);
    y = v_fma(v_set1(-0.5f), z, y);
    y = v_add(f, y);
    return v_fma(e, v_set1(LN2_HI), y);
}

/* Splits a normal x > 0 into 2^e m, m in [sqrt(1/2), sqrt(2)). */
AI VI vm_split(V *m, V x)
{
    VI i = vi_bits(x);
    VI e = vi_sar(vi_sub(i, vi_set1(0x3f3504f3)), 23); /* sqrt(1/2) */

    *m = vi_as_float(vi_sub(i, vi_shl(e, 23)));
    return e;
}

/* log(0) = -inf, of a negative number NaN */
AI V v_log(V x)
{
    const V inf = v_set1(__builtin_inff());
    VM denormal = v_lt(x, v_set1(0x1p-126f));
    V m, e, y, pole;

    e = vi_to_float(
        vm_split(&m, v_select(denormal, v_mul(x, v_set1(0x1p23f)), x)));
    e = v_select(denormal, v_sub(e, v_set1(23.0f)), e);
    y = vm_log_of_parts(e, v_sub(m, v_set1(1.0f)));
    y = v_select(v_lt(x, inf), y, x); /* inf, NaN */
    pole = v_select(v_lt(x, v_zero()), v_set1(__builtin_nanf("")), v_neg(inf));
    return v_select(v_le(x, v_zero()), pole, y);
}

/* log(1 + x): what 1 + x lost in rounding is added to f. */
AI V v_log1p(V x)
{
    const V one = v_set1(1.0f);
    V hi = v_max(one, x), lo = v_min(one, x);
    V u = v_add(hi, lo);
    V lost = v_sub(lo, v_sub(u, hi));
    V m, scale, y, pole;
    VI e = vm_split(&m, u);

    scale = vi_as_float(vi_shl(vi_sub(vi_set1(127), e), 23));
    scale = v_select(v_lt(x, v_set1(0x1p30f)), scale, v_zero());
    y = vm_log_of_parts(vi_to_float(e), v_fma(lost, scale, v_sub(m, one)));
    y = v_select(v_lt(x, v_set1(__builtin_inff())), y, x); /* inf, NaN */
    pole = v_select(v_lt(x, v_set1(-1.0f)), v_set1(__builtin_nanf("")),
                    v_set1(-__builtin_inff()));
    y = v_select(v_le(v_abs(x), v_zero()), x, y); /* -0 */
    return v_select(v_le(x, v_set1(-1.0f)), pole, y);
}

/* |x| < 0.625: x + x z q(z), z = x^2, fit 6.8e-9; else 1 - 2/(exp(2|x|) + 1) */
AI V v_tanh(V x)
{
    const V one = v_set1(1.0f);
    V a = v_abs(x), z = v_mul(a, a), q, far;

    q = v_set1(-0x1.696b9cp-8f);
    q = v_fma(q, z, v_set1(0x1.4f5da0p-6f));
    q = v_fma(q, z, v_set1(-0x1.b7cfbap-5f));
    q = v_fma(q, z, v_set1(0x1.1103f0p-3f));
    q = v_fma(q, z, v_set1(-0x1.555524p-2f));
    q = v_fma(v_mul(q, z), a, a);
    far = v_add(v_exp(v_add(a, a)), one);
    far = v_sub(one, v_div(v_set1(2.0f), far));
    return v_with_sign(v_select(v_lt(a, v_set1(0.625f)), q, far), x);
}

/* n / (1 + e), e = exp(-|x|), n = 1 for x >= 0 and e below: never exp of x > 0.
 * One step of Newton takes back what 1 + e and the division lost in rounding;
 * 1/(1 + e) is the quotient itself or, below 0, 1 less it. */
AI V v_sigmoid(V x)
{
    const V one = v_set1(1.0f);
    VM below = v_lt(x, v_zero());
    V e = v_exp(v_neg(v_abs(x)));
    V n = v_select(below, e, one), s = v_add(one, e);
    V lost = v_sub(e, v_sub(s, one));
    V q = v_div(n, s), rest;

    rest = v_fnma(q, lost, v_fnma(q, s, n));
    return v_fma(rest, v_select(below, v_sub(one, q), q), q);
}

/* |x| < 0.92: x + x q(x^2), fit 8.6e-10; else 1 - exp(p(|x|)), p a fit of
 * log(erfc) to 3.9e-9 absolute in erf; 1 from 3.95 on */
AI V v_erf(V x)
{
    V a = v_abs(x), z = v_mul(a, a), q, t, p;

    q = v_set1(0x1.5bd58cp-14f);
    q = v_fma(q, z, v_set1(-0x1.a9e392p-11f));
    q = v_fma(q, z, v_set1(0x1.54bb3ap-8f));
    q = v_fma(q, z, v_set1(-0x1.b80cdap-6f));
    q = v_fma(q, z, v_set1(0x1.ce2decp-4f));
    q = v_fma(q, z, v_set1(-0x1.812742p-2f));
    q = v_fma(q, z, v_set1(0x1.06eba0p-3f)); /* 0x1.20dd74p0 - 1 */
    q = v_fma(q, a, a);
    t = v_min(v_set1(3.95f), a); /* NaN passes */
    p = v_set1(0x1.9d850ap-13f);
    p = v_fma(p, t, v_set1(-0x1.908120p-9f));
    p = v_fma(p, t, v_set1(0x1.6cfcdap-6f));
    p = v_fma(p, t, v_set1(-0x1.aa2310p-4f));
    p = v_fma(p, t, v_set1(-0x1.462cb2p-1f));
    p = v_fma(p, t, v_set1(-0x1.20b432p+0f));
    p = v_fma(p, t, v_set1(-0x1.743c9cp-13f));
    p = v_sub(v_set1(1.0f), v_exp(p));
    return v_with_sign(v_select(v_lt(a, v_set1(0.92f)), q, p), x);
}

#endif
