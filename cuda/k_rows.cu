#include "cuda/k_rows.h"

#include "cuda/cuda_rows.cuh"

/* ---- softmax and its kin ---- */

template <class T>
AI void softmax_row(T *y, const T *x, const T *unused, int64_t n, bool there)
{
    T max = row_max(x, n, there);
    T sum = row_exp(y, x, max, n, there);

    (void)unused;
    if (there)
        for (int64_t i = lane(); i < n; i += LANES)
            y[i] = y[i] / sum;
}

template <class T>
AI void log_softmax_row(T *y, const T *x, const T *unused, int64_t n,
                        bool there)
{
    T max = row_max(x, n, there);
    T log_sum = v_log(row_exp((T *)NULL, x, max, n, there));

    (void)unused;
    if (there)
        for (int64_t i = lane(); i < n; i += LANES)
            y[i] = (x[i] - max) - log_sum;
}

template <class T>
AI void softmax_grad_row(T *dx, const T *dy, const T *y, int64_t n, bool there)
{
    T d = T(0);

    if (there)
        for (int64_t i = lane(); i < n; i += LANES)
            d += dy[i] * y[i];
    d = lanes_sum(d);
    if (there)
        for (int64_t i = lane(); i < n; i += LANES)
            dx[i] = y[i] * (dy[i] - d);
}

template <class T>
AI void log_softmax_grad_row(T *dx, const T *dy, const T *y, int64_t n,
                             bool there)
{
    T t = T(0);

    if (there)
        for (int64_t i = lane(); i < n; i += LANES)
            t += dy[i];
    t = lanes_sum(t);
    if (there)
        for (int64_t i = lane(); i < n; i += LANES)
            dx[i] = dy[i] - v_exp(y[i]) * t;
}

#define ROWWISE_KERNEL(kernel, T, row) \
    KERNEL kernel(T *y, const T *a, const T *b, int64_t rows, int64_t cols) \
    { \
        EACH_ROW(r, there, rows) \
        { \
            row(y + r * cols, a + r * cols, b ? b + r * cols : b, cols, \
                there != 0); \
        } \
    }
#define ROWWISE(X) \
    X(SOFTMAX, softmax, softmax_row) \
    X(LOG_SOFTMAX, log_softmax, log_softmax_row) \
    X(SOFTMAX_GRAD, softmax_grad, softmax_grad_row) \
    X(LOG_SOFTMAX_GRAD, log_softmax_grad, log_softmax_grad_row)
