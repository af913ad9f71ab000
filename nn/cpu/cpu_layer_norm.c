/* Layer normalisation: each row by its own mean and variance. */
#include "nn/cpu/cpu_ops.h"

struct layer_norm {
    const struct cpu_kernels *k;
    enum nn_dtype dtype;
    int64_t rows, cols;
    double eps;
    const void *x, *dy, *w, *b;
    void *out;
    void *terms, *products; /* scratch like x */
};

static bool layer_norm_init(struct layer_norm *l, const struct cpu *cpu,
                            const struct nn_call *call,
                            const struct nn_tensor *x,
                            const struct nn_tensor *w)
{
    int64_t cols = nn_tensor_numel(w), n = nn_tensor_numel(x);

    if (cols < 1 || n % cols != 0)
        return false;
    *l = (struct layer_norm){.k = cpu_kernels_of(cpu, x->dtype),
                             .dtype = x->dtype,
                             .rows = n / cols,
                             .cols = cols,
                             .eps = call->attrs.norm.eps,
                             .x = cpu_data(x),
                             .w = cpu_data(w),
                             .out = cpu_data(call->out[0])};
    return true;
}

static void *row_of(const struct layer_norm *l, const void *p, int64_t row)
{
    return cpu_at(p, row * l->cols, l->dtype);
}

/* y = kernel(a, b) over a row; step 0: b is one number */
static void row_op(const struct layer_norm *l, enum cpu_binary kernel, void *y,
                   const void *a, const void *b, int64_t step)
{
    l->k->elem->binary[kernel](y, a, 1, b, step, l->cols);
}

static union cpu_number row_mean(const struct layer_norm *l, const void *x)
{
    union cpu_number count = cpu_number(l->dtype, (double)l->cols), mean;

    l->k->reduce->sum_rows(&mean, x, 1, l->cols);
    l->k->elem->binary[CPU_DIV](&mean, &mean, 1, &count, 0, 1);
    return mean;
}

/* to = (x - mean) * rstd of a row; rstd is given back */
static union cpu_number normalise(const struct layer_norm *l, void *to,
                                  const void *x)
{
    const struct cpu_elem_kernels *k = l->k->elem;
    union cpu_number one = cpu_number(l->dtype, 1.0);
    union cpu_number eps = cpu_number(l->dtype, l->eps);
    union cpu_number mean = row_mean(l, x), r;

    row_op(l, CPU_SQUARE_DIFF, to, x, &mean, 0);
    r = row_mean(l, to);
    k->binary[CPU_ADD](&r, &r, 1, &eps, 0, 1);
    k->unary[CPU_SQRT](&r, &r, 1);
    k->binary[CPU_DIV](&r, &one, 0, &r, 1, 1);
    row_op(l, CPU_SUB, to, x, &mean, 0);
    row_op(l, CPU_MUL, to, to, &r, 0);
    return r;
}

static void forward_rows(void *arg, int64_t begin, int64_t end)
{
    const struct layer_norm *l = arg;

    for (int64_t i = begin; i < end; i++) {
        void *y = row_of(l, l->out, i);

        (void)normalise(l, y, row_of(l, l->x, i));
        row_op(l, CPU_MUL, y, y, l->w, 1);
        row_op(l, CPU_ADD, y, y, l->b, 1);
    }
}

CPU_OP(layer_norm)
{
    struct layer_norm l;

    if (!layer_norm_init(&l, cpu, call, call->in[0], call->in[1]) ||
        nn_tensor_numel(call->in[2]) != l.cols ||
        nn_tensor_numel(call->out[0]) != l.rows * l.cols)
        return cpu_shape_error(call, err);
    l.b = cpu_data(call->in[2]);
    cpu_parallel(cpu, l.rows, 1, 8 * l.cols, forward_rows, &l);
    return 0;
}

/* out = r * ((g - mean of g) - xhat * mean of g * xhat), g = dy * w */
static void grad_input_rows(void *arg, int64_t begin, int64_t end)
{
    const struct layer_norm *l = arg;

    for (int64_t i = begin; i < end; i++) {
        void *dx = row_of(l, l->out, i), *g = row_of(l, l->terms, i);
        void *product = row_of(l, l->products, i);
        union cpu_number r = normalise(l, dx, row_of(l, l->x, i)), s, t;

        row_op(l, CPU_MUL, g, row_of(l, l->dy, i), l->w, 1);
        row_op(l, CPU_MUL, product, g, dx, 1);
        s = row_mean(l, g);
        t = row_mean(l, product);
        row_op(l, CPU_MUL, dx, dx, &t, 0);
        row_op(l, CPU_SUB, g, g, &s, 0);
        row_op(l, CPU_SUB, dx, g, dx, 1);
        row_op(l, CPU_MUL, dx, dx, &r, 0);
    }
}

CPU_OP(layer_norm_grad_input)
{
    struct layer_norm l;
    int64_t n = nn_tensor_numel(call->in[1]);
    size_t size = (size_t)n * nn_dtype_size(call->in[1]->dtype);
    int rc;

    if (!layer_norm_init(&l, cpu, call, call->in[1], call->in[2]) ||
        nn_tensor_numel(call->in[0]) != n || nn_tensor_numel(call->out[0]) != n)
        return cpu_shape_error(call, err);
    rc = cpu_workspace(cpu, 2 * size, &l.terms, err);
    if (rc != 0)
        return rc;
    l.products = cpu_at(l.terms, n, l.dtype);
    l.dy = cpu_data(call->in[0]);
    cpu_parallel(cpu, l.rows, 1, 16 * l.cols, grad_input_rows, &l);
    return 0;
}

static void product_rows(void *arg, int64_t begin, int64_t end)
{
    const struct layer_norm *l = arg;

    for (int64_t i = begin; i < end; i++) {
        void *product = row_of(l, l->products, i);

        (void)normalise(l, product, row_of(l, l->x, i));
        row_op(l, CPU_MUL, product, row_of(l, l->dy, i), product, 1);
    }
}

CPU_OP(layer_norm_grad_weight)
{
    const struct nn_tensor *x = call->in[1], *dw = call->out[0];
    struct layer_norm l;
    int rc;

    if (!layer_norm_init(&l, cpu, call, x, dw) ||
        nn_tensor_numel(call->in[0]) != nn_tensor_numel(x))
        return cpu_shape_error(call, err);
    rc =
        cpu_workspace(cpu, (size_t)nn_tensor_numel(x) * nn_dtype_size(x->dtype),
                      &l.products, err);
    if (rc != 0)
        return rc;
    l.dy = cpu_data(call->in[0]);
    cpu_parallel(cpu, l.rows, 1, 8 * l.cols, product_rows, &l);
    l.k->reduce->sum_cols(l.out, l.products, l.rows, l.cols, l.cols);
    return 0;
}
