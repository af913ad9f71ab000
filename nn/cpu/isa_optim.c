/* The optimizers in float32: one pass over parameters and state. */
#include "nn/cpu/isa_parts.h"

#define SNAP_M 0x1p-100f
#define SNAP_V 0x1p-120f

AI VI count_finite(VI count, V p)
{
    return vi_count(count, v_lt(v_abs(p), v_set1(__builtin_inff())));
}

/* How many of n numbers are not finite, counted in whole vectors with zeros
 * (which are finite) at the end. */
AI int64_t non_finite(VI finite, int64_t n)
{
    uint32_t t[VL];
    int64_t count = (n + VL - 1) / VL * VL;

    vi_store(t, finite);
    for (int i = 0; i < VL; i++)
        count -= t[i];
    return count;
}

/* One vector of SGD: returns the new p, *m is the new moment. */
AI V sgd1(V p, V g, V *m, const struct cpu_sgd *o)
{
    V wd = v_set1(o->weight_decay), mu = v_set1(o->momentum);
    V d = o->weight_decay != 0.0f ? v_fma(wd, p, g) : g;

    if (m) {
        *m = v_snap(v_fma(mu, *m, d), SNAP_M);
        d = o->nesterov ? v_fma(mu, *m, d) : *m;
    }
    return v_fma(v_set1(o->minus_lr), d, p);
}

/* n <= VL numbers */
AI VI sgd_some(float *p, const float *g, float *m, int64_t n, VI finite,
               const struct cpu_sgd *o)
{
    V mv = m ? v_load_upto(m, n) : v_zero();
    V pv = sgd1(v_load_upto(p, n), v_load_upto(g, n), m ? &mv : NULL, o);

    if (m)
        v_store_upto(m, mv, n);
    v_store_upto(p, pv, n);
    return count_finite(finite, n < VL ? v_first(pv, n) : pv);
}

AI int64_t sgd_pass(float *p, const float *g, float *m, int64_t n,
                    const struct cpu_sgd *o)
{
    VI finite = vi_set1(0);
    int64_t i = 0;

    for (; i + VL <= n; i += VL)
        finite = sgd_some(p + i, g + i, m ? m + i : NULL, VL, finite, o);
    if (i < n)
        finite = sgd_some(p + i, g + i, m ? m + i : NULL, n - i, finite, o);
    return non_finite(finite, n);
}

static int64_t sgd(float *p, const float *g, float *m, int64_t n,
                   const struct cpu_sgd *o)
{
    const struct cpu_sgd local = *o; /* seen not to alias p */

    return m ? sgd_pass(p, g, m, n, &local) : sgd_pass(p, g, NULL, n, &local);
}

/* One vector of Adam: returns the new p, *m and *v are the new moments. */
AI V adam1(V p, V g, V *m, V *v, const struct cpu_adam *o)
{
    V d;

    if (o->decoupled)
        p = v_mul(p, v_set1(o->decay));
    else if (o->weight_decay != 0.0f)
        g = v_fma(v_set1(o->weight_decay), p, g);
    *m = v_fma(v_set1(o->beta1), *m, v_mul(v_set1(o->one_minus_beta1), g));
    *m = v_snap(*m, SNAP_M);
    *v = v_fma(v_set1(o->beta2), *v,
               v_mul(v_set1(o->one_minus_beta2), v_mul(g, g)));
    *v = v_snap(*v, SNAP_V);
    d = v_fma(v_sqrt(*v), v_set1(o->rsqrt_bias2), v_set1(o->eps));
    return v_fma(v_set1(o->minus_step), v_div(*m, d), p);
}

AI VI adam_some(float *p, const float *g, float *m, float *v, int64_t n,
                VI finite, const struct cpu_adam *o)
{
    V mv = v_load_upto(m, n), vv = v_load_upto(v, n);
    V pv = adam1(v_load_upto(p, n), v_load_upto(g, n), &mv, &vv, o);

    if (n < VL) /* 0 / eps of the missing lanes is NaN where eps is 0 */
        pv = v_first(pv, n);
    v_store_upto(m, mv, n);
    v_store_upto(v, vv, n);
    v_store_upto(p, pv, n);
    return count_finite(finite, pv);
}

static int64_t adam(float *p, const float *g, float *m, float *v, int64_t n,
                    const struct cpu_adam *o)
{
    const struct cpu_adam local = *o;
    VI finite = vi_set1(0);
    int64_t i = 0;

    for (; i + VL <= n; i += VL)
        finite = adam_some(p + i, g + i, m + i, v + i, VL, finite, &local);
    if (i < n)
        finite = adam_some(p + i, g + i, m + i, v + i, n - i, finite, &local);
    return non_finite(finite, n);
}

const struct cpu_optim_kernels ISA(cpu_optim) = {
    .sgd = sgd,
    .adam = adam,
};
