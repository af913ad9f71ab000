/* The five products, all as c = act(bias + a b): float64 multiplies where the
 * numbers lie; float32 needs b in panels, which a weight already is, and packs
 * anything else into scratch first. */
#include "nn/cpu/cpu_ops.h"

#include "nn/cpu/cpu_layout.h"

/* Panels that are done with the same rows before the next rows, where a lies in
 * columns: they share what is read of a. */
enum { PANELS = 8 };

/* How b becomes panels. */
enum source {
    B_PANELS,       /* it is */
    B_ROWS,         /* by copying: b_col is 1 */
    B_COLUMNS,      /* by transposing: b_row is 1 */
    B_WEIGHT_PANELS /* the transpose of a weight (k, n) in panels */
};

struct product {
    struct cpu_gemm g;
    const struct cpu_gemm_kernels *k;
    enum source source;
    float *panels;
    int64_t chunks; /* of rows */
    int64_t group;  /* panels of a piece */
};

static int64_t panels_of(int64_t n)
{
    return n / CPU_PANEL + (n % CPU_PANEL != 0);
}

/* Panel t of the transpose of a weight: 32 x 32 blocks of its panels. */
static void pack_weight_panel(const struct product *p, int64_t t, int64_t cols)
{
    const struct cpu_gemm *g = &p->g;
    const float *b = g->b;
    float *dst = p->panels + t * g->k * CPU_PANEL;

    for (int64_t k = 0; k < g->k; k += CPU_PANEL) {
        int64_t some = g->k - k < CPU_PANEL ? g->k - k : CPU_PANEL;

        p->k->pack_transposed(dst + k * CPU_PANEL,
                              b + k * g->n + t * CPU_PANEL * CPU_PANEL,
                              CPU_PANEL, cols, some);
    }
}

static void pack_range(void *arg, int64_t begin, int64_t end)
{
    const struct product *p = arg;
    const struct cpu_gemm *g = &p->g;
    const float *b = g->b;

    for (int64_t t = begin; t < end; t++) {
        int64_t j = t * CPU_PANEL;
        int64_t cols = g->n - j < CPU_PANEL ? g->n - j : CPU_PANEL;
        float *dst = p->panels + j * g->k;

        if (p->source == B_ROWS)
            p->k->pack(dst, b + j, g->b_row, g->k, cols);
        else if (p->source == B_COLUMNS)
            p->k->pack_transposed(dst, b + j * g->b_col, g->b_col, cols, g->k);
        else
            pack_weight_panel(p, t, cols);
    }
}

/* Piece t of c: group t / chunks of panels, chunk t % chunks of rows. */
static void product_range(void *arg, int64_t begin, int64_t end)
{
    const struct product *p = arg;
    const struct cpu_gemm *g = &p->g;
    int64_t panels = panels_of(g->n);

    for (int64_t t = begin; t < end; t++) {
        int64_t i0 = t % p->chunks * CPU_ROWS, i1 = i0 + CPU_ROWS;
        int64_t p0 = t / p->chunks * p->group, p1 = p0 + p->group;

        p->k->gemm(g, i0, i1 < g->m ? i1 : g->m, p0, p1 < panels ? p1 : panels);
    }
}

static int multiply(struct cpu *cpu, struct product *p, enum nn_dtype dtype,
                    struct err *err)
{
    struct cpu_gemm *g = &p->g;
    int64_t panels = panels_of(g->n), groups;
    size_t size = (size_t)panels * CPU_PANEL * (size_t)g->k * sizeof(float);
    void *work;
    int rc;

    if (g->m == 0 || g->n == 0)
        return 0;
    p->k = cpu_kernels_of(cpu, dtype)->gemm;
    if (dtype == NN_F32 && p->source != B_PANELS) {
        rc = cpu_workspace(cpu, size, &work, err);
        if (rc != 0)
            return rc;
        p->panels = work;
        cpu_parallel(cpu, panels, 1, g->k * CPU_PANEL, pack_range, p);
        g->b = work;
    }
    p->group = g->a_col == 1 ? 1 : PANELS;
    groups = (panels + p->group - 1) / p->group;
    p->chunks = g->m / CPU_ROWS + (g->m % CPU_ROWS != 0);
    cpu_parallel(cpu, groups * p->chunks, 1,
                 g->k * CPU_PANEL * p->group * (g->m / p->chunks) / 4,
                 product_range, p);
    return 0;
}

