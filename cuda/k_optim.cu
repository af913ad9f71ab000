#include "cuda/k_optim.h"

#include "cuda/cuda_math.cuh"

#define SNAP_M 0x1p-100f
#define SNAP_V 0x1p-120f

AI void count_non_finite(int32_t *flag, float p)
{
    if (!(v_abs(p) < __builtin_inff()))
        atomicAdd(flag, 1);
}

KERNEL sgd_f32(float *p, const float *g, float *m, int64_t n, struct k_sgd o,
               const struct cuda_scalars *s, int32_t *flag)
{
    float minus_lr = -s->lr;

    EACH(i, n)
    {
        float d =
            o.weight_decay != 0.0f ? v_fma(o.weight_decay, p[i], g[i]) : g[i];

        if (m) {
            m[i] = v_snap(v_fma(o.momentum, m[i], d), SNAP_M);
            d = o.nesterov ? v_fma(o.momentum, m[i], d) : m[i];
        }
        p[i] = v_fma(minus_lr, d, p[i]);
        count_non_finite(flag, p[i]);
    }
}

cudaError_t k_sgd(float *p, const float *g, float *m, int64_t n,
                  const struct k_sgd *o, const struct cuda_scalars *scalars,
                  int32_t *flag, cudaStream_t stream)
{
    return LAUNCH(sgd_f32, cuda_grid(n), CUDA_BLOCK, 0, stream, p, g, m, n, *o,
                  scalars, flag);
}

KERNEL adam_f32(struct k_adam_block b, struct k_adam o,
                const struct cuda_scalars *s, int32_t *flag)
{
    float minus_step = -s->adam_step, rsqrt_bias2 = s->adam_rsqrt_bias2;
    float decay = s->decay;

    EACH(i, b.n)
    {
        float p = b.p[i], g = b.g[i], m, v, d;

        if (o.decoupled)
            p = p * decay;
        else if (o.weight_decay != 0.0f)
            g = v_fma(o.weight_decay, p, g);
        m = v_snap(v_fma(o.beta1, b.m[i], o.one_minus_beta1 * g), SNAP_M);
        v = v_snap(v_fma(o.beta2, b.v[i], o.one_minus_beta2 * (g * g)), SNAP_V);
        d = v_fma(v_sqrt(v), rsqrt_bias2, o.eps);
        p = v_fma(minus_step, m / d, p);
        b.m[i] = m;
        b.v[i] = v;
        b.p[i] = p;
        count_non_finite(flag, p);
    }
}

cudaError_t k_adam(const struct k_adam_block *b, const struct k_adam *o,
                   const struct cuda_scalars *scalars, int32_t *flag,
                   cudaStream_t stream)
{
    return LAUNCH(adam_f32, cuda_grid(b->n), CUDA_BLOCK, 0, stream, *b, *o,
                  scalars, flag);
}

KERNEL row_squares_f32(float *sums, const float *x, int64_t rows, int64_t cols)
{
    EACH(r, rows)
    {
        float s = 0.0f;

        for (int64_t i = 0; i < cols; i++)
            s = v_fma(x[r * cols + i], x[r * cols + i], s);
        sums[r] = s;
    }
}

cudaError_t k_row_squares(float *sums, const float *x, int64_t rows,
                          int64_t cols, cudaStream_t stream)
{
    return LAUNCH(row_squares_f32, cuda_grid(rows), CUDA_BLOCK, 0, stream, sums,
                  x, rows, cols);
}

/* One block, a level of the tree at a time: what a level reads may be written
 * by it, so all of it is read before. */
KERNEL add_tree_f32(float *total, float *sums, int64_t n)
{
    while (n > 1) {
        int64_t half = n / 2 + n % 2;

        for (int64_t base = 0; base < half; base += blockDim.x) {
            int64_t i = base + threadIdx.x;
            float s = 0.0f;

            if (i < half)
                s = 2 * i + 1 < n ? sums[2 * i] + sums[2 * i + 1] : sums[2 * i];
            __syncthreads();
            if (i < half)
                sums[i] = s;
            __syncthreads();
        }
        n = half;
    }
    if (threadIdx.x == 0)
        *total += sums[0];
}

cudaError_t k_add_tree(float *total, float *sums, int64_t n,
                       cudaStream_t stream)
{
    return LAUNCH(add_tree_f32, 1, CUDA_BLOCK, 0, stream, total, sums, n);
}

KERNEL clip_factor_f32(float *norm, float *factor, float max_norm)
{
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        *norm = v_sqrt(*norm);
        *factor = max_norm / (*norm + 1e-6f);
    }
}

cudaError_t k_clip_factor(float *norm, float *factor, float max_norm,
                          cudaStream_t stream)
{
    return LAUNCH(clip_factor_f32, 1, 1, 0, stream, norm, factor, max_norm);
}

/* A factor that is NaN scales, as in PyTorch. */
KERNEL clip_scale_f32(float *x, int64_t n, const float *factor)
{
    if (*factor >= 1.0f)
        return;
    EACH(i, n)
    x[i] = x[i] * *factor;
}

cudaError_t k_clip_scale(float *x, int64_t n, const float *factor,
                         cudaStream_t stream)
{
    return LAUNCH(clip_scale_f32, cuda_grid(n), CUDA_BLOCK, 0, stream, x, n,
                  factor);
}
