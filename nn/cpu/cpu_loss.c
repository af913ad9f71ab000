/* Losses: one term for each row or element, then one chain over them. */
#include "nn/cpu/cpu_ops.h"

enum { GRAIN = 256 };

struct loss_job {
    const struct cpu_kernels *k;
    enum nn_dtype dtype;
    struct cpu_loss attrs;
    void *y;
    const void *g, *a, *b; /* b: second operand of the pair losses */
    const int32_t *target;
    int64_t cols;
};

static struct loss_job loss_job(const struct cpu *cpu,
                                const struct nn_call *call)
{
    const struct nn_tensor *x = call->in[call->n_in - 2];
    double eps = call->attrs.loss.label_smoothing;
    struct loss_job j = {
        .k = cpu_kernels_of(cpu, x->dtype),
        .dtype = x->dtype,
        .attrs = {.scale = call->attrs.loss.scale,
                  .keep = 1.0 - eps,
                  .pos_weight = call->attrs.loss.pos_weight,
                  .smooth = eps != 0.0},
        .y = cpu_data(call->out[0]),
        .g = call->n_in == 3 ? cpu_data(call->in[0]) : NULL,
        .a = cpu_data(x),
        .b = cpu_data(call->in[call->n_in - 1]),
    };

    return j;
}

/* The terms go straight to out where it has one place for each, else to
 * scratch. */
static int terms_place(struct cpu *cpu, const struct nn_call *call, int64_t n,
                       void **terms, struct err *err)
{
    const struct nn_tensor *out = call->out[0];

    if (call->attrs.loss.per_sample && nn_tensor_numel(out) == n) {
        *terms = cpu_data(out);
        return 0;
    }
    return cpu_workspace(cpu, (size_t)n * nn_dtype_size(out->dtype), terms,
                         err);
}

static void chain_terms(const struct loss_job *j, void *out, int64_t n)
{
    j->k->elem->fill(out, 0.0, 1);
    j->k->reduce->chain(out, j->y, n, j->attrs.scale);
}

/* logits (B, C), B targets in [0, C); ERR_CORRUPT for one that is not */
static int check_targets(const struct nn_call *call, struct loss_job *j,
                         struct err *err)
{
    const struct nn_tensor *x = call->in[call->n_in - 2];
    const struct nn_tensor *t = call->in[call->n_in - 1];

    if (x->shape.ndim != 2 || nn_tensor_numel(t) != x->shape.dim[0])
        return cpu_shape_error(call, err);
    j->target = cpu_data(t);
    j->cols = x->shape.dim[1];
    j->attrs.share =
        call->attrs.loss.label_smoothing / (double)(j->cols ? j->cols : 1);
    for (int64_t i = 0; i < x->shape.dim[0]; i++)
        if (j->target[i] < 0 || j->target[i] >= j->cols)
            return err_set(err, ERR_CORRUPT,
                           "label %d of row %lld is outside 0 to %lld",
                           j->target[i], (long long)i, (long long)j->cols - 1);
    return 0;
}

static void cross_entropy_range(void *arg, int64_t begin, int64_t end)
{
    const struct loss_job *j = arg;

    j->k->loss->cross_entropy(
        cpu_at(j->y, begin, j->dtype), cpu_at(j->a, begin * j->cols, j->dtype),
        j->target + begin, end - begin, j->cols, &j->attrs);
}

CPU_OP(cross_entropy)
{
    struct loss_job j = loss_job(cpu, call);
    int64_t n = nn_tensor_numel(call->in[1]);
    int rc = check_targets(call, &j, err);

    if (rc != 0)
        return rc;
    if (nn_tensor_numel(call->out[0]) != (call->attrs.loss.per_sample ? n : 1))
        return cpu_shape_error(call, err);
    rc = terms_place(cpu, call, n, &j.y, err);
    if (rc != 0)
        return rc;
    cpu_parallel(cpu, n, 4, 16 * j.cols, cross_entropy_range, &j);
    if (!call->attrs.loss.per_sample)
        chain_terms(&j, cpu_data(call->out[0]), n);
    return 0;
}

static void cross_entropy_grad_range(void *arg, int64_t begin, int64_t end)
{
    const struct loss_job *j = arg;
    int64_t at = begin * j->cols;

    j->k->loss->cross_entropy_grad(
        cpu_at(j->y, at, j->dtype), j->g, cpu_at(j->a, at, j->dtype),
        j->target + begin, end - begin, j->cols, &j->attrs);
}

