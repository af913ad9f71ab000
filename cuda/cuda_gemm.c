#include "cuda/cuda_gemm.h"

/* The five products. Strict numerics and float64 go to our own kernel; else
 * float32 goes to cuBLAS, whose matrices lie in columns: c = a b in rows is
 * c^T = b^T a^T there. */
#include <limits.h>

#include "cuda/cuda_dispatch.h"
#include "cuda/cuda_lt.h"
#include "cuda/cuda_ops.h"
#include "cuda/k_elem.h"
#include "cuda/k_gemm.h"

/* Where both steps are 1 (a single row or column) the one that gives rows of
 * full length is told. */
struct cuda_operand cuda_operand(int64_t cols, int64_t row, int64_t col)
{
    if (col == 1 && row >= cols)
        return (struct cuda_operand){CUBLAS_OP_N, row < 1 ? 1 : row};
    return (struct cuda_operand){CUBLAS_OP_T, col < 1 ? 1 : col};
}

static bool fits_blas(const struct k_gemm *g)
{
    return g->m <= INT_MAX && g->n <= INT_MAX && g->k <= INT_MAX &&
           g->a_row <= INT_MAX && g->a_col <= INT_MAX && g->b_row <= INT_MAX &&
           g->b_col <= INT_MAX;
}

static int multiply_blas(struct cuda *cu, const struct k_gemm *g,
                         struct err *err)
{
    struct cuda_operand a = cuda_operand(g->k, g->a_row, g->a_col);
    struct cuda_operand b = cuda_operand(g->n, g->b_row, g->b_col);
    const float one = 1.0f, zero = 0.0f;
    int rc = CUBLAS(cublasSgemm(cu->blas, b.op, a.op, (int)g->n, (int)g->m,
                                (int)g->k, &one, g->b, (int)b.ld, g->a,
                                (int)a.ld, &zero, g->c, (int)g->n),
                    err);

    if (rc != 0 || (!g->bias && g->act == NN_ACT_NONE))
        return rc;
    return CU(k_bias_act(g->c, g->bias, g->m, g->n, g->act, cu->stream), err);
}

static int multiply(struct cuda *cu, const struct k_gemm *g,
                    enum nn_dtype dtype, struct err *err)
{
    if (g->m == 0 || g->n == 0)
        return 0;
    if (dtype == NN_F64 || g->k == 0 || !fits_blas(g) ||
        cu->config.numerics == NN_NUMERICS_STRICT)
        return CU(k_gemm(dtype, g, cu->stream), err);
    if (cu->config.fuse && cuda_lt_fits(g))
        return cuda_lt_multiply(cu, g, err);
    return multiply_blas(cu, g, err);
}

static bool is_matrix(const struct nn_tensor *t, int64_t rows, int64_t cols)
{
    return t->shape.ndim == 2 && t->shape.dim[0] == rows &&
           t->shape.dim[1] == cols;
}

static bool both_matrices(const struct nn_tensor *a, const struct nn_tensor *b)
{
    return a->shape.ndim == 2 && b->shape.ndim == 2;
}

/* y (B,out) = x (B,in) w^T */
CUDA_OP(linear)
{
    const struct nn_tensor *x = call->in[0], *w = call->in[1];
    const struct nn_tensor *b = call->n_in > 2 ? call->in[2] : NULL;
    const int64_t *dx = x->shape.dim, *dw = w->shape.dim;
    struct k_gemm g = {.a = cuda_data(x),
                       .b = cuda_data(w),
                       .c = cuda_data(call->out[0]),
                       .bias = b ? cuda_data(b) : NULL,
                       .act = call->attrs.linear.act};

    if (!both_matrices(x, w) || dx[1] != dw[1] ||
        !is_matrix(call->out[0], dx[0], dw[0]) ||
        (b && nn_tensor_numel(b) != dw[0]))
        return cuda_shape_error(call, err);
    g.m = dx[0];
    g.n = dw[0];
    g.k = g.a_row = g.b_col = dx[1];
    g.a_col = g.b_row = 1;
    return multiply(cu, &g, x->dtype, err);
}

/* dx (B,in) = dy (B,out) w */
CUDA_OP(linear_grad_input)
{
    const struct nn_tensor *dy = call->in[0], *w = call->in[1];
    const int64_t *dd = dy->shape.dim, *dw = w->shape.dim;
    struct k_gemm g = {
        .a = cuda_data(dy), .b = cuda_data(w), .c = cuda_data(call->out[0])};

    if (!both_matrices(dy, w) || dd[1] != dw[0] ||
        !is_matrix(call->out[0], dd[0], dw[1]))
        return cuda_shape_error(call, err);
    g.m = dd[0];
    g.n = g.b_row = dw[1];
    g.k = g.a_row = dw[0];
    g.a_col = g.b_col = 1;
    return multiply(cu, &g, dy->dtype, err);
}

/* dw (out,in) = dy^T x */
CUDA_OP(linear_grad_weight)
{
    const struct nn_tensor *dy = call->in[0], *x = call->in[1];
    const int64_t *dd = dy->shape.dim, *dx = x->shape.dim;
    struct k_gemm g = {
        .a = cuda_data(dy), .b = cuda_data(x), .c = cuda_data(call->out[0])};

    if (!both_matrices(dy, x) || dd[0] != dx[0] ||
        !is_matrix(call->out[0], dd[1], dx[1]))
        return cuda_shape_error(call, err);
    g.m = g.a_col = dd[1];
    g.n = g.b_row = dx[1];
    g.k = dd[0];
    g.a_row = g.b_col = 1;
    return multiply(cu, &g, x->dtype, err);
}

CUDA_OP(linear_grad_bias)
{
    const struct nn_tensor *dy = call->in[0], *db = call->out[0];

    if (dy->shape.ndim != 2 || nn_tensor_numel(db) != dy->shape.dim[1])
        return cuda_shape_error(call, err);
    if (nn_tensor_numel(db) == 0)
        return 0;
    return CU(k_bias_grad(dy->dtype, cuda_data(db), cuda_data(dy),
                          dy->shape.dim[0], dy->shape.dim[1], cu->stream),
              err);
}

CUDA_OP(matmul)
{
    const struct nn_tensor *a = call->in[0], *b = call->in[1];
    bool ta = call->attrs.matmul.ta, tb = call->attrs.matmul.tb;
    const int64_t *da = a->shape.dim, *db = b->shape.dim;
    struct k_gemm g = {
        .a = cuda_data(a), .b = cuda_data(b), .c = cuda_data(call->out[0])};

    if (!both_matrices(a, b) || da[ta ? 0 : 1] != db[tb ? 1 : 0] ||
        !is_matrix(call->out[0], da[ta ? 1 : 0], db[tb ? 0 : 1]))
        return cuda_shape_error(call, err);
    g.m = da[ta ? 1 : 0];
    g.n = db[tb ? 0 : 1];
    g.k = da[ta ? 0 : 1];
    g.a_row = ta ? 1 : da[1];
    g.a_col = ta ? da[1] : 1;
    g.b_row = tb ? 1 : db[1];
    g.b_col = tb ? db[1] : 1;
    return multiply(cu, &g, a->dtype, err);
}
