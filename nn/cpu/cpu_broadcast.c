/* Operators that broadcast: numpy's rule, shapes aligned at the last
 * dimension, a dimension of 1 repeated. */
#include "nn/cpu/cpu_ops.h"

#include <string.h>

/* A walk over a shape in row-major order with the place of each element in
 * two tensors, which may repeat. Dimensions that both walk alike are merged;
 * the last one is the run that a kernel does in one go. */
struct walk {
    int ndim;
    int64_t dim[NN_MAX_DIMS];
    int64_t step[2][NN_MAX_DIMS]; /* elements; 0: repeated */
    int64_t run;                  /* dim of the last */
    int64_t runs;                 /* product of the others */
};

static int64_t dim_from_end(const struct nn_shape *s, int i)
{
    return i < s->ndim ? s->dim[s->ndim - 1 - i] : 1;
}

/* Dimension i from the end, put before the walk's first or merged with it. */
static void walk_push(struct walk *w, int64_t dim, const int64_t step[2])
{
    int last = w->ndim - 1; /* kept in reverse until the walk is whole */

    if (dim == 1)
        return;
    if (last >= 0 && step[0] == w->step[0][last] * w->dim[last] &&
        step[1] == w->step[1][last] * w->dim[last]) {
        w->dim[last] *= dim;
        return;
    }
    w->dim[w->ndim] = dim;
    w->step[0][w->ndim] = step[0];
    w->step[1][w->ndim] = step[1];
    w->ndim++;
}

static void walk_reverse(struct walk *w)
{
    for (int i = 0, j = w->ndim - 1; i < j; i++, j--) {
        struct walk t = *w;

        w->dim[i] = t.dim[j];
        w->dim[j] = t.dim[i];
        for (int k = 0; k < 2; k++) {
            w->step[k][i] = t.step[k][j];
            w->step[k][j] = t.step[k][i];
        }
    }
}

/* Walks over full; a and b broadcast to it. false: they do not. */
static bool walk_init(struct walk *w, const struct nn_shape *full,
                      const struct nn_shape *a, const struct nn_shape *b)
{
    const struct nn_shape *of[2] = {a, b};
    int64_t size[2] = {1, 1};

    memset(w, 0, sizeof *w);
    if (a->ndim > full->ndim || b->ndim > full->ndim)
        return false;
    for (int i = 0; i < full->ndim; i++) {
        int64_t dim = dim_from_end(full, i), step[2];

        for (int k = 0; k < 2; k++) {
            int64_t d = dim_from_end(of[k], i);

            if (d != dim && d != 1)
                return false;
            step[k] = d == 1 ? 0 : size[k];
            size[k] *= d;
        }
        walk_push(w, dim, step);
    }
    if (w->ndim == 0)
        w->dim[w->ndim++] = 1;
    walk_reverse(w);
    w->run = w->dim[w->ndim - 1];
    w->runs = 1;
    for (int i = 0; i < w->ndim - 1; i++)
        w->runs *= w->dim[i];
    return true;
}

/* Where run r begins in both tensors. */
static void walk_offsets(const struct walk *w, int64_t r, int64_t offset[2])
{
    offset[0] = offset[1] = 0;
    for (int i = w->ndim - 2; i >= 0; i--) {
        int64_t at = r % w->dim[i];

        r /= w->dim[i];
        offset[0] += at * w->step[0][i];
        offset[1] += at * w->step[1][i];
    }
}

static int64_t run_step(const struct walk *w, int k)
{
    return w->step[k][w->ndim - 1];
}

struct broadcast {
    const struct cpu_kernels *k;
    unsigned kernel;
    enum nn_dtype dtype;
    struct walk walk;
    void *y;
    const void *a, *b;
};

static void binary_runs(void *arg, int64_t begin, int64_t end)
{
    const struct broadcast *c = arg;
    const struct walk *w = &c->walk;
    int64_t at[2];

    for (int64_t r = begin; r < end; r++) {
        walk_offsets(w, r, at);
        c->k->elem->binary[c->kernel](
            cpu_at(c->y, r * w->run, c->dtype), cpu_at(c->a, at[0], c->dtype),
            run_step(w, 0), cpu_at(c->b, at[1], c->dtype), run_step(w, 1),
            w->run);
    }
}

/* The walk is a single run. */
static void binary_one_run(void *arg, int64_t begin, int64_t end)
{
    const struct broadcast *c = arg;
    int64_t sa = run_step(&c->walk, 0), sb = run_step(&c->walk, 1);

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

    if (!walk_init(&c.walk, &call->out[0]->shape, &a->shape, &b->shape))
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

    if (!walk_init(&c.walk, &call->out[0]->shape, &x->shape, &scalar))
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
    const struct walk *w = &c->walk;
    int64_t at[2];

    for (int64_t r = 0; r < w->runs; r++) {
        const void *x = cpu_at(c->a, r * w->run, c->dtype);
        void *y;

        walk_offsets(w, r, at);
        y = cpu_at(c->y, at[1], c->dtype);
        if (run_step(w, 1) == 0)
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
    const struct walk *w = &c.walk;

    if (!walk_init(&c.walk, &x->shape, &x->shape, &y->shape))
        return cpu_shape_error(call, err);
    if (w->ndim == 2 && w->step[1][0] == 0 && w->step[1][1] == 1) {
        cpu_parallel(cpu, w->run, 128, w->runs, sum_to_cols, &c);
        return 0;
    }
    c.k->elem->fill(c.y, 0.0, nn_tensor_numel(y));
    sum_to_runs(&c);
    return 0;
}
