#include "cuda/k_loss.h"

#include "cuda/cuda_rows.cuh"

/* ---- one chain ---- */

/* One warp: its lanes fetch 32 terms, and each walks the same chain over them;
 * what is beyond the end is + 0, which changes no chain from + 0. */
template <class T> AI void chain(T *sum, const T *x, int64_t n, T scale)
{
    T s = T(0);

    for (int64_t base = 0; base < n; base += 32) {
        int64_t i = base + threadIdx.x;
        T term = i < n ? x[i] * scale : T(0);

        UNROLL
        for (int k = 0; k < 32; k++)
            s += __shfl_sync(0xffffffffu, term, k);
    }
    if (threadIdx.x == 0)
        *sum = s;
}

#define CHAIN(name, T) \
    KERNEL name(T *sum, const T *x, int64_t n, T scale) \
    { \
        chain(sum, x, n, scale); \
    }
CHAIN(chain_f32, float)
CHAIN(chain_f64, double)

cudaError_t k_chain(enum nn_dtype dtype, void *sum, const void *x, int64_t n,
                    double scale, cudaStream_t stream)
{
    if (dtype == NN_F64)
        return LAUNCH(chain_f64, 1, 32, 0, stream, (double *)sum,
                      (const double *)x, n, scale);
    return LAUNCH(chain_f32, 1, 32, 0, stream, (float *)sum, (const float *)x,
                  n, (float)scale);
}

/* ---- cross entropy ---- */

/* lanes16 over c of log_sum + (max - x[c]) */
template <class T>
AI T row_nll_sum(const T *x, T max, T log_sum, int64_t n, bool there)
{
    T s = T(0);

    if (there)
        for (int64_t i = lane(); i < n; i += LANES)
            s += log_sum + (max - x[i]);
    return lanes_sum(s);
}

/* The term of a row whose exp(x - max) add up to sum; of no target 0. */
template <class T>
AI T row_nll(const T *x, int64_t target, T max, T sum, int64_t n,
             const struct k_loss *o, bool there)
{
    T log_sum = v_log(sum);
    T nll =
        there && target >= 0 && target < n ? log_sum + (max - x[target]) : T(0);

    if (o->smooth)
        nll = (T)o->keep * nll +
              (T)o->share * row_nll_sum(x, max, log_sum, n, there);
    return nll;
}

template <class T>
AI void cross_entropy_row(T *l, const T *x, int64_t target, int64_t n,
                          const struct k_loss *o, bool there)
{
    T max = row_max(x, n, there);
    T sum = row_exp((T *)NULL, x, max, n, there);
    T nll = row_nll(x, target, max, sum, n, o, there);

    if (there && lane() == 0)
        *l = nll;
}

#define CROSS_ENTROPY(name, T) \
    KERNEL name(T *l, const T *x, const int32_t *target, int64_t rows, \
                int64_t cols, struct k_loss o, struct cuda_fault *fault) \
    { \
        EACH_ROW(r, there, rows) \
        { \
            int64_t t = there ? target[r] : 0; \
            if (there && lane() == 0) \
                (void)cuda_in_range(fault, o.op, r, t, cols); \
            cross_entropy_row(l + r, x + r * cols, t, cols, &o, there != 0); \
        } \
    }
CROSS_ENTROPY(cross_entropy_f32, float)
CROSS_ENTROPY(cross_entropy_f64, double)

cudaError_t k_cross_entropy(enum nn_dtype dtype, void *l, const void *x,
                            const int32_t *target, int64_t rows, int64_t cols,
                            const struct k_loss *o, struct cuda_fault *fault,
                            cudaStream_t stream)
{
    unsigned grid = cuda_row_grid(rows);

    if (dtype == NN_F64)
        return LAUNCH(cross_entropy_f64, grid, CUDA_BLOCK, 0, stream,
                      (double *)l, (const double *)x, target, rows, cols, *o,
                      fault);
    return LAUNCH(cross_entropy_f32, grid, CUDA_BLOCK, 0, stream, (float *)l,
                  (const float *)x, target, rows, cols, *o, fault);
}

