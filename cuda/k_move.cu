#include "cuda/k_move.h"

#include "cuda/cuda_kernel.h"

#define MOVE_KERNELS(suffix, T) \
    KERNEL strips_##suffix(struct k_strips s) \
    { \
        EACH(i, s.count *s.n) \
        ((T *)s.to)[i / s.n * s.to_step + i % s.n] = \
            ((const T *)s.from)[i / s.n * s.from_step + i % s.n]; \
    } \
    KERNEL swap_##suffix(struct k_swap s) \
    { \
        EACH(i, s.n) \
        { \
            int64_t r = i, k, p, m, q; \
            k = r % s.inner; \
            r /= s.inner; \
            p = r % s.p; \
            r /= s.p; \
            m = r % s.mid; \
            r /= s.mid; \
            q = r % s.q; \
            r /= s.q; \
            r = ((r * s.p + p) * s.mid + m) * s.q + q; \
            ((T *)s.y)[i] = ((const T *)s.x)[r * s.inner + k]; \
        } \
    }
MOVE_KERNELS(8, uint8_t)
MOVE_KERNELS(16, uint16_t)
MOVE_KERNELS(32, uint32_t)
MOVE_KERNELS(64, uint64_t)

/* The kernel for elements of size bytes. */
#define BY_SIZE(kernel, n) \
    switch (size) { \
    case 1: \
        return LAUNCH(kernel##_8, cuda_grid(n), CUDA_BLOCK, 0, stream, *s); \
    case 2: \
        return LAUNCH(kernel##_16, cuda_grid(n), CUDA_BLOCK, 0, stream, *s); \
    case 4: \
        return LAUNCH(kernel##_32, cuda_grid(n), CUDA_BLOCK, 0, stream, *s); \
    case 8: \
        return LAUNCH(kernel##_64, cuda_grid(n), CUDA_BLOCK, 0, stream, *s); \
    default: \
        return cudaErrorInvalidValue; \
    }

cudaError_t k_strips(const struct k_strips *s, size_t size,
                     cudaStream_t stream){BY_SIZE(strips, s->count * s->n)}

cudaError_t k_swap(const struct k_swap *s, size_t size,
                   cudaStream_t stream){BY_SIZE(swap, s->n)}

#define CAST(suffix, From) \
    KERNEL cast_##suffix##_f32(float *y, const From *x, int64_t n) \
    { \
        EACH(i, n) \
        y[i] = (float)x[i]; \
    } \
    KERNEL cast_##suffix##_f64(double *y, const From *x, int64_t n) \
    { \
        EACH(i, n) \
        y[i] = (double)x[i]; \
    }
#define CAST_TYPES(X) \
    X(f32, float, NN_F32) \
    X(f64, double, NN_F64) \
    X(u8, uint8_t, NN_U8) \
    X(i32, int32_t, NN_I32) \
    X(i64, int64_t, NN_I64)
#define CAST_ROW(suffix, From, id) CAST(suffix, From)
CAST_TYPES(CAST_ROW)

    cudaError_t k_cast(void *y, enum nn_dtype to, const void *x,
                       enum nn_dtype from, int64_t n, cudaStream_t stream)
{
    switch (from) {
#define CAST_CASE(suffix, From, id) \
    case id: \
        return to == NN_F64 \
                   ? LAUNCH(cast_##suffix##_f64, cuda_grid(n), CUDA_BLOCK, 0, \
                            stream, (double *)y, (const From *)x, n) \
                   : LAUNCH(cast_##suffix##_f32, cuda_grid(n), CUDA_BLOCK, 0, \
                            stream, (float *)y, (const From *)x, n);
        CAST_TYPES(CAST_CASE)
    default:
        return cudaErrorInvalidValue;
    }
}

/* Columns to threads, rows in order: no two threads meet. */
#define TABLE_KERNELS(suffix, T) \
    KERNEL take_rows_##suffix(struct k_table t, struct cuda_fault *fault) \
    { \
        EACH(i, t.n *t.width) \
        { \
            int64_t r = i / t.width, k = t.index[r]; \
            bool there = cuda_in_range(fault, t.op, r, k, t.height); \
            ((T *)t.rows)[i] = \
                there ? ((const T *)t.table)[k * t.width + i % t.width] \
                      : T(0); \
        } \
    } \
    KERNEL add_rows_##suffix(struct k_table t, struct cuda_fault *fault) \
    { \
        EACH(j, t.width) \
        for (int64_t r = 0; r < t.n; r++) { \
            int64_t k = t.index[r]; \
            if (cuda_in_range(fault, t.op, r, k, t.height)) \
                ((T *)t.table)[k * t.width + j] += \
                    ((const T *)t.rows)[r * t.width + j]; \
        } \
    }
TABLE_KERNELS(f32, float)
TABLE_KERNELS(f64, double)

cudaError_t k_take_rows(enum nn_dtype dtype, const struct k_table *t,
                        struct cuda_fault *fault, cudaStream_t stream)
{
    unsigned grid = cuda_grid(t->n * t->width);

    if (dtype == NN_F64)
        return LAUNCH(take_rows_f64, grid, CUDA_BLOCK, 0, stream, *t, fault);
    return LAUNCH(take_rows_f32, grid, CUDA_BLOCK, 0, stream, *t, fault);
}

cudaError_t k_add_rows(enum nn_dtype dtype, const struct k_table *t,
                       struct cuda_fault *fault, cudaStream_t stream)
{
    unsigned grid = cuda_grid(t->width);

    if (dtype == NN_F64)
        return LAUNCH(add_rows_f64, grid, CUDA_BLOCK, 0, stream, *t, fault);
    return LAUNCH(add_rows_f32, grid, CUDA_BLOCK, 0, stream, *t, fault);
}

/* ---- results ---- */

KERNEL keep(float *losses, const float *loss, int32_t *flags,
            const int32_t *flag, const struct cuda_scalars *s)
{
    if (threadIdx.x != 0 || s->result < 0)
        return;
    losses[s->result] = *loss;
    flags[s->result] = *flag;
}

cudaError_t k_keep(float *losses, const float *loss, int32_t *flags,
                   const int32_t *flag, const struct cuda_scalars *s,
                   cudaStream_t stream)
{
    return LAUNCH(keep, 1, 32, 0, stream, losses, loss, flags, flag, s);
}
