/* The largest along an axis, and pooling over windows of a plane. */
#include "nn/cpu/cpu_ops.h"

struct max_job {
    const struct cpu_pool_kernels *k;
    enum nn_dtype dtype;
    void *y;
    const void *dy, *x;
    int64_t outer, len, inner;
};

/* x as (outer, len, inner) around the axis; false where it does not fit y,
 * which has one number for each (outer, inner). */
static bool max_job(struct max_job *j, const struct cpu *cpu,
                    const struct nn_tensor *x, int axis,
                    const struct nn_tensor *y)
{
    *j = (struct max_job){.k = cpu_kernels_of(cpu, x->dtype)->pool,
                          .dtype = x->dtype,
                          .x = cpu_data(x),
                          .outer = 1,
                          .len = nn_tensor_numel(x),
                          .inner = 1};
    if (axis != NN_AXIS_ALL) {
        if (axis < 0 || axis >= x->shape.ndim)
            return false;
        j->len = x->shape.dim[axis];
        for (int i = 0; i < axis; i++)
            j->outer *= x->shape.dim[i];
        for (int i = axis + 1; i < x->shape.ndim; i++)
            j->inner *= x->shape.dim[i];
    }
    return j->len > 0 && nn_tensor_numel(y) == j->outer * j->inner;
}

static void max_range(void *arg, int64_t begin, int64_t end)
{
    const struct max_job *j = arg;

    j->k->max(cpu_at(j->y, begin * j->inner, j->dtype),
              cpu_at(j->x, begin * j->len * j->inner, j->dtype), end - begin,
              j->len, j->inner);
}

CPU_OP(max)
{
    struct max_job j;

    if (!max_job(&j, cpu, call->in[0], call->attrs.reduce.axis, call->out[0]))
        return cpu_shape_error(call, err);
    j.y = cpu_data(call->out[0]);
    if (j.inner > 0)
        cpu_parallel(cpu, j.outer, 1, 2 * j.len * j.inner, max_range, &j);
    return 0;
}

static void max_grad_range(void *arg, int64_t begin, int64_t end)
{
    const struct max_job *j = arg;
    int64_t at = begin * j->len * j->inner;

    j->k->max_grad(cpu_at(j->y, at, j->dtype),
                   cpu_at(j->dy, begin * j->inner, j->dtype),
                   cpu_at(j->x, at, j->dtype), end - begin, j->len, j->inner);
}

CPU_OP(max_grad)
{
    const struct nn_tensor *x = call->in[1];
    struct max_job j;

    if (!max_job(&j, cpu, x, call->attrs.reduce.axis, call->in[0]) ||
        nn_tensor_numel(call->out[0]) != nn_tensor_numel(x))
        return cpu_shape_error(call, err);
    j.y = cpu_data(call->out[0]);
    j.dy = cpu_data(call->in[0]);
    if (j.inner > 0)
        cpu_parallel(cpu, j.outer, 1, 4 * j.len * j.inner, max_grad_range, &j);
    return 0;
}

struct pool_job {
    const struct cpu_pool_kernels *k;
    enum nn_dtype dtype;
    struct cpu_pool p;
    void *out;
    const void *a, *b; /* inputs; b: x of max_pool2d_grad */
    int64_t planes;
};

/* wide (B,C,H,W), narrow (B,C,H',W'); false where they do not fit. */
static bool pool_job(struct pool_job *j, const struct cpu *cpu,
                     const struct nn_call *call, const struct nn_tensor *wide,
                     const struct nn_tensor *narrow)
{
    const int64_t *d = wide->shape.dim, *n = narrow->shape.dim;
    int64_t kernel = call->attrs.pool.kernel;
    int64_t stride = call->attrs.pool.stride;
    int64_t padding = call->attrs.pool.padding;
    int64_t h, w;

    if (wide->shape.ndim != 4 || narrow->shape.ndim != 4 || d[0] != n[0] ||
        d[1] != n[1] || kernel < 1 || stride < 1 || padding < 0 ||
        padding > kernel / 2)
        return false;
    h = d[2] + 2 * padding - kernel;
    w = d[3] + 2 * padding - kernel;
    if (h < 0 || w < 0 || n[2] != h / stride + 1 || n[3] != w / stride + 1)
        return false;
    *j = (struct pool_job){
        .k = cpu_kernels_of(cpu, wide->dtype)->pool,
        .dtype = wide->dtype,
        .p = {d[2], d[3], n[2], n[3], kernel, stride, padding},
        .out = cpu_data(call->out[0]),
        .a = cpu_data(call->in[0]),
        .b = call->n_in > 1 ? cpu_data(call->in[1]) : NULL,
        .planes = d[0] * d[1],
    };
    return true;
}

static void run_planes(struct cpu *cpu, struct pool_job *j, pool_fn fn)
{
    const struct cpu_pool *p = &j->p;

    cpu_parallel(cpu, j->planes, 1,
                 2 * p->out_h * p->out_w * p->kernel * p->kernel, fn, j);
}

static void *wide_at(const struct pool_job *j, const void *p, int64_t plane)
{
    return cpu_at(p, plane * j->p.h * j->p.w, j->dtype);
}

static void *narrow_at(const struct pool_job *j, const void *p, int64_t plane)
{
    return cpu_at(p, plane * j->p.out_h * j->p.out_w, j->dtype);
}

static void max_pool_range(void *arg, int64_t begin, int64_t end)
{
    const struct pool_job *j = arg;

    for (int64_t i = begin; i < end; i++)
        j->k->max_pool(narrow_at(j, j->out, i), wide_at(j, j->a, i), &j->p);
}

CPU_OP(max_pool2d)
{
    struct pool_job j;

    if (!pool_job(&j, cpu, call, call->in[0], call->out[0]))
        return cpu_shape_error(call, err);
    run_planes(cpu, &j, max_pool_range);
    return 0;
}

static void max_pool_grad_range(void *arg, int64_t begin, int64_t end)
{
    const struct pool_job *j = arg;

    for (int64_t i = begin; i < end; i++)
        j->k->max_pool_grad(wide_at(j, j->out, i), narrow_at(j, j->a, i),
                            wide_at(j, j->b, i), &j->p);
}

CPU_OP(max_pool2d_grad)
{
    struct pool_job j;

    if (!pool_job(&j, cpu, call, call->in[1], call->in[0]) ||
        !nn_shape_eq(&call->out[0]->shape, &call->in[1]->shape))
        return cpu_shape_error(call, err);
    run_planes(cpu, &j, max_pool_grad_range);
    return 0;
}

static void avg_pool_range(void *arg, int64_t begin, int64_t end)
{
    const struct pool_job *j = arg;

    for (int64_t i = begin; i < end; i++)
        j->k->avg_pool(narrow_at(j, j->out, i), wide_at(j, j->a, i), &j->p);
}

static void avg_pool_grad_range(void *arg, int64_t begin, int64_t end)
{
    const struct pool_job *j = arg;

    for (int64_t i = begin; i < end; i++)
        j->k->avg_pool_grad(wide_at(j, j->out, i), narrow_at(j, j->a, i),
                            &j->p);
}

CPU_OP(avg_pool2d)
{
    const bool grad = call->op == NN_OP_AVG_POOL2D_GRAD;
    struct pool_job j;

    if (!pool_job(&j, cpu, call, grad ? call->out[0] : call->in[0],
                  grad ? call->in[0] : call->out[0]))
        return cpu_shape_error(call, err);
    run_planes(cpu, &j, grad ? avg_pool_grad_range : avg_pool_range);
    return 0;
}