/* dx holds e: (e / sum - q) * factor, where q is others, and hit at the
 * target */
template <class T>
AI void row_slope(T *dx, T sum, int64_t target, int64_t n,
                  const struct k_loss *o, T factor, bool there)
{
    T others = o->smooth ? (T)o->share : T(0);
    T hit = o->smooth ? others + (T)o->keep : T(1);

    if (there)
        for (int64_t i = lane(); i < n; i += LANES)
            dx[i] = (dx[i] / sum - (i == target ? hit : others)) * factor;
}

template <class T>
AI void cross_entropy_grad_row(T *dx, const T *x, int64_t target, int64_t n,
                               const struct k_loss *o, T factor, bool there)
{
    T sum = row_exp(dx, x, row_max(x, n, there), n, there);

    row_slope(dx, sum, target, n, o, factor, there);
}

#define CROSS_ENTROPY_GRAD(name, T) \
    KERNEL name(T *dx, const T *g, const T *x, const int32_t *target, \
                int64_t rows, int64_t cols, struct k_loss o, \
                struct cuda_fault *fault) \
    { \
        T factor = *g * (T)o.scale; \
        EACH_ROW(r, there, rows) \
        { \
            int64_t t = there ? target[r] : 0; \
            if (there && lane() == 0) \
                (void)cuda_in_range(fault, o.op, r, t, cols); \
            cross_entropy_grad_row(dx + r * cols, x + r * cols, t, cols, &o, \
                                   factor, there != 0); \
        } \
    }
CROSS_ENTROPY_GRAD(cross_entropy_grad_f32, float)
CROSS_ENTROPY_GRAD(cross_entropy_grad_f64, double)

cudaError_t k_cross_entropy_grad(enum nn_dtype dtype, void *dx, const void *g,
                                 const void *x, const int32_t *target,
                                 int64_t rows, int64_t cols,
                                 const struct k_loss *o,
                                 struct cuda_fault *fault, cudaStream_t stream)
{
    unsigned grid = cuda_row_grid(rows);

    if (dtype == NN_F64)
        return LAUNCH(cross_entropy_grad_f64, grid, CUDA_BLOCK, 0, stream,
                      (double *)dx, (const double *)g, (const double *)x,
                      target, rows, cols, *o, fault);
    return LAUNCH(cross_entropy_grad_f32, grid, CUDA_BLOCK, 0, stream,
                  (float *)dx, (const float *)g, (const float *)x, target, rows,
                  cols, *o, fault);
}

/* Both at once; the terms are added up by the first warp of the one block there
 * is, or, where sum is NULL, by another kernel. dx is not x: a lane reads the
 * target's logit when others have written. */
KERNEL cross_entropy_both_f32(struct k_loss_both b)
{
    float factor = *b.g * (float)b.o.scale;

    EACH_ROW(r, there, b.rows)
    {
        int64_t t = there ? b.target[r] : 0;
        const float *x = b.x + r * b.cols;
        float *dx = b.dx + r * b.cols;
        float max = row_max(x, b.cols, there != 0);
        float sum = row_exp(dx, x, max, b.cols, there != 0);
        float nll = row_nll(x, t, max, sum, b.cols, &b.o, there != 0);

        row_slope(dx, sum, t, b.cols, &b.o, factor, there != 0);
        if (there && lane() == 0) {
            (void)cuda_in_range(b.fault, b.o.op, r, t, b.cols);
            b.l[r] = nll;
        }
    }
    if (!b.sum)
        return;
    __syncthreads();
    if (threadIdx.x < 32)
        chain(b.sum, b.l, b.rows, (float)b.o.scale);
}

cudaError_t k_cross_entropy_both(const struct k_loss_both *b,
                                 cudaStream_t stream)
{
    if (b->sum)
        return LAUNCH(cross_entropy_both_f32, 1, K_LOSS_BOTH_BLOCK, 0, stream,
                      *b);
    return LAUNCH(cross_entropy_both_f32, cuda_row_grid(b->rows), CUDA_BLOCK, 0,
                  stream, *b);
}