#define ROWWISE_ROW(id, name, row) \
    ROWWISE_KERNEL(name##_f32, float, row) \
    ROWWISE_KERNEL(name##_f64, double, row)
ROWWISE(ROWWISE_ROW)

cudaError_t k_softmax(enum nn_op_id op, enum nn_dtype dtype, void *y,
                      const void *a, const void *b, int64_t rows, int64_t cols,
                      cudaStream_t stream)
{
    unsigned grid = cuda_row_grid(rows);

    switch (op) {
#define ROWWISE_CASE(id, name, row) \
    case NN_OP_##id: \
        return dtype == NN_F64 \
                   ? LAUNCH(name##_f64, grid, CUDA_BLOCK, 0, stream, \
                            (double *)y, (const double *)a, (const double *)b, \
                            rows, cols) \
                   : LAUNCH(name##_f32, grid, CUDA_BLOCK, 0, stream, \
                            (float *)y, (const float *)a, (const float *)b, \
                            rows, cols);
        ROWWISE(ROWWISE_CASE)
    default:
        return cudaErrorInvalidValue;
    }
}

/* ---- sums ---- */

#define SUM_KERNELS(rows_kernel, chains_kernel, T) \
    KERNEL rows_kernel(T *y, const T *x, struct k_axis a, T divide) \
    { \
        EACH_ROW(r, there, a.outer) \
        { \
            T s = T(0); \
            if (there) \
                for (int64_t i = lane(); i < a.len; i += LANES) \
                    s += x[r * a.len + i]; \
            s = lanes_sum(s); \
            if (there && lane() == 0) \
                y[r] = s / divide; \
        } \
    } \
    KERNEL chains_kernel(T *y, const T *x, struct k_axis a, T divide) \
    { \
        EACH(i, a.outer *a.inner) \
        { \
            const T *from = x + i / a.inner * a.len * a.inner + i % a.inner; \
            T s = T(0); \
            for (int64_t k = 0; k < a.len; k++) \
                s += from[k * a.inner]; \
            y[i] = s / divide; \
        } \
    }
SUM_KERNELS(sum_rows_f32, sum_chains_f32, float)
SUM_KERNELS(sum_rows_f64, sum_chains_f64, double)

cudaError_t k_sum(enum nn_dtype dtype, void *y, const void *x,
                  const struct k_axis *a, bool lanes, bool mean,
                  cudaStream_t stream)
{
    unsigned grid =
        lanes ? cuda_row_grid(a->outer) : cuda_grid(a->outer * a->inner);
    double divide = mean ? (double)a->len : 1.0; /* by 1 changes no value */

    if (dtype == NN_F64)
        return lanes ? LAUNCH(sum_rows_f64, grid, CUDA_BLOCK, 0, stream,
                              (double *)y, (const double *)x, *a, divide)
                     : LAUNCH(sum_chains_f64, grid, CUDA_BLOCK, 0, stream,
                              (double *)y, (const double *)x, *a, divide);
    return lanes ? LAUNCH(sum_rows_f32, grid, CUDA_BLOCK, 0, stream, (float *)y,
                          (const float *)x, *a, (float)divide)
                 : LAUNCH(sum_chains_f32, grid, CUDA_BLOCK, 0, stream,
                          (float *)y, (const float *)x, *a, (float)divide);
}

/* ---- the largest ---- */

/* Where the first largest of n numbers, step apart, stands. */
template <class T> AI int64_t largest(const T *x, int64_t n, int64_t step)
{
    int64_t best = 0;

    for (int64_t i = 1; i < n && x[best * step] == x[best * step]; i++)
        if (x[i * step] > x[best * step] || x[i * step] != x[i * step])
            best = i;
    return best;
}

#define MAX_KERNELS(max_kernel, grad_kernel, arg_kernel, T) \
    KERNEL max_kernel(T *y, const T *x, struct k_axis a) \
    { \
        EACH(i, a.outer *a.inner) \
        { \
            const T *from = x + i / a.inner * a.len * a.inner + i % a.inner; \
            y[i] = from[largest(from, a.len, a.inner) * a.inner]; \
        } \
    } \
    KERNEL grad_kernel(T *dx, const T *dy, const T *x, struct k_axis a) \
    { \
        EACH(i, a.outer *a.inner) \
        { \
            int64_t at = i / a.inner * a.len * a.inner + i % a.inner; \
            int64_t best = largest(x + at, a.len, a.inner); \
            for (int64_t k = 0; k < a.len; k++) \
                dx[at + k * a.inner] = k == best ? dy[i] : T(0); \
        } \
    } \
    KERNEL arg_kernel(int32_t *y, const T *x, int64_t rows, int64_t cols) \
    { \
        EACH(r, rows) \
        y[r] = (int32_t)largest(x + r * cols, cols, 1); \
    }
MAX_KERNELS(max_f32, max_grad_f32, argmax_f32, float)
MAX_KERNELS(max_f64, max_grad_f64, argmax_f64, double)

cudaError_t k_max(enum nn_dtype dtype, void *y, const void *x,
                  const struct k_axis *a, cudaStream_t stream)
{
    unsigned grid = cuda_grid(a->outer * a->inner);

    if (dtype == NN_F64)
        return LAUNCH(max_f64, grid, CUDA_BLOCK, 0, stream, (double *)y,
                      (const double *)x, *a);
    return LAUNCH(max_f32, grid, CUDA_BLOCK, 0, stream, (float *)y,
                  (const float *)x, *a);
}

cudaError_t k_max_grad(enum nn_dtype dtype, void *dx, const void *dy,
                       const void *x, const struct k_axis *a,
                       cudaStream_t stream)
{
    unsigned grid = cuda_grid(a->outer * a->inner);

    if (dtype == NN_F64)
        return LAUNCH(max_grad_f64, grid, CUDA_BLOCK, 0, stream, (double *)dx,
                      (const double *)dy, (const double *)x, *a);
    return LAUNCH(max_grad_f32, grid, CUDA_BLOCK, 0, stream, (float *)dx,
                  (const float *)dy, (const float *)x, *a);
}

cudaError_t k_argmax(enum nn_dtype dtype, int32_t *y, const void *x,
                     int64_t rows, int64_t cols, cudaStream_t stream)
{
    if (dtype == NN_F64)
        return LAUNCH(argmax_f64, cuda_grid(rows), CUDA_BLOCK, 0, stream, y,
                      (const double *)x, rows, cols);
    return LAUNCH(argmax_f32, cuda_grid(rows), CUDA_BLOCK, 0, stream, y,
                  (const float *)x, rows, cols);
}
