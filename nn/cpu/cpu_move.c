/* Operators that move numbers about without changing them, rows of a table
 * among them, and changes of type. */
#include "nn/cpu/cpu_ops.h"

#include <string.h>

/* A tensor around one axis: (outer, len, inner), size bytes an element. */
struct around {
    int64_t outer, len, inner;
    size_t size;
};

static struct around around(const struct nn_tensor *t, int axis)
{
    struct around a = {1, t->shape.dim[axis], 1, nn_dtype_size(t->dtype)};

    for (int i = 0; i < axis; i++)
        a.outer *= t->shape.dim[i];
    for (int i = axis + 1; i < t->shape.ndim; i++)
        a.inner *= t->shape.dim[i];
    return a;
}

static bool axis_of(const struct nn_tensor *t, int axis)
{
    return axis >= 0 && axis < t->shape.ndim;
}

/* x and y differ in the length of one axis only. */
static bool alike_but(const struct nn_tensor *x, const struct nn_tensor *y,
                      int axis)
{
    struct nn_shape s = x->shape;

    if (!axis_of(x, axis) || !axis_of(y, axis) || x->dtype != y->dtype)
        return false;
    s.dim[axis] = y->shape.dim[axis];
    return nn_shape_eq(&s, &y->shape);
}

/* Rows of n bytes from one place to another, each with its own distance. */
struct strips {
    char *to;
    const char *from;
    size_t to_step, from_step, n;
};

static void strip_range(void *arg, int64_t begin, int64_t end)
{
    const struct strips *s = arg;

    for (int64_t i = begin; i < end; i++)
        memcpy(s->to + (size_t)i * s->to_step,
               s->from + (size_t)i * s->from_step, s->n);
}

static void move_strips(struct cpu *cpu, int64_t count, struct strips *s)
{
    if (s->n > 0)
        cpu_parallel(cpu, count, 1, (int64_t)s->n / 4 + 8, strip_range, s);
}

/* [start, start + y's length) of x's axis goes to y; back with into. */
static void move_slice(struct cpu *cpu, const struct nn_tensor *x,
                       const struct nn_tensor *y, int axis, int64_t start,
                       bool into)
{
    struct around whole = around(x, axis), part = around(y, axis);
    size_t step = (size_t)(whole.len * whole.inner) * whole.size;
    size_t n = (size_t)(part.len * part.inner) * part.size;
    char *at = (char *)cpu_data(x) + (size_t)(start * whole.inner) * whole.size;
    struct strips out = {cpu_data(y), at, n, step, n};
    struct strips in = {at, cpu_data(y), step, n, n};

    move_strips(cpu, whole.outer, into ? &in : &out);
}

CPU_OP(slice)
{
    const bool grad = call->op == NN_OP_SLICE_GRAD;
    const struct nn_tensor *whole = grad ? call->out[0] : call->in[0];
    const struct nn_tensor *part = grad ? call->in[0] : call->out[0];
    const int axis = call->attrs.slice.axis;
    const int64_t start = call->attrs.slice.start;

    if (!alike_but(whole, part, axis) || start < 0 ||
        start > whole->shape.dim[axis] - part->shape.dim[axis])
        return cpu_shape_error(call, err);
    if (grad && nn_tensor_numel(whole) > 0)
        memset(cpu_data(whole), 0, nn_tensor_bytes(whole));
    move_slice(cpu, whole, part, axis, start, grad);
    return 0;
}

CPU_OP(cat)
{
    const struct nn_tensor *y = call->out[0];
    const int axis = call->attrs.cat.axis;
    int64_t at = 0;

    for (int i = 0; i < call->n_in; i++) {
        if (!alike_but(y, call->in[i], axis))
            return cpu_shape_error(call, err);
        at += call->in[i]->shape.dim[axis];
    }
    if (at != y->shape.dim[axis])
        return cpu_shape_error(call, err);
    at = 0;
    for (int i = 0; i < call->n_in; i++) {
        move_slice(cpu, y, call->in[i], axis, at, true);
        at += call->in[i]->shape.dim[axis];
    }
    return 0;
}

