/* Elementwise operators in float32. */
#include "nn/cpu/isa_parts.h"

#include "nn/cpu/cpu_vmath.h"
#include "nn/cpu/isa_philox.h"

#define RSQRT2 0x1.6a09e6p-1f   /* sqrt(1/2) */
#define RSQRT2PI 0x1.988454p-2f /* 1 / sqrt(2 pi) */

AI V neg(V x)
{
    return v_neg(x);
}

AI V cube(V x)
{
    return v_mul(v_mul(x, x), x);
}

AI V one_plus_erf(V x)
{
    return v_add(v_set1(1.0f), v_erf(v_mul(x, v_set1(RSQRT2))));
}

AI V gelu(V x)
{
    return v_mul(v_mul(x, v_set1(0.5f)), one_plus_erf(x));
}

AI V relu_grad(V dy, V y)
{
    return v_select(v_le(y, v_zero()), v_zero(), dy);
}

AI V tanh_grad(V dy, V y)
{
    return v_mul(dy, v_fnma(y, y, v_set1(1.0f)));
}

AI V sigmoid_grad(V dy, V y)
{
    return v_mul(dy, v_mul(y, v_sub(v_set1(1.0f), y)));
}

AI V gelu_grad(V dy, V x)
{
    V cdf = v_mul(v_set1(0.5f), one_plus_erf(x));
    V pdf = v_exp(v_mul(v_mul(v_set1(-0.5f), x), x));

    pdf = v_mul(pdf, v_set1(RSQRT2PI));
    return v_mul(dy, v_fma(x, pdf, cdf));
}

AI V log1p_grad(V dy, V x)
{
    return v_div(dy, v_add(v_set1(1.0f), x));
}

AI V sqrt_grad(V dy, V y)
{
    return v_div(dy, v_mul(v_set1(2.0f), y));
}

AI V abs_grad(V dy, V x)
{
    V below = v_select(v_lt(x, v_zero()), v_neg(dy), v_mul(dy, x));

    return v_select(v_lt(v_zero(), x), dy, below);
}

AI V maximum(V a, V b)
{
    V other = v_select(v_le(a, a), b, a); /* b, unless a is NaN */

    return v_select(v_lt(b, a), a, other);
}

AI V maximum_share(V a, V b)
{
    V not_below = v_select(v_le(a, b), v_set1(0.5f), v_set1(1.0f));

    return v_select(v_lt(a, b), v_zero(), not_below);
}

AI V square_diff(V a, V b)
{
    V d = v_sub(a, b);

    return v_mul(d, d);
}

#define UNARY(name, f) \
    static void name(void *y, const void *x, int64_t n) \
    { \
        v_map(y, x, n, f); \
    }
UNARY(relu_n, v_relu)
UNARY(tanh_n, v_tanh)
UNARY(sigmoid_n, v_sigmoid)
UNARY(gelu_n, gelu)
UNARY(neg_n, neg)
UNARY(exp_n, v_exp)
UNARY(log_n, v_log)
UNARY(sqrt_n, v_sqrt)
UNARY(cube_n, cube)
UNARY(log1p_n, v_log1p)
UNARY(abs_n, v_abs)
UNARY(erf_n, v_erf)

/* y[i] = f(a[i * a_step], b[i * b_step]), steps 0 or 1 */
AI void map2(float *y, const float *a, int64_t a_step, const float *b,
             int64_t b_step, int64_t n, V f(V, V))
{
    V va, vb;
    int64_t i = 0, left;

    if (n <= 0)
        return;
    va = v_set1(a[0]);
    vb = v_set1(b[0]);
    for (; i + VL <= n; i += VL) {
        va = a_step ? v_load(a + i) : va;
        vb = b_step ? v_load(b + i) : vb;
        v_store(y + i, f(va, vb));
    }
    left = n - i;
    if (left > 0) {
        va = a_step ? v_load_n(a + i, left) : va;
        vb = b_step ? v_load_n(b + i, left) : vb;
        v_store_n(y + i, f(va, vb), left);
    }
}

#define BINARY(name, f) \
    static void name(void *y, const void *a, int64_t a_step, const void *b, \
                     int64_t b_step, int64_t n) \
    { \
        map2(y, a, a_step, b, b_step, n, f); \
    }
