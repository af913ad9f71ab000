/* Normalisation, put together from the elementwise and summing kernels: over
 * the samples of a channel (batch), and over a row (layer). */
#include "nn/cpu/cpu_ops.h"

#include <string.h>

/* x (B,C,...) as (samples, channels, places). A strip is what one call of an
 * elementwise kernel does: the places of one channel, against one number of a
 * vector (C), or, where there is a single place, all channels of one sample
 * against the whole vector. */
struct batch_norm {
    const struct cpu_kernels *k;
    enum nn_dtype dtype;
    int64_t samples, channels, places, numel;
    int64_t strips, strip; /* how many, and of how many numbers */
    const void *x, *dy, *mean;
    void *out;
    /* scratch: as large as x; (samples, channels); vectors of channels */
    void *terms, *parts, *rstd, *sum, *other;
};

static bool batch_norm_init(struct batch_norm *b, const struct cpu *cpu,
                            const struct nn_tensor *x)
{
    if (x->shape.ndim < 2)
        return false;
    *b = (struct batch_norm){.k = cpu_kernels_of(cpu, x->dtype),
                             .dtype = x->dtype,
                             .samples = x->shape.dim[0],
                             .channels = x->shape.dim[1],
                             .places = 1,
                             .numel = nn_tensor_numel(x),
                             .x = cpu_data(x)};
    for (int i = 2; i < x->shape.ndim; i++)
        b->places *= x->shape.dim[i];
    b->strip = b->places == 1 ? b->channels : b->places;
    b->strips = b->places == 1 ? b->samples : b->samples * b->channels;
    return true;
}

static int batch_norm_scratch(struct batch_norm *b, struct cpu *cpu,
                              struct err *err)
{
    int64_t parts = b->samples * b->channels;
    int64_t all = b->numel + parts + 3 * b->channels;
    int rc = cpu_workspace(cpu, (size_t)all * nn_dtype_size(b->dtype),
                           &b->terms, err);

    if (rc != 0)
        return rc;
    b->parts = cpu_at(b->terms, b->numel, b->dtype);
    b->rstd = cpu_at(b->parts, parts, b->dtype);
    b->sum = cpu_at(b->rstd, b->channels, b->dtype);
    b->other = cpu_at(b->sum, b->channels, b->dtype);
    return 0;
}

static bool is_vector(const struct nn_tensor *t, const struct batch_norm *b)
{
    return nn_tensor_numel(t) == b->channels;
}

/* y = kernel(a, v), strip i; v is a vector of channels */
static void against(const struct batch_norm *b, enum cpu_binary kernel,
                    int64_t i, void *y, const void *a, const void *v)
{
    int64_t at = i * b->strip;
    int64_t c = b->places == 1 ? 0 : i % b->channels;

    b->k->elem->binary[kernel](cpu_at(y, at, b->dtype), cpu_at(a, at, b->dtype),
                               1, cpu_at(v, c, b->dtype), b->places == 1,
                               b->strip);
}

/* y = kernel(a, c) of two tensors like x, strip i */
static void strip_of_two(const struct batch_norm *b, enum cpu_binary kernel,
                         int64_t i, void *y, const void *a, const void *c)
{
    int64_t at = i * b->strip;

    b->k->elem->binary[kernel](cpu_at(y, at, b->dtype), cpu_at(a, at, b->dtype),
                               1, cpu_at(c, at, b->dtype), 1, b->strip);
}

/* v = kernel(v, number) for a vector of n */
static void with_number(const struct cpu_kernels *k, enum nn_dtype dtype,
                        enum cpu_binary kernel, void *v, double number,
                        int64_t n)
{
    union cpu_number x = cpu_number(dtype, number);

    k->elem->binary[kernel](v, v, 1, &x, 0, n);
}

/* r = 1 / sqrt(var + eps) for n numbers */
static void reciprocal_root(const struct cpu_kernels *k, enum nn_dtype dtype,
                            void *r, const void *var, double eps, int64_t n)
{
    union cpu_number one = cpu_number(dtype, 1.0);
    union cpu_number small = cpu_number(dtype, eps);

    k->elem->binary[CPU_ADD](r, var, 1, &small, 0, n);
    k->elem->unary[CPU_SQRT](r, r, n);
    k->elem->binary[CPU_DIV](r, &one, 0, r, 1, n);
}

struct part_sums {
    const struct batch_norm *b;
    const void *x;
};

static void part_sums(void *arg, int64_t begin, int64_t end)
{
    const struct part_sums *p = arg;
    const struct batch_norm *b = p->b;

    b->k->reduce->sum_rows(cpu_at(b->parts, begin, b->dtype),
                           cpu_at(p->x, begin * b->places, b->dtype),
                           end - begin, b->places);
}

