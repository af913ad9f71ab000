/* The pieces that softmax and cross entropy share. */
#ifndef NN_CPU_ISA_SOFTMAX_H
#define NN_CPU_ISA_SOFTMAX_H

#include "nn/cpu/cpu_vec.h"
#include "nn/cpu/cpu_vmath.h"

/* The largest of n > 0 numbers. A NaN may be passed over: it comes back
 * through exp(x - max) and the sum. */
AI float row_max(const float *x, int64_t n)
{
    float t[VL];
    float max;
    V m = v_set1(x[0]);
    int64_t i = 0;

    for (; i + VL <= n; i += VL)
        m = v_max(m, v_load(x + i));
    v_store(t, m);
    max = t[0];
    for (int j = 1; j < VL; j++)
        max = t[j] > max ? t[j] : max;
    for (; i < n; i++)
        max = x[i] > max ? x[i] : max;
    return max;
}

/* e[i] = exp(x[i] - max), e may be NULL; returns the sum in 16 lanes. */
AI float row_exp(float *e, const float *x, V max, int64_t n)
{
    struct lanes s;

    lanes_zero(&s);
    for (int64_t i = 0; i < n; i += VL) {
        V v = v_exp(v_sub(v_load_upto(x + i, n - i), max));

        if (n - i < VL)
            v = v_first(v, n - i);
        if (e)
            v_store_upto(e + i, v, n - i);
        lanes_add(&s, i, v);
    }
    return lanes_total(&s);
}

#endif
