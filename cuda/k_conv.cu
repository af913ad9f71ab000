#include "cuda/cuda_math.cuh"
#include "cuda/k_image.h"

/* Terms that fall on the padding are zeros, which change no chain. */

template <class T>
AI T conv_at(const struct k_conv *v, const T *x, const T *weight, int64_t n,
             int64_t o, int64_t r, int64_t q, T sum)
{
    for (int64_t c = 0; c < v->c; c++)
        for (int64_t kh = 0; kh < v->kh; kh++)
            for (int64_t kw = 0; kw < v->kw; kw++) {
                int64_t i = r * v->stride - v->padding + kh;
                int64_t j = q * v->stride - v->padding + kw;

                if (i >= 0 && i < v->h && j >= 0 && j < v->w)
                    sum = v_fma(
                        weight[((o * v->c + c) * v->kh + kh) * v->kw + kw],
                        x[((n * v->c + c) * v->h + i) * v->w + j], sum);
            }
    return sum + T(0);
}

/* The output that input place i reaches through term k of a kernel; -1: none */
AI int64_t reached(int64_t i, int64_t k, int64_t out, const struct k_conv *v)
{
    int64_t at = i + v->padding - k;

    if (at < 0 || at % v->stride != 0 || at / v->stride >= out)
        return -1;
    return at / v->stride;
}

template <class T>
AI T grad_input_at(const struct k_conv *v, const T *dy, const T *weight,
                   int64_t n, int64_t c, int64_t i, int64_t j)
{
    T sum = T(0);

    for (int64_t kh = 0; kh < v->kh; kh++)
        for (int64_t kw = 0; kw < v->kw; kw++) {
            int64_t r = reached(i, kh, v->oh, v);
            int64_t q = reached(j, kw, v->ow, v);
            T part = T(0);

            if (r < 0 || q < 0)
                continue;
            for (int64_t o = 0; o < v->o; o++)
                part =
                    v_fma(weight[((o * v->c + c) * v->kh + kh) * v->kw + kw],
                          dy[((n * v->o + o) * v->oh + r) * v->ow + q], part);
            sum += part + T(0);
        }
    return sum;
}

template <class T>
AI T grad_weight_at(const struct k_conv *v, const T *dy, const T *x, int64_t o,
                    int64_t c, int64_t kh, int64_t kw)
{
    T sum = T(0);

    for (int64_t n = 0; n < v->n; n++)
        for (int64_t r = 0; r < v->oh; r++)
            for (int64_t q = 0; q < v->ow; q++) {
                int64_t i = r * v->stride - v->padding + kh;
                int64_t j = q * v->stride - v->padding + kw;

                if (i >= 0 && i < v->h && j >= 0 && j < v->w)
                    sum = v_fma(x[((n * v->c + c) * v->h + i) * v->w + j],
                                dy[((n * v->o + o) * v->oh + r) * v->ow + q],
                                sum);
            }
    return sum + T(0);
}

#define CONV_KERNELS(suffix, T) \
    KERNEL conv2d_##suffix(T *y, const T *x, const T *weight, const T *bias, \
                           struct k_conv v) \
    { \
        EACH(e, v.n *v.o *v.oh *v.ow) \
        { \
            int64_t q = e % v.ow, r = e / v.ow % v.oh; \
            int64_t o = e / v.ow / v.oh % v.o, n = e / v.ow / v.oh / v.o; \
            y[e] = conv_at(&v, x, weight, n, o, r, q, bias ? bias[o] : T(0)); \
        } \
    } \
    KERNEL conv2d_grad_input_##suffix(T *dx, const T *dy, const T *weight, \
                                      struct k_conv v) \
    { \
        EACH(e, v.n *v.c *v.h *v.w) \
        { \
            int64_t j = e % v.w, i = e / v.w % v.h; \
            int64_t c = e / v.w / v.h % v.c, n = e / v.w / v.h / v.c; \
            dx[e] = grad_input_at(&v, dy, weight, n, c, i, j); \
        } \
    } \
    KERNEL conv2d_grad_weight_##suffix(T *dw, const T *dy, const T *x, \
                                       struct k_conv v) \
    { \
        EACH(e, v.o *v.c *v.kh *v.kw) \
        { \
            int64_t kw = e % v.kw, kh = e / v.kw % v.kh; \
            int64_t c = e / v.kw / v.kh % v.c, o = e / v.kw / v.kh / v.c; \
            dw[e] = grad_weight_at(&v, dy, x, o, c, kh, kw); \
        } \
    }
CONV_KERNELS(f32, float)
CONV_KERNELS(f64, double)

cudaError_t k_conv2d(enum nn_dtype dtype, void *y, const void *x,
                     const void *weight, const void *bias,
                     const struct k_conv *v, cudaStream_t stream)
{
    unsigned grid = cuda_grid(v->n * v->o * v->oh * v->ow);

    if (dtype == NN_F64)
        return LAUNCH(conv2d_f64, grid, CUDA_BLOCK, 0, stream, (double *)y,
                      (const double *)x, (const double *)weight,
                      (const double *)bias, *v);
    return LAUNCH(conv2d_f32, grid, CUDA_BLOCK, 0, stream, (float *)y,
                  (const float *)x, (const float *)weight, (const float *)bias,
                  *v);
}

cudaError_t k_conv2d_grad_input(enum nn_dtype dtype, void *dx, const void *dy,
                                const void *weight, const struct k_conv *v,
                                cudaStream_t stream)
{
    unsigned grid = cuda_grid(v->n * v->c * v->h * v->w);

    if (dtype == NN_F64)
        return LAUNCH(conv2d_grad_input_f64, grid, CUDA_BLOCK, 0, stream,
                      (double *)dx, (const double *)dy, (const double *)weight,
                      *v);
    return LAUNCH(conv2d_grad_input_f32, grid, CUDA_BLOCK, 0, stream,
                  (float *)dx, (const float *)dy, (const float *)weight, *v);
}

cudaError_t k_conv2d_grad_weight(enum nn_dtype dtype, void *dw, const void *dy,
                                 const void *x, const struct k_conv *v,
                                 cudaStream_t stream)
{
    unsigned grid = cuda_grid(v->o * v->c * v->kh * v->kw);

    if (dtype == NN_F64)
        return LAUNCH(conv2d_grad_weight_f64, grid, CUDA_BLOCK, 0, stream,
                      (double *)dw, (const double *)dy, (const double *)x, *v);
    return LAUNCH(conv2d_grad_weight_f32, grid, CUDA_BLOCK, 0, stream,
                  (float *)dw, (const float *)dy, (const float *)x, *v);
}
