/* A row of numbers to each half of a warp: 16 lanes, as the sums of nn/op.h
 * (lanes16) have it. Element i belongs to lane i mod 16. */
#ifndef CUDA_ROWS_CUH
#define CUDA_ROWS_CUH

#include "cuda/cuda_math.cuh"

enum { LANES = 16, ROWS_A_BLOCK = CUDA_BLOCK / LANES };

/* Blocks for so many rows; kernels loop over what is left. */
static inline unsigned cuda_row_grid(int64_t rows)
{
    int64_t blocks = (rows + ROWS_A_BLOCK - 1) / ROWS_A_BLOCK;

    return (unsigned)(blocks < 65535 ? blocks : 65535);
}

/* for (r = this half warp's first row; ...): both halves of a warp go round
 * equally often, since they meet in shuffles; there says whether r is a row. */
#define EACH_ROW(r, there, rows) \
    for (int64_t r = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / LANES, \
                 there = r < (rows); \
         r / 2 * 2 < (rows); \
         r += (int64_t)gridDim.x * blockDim.x / LANES, there = r < (rows))

AI int lane(void)
{
    return (int)threadIdx.x % LANES;
}

/* The tree over the lanes; every lane gets the sum. */
template <class T> AI T lanes_sum(T s)
{
    for (int w = LANES / 2; w >= 1; w /= 2)
        s += __shfl_down_sync(0xffffffffu, s, w, LANES);
    return __shfl_sync(0xffffffffu, s, 0, LANES);
}

template <class T> AI T lanes_max(T m)
{
    for (int w = LANES / 2; w >= 1; w /= 2) {
        T other = __shfl_xor_sync(0xffffffffu, m, w, LANES);

        m = other > m ? other : m;
    }
    return m;
}

/* The largest of a row of n numbers; where there is none, -inf. A NaN may be
 * passed over: it comes back through exp(x - max) and the sum. A lane reads
 * its own elements only: those that it may then write over, and shuffles
 * order no memory. */
template <class T> AI T row_max(const T *x, int64_t n, bool there)
{
    T m = -(T)__builtin_inff();

    if (there)
        for (int64_t i = lane(); i < n; i += LANES)
            m = x[i] > m ? x[i] : m;
    return lanes_max(m);
}

/* e[i] = exp(x[i] - max), e may be NULL; returns the sum in 16 lanes. */
template <class T> AI T row_exp(T *e, const T *x, T max, int64_t n, bool there)
{
    T s = T(0);

    if (there)
        for (int64_t i = lane(); i < n; i += LANES) {
            T v = v_exp(x[i] - max);

            if (e)
                e[i] = v;
            s += v;
        }
    return lanes_sum(s);
}

#endif
