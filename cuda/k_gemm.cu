#include "cuda/k_gemm.h"

#include "cuda/cuda_math.cuh"

/* A block of THREADS threads makes a TILE x TILE part of c, STEP terms of the
 * chains at a time from shared memory; a thread makes ROWS x COLS of it. */
enum { TILE = 64, STEP = 16, THREADS = 128, ROWS = 8, COLS = 4 };

/* Rows of a tile in shared memory: one number more than STEP or TILE keeps the
 * lanes of a warp on different banks. */
enum { PAD = 1 };

template <class T> AI T activate(T x, int act)
{
    switch (act) {
    case NN_ACT_RELU:
        return x <= T(0) ? T(0) : x;
    case NN_ACT_TANH:
        return v_tanh(x);
    case NN_ACT_SIGMOID:
        return v_sigmoid(x);
    default:
        return x;
    }
}

/* to[p][i] = a's tile at row i0 and term p0, zeros beyond its edges. Threads
 * run along whichever stride is 1. */
template <class T>
AI void load_tile(T to[STEP][TILE + PAD], const T *from, int64_t i0,
                  int64_t rows, int64_t i_step, int64_t p0, int64_t terms,
                  int64_t p_step)
{
    for (int e = (int)threadIdx.x; e < TILE * STEP; e += THREADS) {
        int p = p_step == 1 ? e % STEP : e / TILE;
        int i = p_step == 1 ? e / STEP : e % TILE;
        bool there = i0 + i < rows && p0 + p < terms;

        to[p][i] = there ? from[(i0 + i) * i_step + (p0 + p) * p_step] : T(0);
    }
}

template <class T>
AI void gemm_block(const struct k_gemm *g, T (*ta)[TILE + PAD],
                   T (*tb)[TILE + PAD])
{
    unsigned across = (unsigned)((g->n + TILE - 1) / TILE);
    int64_t i0 = (int64_t)(blockIdx.x / across) * TILE;
    int64_t j0 = (int64_t)(blockIdx.x % across) * TILE;
    int row = (int)threadIdx.x / (TILE / COLS) * ROWS;
    int col = (int)threadIdx.x % (TILE / COLS) * COLS;
    const T *bias = (const T *)g->bias;
    T sum[ROWS][COLS];
    T *c = (T *)g->c;

    UNROLL
    for (int i = 0; i < ROWS; i++)
        UNROLL
    for (int j = 0; j < COLS; j++)
        sum[i][j] = bias && j0 + col + j < g->n ? bias[j0 + col + j] : T(0);
    for (int64_t p0 = 0; p0 < g->k; p0 += STEP) {
        int64_t left = g->k - p0;
        int steps = left < STEP ? (int)left : (int)STEP;

        load_tile(ta, (const T *)g->a, i0, g->m, g->a_row, p0, g->k, g->a_col);
        load_tile(tb, (const T *)g->b, j0, g->n, g->b_col, p0, g->k, g->b_row);
        __syncthreads();
        for (int p = 0; p < steps; p++)
            UNROLL
        for (int i = 0; i < ROWS; i++)
            UNROLL
        for (int j = 0; j < COLS; j++)
            sum[i][j] = v_fma(ta[p][row + i], tb[p][col + j], sum[i][j]);
        __syncthreads();
    }
    UNROLL
    for (int i = 0; i < ROWS; i++)
        UNROLL
    for (int j = 0; j < COLS; j++)
        if (i0 + row + i < g->m && j0 + col + j < g->n)
            c[(i0 + row + i) * g->n + j0 + col + j] =
                activate(sum[i][j] + T(0), g->act);
}

KERNEL gemm_strict_f32(struct k_gemm g)
{
    __shared__ float ta[STEP][TILE + PAD];
    __shared__ float tb[STEP][TILE + PAD];

    gemm_block<float>(&g, ta, tb);
}

KERNEL gemm_strict_f64(struct k_gemm g)
{
    __shared__ double ta[STEP][TILE + PAD];
    __shared__ double tb[STEP][TILE + PAD];

    gemm_block<double>(&g, ta, tb);
}

cudaError_t k_gemm(enum nn_dtype dtype, const struct k_gemm *g,
                   cudaStream_t stream)
{
    /* All in x, where 2^31 - 1 blocks fit; in y 65535 do. */
    int64_t down = (g->m + TILE - 1) / TILE, across = (g->n + TILE - 1) / TILE;
    unsigned grid = (unsigned)(down * across);

    if (down > INT32_MAX / across)
        return cudaErrorInvalidConfiguration;
    if (dtype == NN_F64)
        return LAUNCH(gemm_strict_f64, grid, THREADS, 0, stream, *g);
    return LAUNCH(gemm_strict_f32, grid, THREADS, 0, stream, *g);
}

KERNEL bias_act_f32(float *y, const float *bias, int64_t n, int64_t cols,
                    int act)
{
    EACH(i, n)
    y[i] = activate(bias ? y[i] + bias[i % cols] : y[i], act);
}

cudaError_t k_bias_act(float *y, const float *bias, int64_t rows, int64_t cols,
                       enum nn_act act, cudaStream_t stream)
{
    return LAUNCH(bias_act_f32, cuda_grid(rows * cols), CUDA_BLOCK, 0, stream,
                  y, bias, rows * cols, cols, (int)act);
}

/* A block takes 32 columns, BIAS_ROWS rows at a time: all threads fetch them,
 * one warp walks down the chains. */
enum { BIAS_COLS = 32, BIAS_ROWS = 64 };

#define BIAS_GRAD(name, T) \
    KERNEL name(T *db, const T *dy, int64_t rows, int64_t cols) \
    { \
        __shared__ T tile[BIAS_ROWS][BIAS_COLS]; \
        int col = (int)threadIdx.x % BIAS_COLS; \
        int64_t j = (int64_t)blockIdx.x * BIAS_COLS + col; \
        T sum = T(0); \
        for (int64_t i0 = 0; i0 < rows; i0 += BIAS_ROWS) { \
            for (int i = (int)threadIdx.x / BIAS_COLS; i < BIAS_ROWS; \
                 i += CUDA_BLOCK / BIAS_COLS) \
                tile[i][col] = i0 + i < rows && j < cols \
                                   ? dy[(i0 + i) * cols + j] \
                                   : T(0); \
            __syncthreads(); \
            if (threadIdx.x < BIAS_COLS) \
                for (int i = 0; i < BIAS_ROWS; i++) \
                    sum += tile[i][col]; /* + 0 changes no chain */ \
            __syncthreads(); \
        } \
        if (threadIdx.x < BIAS_COLS && j < cols) \
            db[j] = sum; \
    }
BIAS_GRAD(bias_grad_f32, float)
BIAS_GRAD(bias_grad_f64, double)

cudaError_t k_bias_grad(enum nn_dtype dtype, void *db, const void *dy,
                        int64_t rows, int64_t cols, cudaStream_t stream)
{
    unsigned grid = (unsigned)((cols + BIAS_COLS - 1) / BIAS_COLS);

    if (dtype == NN_F64)
        return LAUNCH(bias_grad_f64, grid, CUDA_BLOCK, 0, stream, (double *)db,
                      (const double *)dy, rows, cols);
    return LAUNCH(bias_grad_f32, grid, CUDA_BLOCK, 0, stream, (float *)db,
                  (const float *)dy, rows, cols);
}