/* (outer, p, mid, q, inner) -> (outer, q, mid, p, inner) */
struct swap {
    int64_t p, mid, q, inner;
    size_t size;
    char *y;
    const char *x;
};

/* y[i] = x[i * step] for elements of 4 and of 8 bytes */
static void gather4(uint32_t *y, const uint32_t *x, int64_t n, int64_t step)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i * step];
}

static void gather8(uint64_t *y, const uint64_t *x, int64_t n, int64_t step)
{
    for (int64_t i = 0; i < n; i++)
        y[i] = x[i * step];
}

/* n blocks of bytes that lie step elements apart, together */
static void gather(char *to, const char *from, int64_t n, int64_t step,
                   const struct swap *s)
{
    size_t block = (size_t)s->inner * s->size;

    if (block == 4 && s->size == 4)
        gather4((void *)to, (const void *)from, n, step);
    else if (block == 8 && s->size == 8)
        gather8((void *)to, (const void *)from, n, step);
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(to + (size_t)i * block, from + (size_t)(i * step) * s->size,
                   block);
}

/* Row r of y counts (outer, q, mid); each is p blocks. */
static void swap_range(void *arg, int64_t begin, int64_t end)
{
    const struct swap *s = arg;
    const int64_t step = s->mid * s->q * s->inner;

    for (int64_t r = begin; r < end; r++) {
        int64_t m = r % s->mid, q = r / s->mid % s->q, o = r / s->mid / s->q;
        int64_t at = ((o * s->p * s->mid + m) * s->q + q) * s->inner;

        gather(s->y + (size_t)(r * s->p * s->inner) * s->size,
               s->x + (size_t)at * s->size, s->p, step, s);
    }
}

CPU_OP(transpose)
{
    const struct nn_tensor *x = call->in[0], *y = call->out[0];
    int a = call->attrs.transpose.a, b = call->attrs.transpose.b;
    struct nn_shape want = x->shape;
    struct swap s = {.mid = 1, .y = cpu_data(y), .x = cpu_data(x)};
    struct around lo, hi;

    if (!axis_of(x, a) || !axis_of(x, b) || x->dtype != y->dtype)
        return cpu_shape_error(call, err);
    want.dim[a] = x->shape.dim[b];
    want.dim[b] = x->shape.dim[a];
    if (!nn_shape_eq(&want, &y->shape))
        return cpu_shape_error(call, err);
    lo = around(x, a < b ? a : b);
    hi = around(x, a < b ? b : a);
    s.size = lo.size;
    s.p = a == b ? 1 : lo.len;
    s.q = hi.len;
    s.inner = hi.inner;
    for (int i = (a < b ? a : b) + 1; i < (a < b ? b : a); i++)
        s.mid *= x->shape.dim[i];
    if (nn_tensor_numel(x) > 0)
        cpu_parallel(cpu, nn_tensor_numel(x) / (s.p * s.inner), 1,
                     s.p * (s.inner + 1), swap_range, &s);
    return 0;
}

/* y[i] = x[i] for every pair of types */
struct cast {
    void *y;
    const void *x;
    enum nn_dtype from, to;
};

#define CAST_TO(type) \
    for (int64_t i = begin; i < end; i++) \
        switch (c->from) { \
        case NN_F64: \
            ((type *)c->y)[i] = (type)((const double *)c->x)[i]; \
            break; \
        case NN_U8: \
            ((type *)c->y)[i] = (type)((const uint8_t *)c->x)[i]; \
            break; \
        case NN_I32: \
            ((type *)c->y)[i] = (type)((const int32_t *)c->x)[i]; \
            break; \
        case NN_I64: \
            ((type *)c->y)[i] = (type)((const int64_t *)c->x)[i]; \
            break; \
        default: \
            ((type *)c->y)[i] = (type)((const float *)c->x)[i]; \
        }

