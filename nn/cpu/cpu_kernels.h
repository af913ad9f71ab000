/* The inner loops of the CPU backend as tables of functions: one table for
 * each instruction set in float32 (isa_*.c, equal to the bit) and one in
 * float64 (cpu_f64_*.c). The code around them is written once, so pointers
 * here are void and mean the table's own type. Arithmetic: nn/op.h. Outputs
 * come first and may be an input, element for element. */
#ifndef NN_CPU_KERNELS_H
#define NN_CPU_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "nn/op.h"

/* Columns of a panel: a float32 NN_WEIGHT (out, in) lies in memory as
 * [ceil(out / 32)][in][32], zeros where out ends; so does the right operand of
 * every float32 product, (k, n) as [ceil(n / 32)][k][32]. */
enum { CPU_PANEL = 32 };

/* Rows of a product that are done at a time: a multiple of every tile height,
 * few enough to stay in the cache. */
enum { CPU_ROWS = 84 };

enum cpu_unary {
    CPU_RELU,
    CPU_TANH,
    CPU_SIGMOID,
    CPU_GELU,
    CPU_NEG,
    CPU_EXP,
    CPU_LOG,
    CPU_SQRT,
    CPU_CUBE,
    CPU_LOG1P,
    CPU_ABS,
    CPU_ERF, /* no operator's own; here for the tests */
    CPU_UNARY_COUNT
};

enum cpu_binary {
    CPU_ADD,
    CPU_SUB,
    CPU_MUL,
    CPU_DIV,
    CPU_RELU_GRAD,    /* dy, y */
    CPU_TANH_GRAD,    /* dy, y */
    CPU_SIGMOID_GRAD, /* dy, y */
    CPU_GELU_GRAD,    /* dy, x */
    CPU_LOG1P_GRAD,   /* dy, x */
    CPU_SQRT_GRAD,    /* dy, y */
    CPU_ABS_GRAD,     /* dy, x */
    CPU_MAXIMUM,
    CPU_MAXIMUM_SHARE, /* of a in maximum(a, b) */
    CPU_SQUARE_DIFF,   /* (a - b)^2 */
    CPU_BINARY_COUNT
};

enum cpu_rowwise {
    CPU_SOFTMAX,          /* x */
    CPU_LOG_SOFTMAX,      /* x */
    CPU_SOFTMAX_GRAD,     /* dy, y */
    CPU_LOG_SOFTMAX_GRAD, /* dy, y */
    CPU_ROWWISE_COUNT
};

/* c (m,n) = act(bias + a (m,k) b (k,n)). Strides count elements. In float32 b
 * is packed into panels (b_row, b_col unused); c is rows of stride c_row, or
 * panels where c_panels. */
struct cpu_gemm {
    int64_t m, n, k;
    const void *a;
    int64_t a_row, a_col; /* (i,p) at a[i * a_row + p * a_col]; one is 1 */
    const void *b;
    int64_t b_row, b_col; /* (p,j) at b[p * b_row + j * b_col] */
    void *c;
    int64_t c_row;
    bool c_panels;
    const void *bias; /* (n) or NULL */
    bool onto;        /* go on from what c holds; no bias */
    enum nn_act act;
};

struct cpu_dropout {
    uint32_t key[2];
    uint32_t layer, step;
    float p;
    double scale; /* 1 / (1 - p) */
};

/* Constants are computed in double and rounded to the type once. */
struct cpu_loss {
    double scale;
    double keep;  /* 1 - label_smoothing */
    double share; /* label_smoothing / classes */
    double pos_weight;
    bool smooth; /* label_smoothing is not 0 */
};

struct cpu_sgd {
    float minus_lr, momentum, weight_decay;
    bool nesterov;
};

struct cpu_adam {
    float beta1, one_minus_beta1, beta2, one_minus_beta2;
    float minus_step, rsqrt_bias2, eps;
    float weight_decay; /* coupled; 0 where decoupled */
    float decay;        /* decoupled: p * decay; else 1 */
    bool decoupled;
};

/* Windows of kernel x kernel numbers over a plane (h,w), stride apart; what
 * reaches into the padding around it is left out. */
struct cpu_pool {
    int64_t h, w, out_h, out_w;
    int64_t kernel, stride, padding;
};

/* rows x cols numbers: at (r,c) in dense[r * dense_row + c], and in
 * sparse[r * sparse_row + c * sparse_col] */
struct cpu_grid {
    int64_t rows, cols;
    int64_t dense_row, sparse_row, sparse_col;
};

struct cpu_elem_kernels {
    void (*unary[CPU_UNARY_COUNT])(void *y, const void *x, int64_t n);
    /* steps are 1, or 0 for one number against all */
    void (*binary[CPU_BINARY_COUNT])(void *y, const void *a, int64_t a_step,
                                     const void *b, int64_t b_step, int64_t n);
    void (*pow)(void *y, const void *x, double exponent, int64_t n);
    void (*fill)(void *y, double value, int64_t n);
    void (*bytes)(void *y, const uint8_t *x, int64_t n, float divide);
    /* one sample's elements */
    void (*dropout)(void *y, const void *x, int64_t n, uint32_t sample,
                    const struct cpu_dropout *d);
};

