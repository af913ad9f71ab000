/* Convolution as products: the windows of a sample are laid out as a matrix
 * (im2col) of K = C kh kw rows and P = H' W' columns, and
 *
 *   y  (O,P) = w (O,K) cols       dw (O,K) += dy (O,P) cols^T
 *   dx (C,H,W) = the columns of w^T (K,O) dy (O,P), added where they came from
 *
 * sample by sample. Threads share out samples, and rows of K for dw, so that
 * each sum stays one chain. In float32 a right operand lies in panels of 32
 * columns, and a panel of w gives 32 rows of outputs. */
#include "nn/cpu/cpu_ops.h"

#include <string.h>

#include "nn/base/pool.h"
#include "nn/cpu/cpu_layout.h"

struct conv {
    const struct cpu_kernels *k;
    enum nn_dtype dtype;
    size_t size;              /* of an element */
    int64_t samples, c, h, w; /* x (samples, c, h, w) */
    int64_t o, kh, kw;        /* w (o, c, kh, kw) */
    int64_t oh, ow;           /* y (samples, o, oh, ow) */
    int64_t stride, padding;
    int64_t terms, places;      /* K and P of above */
    const void *x, *y, *weight; /* or their gradients */
    const void *bias;
    void *out;
    char *work; /* scratch_size bytes for each part */
    size_t scratch_size;
    int64_t parts; /* that the work is split in, one scratch each */
};

static int64_t round_up(int64_t n)
{
    return (n + CPU_PANEL - 1) / CPU_PANEL * CPU_PANEL;
}

/* Fills in all sizes; false where x, w and y do not fit each other. */
static bool conv_init(struct conv *v, const struct cpu *cpu,
                      const struct nn_call *call, const struct nn_tensor *x,
                      const struct nn_tensor *w, const struct nn_tensor *y)
{
    const int64_t *dx = x->shape.dim, *dw = w->shape.dim, *dy = y->shape.dim;
    int64_t stride = call->attrs.conv.stride;
    int64_t padding = call->attrs.conv.padding;
    bool panels = cpu_is_panels(&w->shape, w->dtype, w->layout);

    if (x->shape.ndim != 4 || w->shape.ndim != 4 || y->shape.ndim != 4 ||
        dx[0] != dy[0] || dx[1] != dw[1] || dw[0] != dy[1] || stride < 1 ||
        padding < 0 || panels != (w->dtype == NN_F32) ||
        dx[2] + 2 * padding < dw[2] || dx[3] + 2 * padding < dw[3] ||
        dy[2] != (dx[2] + 2 * padding - dw[2]) / stride + 1 ||
        dy[3] != (dx[3] + 2 * padding - dw[3]) / stride + 1)
        return false;
    *v = (struct conv){.k = cpu_kernels_of(cpu, x->dtype),
                       .dtype = x->dtype,
                       .size = nn_dtype_size(x->dtype),
                       .samples = dx[0],
                       .c = dx[1],
                       .h = dx[2],
                       .w = dx[3],
                       .o = dw[0],
                       .kh = dw[2],
                       .kw = dw[3],
                       .oh = dy[2],
                       .ow = dy[3],
                       .stride = stride,
                       .padding = padding,
                       .terms = dw[1] * dw[2] * dw[3],
                       .places = dy[2] * dy[3],
                       .x = cpu_data(x),
                       .y = cpu_data(y),
                       .weight = cpu_data(w)};
    return true;
}

/* Runs fn over parts of at most n, each with numbers of scratch of its own. */
static int run_parts(struct cpu *cpu, struct conv *v, int64_t n,
                     int64_t numbers, int64_t work, pool_fn fn, struct err *err)
{
    void *scratch;
    int rc;

    v->parts = pool_threads(cpu->pool);
    if (v->parts > n)
        v->parts = n;
    v->scratch_size = ((size_t)numbers * v->size + 63) / 64 * 64;
    rc = cpu_workspace(cpu, (size_t)v->parts * v->scratch_size, &scratch, err);
    if (rc != 0)
        return rc;
    v->work = scratch;
    cpu_parallel(cpu, v->parts, 1, work / (v->parts ? v->parts : 1), fn, v);
    return 0;
}

static void *scratch_of(const struct conv *v, int64_t part)
{
    return v->work + (size_t)part * v->scratch_size;
}