BINARY(add_n, v_add)
BINARY(sub_n, v_sub)
BINARY(mul_n, v_mul)
BINARY(div_n, v_div)
BINARY(relu_grad_n, relu_grad)
BINARY(tanh_grad_n, tanh_grad)
BINARY(sigmoid_grad_n, sigmoid_grad)
BINARY(gelu_grad_n, gelu_grad)
BINARY(log1p_grad_n, log1p_grad)
BINARY(sqrt_grad_n, sqrt_grad)
BINARY(abs_grad_n, abs_grad)
BINARY(maximum_n, maximum)
BINARY(maximum_share_n, maximum_share)
BINARY(square_diff_n, square_diff)

static void pow_n(void *y, const void *x, double exponent, int64_t n)
{
    const float *from = x;
    float *to = y;
    V p = v_set1((float)exponent);
    int64_t i = 0;

    for (; i + VL <= n; i += VL)
        v_store(to + i, v_exp(v_mul(p, v_log(v_load(from + i)))));
    if (i < n) {
        V v = v_load_n(from + i, n - i);

        v_store_n(to + i, v_exp(v_mul(p, v_log(v))), n - i);
    }
}

static void fill_n(void *y, double value, int64_t n)
{
    float *to = y;
    V v = v_set1((float)value);
    int64_t i = 0;

    for (; i + VL <= n; i += VL)
        v_store(to + i, v);
    if (i < n)
        v_store_n(to + i, v, n - i);
}

static void bytes_n(void *y, const uint8_t *x, int64_t n, float divide)
{
    float *to = y;
    V d = v_set1(divide);
    int64_t i = 0;

    for (; i + VL <= n; i += VL)
        v_store(to + i, v_div(v_bytes(x + i), d));
    for (; i < n; i++)
        to[i] = (float)x[i] / divide;
}

/* y = keep ? x * scale : 0 by the words of Philox: lane i of a block counts
 * block + i and gives elements 4 (block + i) to 4 (block + i) + 3. */
static void dropout_n(void *y, const void *x, int64_t n, uint32_t sample,
                      const struct cpu_dropout *d)
{
    const float *from = x;
    float *to = y;
    float uniform[4 * VL];
    V p = v_set1(d->p), scale = v_set1((float)d->scale);

    for (int64_t i = 0; i < n; i += 4 * VL) {
        philox_uniforms(uniform, d, sample, (uint32_t)(i / 4));
        for (int64_t j = 0; j < 4 * VL && i + j < n; j += VL) {
            int64_t left = n - i - j < VL ? n - i - j : VL;
            V v = v_mul(v_load_upto(from + i + j, left), scale);

            v = v_select(v_le(p, v_load(uniform + j)), v, v_zero());
            v_store_upto(to + i + j, v, left);
        }
    }
}

const struct cpu_elem_kernels ISA(cpu_elem) = {
    .unary =
        {
            [CPU_RELU] = relu_n,
            [CPU_TANH] = tanh_n,
            [CPU_SIGMOID] = sigmoid_n,
            [CPU_GELU] = gelu_n,
            [CPU_NEG] = neg_n,
            [CPU_EXP] = exp_n,
            [CPU_LOG] = log_n,
            [CPU_SQRT] = sqrt_n,
            [CPU_CUBE] = cube_n,
            [CPU_LOG1P] = log1p_n,
            [CPU_ABS] = abs_n,
            [CPU_ERF] = erf_n,
        },
    .binary =
        {
            [CPU_ADD] = add_n,
            [CPU_SUB] = sub_n,
            [CPU_MUL] = mul_n,
            [CPU_DIV] = div_n,
            [CPU_RELU_GRAD] = relu_grad_n,
            [CPU_TANH_GRAD] = tanh_grad_n,
            [CPU_SIGMOID_GRAD] = sigmoid_grad_n,
            [CPU_GELU_GRAD] = gelu_grad_n,
            [CPU_LOG1P_GRAD] = log1p_grad_n,
            [CPU_SQRT_GRAD] = sqrt_grad_n,
            [CPU_ABS_GRAD] = abs_grad_n,
            [CPU_MAXIMUM] = maximum_n,
            [CPU_MAXIMUM_SHARE] = maximum_share_n,
            [CPU_SQUARE_DIFF] = square_diff_n,
        },
    .pow = pow_n,
    .fill = fill_n,
    .bytes = bytes_n,
    .dropout = dropout_n,
};
