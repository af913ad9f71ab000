/* Operators that work element by element on tensors of one shape. */
#include "nn/cpu/cpu_ops.h"

#include <string.h>

#include "nn/cpu/cpu_layout.h"

enum { GRAIN = 1024 }; /* elements of a piece: whole vectors and cache lines */

struct elem {
    const struct cpu_elem_kernels *k;
    unsigned kernel;
    enum nn_dtype dtype;
    void *y;
    const void *a, *b;
    int64_t b_step;
    double scalar;
};

static void unary_range(void *arg, int64_t begin, int64_t end)
{
    const struct elem *e = arg;

    e->k->unary[e->kernel](cpu_at(e->y, begin, e->dtype),
                           cpu_at(e->a, begin, e->dtype), end - begin);
}

static void binary_range(void *arg, int64_t begin, int64_t end)
{
    const struct elem *e = arg;

    e->k->binary[e->kernel](
        cpu_at(e->y, begin, e->dtype), cpu_at(e->a, begin, e->dtype), 1,
        cpu_at(e->b, begin * e->b_step, e->dtype), e->b_step, end - begin);
}

static void pow_range(void *arg, int64_t begin, int64_t end)
{
    const struct elem *e = arg;

    e->k->pow(cpu_at(e->y, begin, e->dtype), cpu_at(e->a, begin, e->dtype),
              e->scalar, end - begin);
}

/* The first input goes to the output. */
static struct elem elem_of(const struct cpu *cpu, const struct nn_call *call)
{
    enum nn_dtype dtype = call->in[0]->dtype;
    struct elem e = {.k = cpu_kernels_of(cpu, dtype)->elem,
                     .dtype = dtype,
                     .y = cpu_data(call->out[0]),
                     .a = cpu_data(call->in[0])};

    return e;
}

static bool same_numel(const struct nn_call *call)
{
    int64_t n = nn_tensor_numel(call->out[0]);

    for (int i = 0; i < call->n_in; i++)
        if (nn_tensor_numel(call->in[i]) != n)
            return false;
    return true;
}

/* What a kernel costs, in additions. */
static int64_t unary_work(enum cpu_unary kernel)
{
    switch (kernel) {
    case CPU_RELU:
    case CPU_NEG:
    case CPU_ABS:
    case CPU_CUBE:
        return 1;
    default:
        return 8;
    }
}

static int run_unary(struct cpu *cpu, const struct nn_call *call,
                     enum cpu_unary kernel)
{
    struct elem e = elem_of(cpu, call);

    e.kernel = kernel;
    cpu_parallel(cpu, nn_tensor_numel(call->out[0]), GRAIN, unary_work(kernel),
                 unary_range, &e);
    return 0;
}

CPU_OP(unary)
{
    static const enum cpu_unary kernel[NN_OP_COUNT] = {
        [NN_OP_RELU] = CPU_RELU,       [NN_OP_TANH] = CPU_TANH,
        [NN_OP_SIGMOID] = CPU_SIGMOID, [NN_OP_GELU] = CPU_GELU,
        [NN_OP_NEG] = CPU_NEG,         [NN_OP_EXP] = CPU_EXP,
        [NN_OP_LOG] = CPU_LOG,         [NN_OP_LOG1P] = CPU_LOG1P,
        [NN_OP_SQRT] = CPU_SQRT,       [NN_OP_ABS] = CPU_ABS,
    };

    if (!same_numel(call))
        return cpu_shape_error(call, err);
    return run_unary(cpu, call, kernel[call->op]);
}

CPU_OP(unary_grad)
{
    static const enum cpu_binary kernel[NN_OP_COUNT] = {
        [NN_OP_RELU_GRAD] = CPU_RELU_GRAD,
        [NN_OP_TANH_GRAD] = CPU_TANH_GRAD,
        [NN_OP_SIGMOID_GRAD] = CPU_SIGMOID_GRAD,
        [NN_OP_GELU_GRAD] = CPU_GELU_GRAD,
        [NN_OP_LOG1P_GRAD] = CPU_LOG1P_GRAD,
        [NN_OP_SQRT_GRAD] = CPU_SQRT_GRAD,
        [NN_OP_ABS_GRAD] = CPU_ABS_GRAD,
    };
    struct elem e = elem_of(cpu, call);

    if (!same_numel(call))
        return cpu_shape_error(call, err);
    e.kernel = kernel[call->op];
    e.b = cpu_data(call->in[1]);
    e.b_step = 1;
    cpu_parallel(cpu, nn_tensor_numel(call->out[0]), GRAIN,
                 e.kernel == CPU_GELU_GRAD ? 16 : 1, binary_range, &e);
    return 0;
}

/* y = x * value, value rounded to the type */
static int run_scaled(struct cpu *cpu, const struct nn_call *call, double value)
{
    struct elem e = elem_of(cpu, call);
    union cpu_number number = cpu_number(e.dtype, value);

    e.kernel = CPU_MUL;
    e.b = &number;
    cpu_parallel(cpu, nn_tensor_numel(call->out[0]), GRAIN, 1, binary_range,
                 &e);
    return 0;
}

static int run_square(struct cpu *cpu, const struct nn_call *call)
{
    struct elem e = elem_of(cpu, call);

    e.kernel = CPU_MUL;
    e.b = e.a;
    e.b_step = 1;
    cpu_parallel(cpu, nn_tensor_numel(call->out[0]), GRAIN, 1, binary_range,
                 &e);
    return 0;
}

