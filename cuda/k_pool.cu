#include "cuda/cuda_kernel.h"
#include "cuda/k_image.h"

/* The part of a window that lies on the plane: rows [i0, i1), columns [j0, j1)
 */
struct window {
    int64_t i0, i1, j0, j1;
};

__device__ static inline struct window window_at(const struct k_pool *p,
                                                 int64_t r, int64_t q)
{
    int64_t i = r * p->stride - p->padding, j = q * p->stride - p->padding;
    struct window w = {i > 0 ? i : 0, i + p->kernel, j > 0 ? j : 0,
                       j + p->kernel};

    if (w.i1 > p->h)
        w.i1 = p->h;
    if (w.j1 > p->w)
        w.j1 = p->w;
    return w;
}

/* Where in the plane the first largest of a window is; NaN counts as largest.
 */
template <class T>
__device__ static inline int64_t window_largest(const struct k_pool *p,
                                                const T *x, struct window w)
{
    int64_t best = w.i0 * p->w + w.j0;

    for (int64_t i = w.i0; i < w.i1; i++)
        for (int64_t j = w.j0; j < w.j1; j++) {
            T a = x[i * p->w + j], b = x[best];

            if (a > b || (a != a && b == b))
                best = i * p->w + j;
        }
    return best;
}

/* Windows that place i of a dimension may be in: [first, end). */
struct reach {
    int64_t first, end;
};

__device__ static inline struct reach reach_of(const struct k_pool *p,
                                               int64_t i, int64_t out)
{
    int64_t at = i + p->padding;
    struct reach r = {0, at / p->stride + 1};

    if (at >= p->kernel)
        r.first = (at - p->kernel) / p->stride + 1;
    if (r.end > out)
        r.end = out;
    return r;
}

#define POOL_KERNELS(suffix, T) \
    KERNEL max_pool2d_##suffix(T *y, const T *x, struct k_pool p) \
    { \
        EACH(e, p.planes *p.oh *p.ow) \
        { \
            const T *plane = x + e / (p.oh * p.ow) * (p.h * p.w); \
            struct window w = window_at(&p, e / p.ow % p.oh, e % p.ow); \
            y[e] = plane[window_largest(&p, plane, w)]; \
        } \
    } \
    KERNEL avg_pool2d_##suffix(T *y, const T *x, struct k_pool p) \
    { \
        EACH(e, p.planes *p.oh *p.ow) \
        { \
            const T *plane = x + e / (p.oh * p.ow) * (p.h * p.w); \
            struct window w = window_at(&p, e / p.ow % p.oh, e % p.ow); \
            T sum = T(0); \
            for (int64_t i = w.i0; i < w.i1; i++) \
                for (int64_t j = w.j0; j < w.j1; j++) \
                    sum += plane[i * p.w + j]; \
            y[e] = sum / (T)(p.kernel * p.kernel); \
        } \
    } \
    KERNEL max_pool2d_grad_##suffix(T *dx, const T *dy, const T *x, \
                                    struct k_pool p) \
    { \
        EACH(e, p.planes *p.h *p.w) \
        { \
            int64_t at = e % (p.h * p.w), plane = e / (p.h * p.w); \
            struct reach rows = reach_of(&p, at / p.w, p.oh); \
            struct reach cols = reach_of(&p, at % p.w, p.ow); \
            const T *from = x + plane * (p.h * p.w); \
            T sum = T(0); \
            for (int64_t r = rows.first; r < rows.end; r++) \
                for (int64_t q = cols.first; q < cols.end; q++) \
                    if (window_largest(&p, from, window_at(&p, r, q)) == at) \
                        sum += dy[(plane * p.oh + r) * p.ow + q]; \
            dx[e] = sum; \
        } \
    } \
    KERNEL avg_pool2d_grad_##suffix(T *dx, const T *dy, struct k_pool p) \
    { \
        EACH(e, p.planes *p.h *p.w) \
        { \
            int64_t at = e % (p.h * p.w), plane = e / (p.h * p.w); \
            struct reach rows = reach_of(&p, at / p.w, p.oh); \
            struct reach cols = reach_of(&p, at % p.w, p.ow); \
            T sum = T(0); \
            for (int64_t r = rows.first; r < rows.end; r++) \
                for (int64_t q = cols.first; q < cols.end; q++) \
                    sum += dy[(plane * p.oh + r) * p.ow + q] / \
                           (T)(p.kernel * p.kernel); \
            dx[e] = sum; \
        } \
    }
POOL_KERNELS(f32, float)
POOL_KERNELS(f64, double)

cudaError_t k_max_pool2d(enum nn_dtype dtype, void *y, const void *x,
                         const struct k_pool *p, cudaStream_t stream)
{
    unsigned grid = cuda_grid(p->planes * p->oh * p->ow);

    if (dtype == NN_F64)
        return LAUNCH(max_pool2d_f64, grid, CUDA_BLOCK, 0, stream, (double *)y,
                      (const double *)x, *p);
    return LAUNCH(max_pool2d_f32, grid, CUDA_BLOCK, 0, stream, (float *)y,
                  (const float *)x, *p);
}

cudaError_t k_max_pool2d_grad(enum nn_dtype dtype, void *dx, const void *dy,
                              const void *x, const struct k_pool *p,
                              cudaStream_t stream)
{
    unsigned grid = cuda_grid(p->planes * p->h * p->w);

    if (dtype == NN_F64)
        return LAUNCH(max_pool2d_grad_f64, grid, CUDA_BLOCK, 0, stream,
                      (double *)dx, (const double *)dy, (const double *)x, *p);
    return LAUNCH(max_pool2d_grad_f32, grid, CUDA_BLOCK, 0, stream, (float *)dx,
                  (const float *)dy, (const float *)x, *p);
}

cudaError_t k_avg_pool2d(enum nn_dtype dtype, void *y, const void *x,
                         const struct k_pool *p, cudaStream_t stream)
{
    unsigned grid = cuda_grid(p->planes * p->oh * p->ow);

    if (dtype == NN_F64)
        return LAUNCH(avg_pool2d_f64, grid, CUDA_BLOCK, 0, stream, (double *)y,
                      (const double *)x, *p);
    return LAUNCH(avg_pool2d_f32, grid, CUDA_BLOCK, 0, stream, (float *)y,
                  (const float *)x, *p);
}

cudaError_t k_avg_pool2d_grad(enum nn_dtype dtype, void *dx, const void *dy,
                              const struct k_pool *p, cudaStream_t stream)
{
    unsigned grid = cuda_grid(p->planes * p->h * p->w);

    if (dtype == NN_F64)
        return LAUNCH(avg_pool2d_grad_f64, grid, CUDA_BLOCK, 0, stream,
                      (double *)dx, (const double *)dy, *p);
    return LAUNCH(avg_pool2d_grad_f32, grid, CUDA_BLOCK, 0, stream, (float *)dx,
                  (const float *)dy, *p);
}