CPU_OP(cross_entropy_grad)
{
    struct loss_job j = loss_job(cpu, call);
    int rc = check_targets(call, &j, err);

    if (rc != 0)
        return rc;
    if (nn_tensor_numel(call->in[0]) != 1 ||
        nn_tensor_numel(call->out[0]) != nn_tensor_numel(call->in[1]))
        return cpu_shape_error(call, err);
    cpu_parallel(cpu, nn_tensor_numel(call->in[2]), 4, 16 * j.cols,
                 cross_entropy_grad_range, &j);
    return 0;
}

/* Losses of two tensors of one shape. */

/* Elements in all, and in a row (the first dimension counts rows). */
static int pair_sizes(const struct nn_call *call, int64_t *n, int64_t *rows,
                      struct err *err)
{
    const struct nn_tensor *x = call->in[call->n_in - 2];
    const struct nn_tensor *y = call->in[call->n_in - 1];

    *n = nn_tensor_numel(x);
    *rows = x->shape.ndim > 0 ? x->shape.dim[0] : 1;
    if (nn_tensor_numel(y) != *n)
        return cpu_shape_error(call, err);
    return 0;
}

/* Terms to out: row means, or the chain over all. */
static int finish_pair(const struct loss_job *j, const struct nn_call *call,
                       int64_t n, int64_t rows)
{
    void *out = cpu_data(call->out[0]);
    int64_t row = rows > 0 ? n / rows : 0;
    union cpu_number inverse;

    if (!call->attrs.loss.per_sample) {
        chain_terms(j, out, n);
    } else if (row != 1) {
        inverse = cpu_number(j->dtype, 1.0 / (double)row);
        j->k->reduce->sum_rows(out, j->y, rows, row);
        j->k->elem->binary[CPU_MUL](out, out, 1, &inverse, 0, rows);
    }
    return 0;
}

static int run_pair(struct cpu *cpu, const struct nn_call *call, pool_fn fn,
                    int64_t work, struct err *err)
{
    struct loss_job j = loss_job(cpu, call);
    int64_t n, rows;
    int rc = pair_sizes(call, &n, &rows, err);

    if (rc != 0)
        return rc;
    if (nn_tensor_numel(call->out[0]) !=
        (call->attrs.loss.per_sample ? rows : 1))
        return cpu_shape_error(call, err);
    rc = terms_place(cpu, call, n, &j.y, err);
    if (rc != 0)
        return rc;
    cpu_parallel(cpu, n, GRAIN, work, fn, &j);
    return finish_pair(&j, call, n, rows);
}

static int run_pair_grad(struct cpu *cpu, const struct nn_call *call,
                         pool_fn fn, int64_t work, struct err *err)
{
    struct loss_job j = loss_job(cpu, call);
    int64_t n, rows;
    int rc = pair_sizes(call, &n, &rows, err);

    if (rc != 0)
        return rc;
    if (nn_tensor_numel(call->in[0]) != 1 || nn_tensor_numel(call->out[0]) != n)
        return cpu_shape_error(call, err);
    cpu_parallel(cpu, n, GRAIN, work, fn, &j);
    return 0;
}

static void bce_range(void *arg, int64_t begin, int64_t end)
{
    const struct loss_job *j = arg;

    j->k->loss->bce(cpu_at(j->y, begin, j->dtype),
                    cpu_at(j->a, begin, j->dtype),
                    cpu_at(j->b, begin, j->dtype), end - begin, &j->attrs);
}

CPU_OP(bce)
{
    return run_pair(cpu, call, bce_range, 16, err);
}

static void bce_grad_range(void *arg, int64_t begin, int64_t end)
{
    const struct loss_job *j = arg;

    j->k->loss->bce_grad(cpu_at(j->y, begin, j->dtype), j->g,
                         cpu_at(j->a, begin, j->dtype),
                         cpu_at(j->b, begin, j->dtype), end - begin, &j->attrs);
}

CPU_OP(bce_grad)
{
    return run_pair_grad(cpu, call, bce_grad_range, 12, err);
}

static void mse_range(void *arg, int64_t begin, int64_t end)
{
    const struct loss_job *j = arg;

    j->k->elem->binary[CPU_SQUARE_DIFF](
        cpu_at(j->y, begin, j->dtype), cpu_at(j->a, begin, j->dtype), 1,
        cpu_at(j->b, begin, j->dtype), 1, end - begin);
}

CPU_OP(mse)
{
    return run_pair(cpu, call, mse_range, 2, err);
}

static void mse_grad_range(void *arg, int64_t begin, int64_t end)
{
    const struct loss_job *j = arg;

    j->k->loss->mse_grad(cpu_at(j->y, begin, j->dtype), j->g,
                         cpu_at(j->a, begin, j->dtype),
                         cpu_at(j->b, begin, j->dtype), end - begin, &j->attrs);
}

CPU_OP(mse_grad)
{
    return run_pair_grad(cpu, call, mse_grad_range, 2, err);
}