static void fill(const struct cpu *cpu, const struct nn_tensor *t, double value)
{
    const struct cpu_elem_kernels *k = cpu_kernels_of(cpu, t->dtype)->elem;
    char *p = cpu_data(t);
    int64_t out, in, full;

    if (!cpu_is_panels(&t->shape, t->dtype, t->layout)) {
        k->fill(p, value, nn_tensor_numel(t));
        return;
    }
    out = t->shape.dim[0];
    in = cpu_panel_rest(&t->shape);
    full = out / CPU_PANEL * CPU_PANEL * in;
    k->fill(p, value, full);
    if (out % CPU_PANEL) /* the last panel: its padding stays 0 */
        for (int64_t i = 0; i < in; i++)
            k->fill(cpu_at(p, full + i * CPU_PANEL, t->dtype), value,
                    out % CPU_PANEL);
}

CPU_OP(pow)
{
    double p = call->attrs.scalar;
    struct elem e = elem_of(cpu, call);

    if (!same_numel(call))
        return cpu_shape_error(call, err);
    if (p == 2.0)
        return run_square(cpu, call);
    if (p == 3.0)
        return run_unary(cpu, call, CPU_CUBE);
    if (p == 0.5)
        return run_unary(cpu, call, CPU_SQRT);
    if (p == 1.0)
        return run_scaled(cpu, call, 1.0);
    if (p == 0.0) {
        fill(cpu, call->out[0], 1.0);
        return 0;
    }
    e.scalar = p;
    cpu_parallel(cpu, nn_tensor_numel(call->out[0]), GRAIN, 16, pow_range, &e);
    return 0;
}

CPU_OP(scale)
{
    if (!same_numel(call))
        return cpu_shape_error(call, err);
    return run_scaled(cpu, call, call->attrs.scalar);
}

CPU_OP(fill)
{
    (void)err;
    fill(cpu, call->out[0], call->attrs.scalar);
    return 0;
}

static int copy_layout(const struct nn_call *call, bool to, struct err *err)
{
    const struct nn_tensor *x = call->in[0], *y = call->out[0];
    int64_t out, in;

    if (!nn_shape_eq(&x->shape, &y->shape))
        return cpu_shape_error(call, err);
    out = x->shape.dim[0];
    in = cpu_panel_rest(&x->shape);
    if (to)
        cpu_to_panels(cpu_data(y), cpu_data(x), out, in);
    else
        cpu_from_panels(cpu_data(y), cpu_data(x), out, in);
    return 0;
}

static bool is_panels(const struct nn_tensor *t)
{
    return cpu_is_panels(&t->shape, t->dtype, t->layout);
}

CPU_OP(copy)
{
    const struct nn_tensor *x = call->in[0], *y = call->out[0];
    size_t size = nn_tensor_bytes(y);

    (void)cpu;
    if (x->dtype != y->dtype || nn_tensor_numel(x) != nn_tensor_numel(y))
        return cpu_shape_error(call, err);
    if (is_panels(x) != is_panels(y))
        return copy_layout(call, is_panels(y), err);
    if (is_panels(x) && !nn_shape_eq(&x->shape, &y->shape))
        return cpu_shape_error(call, err);
    if (size > 0)
        memmove(cpu_data(y), cpu_data(x), size);
    return 0;
}

CPU_OP(add_into)
{
    const struct nn_tensor *x = call->in[0], *y = call->out[0];
    struct elem e = elem_of(cpu, call);
    int64_t n = nn_tensor_numel(y);

    if (!same_numel(call) || is_panels(x) != is_panels(y) ||
        (is_panels(x) && !nn_shape_eq(&x->shape, &y->shape)))
        return cpu_shape_error(call, err);
    if (is_panels(y)) /* 0 + 0 in the padding */
        n = (int64_t)(nn_tensor_bytes(y) / sizeof(float));
    e.kernel = CPU_ADD;
    e.a = e.y;
    e.b = cpu_data(x);
    e.b_step = 1;
    cpu_parallel(cpu, n, GRAIN, 1, binary_range, &e);
    return 0;
}

CPU_OP(clear_grad)
{
    size_t size = nn_tensor_bytes(call->out[0]);

    (void)cpu;
    (void)err;
    if (!call->attrs.set_to_none && size > 0)
        memset(cpu_data(call->out[0]), 0, size);
    return 0;
}

struct dropout {
    struct elem e;
    int64_t row, first;
    struct cpu_dropout d;
};

static void dropout_rows(void *arg, int64_t begin, int64_t end)
{
    const struct dropout *d = arg;
    enum nn_dtype dtype = d->e.dtype;

    for (int64_t r = begin; r < end; r++)
        d->e.k->dropout(cpu_at(d->e.y, r * d->row, dtype),
                        cpu_at(d->e.a, r * d->row, dtype), d->row,
                        (uint32_t)(d->first + r), &d->d);
}

CPU_OP(dropout)
{
    const struct nn_shape *s = &call->in[0]->shape;
    int64_t n = nn_tensor_numel(call->in[0]);
    int64_t samples = s->ndim > 0 ? s->dim[0] : 1;
    double p = call->attrs.dropout.p;
    uint64_t seed = call->attrs.dropout.seed;
    struct dropout d = {
        .e = elem_of(cpu, call),
        .row = samples > 0 ? n / samples : 0,
        .first = call->attrs.dropout.first,
        .d = {.key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
              .layer = call->attrs.dropout.layer,
              .step = (uint32_t)cpu->scalars.step,
              .p = (float)p,
              .scale = 1.0 / (1.0 - p)},
    };

    if (!same_numel(call))
        return cpu_shape_error(call, err);
    cpu_parallel(cpu, samples, 1, 4 * d.row, dropout_rows, &d);
    return 0;
}
