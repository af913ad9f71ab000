/* Elementwise operators, losses and optimizers' kin in float64: the formulas
 * of nn/op.h with libm, for checks. */
#include "nn/cpu/cpu_f64.h"

#include <math.h>

#include "nn/base/rng.h"

static double relu(double x)
{
    return x <= 0.0 ? 0.0 : x;
}

static double sigmoid(double x)
{
    double e = exp(-fabs(x));

    return (x < 0.0 ? e : 1.0) / (1.0 + e);
}

static double gelu(double x)
{
    return x * 0.5 * (1.0 + erf(x * M_SQRT1_2));
}

static double neg(double x)
{
    return -x;
}

static double cube(double x)
{
    return x * x * x;
}

static void map(double *y, const double *x, int64_t n, double f(double))
{
    for (int64_t i = 0; i < n; i++)
        y[i] = f(x[i]);
}

#define UNARY(name, f) \
    static void name(void *y, const void *x, int64_t n) \
    { \
        map(y, x, n, f); \
    }
UNARY(relu_n, relu)
UNARY(tanh_n, tanh)
UNARY(sigmoid_n, sigmoid)
UNARY(gelu_n, gelu)
UNARY(neg_n, neg)
UNARY(exp_n, exp)
UNARY(log_n, log)
UNARY(sqrt_n, sqrt)
UNARY(cube_n, cube)
UNARY(log1p_n, log1p)
UNARY(abs_n, fabs)
UNARY(erf_n, erf)

static double add(double a, double b)
{
    return a + b;
}

static double sub(double a, double b)
{
    return a - b;
}

static double mul(double a, double b)
{
    return a * b;
}

static double quotient(double a, double b)
{
    return a / b;
}

static double relu_grad(double dy, double y)
{
    return y <= 0.0 ? 0.0 : dy;
}

static double tanh_grad(double dy, double y)
{
    return dy * (1.0 - y * y);
}

static double sigmoid_grad(double dy, double y)
{
    return dy * (y * (1.0 - y));
}

static double gelu_grad(double dy, double x)
{
    double cdf = 0.5 * (1.0 + erf(x * M_SQRT1_2));
    double pdf = exp(-0.5 * x * x) * (M_2_SQRTPI * M_SQRT1_2 / 2.0);

    return dy * (x * pdf + cdf);
}

static double log1p_grad(double dy, double x)
{
    return dy / (1.0 + x);
}

static double sqrt_grad(double dy, double y)
{
    return dy / (2.0 * y);
}

static double abs_grad(double dy, double x)
{
    return x > 0.0 ? dy : x < 0.0 ? -dy : dy * x;
}

static double maximum(double a, double b)
{
    return b < a || isnan(a) ? a : b;
}

static double maximum_share(double a, double b)
{
    return a < b ? 0.0 : a == b ? 0.5 : 1.0;
}

static double square_diff(double a, double b)
{
    return (a - b) * (a - b);
}

static void map2(double *y, const double *a, int64_t a_step, const double *b,
                 int64_t b_step, int64_t n, double f(double, double))
{
    for (int64_t i = 0; i < n; i++)
        y[i] = f(a[i * a_step], b[i * b_step]);
}

#define BINARY(name, f) \
    static void name(void *y, const void *a, int64_t a_step, const void *b, \
                     int64_t b_step, int64_t n) \
    { \
        map2(y, a, a_step, b, b_step, n, f); \
    }
BINARY(add_n, add)
BINARY(sub_n, sub)
BINARY(mul_n, mul)
BINARY(div_n, quotient)
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
    map2(y, x, 1, &exponent, 0, n, pow);
}

static void fill_n(void *y, double value, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        ((double *)y)[i] = value;
}

static void bytes_n(void *y, const uint8_t *x, int64_t n, float divide)
{
    for (int64_t i = 0; i < n; i++)
        ((double *)y)[i] = x[i] / (double)divide;
}

/* The same elements are dropped as in float32. */
static void dropout_n(void *y, const void *x, int64_t n, uint32_t sample,
                      const struct cpu_dropout *d)
{
    const double *from = x;
    double *to = y;
    uint32_t word[4];

    for (int64_t i = 0; i < n; i++) {
        uint32_t counter[4] = {d->layer, d->step, sample, (uint32_t)(i / 4)};

        if (i % 4 == 0)
            rng_philox(word, d->key, counter);
        to[i] =
            rng_philox_uniform(word[i % 4]) >= d->p ? from[i] * d->scale : 0.0;
    }
}

const struct cpu_elem_kernels cpu_elem_f64 = {
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

static double bce1(double z, double y, double w)
{
    double s = log1p(exp(-fabs(z))) + fmax(-z, 0.0);

    return (1.0 - y) * z + (1.0 + (w - 1.0) * y) * s;
}

static void bce(void *l, const void *z, const void *y, int64_t n,
                const struct cpu_loss *loss)
{
    for (int64_t i = 0; i < n; i++)
        ((double *)l)[i] = bce1(((const double *)z)[i], ((const double *)y)[i],
                                loss->pos_weight);
}

static void bce_grad(void *dz, const void *g, const void *z, const void *y,
                     int64_t n, const struct cpu_loss *loss)
{
    double factor = *(const double *)g * loss->scale;
    double w = loss->pos_weight - 1.0;

    for (int64_t i = 0; i < n; i++) {
        double a = ((const double *)z)[i], b = ((const double *)y)[i];

        ((double *)dz)[i] = ((1.0 - b) - (1.0 + w * b) * sigmoid(-a)) * factor;
    }
}

static void mse_grad(void *dx, const void *g, const void *x, const void *y,
                     int64_t n, const struct cpu_loss *loss)
{
    double factor = *(const double *)g * loss->scale;

    for (int64_t i = 0; i < n; i++)
        ((double *)dx)[i] =
            (((const double *)x)[i] - ((const double *)y)[i]) * 2.0 * factor;
}

const struct cpu_loss_kernels cpu_loss_f64 = {
    .cross_entropy = cpu_f64_cross_entropy,
    .cross_entropy_grad = cpu_f64_cross_entropy_grad,
    .bce = bce,
    .bce_grad = bce_grad,
    .mse_grad = mse_grad,
};