static int64_t part_begin(const struct conv *v, int64_t n, int64_t part)
{
    return n * part / v->parts;
}

static void *sample_at(const struct conv *v, const void *p, int64_t sample,
                       int64_t numbers)
{
    return cpu_at(p, sample * numbers, v->dtype);
}

/* The outputs that term (i, j) of the kernel has a number of x for, and where
 * the first of these lies in a plane of x; the others see the padding. */
struct reach {
    int64_t r0, r1, c0, c1; /* rows [r0, r1), columns [c0, c1) of outputs */
    int64_t at;
};

/* Outputs [*first, *end) of n whose place, offset + o * stride, is in [0, size)
 */
static void in_reach(int64_t offset, int64_t size, int64_t stride, int64_t n,
                     int64_t *first, int64_t *end)
{
    *first = offset < 0 ? (stride - 1 - offset) / stride : 0;
    *end = offset < size ? (size - 1 - offset) / stride + 1 : 0;
    if (*end > n)
        *end = n;
    if (*first >= *end)
        *first = *end = 0;
}

static struct reach reach_of(const struct conv *v, int64_t i, int64_t j)
{
    int64_t row = i - v->padding, col = j - v->padding;
    struct reach a;

    in_reach(row, v->h, v->stride, v->oh, &a.r0, &a.r1);
    in_reach(col, v->w, v->stride, v->ow, &a.c0, &a.c1);
    a.at = (row + a.r0 * v->stride) * v->w + col + a.c0 * v->stride;
    return a;
}

/* Term k = (c, i, j): the numbers of x that it meets and their places. */
static struct cpu_grid grid_of(const struct conv *v, int64_t k, int64_t *x,
                               int64_t *cols)
{
    struct reach a = reach_of(v, k / v->kw % v->kh, k % v->kw);
    struct cpu_grid g = {a.r1 - a.r0, a.c1 - a.c0, v->ow, v->stride * v->w,
                         v->stride};

    *x = k / v->kw / v->kh * v->h * v->w + a.at;
    *cols = k * v->places + a.r0 * v->ow + a.c0;
    if (g.cols == 0 || g.rows == 0)
        g.rows = g.cols = 0;
    return g;
}

/* Rows [k0, k1) of the windows (K,P) of one sample x. */
static void im2col(const struct conv *v, void *cols, const void *x, int64_t k0,
                   int64_t k1)
{
    for (int64_t k = k0; k < k1; k++) {
        int64_t from, to;
        struct cpu_grid g = grid_of(v, k, &from, &to);

        if (g.rows * g.cols < v->places)
            memset(cpu_at(cols, k * v->places, v->dtype), 0,
                   (size_t)v->places * v->size);
        if (g.rows > 0)
            v->k->pool->take_grid(cpu_at(cols, to, v->dtype),
                                  cpu_at(x, from, v->dtype), &g);
    }
}

/* Each column added where im2col took it from. */
static void col2im(const struct conv *v, void *dx, const void *cols)
{
    memset(dx, 0, (size_t)(v->c * v->h * v->w) * v->size);
    for (int64_t k = 0; k < v->terms; k++) {
        int64_t to, from;
        struct cpu_grid g = grid_of(v, k, &to, &from);

        if (g.rows > 0)
            v->k->pool->add_grid(cpu_at(dx, to, v->dtype),
                                 cpu_at(cols, from, v->dtype), &g);
    }
}

/* m (rows, P) into panels. float32 */
static void pack_places(const struct conv *v, void *panels, const void *m,
                        int64_t rows)
{
    for (int64_t p = 0; p < v->places; p += CPU_PANEL)
        v->k->gemm->pack((float *)panels + p * rows, (const float *)m + p,
                         v->places, rows,
                         v->places - p < CPU_PANEL ? v->places - p : CPU_PANEL);
}

/* The product, rows [i0, i1) of it, in as many calls as it takes. */
static void multiply(const struct conv *v, const struct cpu_gemm *g, int64_t i0,
                     int64_t i1)
{
    for (int64_t i = i0; i < i1; i += CPU_ROWS)
        v->k->gemm->gemm(g, i, i + CPU_ROWS < i1 ? i + CPU_ROWS : i1, 0,
                         round_up(g->n) / CPU_PANEL);
}