/* sum (C) of x, which is like the normalised tensor */
static void channel_sums(struct cpu *cpu, const struct batch_norm *b, void *sum,
                         const void *x)
{
    struct part_sums p = {b, x};
    const void *parts = x;

    if (b->places != 1) {
        parts = b->parts;
        cpu_parallel(cpu, b->samples * b->channels, 1, b->places, part_sums,
                     &p);
    }
    b->k->reduce->sum_cols(sum, parts, b->samples, b->channels, b->channels);
}

static void square_strips(void *arg, int64_t begin, int64_t end)
{
    const struct batch_norm *b = arg;

    for (int64_t i = begin; i < end; i++)
        against(b, CPU_SQUARE_DIFF, i, b->terms, b->x, b->mean);
}

CPU_OP(batch_stats)
{
    const struct nn_tensor *x = call->in[0];
    void *mean = cpu_data(call->out[0]), *var = cpu_data(call->out[1]);
    struct batch_norm b;
    double n;
    int rc;

    if (!batch_norm_init(&b, cpu, x) || !is_vector(call->out[0], &b) ||
        !is_vector(call->out[1], &b))
        return cpu_shape_error(call, err);
    n = (double)(b.samples * b.places);
    if (n < 2)
        return err_set(err, ERR_SHAPE,
                       "batch_norm needs more than one value a channel to "
                       "train, and this batch has %d",
                       (int)n);
    rc = batch_norm_scratch(&b, cpu, err);
    if (rc != 0)
        return rc;
    b.mean = mean;
    channel_sums(cpu, &b, mean, b.x);
    with_number(b.k, b.dtype, CPU_DIV, mean, n, b.channels);
    cpu_parallel(cpu, b.strips, 1, b.strip + 8, square_strips, &b);
    channel_sums(cpu, &b, var, b.terms);
    with_number(b.k, b.dtype, CPU_DIV, var, n, b.channels);
    return 0;
}

/* y = (x - mean) * rstd, strip i */
static void normalise(const struct batch_norm *b, int64_t i, void *y)
{
    against(b, CPU_SUB, i, y, b->x, b->mean);
    against(b, CPU_MUL, i, y, y, b->rstd);
}

static void forward_strips(void *arg, int64_t begin, int64_t end)
{
    const struct batch_norm *b = arg;

    for (int64_t i = begin; i < end; i++) {
        normalise(b, i, b->out);
        against(b, CPU_MUL, i, b->out, b->out, b->sum);
        against(b, CPU_ADD, i, b->out, b->out, b->other);
    }
}

static void copy_vector(const struct batch_norm *b, void *to,
                        const struct nn_tensor *t)
{
    memcpy(to, cpu_data(t), (size_t)b->channels * nn_dtype_size(b->dtype));
}

CPU_OP(batch_norm)
{
    struct nn_tensor *const *in = call->in;
    struct batch_norm b;
    int rc;

    if (!batch_norm_init(&b, cpu, in[0]) || !is_vector(in[1], &b) ||
        !is_vector(in[2], &b) || !is_vector(in[3], &b) ||
        !is_vector(in[4], &b) || nn_tensor_numel(call->out[0]) != b.numel)
        return cpu_shape_error(call, err);
    rc = batch_norm_scratch(&b, cpu, err);
    if (rc != 0)
        return rc;
    b.mean = cpu_data(in[3]);
    b.out = cpu_data(call->out[0]);
    copy_vector(&b, b.sum, in[1]);
    copy_vector(&b, b.other, in[2]);
    reciprocal_root(b.k, b.dtype, b.rstd, cpu_data(in[4]), call->attrs.norm.eps,
                    b.channels);
    cpu_parallel(cpu, b.strips, 1, 4 * b.strip + 32, forward_strips, &b);
    return 0;
}

/* terms = dy * xhat */
static void product_strips(void *arg, int64_t begin, int64_t end)
{
    const struct batch_norm *b = arg;

    for (int64_t i = begin; i < end; i++) {
        normalise(b, i, b->terms);
        strip_of_two(b, CPU_MUL, i, b->terms, b->dy, b->terms);
    }
}

/* out = (dy - sum) - xhat * other */
static void centred_strips(void *arg, int64_t begin, int64_t end)
{
    const struct batch_norm *b = arg;

    for (int64_t i = begin; i < end; i++) {
        normalise(b, i, b->out);
        against(b, CPU_MUL, i, b->out, b->out, b->other);
        against(b, CPU_SUB, i, b->terms, b->dy, b->sum);
        strip_of_two(b, CPU_SUB, i, b->out, b->terms, b->out);
    }
}

/* out = dy * rstd, or out * rstd where dy is out */
static void scale_strips(void *arg, int64_t begin, int64_t end)
{
    const struct batch_norm *b = arg;

    for (int64_t i = begin; i < end; i++)
        against(b, CPU_MUL, i, b->out, b->dy, b->rstd);
}