/* Rows of cols > 0 numbers. */
struct cpu_row_kernels {
    /* b is NULL for those with one operand */
    void (*rowwise[CPU_ROWWISE_COUNT])(void *y, const void *a, const void *b,
                                       int64_t rows, int64_t cols);
    /* the first largest of each row, NaN counting as largest */
    void (*argmax)(int32_t *y, const void *x, int64_t rows, int64_t cols);
};

/* Unscaled losses, and gradients times *g * scale. */
struct cpu_loss_kernels {
    /* rows of cols classes, targets in range; the loss of each row */
    void (*cross_entropy)(void *l, const void *x, const int32_t *target,
                          int64_t rows, int64_t cols,
                          const struct cpu_loss *loss);
    void (*cross_entropy_grad)(void *dx, const void *g, const void *x,
                               const int32_t *target, int64_t rows,
                               int64_t cols, const struct cpu_loss *loss);
    void (*bce)(void *l, const void *z, const void *y, int64_t n,
                const struct cpu_loss *loss);
    void (*bce_grad)(void *dz, const void *g, const void *z, const void *y,
                     int64_t n, const struct cpu_loss *loss);
    void (*mse_grad)(void *dx, const void *g, const void *x, const void *y,
                     int64_t n, const struct cpu_loss *loss);
};

struct cpu_reduce_kernels {
    /* y[i] = lanes16 of row i */
    void (*sum_rows)(void *y, const void *x, int64_t rows, int64_t cols);
    /* y[j] = chain over rows, which lie stride apart, of column j */
    void (*sum_cols)(void *y, const void *x, int64_t rows, int64_t stride,
                     int64_t cols);
    /* *sum = chain of x[i] * scale onto *sum */
    void (*chain)(void *sum, const void *x, int64_t n, double scale);
    /* Sums of squares as chains of fma: of the columns of a panel with n
     * rows; of rows. float32 only. */
    void (*panel_squares)(float *y, const float *panel, int64_t n);
    void (*row_squares)(float *y, const float *x, int64_t rows, int64_t cols);
};

struct cpu_pool_kernels {
    /* y (outer, inner), the largest of x (outer, len, inner), len > 0 */
    void (*max)(void *y, const void *x, int64_t outer, int64_t len,
                int64_t inner);
    /* dx (outer, len, inner): dy (outer, inner) at the first largest, else 0 */
    void (*max_grad)(void *dx, const void *dy, const void *x, int64_t outer,
                     int64_t len, int64_t inner);
    /* one plane */
    void (*max_pool)(void *y, const void *x, const struct cpu_pool *p);
    void (*max_pool_grad)(void *dx, const void *dy, const void *x,
                          const struct cpu_pool *p);
    void (*avg_pool)(void *y, const void *x, const struct cpu_pool *p);
    void (*avg_pool_grad)(void *dx, const void *dy, const struct cpu_pool *p);
    /* cols = the numbers of x on the grid; x += cols on it */
    void (*take_grid)(void *cols, const void *x, const struct cpu_grid *g);
    void (*add_grid)(void *x, const void *cols, const struct cpu_grid *g);
};

struct cpu_gemm_kernels {
    /* rows [i0, i1), at most CPU_ROWS, of the columns of panels [p0, p1) */
    void (*gemm)(const struct cpu_gemm *g, int64_t i0, int64_t i1, int64_t p0,
                 int64_t p1);
    /* dst (cols)[32] = src (rows <= 32, cols) transposed, src's rows ld apart;
     * dst (rows)[32] = src (rows, cols <= 32). Zeros fill what is missing.
     * float32 only. */
    void (*pack_transposed)(float *dst, const float *src, int64_t ld,
                            int64_t rows, int64_t cols);
    void (*pack)(float *dst, const float *src, int64_t ld, int64_t rows,
                 int64_t cols);
};

/* float32 only. Return the number of non-finite p; m is NULL without
 * momentum. */
struct cpu_optim_kernels {
    int64_t (*sgd)(float *p, const float *g, float *m, int64_t n,
                   const struct cpu_sgd *o);
    int64_t (*adam)(float *p, const float *g, float *m, float *v, int64_t n,
                    const struct cpu_adam *o);
};

struct cpu_kernels {
    const char *name; /* "scalar", "avx2", "avx512", "float64" */
    const struct cpu_elem_kernels *elem;
    const struct cpu_row_kernels *row;
    const struct cpu_loss_kernels *loss;
    const struct cpu_reduce_kernels *reduce;
    const struct cpu_gemm_kernels *gemm;
    const struct cpu_pool_kernels *pool;
    const struct cpu_optim_kernels *optim; /* NULL in float64 */
};

extern const struct cpu_kernels cpu_kernels_f64;
extern const struct cpu_kernels cpu_kernels_scalar;
#if defined(__x86_64__)
extern const struct cpu_kernels cpu_kernels_avx2;
extern const struct cpu_kernels cpu_kernels_avx512;
#endif

#endif