/* ---- losses of pairs ---- */

template <class T> AI T larger(T a, T b)
{
    return a > b ? a : b;
}

template <class T> AI T absolute(T x)
{
    return x < T(0) ? -x : x + T(0);
}

/* log1p(exp(-|z|)) */
template <class T> AI T softplus_of_minus_abs(T z)
{
    return v_log1p(v_exp(-absolute(z)));
}

template <class T> AI T bce_term(T z, T y, const struct k_loss *o)
{
    T w = (T)(o->pos_weight - 1.0);
    T tail = softplus_of_minus_abs(z);

    if (o->pos_weight == 1.0)
        return (larger(z, T(0)) - z * y) + tail;
    return (T(1) - y) * z + (T(1) + w * y) * (tail + larger(-z, T(0)));
}

template <class T> AI T bce_slope(T z, T y, const struct k_loss *o)
{
    T w = (T)(o->pos_weight - 1.0);

    if (o->pos_weight == 1.0)
        return v_sigmoid(z) - y;
    return (T(1) - y) - (T(1) + w * y) * v_sigmoid(-z);
}

template <class T> AI T mse_term(T x, T y, const struct k_loss *o)
{
    T d = x - y;

    (void)o;
    return d * d;
}

template <class T> AI T mse_slope(T x, T y, const struct k_loss *o)
{
    (void)o;
    return (x - y) * T(2);
}

#define PAIR_KERNELS(name, T, suffix) \
    KERNEL name##_##suffix(T *l, const T *x, const T *y, int64_t n, \
                           struct k_loss o) \
    { \
        EACH(i, n) \
        l[i] = name##_term(x[i], y[i], &o); \
    } \
    KERNEL name##_grad_##suffix(T *dx, const T *g, const T *x, const T *y, \
                                int64_t n, struct k_loss o) \
    { \
        T factor = *g * (T)o.scale; \
        EACH(i, n) \
        dx[i] = name##_slope(x[i], y[i], &o) * factor; \
    }
PAIR_KERNELS(bce, float, f32)
PAIR_KERNELS(bce, double, f64)
PAIR_KERNELS(mse, float, f32)
PAIR_KERNELS(mse, double, f64)

#define LAUNCH_LOSS(kernel, T) \
    LAUNCH(kernel, cuda_grid(n), CUDA_BLOCK, 0, stream, (T *)l, (const T *)x, \
           (const T *)y, n, *o)
#define LAUNCH_GRAD(kernel, T) \
    LAUNCH(kernel, cuda_grid(n), CUDA_BLOCK, 0, stream, (T *)dx, (const T *)g, \
           (const T *)x, (const T *)y, n, *o)

cudaError_t k_pair_loss(enum nn_op_id op, enum nn_dtype dtype, void *l,
                        const void *x, const void *y, int64_t n,
                        const struct k_loss *o, cudaStream_t stream)
{
    if (op == NN_OP_MSE)
        return dtype == NN_F64 ? LAUNCH_LOSS(mse_f64, double)
                               : LAUNCH_LOSS(mse_f32, float);
    return dtype == NN_F64 ? LAUNCH_LOSS(bce_f64, double)
                           : LAUNCH_LOSS(bce_f32, float);
}

cudaError_t k_pair_grad(enum nn_op_id op, enum nn_dtype dtype, void *dx,
                        const void *g, const void *x, const void *y, int64_t n,
                        const struct k_loss *o, cudaStream_t stream)
{
    if (op == NN_OP_MSE_GRAD)
        return dtype == NN_F64 ? LAUNCH_GRAD(mse_grad_f64, double)
                               : LAUNCH_GRAD(mse_grad_f32, float);
    return dtype == NN_F64 ? LAUNCH_GRAD(bce_grad_f64, double)
                           : LAUNCH_GRAD(bce_grad_f32, float);
}
