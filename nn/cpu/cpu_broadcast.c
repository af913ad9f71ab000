/* Operators that broadcast: numpy's rule, shapes aligned at the last
 * dimension, a dimension of 1 repeated. */
#include "nn/cpu/cpu_ops.h"

#include "nn/walk.h"

struct broadcast {
    const struct cpu_kernels *k;
    unsigned kernel;
    enum nn_dtype dtype;
    struct nn_walk walk;
    void *y;
    const void *a, *b;
};

static void binary_runs(void *arg, int64_t begin, int64_t end)
{
    const struct broadcast *c = arg;
    const struct nn_walk *w = &c->walk;
    int64_t at[2];

    for (int64_t r = begin; r < end; r++) {
        nn_walk_offsets(w, r, at);
        c->k->elem->binary[c->kernel](
            cpu_at(c->y, r * w->run, c->dtype), cpu_at(c->a, at[0], c->dtype),
            nn_walk_step(w, 0), cpu_at(c->b, at[1], c->dtype),
            nn_walk_step(w, 1), w->run);
    }
}

/* The walk is a single run. */
static void binary_one_run(void *arg, int64_t begin, int64_t end)
{
    const struct broadcast *c = arg;
    int64_t sa = nn_walk_step(&c->walk, 0), sb = nn_walk_step(&c->walk, 1);

    c->k->elem->binary[c->kernel](
        cpu_at(c->y, begin, c->dtype), cpu_at(c->a, sa * begin, c->dtype), sa,
        cpu_at(c->b, sb * begin, c->dtype), sb, end - begin);
}

static void run_binary(struct cpu *cpu, struct broadcast *c)
{
    if (c->walk.runs == 1)
        cpu_parallel(cpu, c->walk.run, 1024, 1, binary_one_run, c);
    else if (c->walk.run > 0)
        cpu_parallel(cpu, c->walk.runs, 1, c->walk.run + 16, binary_runs, c);
}

CPU_OP(binary)
{
    static const enum cpu_binary kernel[NN_OP_COUNT] = {
        [NN_OP_ADD] = CPU_ADD,
        [NN_OP_SUB] = CPU_SUB,
        [NN_OP_MUL] = CPU_MUL,
        [NN_OP_DIV] = CPU_DIV,
        [NN_OP_MAXIMUM] = CPU_MAXIMUM,
        [NN_OP_MAXIMUM_SHARE] = CPU_MAXIMUM_SHARE,
    };
    const struct nn_tensor *a = call->in[0], *b = call->in[1];
    struct broadcast c = {.k = cpu_kernels_of(cpu, a->dtype),
                          .kernel = kernel[call->op],
                          .dtype = a->dtype,
                          .y = cpu_data(call->out[0]),
                          .a = cpu_data(a),
                          .b = cpu_data(b)};

    if (!nn_walk_init(&c.walk, &call->out[0]->shape, &a->shape, &b->shape))
        return cpu_shape_error(call, err);
    run_binary(cpu, &c);
    return 0;
}

/* Times one, which changes no value. */
CPU_OP(expand)
{
    const struct nn_tensor *x = call->in[0];
    const struct nn_shape scalar = {.ndim = 0};
    union cpu_number one = cpu_number(x->dtype, 1.0);
    struct broadcast c = {.k = cpu_kernels_of(cpu, x->dtype),
                          .kernel = CPU_MUL,
                          .dtype = x->dtype,
                          .y = cpu_data(call->out[0]),
                          .a = cpu_data(x),
                          .b = &one};

    if (!nn_walk_init(&c.walk, &call->out[0]->shape, &x->shape, &scalar))
        return cpu_shape_error(call, err);
    run_binary(cpu, &c);
    return 0;
}

/* Columns [begin, end) of a walk that sums all rows of a matrix. */
static void sum_to_cols(void *arg, int64_t begin, int64_t end)
{
    const struct broadcast *c = arg;

    c->k->reduce->sum_cols(cpu_at(c->y, begin, c->dtype),
                           cpu_at(c->a, begin, c->dtype), c->walk.runs,
                           c->walk.run, end - begin);
}

/* Each run added to its place, in order. */
static void sum_to_runs(struct broadcast *c)
{
    const struct nn_walk *w = &c->walk;
    int64_t at[2];

    for (int64_t r = 0; r < w->runs; r++) {
        const void *x = cpu_at(c->a, r * w->run, c->dtype);
        void *y;

        nn_walk_offsets(w, r, at);
        y = cpu_at(c->y, at[1], c->dtype);
        if (nn_walk_step(w, 1) == 0)
            c->k->reduce->chain(y, x, w->run, 1.0);
        else
            c->k->elem->binary[CPU_ADD](y, y, 1, x, 1, w->run);
    }
}

CPU_OP(sum_to)
{
    const struct nn_tensor *x = call->in[0], *y = call->out[0];
    struct broadcast c = {.k = cpu_kernels_of(cpu, x->dtype),
                          .dtype = x->dtype,
                          .y = cpu_data(y),
                          .a = cpu_data(x)};
    const struct nn_walk *w = &c.walk;

    if (!nn_walk_init(&c.walk, &x->shape, &x->shape, &y->shape))
        return cpu_shape_error(call, err);
    if (w->ndim == 2 && w->step[1][0] == 0 && w->step[1][1] == 1) {
        cpu_parallel(cpu, w->run, 128, w->runs, sum_to_cols, &c);
        return 0;
    }
    c.k->elem->fill(c.y, 0.0, nn_tensor_numel(y));
    sum_to_runs(&c);
    return 0;
}