/* Outputs [o, o + outputs_at) share a panel of w; float64 has no panels. */
static int64_t outputs_at(const struct conv *v, int64_t o)
{
    int64_t left = v->o - o;

    return v->dtype == NN_F32 && left > CPU_PANEL ? CPU_PANEL : left;
}

static const void *weight_at(const struct conv *v, int64_t o)
{
    return cpu_at(v->weight, o * v->terms, v->dtype);
}

static void fill_bias(const struct conv *v, char *y)
{
    for (int64_t o = 0; o < v->o; o++) {
        double b = !v->bias             ? 0.0
                   : v->dtype == NN_F32 ? ((const float *)v->bias)[o]
                                        : ((const double *)v->bias)[o];

        v->k->elem->fill(cpu_at(y, o * v->places, v->dtype), b, v->places);
    }
}

/* y = b + w cols for one sample; cols lie in panels in float32 */
static void forward_product(const struct conv *v, const void *cols, char *y)
{
    const bool panels = v->dtype == NN_F32;

    fill_bias(v, y);
    for (int64_t o = 0; o < v->o; o += CPU_PANEL) {
        struct cpu_gemm g = {.m = outputs_at(v, o),
                             .n = v->places,
                             .k = v->terms,
                             .a = weight_at(v, o),
                             .a_row = panels ? 1 : v->terms,
                             .a_col = panels ? CPU_PANEL : 1,
                             .b = cols,
                             .b_row = v->places,
                             .b_col = 1,
                             .c = cpu_at(y, o * v->places, v->dtype),
                             .c_row = v->places,
                             .onto = true};

        multiply(v, &g, 0, g.m);
        if (!panels)
            break;
    }
}

static void forward_part(void *arg, int64_t begin, int64_t end)
{
    const struct conv *v = arg;

    for (int64_t t = begin; t < end; t++) {
        void *cols = scratch_of(v, t);
        void *panels = cpu_at(cols, v->terms * v->places, v->dtype);
        int64_t s = part_begin(v, v->samples, t);

        for (; s < part_begin(v, v->samples, t + 1); s++) {
            im2col(v, cols, sample_at(v, v->x, s, v->c * v->h * v->w), 0,
                   v->terms);
            if (v->dtype == NN_F32)
                pack_places(v, panels, cols, v->terms);
            forward_product(v, v->dtype == NN_F32 ? panels : cols,
                            sample_at(v, v->out, s, v->o * v->places));
        }
    }
}

CPU_OP(conv2d)
{
    struct conv v;

    if (!conv_init(&v, cpu, call, call->in[0], call->in[1], call->out[0]) ||
        (call->n_in > 2 && nn_tensor_numel(call->in[2]) != v.o))
        return cpu_shape_error(call, err);
    v.bias = call->n_in > 2 ? cpu_data(call->in[2]) : NULL;
    v.out = cpu_data(call->out[0]);
    return run_parts(cpu, &v, v.samples,
                     v.terms * (v.places + round_up(v.places)),
                     v.samples * v.terms * v.places, forward_part, err);
}

/* cols (K,P) = w^T dy for one sample; panel holds dy of up to 32 outputs. */
static void column_gradients(const struct conv *v, void *cols, void *panel,
                             const void *dy)
{
    const bool panels = v->dtype == NN_F32;

    for (int64_t o = 0; o < v->o; o += CPU_PANEL) {
        struct cpu_gemm g = {.m = v->terms,
                             .n = v->places,
                             .k = outputs_at(v, o),
                             .a = weight_at(v, o),
                             .a_row = panels ? CPU_PANEL : 1,
                             .a_col = panels ? 1 : v->terms,
                             .b = panels ? panel : dy,
                             .b_row = v->places,
                             .b_col = 1,
                             .c = cols,
                             .c_row = v->places,
                             .onto = o > 0};

        if (panels)
            pack_places(v, panel, cpu_at(dy, o * v->places, v->dtype), g.k);
        multiply(v, &g, 0, g.m);
        if (!panels)
            break;
    }
}

static void grad_input_part(void *arg, int64_t begin, int64_t end)
{
    const struct conv *v = arg;

    for (int64_t t = begin; t < end; t++) {
        char *cols = scratch_of(v, t);
        char *panel = cols + (size_t)(v->terms * v->places) * v->size;
        int64_t s = part_begin(v, v->samples, t);

        for (; s < part_begin(v, v->samples, t + 1); s++) {
            column_gradients(v, cols, panel,
                             sample_at(v, v->y, s, v->o * v->places));
            col2im(v, sample_at(v, v->out, s, v->c * v->h * v->w), cols);
        }
    }
}

