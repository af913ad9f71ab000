#include "cuda/k_elem.h"

#include "cuda/cuda_math.cuh"

/* ---- what is done to an element: nn/op.h; both types by one formula ---- */

template <class T> AI T relu(T x)
{
    return x <= T(0) ? T(0) : x;
}

template <class T> AI T one_plus_erf(T x)
{
    return T(1) + v_erf(x * T(0.70710678118654752440));
}

template <class T> AI T gelu(T x)
{
    return x * T(0.5) * one_plus_erf(x);
}

template <class T> AI T relu_grad(T dy, T y)
{
    return y <= T(0) ? T(0) : dy;
}

template <class T> AI T tanh_grad(T dy, T y)
{
    return dy * v_fma(-y, y, T(1));
}

template <class T> AI T sigmoid_grad(T dy, T y)
{
    return dy * (y * (T(1) - y));
}

template <class T> AI T gelu_grad(T dy, T x)
{
    T cdf = T(0.5) * one_plus_erf(x);
    T pdf = v_exp(T(-0.5) * x * x) * T(0.39894228040143267794);

    return dy * v_fma(x, pdf, cdf);
}

template <class T> AI T abs_grad(T dy, T x)
{
    return x > T(0) ? dy : x < T(0) ? -dy : dy * x;
}

template <class T> AI T maximum(T a, T b)
{
    return b < a || a != a ? a : b;
}

template <class T> AI T maximum_share(T a, T b)
{
    return a < b ? T(0) : a == b ? T(0.5) : T(1);
}

/* ---- one operand ---- */

#define UNARY(name, expression) \
    KERNEL name##_f32(float *y, const float *from, int64_t n) \
    { \
        EACH(i, n) \
        { \
            float x = from[i]; \
            y[i] = expression; \
        } \
    } \
    KERNEL name##_f64(double *y, const double *from, int64_t n) \
    { \
        EACH(i, n) \
        { \
            double x = from[i]; \
            y[i] = expression; \
        } \
    }
#define UNARIES(X) \
    X(RELU, relu, relu(x)) \
    X(TANH, tanh, v_tanh(x)) \
    X(SIGMOID, sigmoid, v_sigmoid(x)) \
    X(GELU, gelu, gelu(x)) \
    X(NEG, neg, -x) \
    X(EXP, exp, v_exp(x)) \
    X(LOG, log, v_log(x)) \
    X(LOG1P, log1p, v_log1p(x)) \
    X(SQRT, sqrt, v_sqrt(x)) \
    X(ABS, abs, x < 0 ? -x : x + 0) \
    X(POW, cube, x *x *x)
#define UNARY_ROW(id, name, expression) UNARY(name, expression)
UNARIES(UNARY_ROW)

cudaError_t k_unary(enum nn_op_id op, enum nn_dtype dtype, void *y,
                    const void *x, int64_t n, cudaStream_t stream)
{
    switch (op) {
#define UNARY_CASE(id, name, expression) \
    case NN_OP_##id: \
        return dtype == NN_F64 \
                   ? LAUNCH(name##_f64, cuda_grid(n), CUDA_BLOCK, 0, stream, \
                            (double *)y, (const double *)x, n) \
                   : LAUNCH(name##_f32, cuda_grid(n), CUDA_BLOCK, 0, stream, \
                            (float *)y, (const float *)x, n);
        UNARIES(UNARY_CASE)
    default:
        return cudaErrorInvalidValue;
    }
}

/* ---- two operands ---- */

/* Where element i of the walk lies in both tensors. */
AI void place(const struct nn_walk *w, int64_t i, int64_t at[2])
{
    at[0] = at[1] = 0;
    for (int d = w->ndim - 1; d > 0; d--) {
        int64_t k = i % w->dim[d];

        i /= w->dim[d];
        at[0] += k * w->step[0][d];
        at[1] += k * w->step[1][d];
    }
    at[0] += i * w->step[0][0];
    at[1] += i * w->step[1][0];
}

#define BINARY_KERNEL(kernel, T, expression) \
    KERNEL kernel(T *y, const T *pa, const T *pb, int64_t n, struct nn_walk w) \
    { \
        EACH(i, n) \
        { \
            int64_t at[2]; \
            T a, b; \
            place(&w, i, at); \
            a = pa[at[0]]; \
            b = pb[at[1]]; \
            y[i] = expression; \
        } \
    }