static void cast_range(void *arg, int64_t begin, int64_t end)
{
    const struct cast *c = arg;

    if (c->to == NN_F64)
        CAST_TO(double)
    else
        CAST_TO(float)
}

CPU_OP(cast)
{
    const struct nn_tensor *x = call->in[0], *y = call->out[0];
    struct cast c = {cpu_data(y), cpu_data(x), x->dtype, y->dtype};

    if (!nn_shape_eq(&x->shape, &y->shape) || c.from == NN_F16 ||
        c.from == NN_BF16 || (c.to != NN_F32 && c.to != NN_F64))
        return cpu_shape_error(call, err);
    cpu_parallel(cpu, nn_tensor_numel(x), 1024, 2, cast_range, &c);
    return 0;
}

/* Rows of table[index[i]]. */
struct rows_job {
    const struct cpu_elem_kernels *k;
    enum nn_dtype dtype;
    char *table, *rows;
    const int32_t *index;
    int64_t n, width;
};

/* table (V, D), rows (n, D); ERR_CORRUPT for an index that is not in it */
static int rows_job(struct rows_job *j, const struct cpu *cpu,
                    const struct nn_call *call, const struct nn_tensor *table,
                    const struct nn_tensor *rows, struct err *err)
{
    const struct nn_tensor *index = call->in[1];
    int64_t n = nn_tensor_numel(index);

    memset(j, 0, sizeof *j);
    if (table->shape.ndim != 2 ||
        nn_tensor_numel(rows) != n * table->shape.dim[1])
        return cpu_shape_error(call, err);
    *j = (struct rows_job){.k = cpu_kernels_of(cpu, table->dtype)->elem,
                           .dtype = table->dtype,
                           .table = cpu_data(table),
                           .rows = cpu_data(rows),
                           .index = cpu_data(index),
                           .n = n,
                           .width = table->shape.dim[1]};
    for (int64_t i = 0; i < n; i++)
        if (j->index[i] < 0 || j->index[i] >= table->shape.dim[0])
            return err_set(err, ERR_CORRUPT,
                           "index %d at place %lld is outside 0 to %lld",
                           (int)j->index[i], (long long)i,
                           (long long)table->shape.dim[0] - 1);
    return 0;
}

static void take_rows(void *arg, int64_t begin, int64_t end)
{
    const struct rows_job *j = arg;
    size_t size = (size_t)j->width * nn_dtype_size(j->dtype);

    for (int64_t i = begin; i < end; i++)
        memcpy(j->rows + (size_t)i * size,
               j->table + (size_t)j->index[i] * size, size);
}

CPU_OP(embedding)
{
    struct rows_job j;
    int rc = rows_job(&j, cpu, call, call->in[0], call->out[0], err);

    if (rc == 0 && j.width > 0)
        cpu_parallel(cpu, j.n, 1, j.width + 8, take_rows, &j);
    return rc;
}

/* Columns [begin, end) of every row, so that threads never meet. */
static void add_rows(void *arg, int64_t begin, int64_t end)
{
    const struct rows_job *j = arg;

    for (int64_t i = 0; i < j->n; i++) {
        void *y = cpu_at(j->table, j->index[i] * j->width + begin, j->dtype);

        j->k->binary[CPU_ADD](y, y, 1,
                              cpu_at(j->rows, i * j->width + begin, j->dtype),
                              1, end - begin);
    }
}

CPU_OP(embedding_grad)
{
    const struct nn_tensor *table = call->out[0];
    struct rows_job j;
    int rc = rows_job(&j, cpu, call, table, call->in[0], err);

    if (rc != 0 || !j.table || nn_tensor_numel(table) == 0)
        return rc;
    memset(j.table, 0, nn_tensor_bytes(table));
    cpu_parallel(cpu, j.width, 32, j.n, add_rows, &j);
    return 0;
}