/* The sums of dy and dy * xhat, over n; then the gradient but for w * rstd. */
static void through_statistics(struct cpu *cpu, struct batch_norm *b)
{
    double n = (double)(b->samples * b->places);

    cpu_parallel(cpu, b->strips, 1, 3 * b->strip + 32, product_strips, b);
    channel_sums(cpu, b, b->other, b->terms);
    channel_sums(cpu, b, b->sum, b->dy);
    with_number(b->k, b->dtype, CPU_DIV, b->other, n, b->channels);
    with_number(b->k, b->dtype, CPU_DIV, b->sum, n, b->channels);
    cpu_parallel(cpu, b->strips, 1, 5 * b->strip + 32, centred_strips, b);
    b->dy = b->out;
}

CPU_OP(batch_norm_grad_input)
{
    struct nn_tensor *const *in = call->in;
    struct batch_norm b;
    int rc;

    if (!batch_norm_init(&b, cpu, in[1]) || !is_vector(in[2], &b) ||
        !is_vector(in[3], &b) || !is_vector(in[4], &b) ||
        nn_tensor_numel(in[0]) != b.numel ||
        nn_tensor_numel(call->out[0]) != b.numel)
        return cpu_shape_error(call, err);
    rc = batch_norm_scratch(&b, cpu, err);
    if (rc != 0)
        return rc;
    b.dy = cpu_data(in[0]);
    b.mean = cpu_data(in[3]);
    b.out = cpu_data(call->out[0]);
    reciprocal_root(b.k, b.dtype, b.rstd, cpu_data(in[4]), call->attrs.norm.eps,
                    b.channels);
    if (call->attrs.norm.train)
        through_statistics(cpu, &b);
    b.k->elem->binary[CPU_MUL](b.rstd, cpu_data(in[2]), 1, b.rstd, 1,
                               b.channels);
    cpu_parallel(cpu, b.strips, 1, b.strip + 8, scale_strips, &b);
    return 0;
}

CPU_OP(batch_norm_grad)
{
    const bool weight = call->op == NN_OP_BATCH_NORM_GRAD_WEIGHT;
    struct nn_tensor *const *in = call->in;
    struct batch_norm b;
    int rc;

    if (!batch_norm_init(&b, cpu, in[weight ? 1 : 0]) ||
        nn_tensor_numel(in[0]) != b.numel || !is_vector(call->out[0], &b) ||
        (weight && (!is_vector(in[2], &b) || !is_vector(in[3], &b))))
        return cpu_shape_error(call, err);
    rc = batch_norm_scratch(&b, cpu, err);
    if (rc != 0)
        return rc;
    b.dy = cpu_data(in[0]);
    if (weight) {
        b.mean = cpu_data(in[2]);
        reciprocal_root(b.k, b.dtype, b.rstd, cpu_data(in[3]),
                        call->attrs.norm.eps, b.channels);
        cpu_parallel(cpu, b.strips, 1, 3 * b.strip + 32, product_strips, &b);
    }
    channel_sums(cpu, &b, cpu_data(call->out[0]), weight ? b.terms : b.dy);
    return 0;
}

/* old = (1 - momentum) * old + momentum * (now * factor) */
static void move_towards(const struct cpu_kernels *k,
                         const struct nn_tensor *to, void *now, double momentum,
                         double factor)
{
    int64_t n = nn_tensor_numel(to);
    void *old = cpu_data(to);

    if (factor != 1.0)
        with_number(k, to->dtype, CPU_MUL, now, factor, n);
    with_number(k, to->dtype, CPU_MUL, now, momentum, n);
    with_number(k, to->dtype, CPU_MUL, old, 1.0 - momentum, n);
    k->elem->binary[CPU_ADD](old, old, 1, now, 1, n);
}

CPU_OP(batch_norm_update)
{
    double momentum = call->attrs.running.momentum;
    double n = (double)call->attrs.running.n;
    enum nn_dtype dtype = call->in[0]->dtype;
    const struct cpu_kernels *k = cpu_kernels_of(cpu, dtype);
    int64_t c = nn_tensor_numel(call->in[0]);
    size_t size = (size_t)c * nn_dtype_size(dtype);
    void *now;
    int rc;

    if (nn_tensor_numel(call->in[1]) != c ||
        nn_tensor_numel(call->out[0]) != c ||
        nn_tensor_numel(call->out[1]) != c ||
        nn_tensor_numel(call->out[2]) != 1 || n < 2)
        return cpu_shape_error(call, err);
    rc = cpu_workspace(cpu, size, &now, err);
    if (rc != 0)
        return rc;
    memcpy(now, cpu_data(call->in[0]), size);
    move_towards(k, call->out[0], now, momentum, 1.0);
    memcpy(now, cpu_data(call->in[1]), size);
    move_towards(k, call->out[1], now, momentum, n / (n - 1.0));
    ++*(int64_t *)cpu_data(call->out[2]);
    return 0;
}