#define BINARIES(X) \
    X(ADD, add, a + b) \
    X(SUB, sub, a - b) \
    X(MUL, mul, a *b) \
    X(DIV, div, a / b) \
    X(MAXIMUM, maximum, maximum(a, b)) \
    X(MAXIMUM_SHARE, maximum_share, maximum_share(a, b)) \
    X(RELU_GRAD, relu_grad, relu_grad(a, b)) \
    X(TANH_GRAD, tanh_grad, tanh_grad(a, b)) \
    X(SIGMOID_GRAD, sigmoid_grad, sigmoid_grad(a, b)) \
    X(GELU_GRAD, gelu_grad, gelu_grad(a, b)) \
    X(LOG1P_GRAD, log1p_grad, a / (1 + b)) \
    X(SQRT_GRAD, sqrt_grad, a / (2 * b)) \
    X(ABS_GRAD, abs_grad, abs_grad(a, b))
#define BINARY_ROW(id, name, expression) \
    BINARY_KERNEL(name##_f32, float, expression) \
    BINARY_KERNEL(name##_f64, double, expression)
BINARIES(BINARY_ROW)

cudaError_t k_binary(enum nn_op_id op, enum nn_dtype dtype, void *y,
                     const void *a, const void *b, const struct nn_walk *w,
                     cudaStream_t stream)
{
    int64_t n = w->runs * w->run;

    switch (op) {
#define BINARY_CASE(id, name, expression) \
    case NN_OP_##id: \
        return dtype == NN_F64 \
                   ? LAUNCH(name##_f64, cuda_grid(n), CUDA_BLOCK, 0, stream, \
                            (double *)y, (const double *)a, (const double *)b, \
                            n, *w) \
                   : LAUNCH(name##_f32, cuda_grid(n), CUDA_BLOCK, 0, stream, \
                            (float *)y, (const float *)a, (const float *)b, n, \
                            *w);
        BINARIES(BINARY_CASE)
    default:
        return cudaErrorInvalidValue;
    }
}

/* ---- the rest ---- */

KERNEL scale_f32(float *y, const float *x, float value, int64_t n)
{
    EACH(i, n)
    y[i] = x[i] * value;
}

KERNEL scale_f64(double *y, const double *x, double value, int64_t n)
{
    EACH(i, n)
    y[i] = x[i] * value;
}

cudaError_t k_scale(enum nn_dtype dtype, void *y, const void *x, double value,
                    int64_t n, cudaStream_t stream)
{
    if (dtype == NN_F64)
        return LAUNCH(scale_f64, cuda_grid(n), CUDA_BLOCK, 0, stream,
                      (double *)y, (const double *)x, value, n);
    return LAUNCH(scale_f32, cuda_grid(n), CUDA_BLOCK, 0, stream, (float *)y,
                  (const float *)x, (float)value, n);
}

KERNEL pow_f32(float *y, const float *x, float p, int64_t n)
{
    EACH(i, n)
    y[i] = v_exp(p * v_log(x[i]));
}

KERNEL pow_f64(double *y, const double *x, double p, int64_t n)
{
    EACH(i, n)
    y[i] = pow(x[i], p);
}

cudaError_t k_pow(enum nn_dtype dtype, void *y, const void *x, double p,
                  int64_t n, cudaStream_t stream)
{
    if (dtype == NN_F64)
        return LAUNCH(pow_f64, cuda_grid(n), CUDA_BLOCK, 0, stream, (double *)y,
                      (const double *)x, p, n);
    return LAUNCH(pow_f32, cuda_grid(n), CUDA_BLOCK, 0, stream, (float *)y,
                  (const float *)x, (float)p, n);
}

KERNEL fill_f32(float *y, float value, int64_t n)
{
    EACH(i, n)
    y[i] = value;
}

KERNEL fill_f64(double *y, double value, int64_t n)
{
    EACH(i, n)
    y[i] = value;
}

cudaError_t k_fill(enum nn_dtype dtype, void *y, double value, int64_t n,
                   cudaStream_t stream)
{
    if (dtype == NN_F64)
        return LAUNCH(fill_f64, cuda_grid(n), CUDA_BLOCK, 0, stream,
                      (double *)y, value, n);
    return LAUNCH(fill_f32, cuda_grid(n), CUDA_BLOCK, 0, stream, (float *)y,
                  (float)value, n);
}

#define EXPAND(name, T) \
    KERNEL name(T *y, const T *x, int64_t n, struct nn_walk w) \
    { \
        EACH(i, n) \
        { \
            int64_t at[2]; \
            place(&w, i, at); \
            y[i] = x[at[0]]; \
        } \
    }
EXPAND(expand_f32, float)
EXPAND(expand_f64, double)

cudaError_t k_expand(enum nn_dtype dtype, void *y, const void *x,
                     const struct nn_walk *w, cudaStream_t stream)
{
    int64_t n = w->runs * w->run;

    if (dtype == NN_F64)
        return LAUNCH(expand_f64, cuda_grid(n), CUDA_BLOCK, 0, stream,
                      (double *)y, (const double *)x, n, *w);
    return LAUNCH(expand_f32, cuda_grid(n), CUDA_BLOCK, 0, stream, (float *)y,
                  (const float *)x, n, *w);
}

/* Index i of a shape as an offset. */
AI int64_t offset_of(int64_t i, int n, const int64_t *dim, const int64_t *step)
{
    int64_t at = 0;

    for (int d = n - 1; d >= 0; d--) {
        at += i % dim[d] * step[d];
        i /= dim[d];
    }
    return at;
}

#define SUM_TO(name, T) \
    KERNEL name(T *y, const T *x, struct k_sum_to s) \
    { \
        EACH(i, s.results) \
        { \
            const T *from = x + offset_of(i, s.n_kept, s.kept, s.kept_step); \
            T sum = 0; \
            for (int64_t k = 0; k < s.terms; k++) \
                sum += \
                    from[offset_of(k, s.n_summed, s.summed, s.summed_step)]; \
            y[i] = sum; \
        } \
    }
SUM_TO(sum_to_f32, float)
SUM_TO(sum_to_f64, double)

cudaError_t k_sum_to(enum nn_dtype dtype, void *y, const void *x,
                     const struct k_sum_to *s, cudaStream_t stream)
{
    unsigned grid = cuda_grid(s->results);

    if (dtype == NN_F64)
        return LAUNCH(sum_to_f64, grid, CUDA_BLOCK, 0, stream, (double *)y,
                      (const double *)x, *s);
    return LAUNCH(sum_to_f32, grid, CUDA_BLOCK, 0, stream, (float *)y,
                  (const float *)x, *s);
}

/* Word i % 4 of Philox 4x32-10 at block i / 4 of a sample, as a uniform; one
 * lane of nn/cpu/isa_philox.h. */
AI float uniform(const struct k_dropout *d, uint32_t step, uint32_t sample,
                 int64_t i)
{
    uint32_t c[4] = {d->layer, step, sample, (uint32_t)(i / 4)};
    uint32_t k0 = d->key[0], k1 = d->key[1];

    for (int round = 0; round < 10; round++) {
        uint64_t a = (uint64_t)c[0] * 0xd2511f53u;
        uint64_t b = (uint64_t)c[2] * 0xcd9e8d57u;

        c[0] = (uint32_t)(b >> 32) ^ c[1] ^ k0;
        c[1] = (uint32_t)b;
        c[2] = (uint32_t)(a >> 32) ^ c[3] ^ k1;
        c[3] = (uint32_t)a;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    return (float)(c[i % 4] >> 8) * 0x1p-24f;
}

#define DROPOUT(name, T) \
    KERNEL name(T *y, const T *x, struct k_dropout d, const uint32_t *step) \
    { \
        EACH(i, d.samples *d.row) \
        { \
            uint32_t sample = (uint32_t)(d.first + i / d.row); \
            bool keep = uniform(&d, *step, sample, i % d.row) >= d.p; \
            y[i] = keep ? x[i] * (T)d.scale : T(0); \
        } \
    }
DROPOUT(dropout_f32, float)
DROPOUT(dropout_f64, double)

cudaError_t k_dropout(enum nn_dtype dtype, void *y, const void *x,
                      const struct k_dropout *d, const uint32_t *step,
                      cudaStream_t stream)
{
    unsigned grid = cuda_grid(d->samples * d->row);

    if (dtype == NN_F64)
        return LAUNCH(dropout_f64, grid, CUDA_BLOCK, 0, stream, (double *)y,
                      (const double *)x, *d, step);
    return LAUNCH(dropout_f32, grid, CUDA_BLOCK, 0, stream, (float *)y,
                  (const float *)x, *d, step);
}