CPU_OP(conv2d_grad_input)
{
    struct conv v;

    if (!conv_init(&v, cpu, call, call->out[0], call->in[1], call->in[0]))
        return cpu_shape_error(call, err);
    v.out = cpu_data(call->out[0]);
    return run_parts(cpu, &v, v.samples,
                     v.terms * v.places + CPU_PANEL * round_up(v.places),
                     v.samples * v.terms * v.places, grad_input_part, err);
}

/* Rows [k0, k1) of cols dy^T, written as the columns of dw that they are, onto
 * what samples before gave. */
static void grad_weight_f32(const struct conv *v, const char *cols, float *dys,
                            const float *dy, int64_t k0, int64_t k1, bool onto)
{
    struct cpu_gemm g = {.m = v->terms,
                         .n = v->o,
                         .k = v->places,
                         .a = cols,
                         .a_row = v->places,
                         .a_col = 1,
                         .b = dys,
                         .c = v->out,
                         .c_panels = true,
                         .onto = onto};

    for (int64_t o = 0; o < v->o; o += CPU_PANEL)
        v->k->gemm->pack_transposed(dys + o * v->places, dy + o * v->places,
                                    v->places, outputs_at(v, o), v->places);
    multiply(v, &g, k0, k1);
}

static void grad_weight_f64(const struct conv *v, const char *cols,
                            const char *dy, bool onto)
{
    struct cpu_gemm g = {.m = v->o,
                         .n = v->terms,
                         .k = v->places,
                         .a = dy,
                         .a_row = v->places,
                         .a_col = 1,
                         .b = cols,
                         .b_row = 1,
                         .b_col = v->places,
                         .c = v->out,
                         .c_row = v->terms,
                         .onto = onto};

    multiply(v, &g, 0, g.m);
}

static void grad_weight_part(void *arg, int64_t begin, int64_t end)
{
    const struct conv *v = arg;

    for (int64_t t = begin; t < end; t++) {
        char *cols = scratch_of(v, t);
        char *dys = cols + (size_t)(v->terms * v->places) * v->size;
        int64_t k0 = part_begin(v, v->terms, t);
        int64_t k1 = part_begin(v, v->terms, t + 1);

        for (int64_t s = 0; s < v->samples; s++) {
            char *dy = sample_at(v, v->y, s, v->o * v->places);

            im2col(v, cols, sample_at(v, v->x, s, v->c * v->h * v->w), k0, k1);
            if (v->dtype == NN_F32)
                grad_weight_f32(v, cols, (float *)(void *)dys,
                                (const float *)(const void *)dy, k0, k1, s > 0);
            else
                grad_weight_f64(v, cols, dy, s > 0);
        }
    }
}

CPU_OP(conv2d_grad_weight)
{
    struct nn_tensor *dw = call->out[0];
    struct conv v;

    if (!conv_init(&v, cpu, call, call->in[1], dw, call->in[0]))
        return cpu_shape_error(call, err);
    v.out = cpu_data(dw);
    if (v.samples == 0 && nn_tensor_numel(dw) > 0)
        memset(v.out, 0, nn_tensor_bytes(dw));
    return run_parts(cpu, &v, v.dtype == NN_F32 ? v.terms : 1,
                     (v.terms + round_up(v.o)) * v.places,
                     v.samples * v.terms * v.places, grad_weight_part, err);
}

CPU_OP(conv2d_grad_bias)
{
    const struct nn_tensor *dy = call->in[0];
    const struct cpu_reduce_kernels *k = cpu_kernels_of(cpu, dy->dtype)->reduce;
    int64_t samples = dy->shape.dim[0], o = dy->shape.dim[1];
    void *sums;
    int rc;

    if (dy->shape.ndim != 4 || nn_tensor_numel(call->out[0]) != o)
        return cpu_shape_error(call, err);
    rc = cpu_workspace(cpu, (size_t)(samples * o) * nn_dtype_size(dy->dtype),
                       &sums, err);
    if (rc != 0)
        return rc;
    k->sum_rows(sums, cpu_data(dy), samples * o,
                dy->shape.dim[2] * dy->shape.dim[3]);
    k->sum_cols(cpu_data(call->out[0]), sums, samples, o, o);
    return 0;
}
