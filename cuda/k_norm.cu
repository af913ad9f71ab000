#include "cuda/k_norm.h"

#include "cuda/cuda_rows.cuh"

/* Both types through one macro: T * operands out of struct k_batch_norm. */
#define PICK(kernel, grid, ...) \
    (dtype == NN_F64 \
         ? LAUNCH(kernel##_f64, grid, CUDA_BLOCK, 0, stream, __VA_ARGS__) \
         : LAUNCH(kernel##_f32, grid, CUDA_BLOCK, 0, stream, __VA_ARGS__))

/* ---- over the samples of a channel ---- */

template <class T> AI T centred(const struct k_batch_norm *o, int64_t i)
{
    int64_t c = i / o->places % o->channels;

    return ((const T *)o->x)[i] - ((const T *)o->mean)[c];
}

/* 1 / sqrt(var + eps) of the channel that i is in */
template <class T> AI T rstd(const struct k_batch_norm *o, int64_t i)
{
    int64_t c = i / o->places % o->channels;

    return T(1) / v_sqrt(((const T *)o->var)[c] + (T)o->eps);
}

template <class T> AI T xhat(const struct k_batch_norm *o, int64_t i)
{
    return centred<T>(o, i) * rstd<T>(o, i);
}

template <class T> AI T batch_norm(const struct k_batch_norm *o, int64_t i)
{
    int64_t c = i / o->places % o->channels;

    return xhat<T>(o, i) * ((const T *)o->w)[c] + ((const T *)o->b)[c];
}

template <class T>
AI T batch_norm_grad(const struct k_batch_norm *o, const T *s, const T *t,
                     int64_t i)
{
    int64_t c = i / o->places % o->channels;
    T wr = ((const T *)o->w)[c] * rstd<T>(o, i);
    T g = ((const T *)o->dy)[i];

    if (s)
        g = (g - s[c]) - xhat<T>(o, i) * t[c];
    return g * wr;
}

#define BATCH_KERNELS(suffix, T) \
    KERNEL divide_##suffix(void *v, double count, int64_t n) \
    { \
        EACH(i, n) \
        ((T *)v)[i] = ((T *)v)[i] / (T)count; \
    } \
    KERNEL square_centred_##suffix(void *y, struct k_batch_norm o) \
    { \
        EACH(i, o.n) \
        { \
            T d = centred<T>(&o, i); \
            ((T *)y)[i] = d * d; \
        } \
    } \
    KERNEL batch_norm_##suffix(void *y, struct k_batch_norm o) \
    { \
        EACH(i, o.n) \
        ((T *)y)[i] = batch_norm<T>(&o, i); \
    } \
    KERNEL times_xhat_##suffix(void *y, struct k_batch_norm o) \
    { \
        EACH(i, o.n) \
        ((T *)y)[i] = ((const T *)o.dy)[i] * xhat<T>(&o, i); \
    } \
    KERNEL batch_norm_grad_##suffix(void *dx, struct k_batch_norm o, \
                                    const void *s, const void *t) \
    { \
        EACH(i, o.n) \
        ((T *)dx)[i] = batch_norm_grad<T>(&o, (const T *)s, (const T *)t, i); \
    } \
    KERNEL move_towards_##suffix(void *old, const void *now, double momentum, \
                                 double factor, int64_t n) \
    { \
        EACH(i, n) \
        { \
            T v = ((const T *)now)[i]; \
            if (factor != 1.0) \
                v = v * (T)factor; \
            ((T *)old)[i] = \
                ((T *)old)[i] * (T)(1.0 - momentum) + v * (T)momentum; \
        } \
    }
BATCH_KERNELS(f32, float)
BATCH_KERNELS(f64, double)

cudaError_t k_divide(enum nn_dtype dtype, void *v, double count,
                     int64_t channels, cudaStream_t stream)
{
    return PICK(divide, cuda_grid(channels), v, count, channels);
}

cudaError_t k_square_centred(enum nn_dtype dtype, void *y,
                             const struct k_batch_norm *o, cudaStream_t stream)
{
    return PICK(square_centred, cuda_grid(o->n), y, *o);
}

cudaError_t k_batch_norm(enum nn_dtype dtype, void *y,
                         const struct k_batch_norm *o, cudaStream_t stream)
{
    return PICK(batch_norm, cuda_grid(o->n), y, *o);
}

cudaError_t k_times_xhat(enum nn_dtype dtype, void *y,
                         const struct k_batch_norm *o, cudaStream_t stream)
{
    return PICK(times_xhat, cuda_grid(o->n), y, *o);
}

cudaError_t k_batch_norm_grad(enum nn_dtype dtype, void *dx,
                              const struct k_batch_norm *o, const void *s,
                              const void *t, cudaStream_t stream)
{
    return PICK(batch_norm_grad, cuda_grid(o->n), dx, *o, s, t);
}

cudaError_t k_move_towards(enum nn_dtype dtype, void *old, const void *now,
                           double momentum, double factor, int64_t channels,
                           cudaStream_t stream)
{
    return PICK(move_towards, cuda_grid(channels), old, now, momentum, factor,
                channels);
}

KERNEL count_i64(int64_t *count)
{
    if (threadIdx.x == 0)
        *count += 1;
}

cudaError_t k_count(int64_t *count, cudaStream_t stream)
{
    return LAUNCH(count_i64, 1, 1, 0, stream, count);
}

/* ---- over a row ---- */

/* The mean of f(i) over a row in 16 lanes. */
template <class T, class F> AI T row_mean(int64_t n, bool there, F f)
{
    T s = T(0);

    if (there)
        for (int64_t i = lane(); i < n; i += LANES)
            s += f(i);
    return lanes_sum(s) / (T)n;
}

template <class T> struct row_stats {
    T mean, rstd;
};

template <class T>
AI row_stats<T> stats_of(const T *x, int64_t n, double eps, bool there)
{
    row_stats<T> r;
    T var;

    r.mean = row_mean<T>(n, there, [=](int64_t i) { return x[i]; });
    var = row_mean<T>(n, there, [=](int64_t i) {
        T d = x[i] - r.mean;
        return d * d;
    });
    r.rstd = T(1) / v_sqrt(var + (T)eps);
    return r;
}

template <class T>
AI void layer_norm_row(T *y, const struct k_layer_norm *o, int64_t row,
                       bool there)
{
    const T *x = (const T *)o->x + row * o->cols;
    const T *w = (const T *)o->w, *b = (const T *)o->b;
    row_stats<T> r = stats_of(x, o->cols, o->eps, there);

    if (there)
        for (int64_t i = lane(); i < o->cols; i += LANES)
            y[row * o->cols + i] = (x[i] - r.mean) * r.rstd * w[i] + b[i];
}

/* r * ((g - mean of g) - xhat * mean of g * xhat), g = dy * w */
template <class T>
AI void layer_norm_grad_row(T *dx, const struct k_layer_norm *o, int64_t row,
                            bool there)
{
    const T *x = (const T *)o->x + row * o->cols;
    const T *dy = (const T *)o->dy + row * o->cols;
    const T *w = (const T *)o->w;
    row_stats<T> r = stats_of(x, o->cols, o->eps, there);
    T s = row_mean<T>(o->cols, there, [=](int64_t i) { return dy[i] * w[i]; });
    T t = row_mean<T>(o->cols, there, [=](int64_t i) {
        return dy[i] * w[i] * ((x[i] - r.mean) * r.rstd);
    });

    if (there)
        for (int64_t i = lane(); i < o->cols; i += LANES) {
            T xhat = (x[i] - r.mean) * r.rstd;

            dx[row * o->cols + i] = ((dy[i] * w[i] - s) - xhat * t) * r.rstd;
        }
}

template <class T>
AI void row_times_xhat_row(T *y, const struct k_layer_norm *o, int64_t row,
                           bool there)
{
    const T *x = (const T *)o->x + row * o->cols;
    const T *dy = (const T *)o->dy + row * o->cols;
    row_stats<T> r = stats_of(x, o->cols, o->eps, there);

    if (there)
        for (int64_t i = lane(); i < o->cols; i += LANES)
            y[row * o->cols + i] = dy[i] * ((x[i] - r.mean) * r.rstd);
}

#define LAYER_KERNEL(name, suffix, T) \
    KERNEL name##_##suffix(void *y, struct k_layer_norm o) \
    { \
        EACH_ROW(r, there, o.rows) \
        { \
            name##_row((T *)y, &o, r, there != 0); \
        } \
    }
LAYER_KERNEL(layer_norm, f32, float)
LAYER_KERNEL(layer_norm, f64, double)
LAYER_KERNEL(layer_norm_grad, f32, float)
LAYER_KERNEL(layer_norm_grad, f64, double)

LAYER_KERNEL(row_times_xhat, f32, float)
LAYER_KERNEL(row_times_xhat, f64, double)

cudaError_t k_layer_norm(enum nn_dtype dtype, void *y,
                         const struct k_layer_norm *o, cudaStream_t stream)
{
    return PICK(layer_norm, cuda_row_grid(o->rows), y, *o);
}

cudaError_t k_layer_norm_grad(enum nn_dtype dtype, void *dx,
                              const struct k_layer_norm *o, cudaStream_t stream)
{
    return PICK(layer_norm_grad, cuda_row_grid(o->rows), dx, *o);
}

cudaError_t k_row_times_xhat(enum nn_dtype dtype, void *y,
                             const struct k_layer_norm *o, cudaStream_t stream)
{
    return PICK(row_times_xhat, cuda_row_grid(o->rows), y, *o);
}
