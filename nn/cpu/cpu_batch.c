/* BATCH: rows of a data set gathered into x, and their labels or targets. */
#include "nn/cpu/cpu_ops.h"

#include <string.h>

#include "nn/data.h"

/* Samples are cold and in no order: asked for this many rows ahead. */
enum { AHEAD = 8, LINE = 64 };

struct batch_job {
    const struct cpu_elem_kernels *k;
    const struct nn_batch_source *src;
    const struct nn_tensor *x, *y;
    int64_t n, len; /* samples, elements of one */
};

/* Sample i of the batch as a sample of the data set. */
static int64_t sample_of(const struct nn_batch_source *src, int64_t i)
{
    return src->order ? src->order[src->first + i] : src->first + i;
}

static int64_t row_of(const struct nn_batch_source *src, int64_t i)
{
    int64_t s = sample_of(src, i);

    return src->data->rows ? src->data->rows[s] : s;
}

static const char *sample_at(const struct batch_job *j, int64_t i)
{
    size_t size = j->src->data->dtype == NN_U8 ? 1 : sizeof(float);

    return (const char *)j->src->data->x +
           (size_t)row_of(j->src, i) * (size_t)j->len * size;
}

static void prefetch(const struct batch_job *j, int64_t i)
{
    const char *p = sample_at(j, i);
    int64_t size = j->len * (j->src->data->dtype == NN_U8 ? 1 : 4);

    for (int64_t b = 0; b < size; b += LINE)
        __builtin_prefetch(p + b, 0, 2);
}

static void floats_to(void *y, enum nn_dtype dtype, const float *x, int64_t n)
{
    if (dtype == NN_F32)
        memcpy(y, x, (size_t)n * sizeof *x);
    else
        for (int64_t i = 0; i < n; i++)
            ((double *)y)[i] = x[i];
}

static void copy_labels(const struct batch_job *j, int64_t i)
{
    const struct nn_data *d = j->src->data;
    int64_t row = row_of(j->src, i), width = d->target_width;

    float label;

    if (d->label && j->y->dtype == NN_I32) {
        ((int32_t *)cpu_data(j->y))[i] = d->label[row];
    } else if (d->label) {
        label = (float)d->label[row];
        floats_to(cpu_at(cpu_data(j->y), i, j->y->dtype), j->y->dtype, &label,
                  1);
    } else
        floats_to(cpu_at(cpu_data(j->y), i * width, j->y->dtype), j->y->dtype,
                  d->target + row * width, width);
}

static void batch_range(void *arg, int64_t begin, int64_t end)
{
    const struct batch_job *j = arg;
    const struct nn_data *d = j->src->data;

    for (int64_t i = begin; i < end; i++) {
        void *to = cpu_at(cpu_data(j->x), i * j->len, j->x->dtype);
        const void *from = sample_at(j, i);

        if (i + AHEAD < end)
            prefetch(j, i + AHEAD);
        if (d->dtype == NN_U8)
            j->k->bytes(to, from, j->len, d->divide);
        else
            floats_to(to, j->x->dtype, from, j->len);
        if (j->y)
            copy_labels(j, i);
    }
}

/* The types and sizes of x and y against the data set's. */
static bool fits(const struct batch_job *j)
{
    const struct nn_data *d = j->src->data;

    if (j->x->shape.ndim < 1 || nn_tensor_numel(j->x) != j->n * j->len ||
        (d->dtype != NN_U8 && d->dtype != NN_F32))
        return false;
    if (!j->y)
        return true;
    if (d->label && j->y->dtype == NN_I32)
        return nn_tensor_numel(j->y) == j->n;
    return (j->y->dtype == NN_F32 || j->y->dtype == NN_F64) &&
           nn_tensor_numel(j->y) == j->n * (d->label ? 1 : d->target_width);
}

static int check_samples(const struct batch_job *j, struct err *err)
{
    for (int64_t i = 0; i < j->n; i++) {
        int64_t s = sample_of(j->src, i);

        if (s < 0 || s >= j->src->data->n)
            return err_set(err, ERR_SHAPE,
                           "batch: sample %lld is outside 0 to %lld",
                           (long long)s, (long long)j->src->data->n - 1);
    }
    return 0;
}

CPU_OP(batch)
{
    const struct nn_tensor *x = call->out[0];
    struct batch_job j = {
        .k = cpu_kernels_of(cpu, x->dtype)->elem,
        .src = call->attrs.batch,
        .x = x,
        .y = call->n_out > 1 ? call->out[1] : NULL,
        .n = x->shape.ndim > 0 ? x->shape.dim[0] : 0,
        .len = nn_shape_numel(&call->attrs.batch->data->sample),
    };
    int rc;

    if (!fits(&j))
        return cpu_shape_error(call, err);
    rc = check_samples(&j, err);
    if (rc != 0)
        return rc;
    cpu_parallel(cpu, j.n, AHEAD, 2 * j.len, batch_range, &j);
    return 0;
}
