#include "cuda/cuda_input.h"

#include "cuda/cuda_dispatch.h"
#include "cuda/cuda_input_parts.h"
#include "cuda/cuda_ops.h"
#include "nn/base/mem.h"

struct cuda_input {
    struct cuda_resident *resident;
    struct cuda_staging *staging;
};

int cuda_input_new(struct cuda_input **out, struct err *err)
{
    struct cuda_input *in = mem_zalloc(sizeof *in);
    int rc;

    *out = NULL;
    if (!in)
        return err_set(err, ERR_NOMEM, "out of memory for batches");
    rc = cuda_resident_new(&in->resident, err);
    if (rc == 0)
        rc = cuda_staging_new(&in->staging, err);
    if (rc != 0) {
        cuda_input_free(in, NULL);
        return rc;
    }
    *out = in;
    return 0;
}

void cuda_input_free(struct cuda_input *in, struct cuda *cu)
{
    if (!in)
        return;
    cuda_resident_free(in->resident, cu);
    cuda_staging_free(in->staging, cu);
    mem_free(in);
}

void cuda_input_forget(struct cuda_input *in, struct cuda *cu)
{
    cuda_resident_forget(in->resident, cu);
    cuda_staging_forget(in->staging);
}

static struct batch batch_of(const struct nn_call *call)
{
    const struct nn_batch_source *source = call->attrs.batch;
    const struct nn_data *d = source->data;
    struct nn_tensor *x = call->out[0];
    struct batch b = {.source = source,
                      .data = d,
                      .x = x,
                      .y = call->n_out > 1 ? call->out[1] : NULL,
                      .n = x->shape.ndim > 0 ? x->shape.dim[0] : 0,
                      .len = nn_shape_numel(&d->sample),
                      .width = d->label ? 1 : d->target_width};

    return b;
}

/* The types and sizes of x and y against the data set's. */
static bool fits(const struct batch *b)
{
    if (b->x->shape.ndim < 1 || nn_tensor_numel(b->x) != b->n * b->len ||
        (b->data->dtype != NN_U8 && b->data->dtype != NN_F32))
        return false;
    if (!b->y)
        return true;
    if (b->y->dtype == NN_I32)
        return b->data->label && nn_tensor_numel(b->y) == b->n;
    return (b->y->dtype == NN_F32 || b->y->dtype == NN_F64) &&
           nn_tensor_numel(b->y) == b->n * b->width;
}

static int check_samples(const struct batch *b, struct err *err)
{
    const struct nn_batch_source *s = b->source;

    for (int64_t i = 0; i < b->n; i++) {
        int64_t k = batch_sample(s, i);

        if (k < 0 || k >= b->data->n)
            return err_set(err, ERR_SHAPE,
                           "batch: sample %lld is outside 0 to %lld",
                           (long long)k, (long long)b->data->n - 1);
    }
    return 0;
}

int cuda_input_begin(struct cuda *cu, const struct nn_call *call,
                     struct err *err)
{
    struct batch b = batch_of(call);
    int rc = check_samples(&b, err);

    if (rc != 0 || b.n == 0)
        return rc;
    switch (cu->config.data) {
    case NN_DATA_PINNED:
        return cuda_staging_copy(cu->input->staging, cu, &b, err);
    case NN_DATA_PAGEABLE:
        return cuda_pageable_copy(cu->input->staging, cu, &b, err);
    default:
        return cuda_resident_begin(cu->input->resident, cu, &b, err);
    }
}

/* In a graph stands only what the device does by itself. */
CUDA_OP(batch)
{
    struct batch b = batch_of(call);
    int rc = 0;

    if (!fits(&b))
        return cuda_shape_error(call, err);
    if (!cu->capturing)
        rc = cuda_input_begin(cu, call, err);
    if (rc != 0 || b.n == 0 || cu->config.data != NN_DATA_DEVICE)
        return rc;
    return cuda_resident_gather(cu->input->resident, cu, &b, err);
}