static bool is_panels(const struct nn_tensor *t)
{
    return cpu_is_panels(&t->shape, t->dtype, t->layout);
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
CPU_OP(linear)
{
    const struct nn_tensor *x = call->in[0], *w = call->in[1];
    const struct nn_tensor *b = call->n_in > 2 ? call->in[2] : NULL;
    const int64_t *dx = x->shape.dim, *dw = w->shape.dim;
    struct product p;

    if (!both_matrices(x, w) || dx[1] != dw[1] ||
        !is_matrix(call->out[0], dx[0], dw[0]) ||
        (b && nn_tensor_numel(b) != dw[0]))
        return cpu_shape_error(call, err);
    p = (struct product){
        .g = {.m = dx[0],
              .n = dw[0],
              .k = dx[1],
              .a = cpu_data(x),
              .a_row = dx[1],
              .a_col = 1,
              .b = cpu_data(w),
              .b_row = 1,
              .b_col = dx[1],
              .c = cpu_data(call->out[0]),
              .c_row = dw[0],
              .bias = b ? cpu_data(b) : NULL,
              .act = call->attrs.linear.act},
        .source = is_panels(w) ? B_PANELS : B_COLUMNS,
    };
    return multiply(cpu, &p, x->dtype, err);
}

/* dx (B,in) = dy (B,out) w */
CPU_OP(linear_grad_input)
{
    const struct nn_tensor *dy = call->in[0], *w = call->in[1];
    const int64_t *dd = dy->shape.dim, *dw = w->shape.dim;
    struct product p;

    if (!both_matrices(dy, w) || dd[1] != dw[0] ||
        !is_matrix(call->out[0], dd[0], dw[1]))
        return cpu_shape_error(call, err);
    p = (struct product){
        .g = {.m = dd[0],
              .n = dw[1],
              .k = dw[0],
              .a = cpu_data(dy),
              .a_row = dd[1],
              .a_col = 1,
              .b = cpu_data(w),
              .b_row = dw[1],
              .b_col = 1,
              .c = cpu_data(call->out[0]),
              .c_row = dw[1]},
        .source = is_panels(w) ? B_WEIGHT_PANELS : B_ROWS,
    };
    return multiply(cpu, &p, dy->dtype, err);
}

/* dw (out,in) = dy^T x. In panels the roles change: their rows run over in. */
CPU_OP(linear_grad_weight)
{
    const struct nn_tensor *dy = call->in[0], *x = call->in[1];
    const struct nn_tensor *dw = call->out[0];
    const int64_t *dd = dy->shape.dim, *dx = x->shape.dim;
    const struct nn_tensor *a = is_panels(dw) ? x : dy;
    const struct nn_tensor *b = is_panels(dw) ? dy : x;
    struct product p;

    if (!both_matrices(dy, x) || dd[0] != dx[0] || !is_matrix(dw, dd[1], dx[1]))
        return cpu_shape_error(call, err);
    p = (struct product){
        .g = {.m = a->shape.dim[1],
              .n = b->shape.dim[1],
              .k = dd[0],
              .a = cpu_data(a),
              .a_row = 1,
              .a_col = a->shape.dim[1],
              .b = cpu_data(b),
              .b_row = b->shape.dim[1],
              .b_col = 1,
              .c = cpu_data(dw),
              .c_row = dx[1],
              .c_panels = is_panels(dw)},
        .source = B_ROWS,
    };
    return multiply(cpu, &p, dy->dtype, err);
}

struct column_job {
    const struct cpu_reduce_kernels *k;
    const struct nn_tensor *x;
    void *y;
};

static void column_range(void *arg, int64_t begin, int64_t end)
{
    const struct column_job *j = arg;
    const struct nn_tensor *x = j->x;

    j->k->sum_cols(cpu_at(j->y, begin, x->dtype),
                   cpu_at(cpu_data(x), begin, x->dtype), x->shape.dim[0],
                   x->shape.dim[1], end - begin);
}

/* The chain of adds from +0 is never -0, so + 0.0f changes nothing. */
CPU_OP(linear_grad_bias)
{
    const struct nn_tensor *dy = call->in[0];
    struct column_job j = {.k = cpu_kernels_of(cpu, dy->dtype)->reduce,
                           .x = dy,
                           .y = cpu_data(call->out[0])};

    if (dy->shape.ndim != 2 ||
        nn_tensor_numel(call->out[0]) != dy->shape.dim[1])
        return cpu_shape_error(call, err);
    cpu_parallel(cpu, dy->shape.dim[1], CPU_PANEL, dy->shape.dim[0],
                 column_range, &j);
    return 0;
}

CPU_OP(matmul)
{
    const struct nn_tensor *a = call->in[0], *b = call->in[1];
    const int64_t *da = a->shape.dim, *db = b->shape.dim;
    int ta = call->attrs.matmul.ta, tb = call->attrs.matmul.tb;
    struct product p;

    if (!both_matrices(a, b) || da[1 - ta] != db[tb] ||
        !is_matrix(call->out[0], da[ta], db[1 - tb]))
        return cpu_shape_error(call, err);
    p = (struct product){
        .g = {.m = da[ta],
              .n = db[1 - tb],
              .k = db[tb],
              .a = cpu_data(a),
              .a_row = ta ? 1 : da[1],
              .a_col = ta ? da[1] : 1,
              .b = cpu_data(b),
              .b_row = tb ? 1 : db[1],
              .b_col = tb ? db[1] : 1,
              .c = cpu_data(call->out[0]),
              .c_row = db[1 - tb]},
        .source = tb ? B_COLUMNS : B_ROWS,
    };
    return multiply(cpu, &p, a->dtype, err);
}
