/* Batches that the host gathers: copied from pageable memory while the call
 * waits, or from pinned memory on a stream of their own, one batch ahead. */
#include <string.h>

#include "cuda/cuda_input_parts.h"
#include "cuda/cuda_memory.h"
#include "nn/base/mem.h"

/* A batch in host memory and, of PINNED, on the device where it waits until
 * the step before it is through with x and y. */
struct slot {
    void *host, *device;
    size_t cap;
    int64_t *row; /* of which samples it is, n of them; 0: of none */
    int64_t n, row_cap;
    const struct nn_data *data;
    cudaEvent_t copied; /* on the copy stream: device is whole */
    cudaEvent_t used;   /* on the computing stream: device is free */
};

struct cuda_staging {
    struct slot slot[2];
    int next; /* slot of the batch after this one */
    void *pageable;
    size_t pageable_cap;
};

int cuda_staging_new(struct cuda_staging **out, struct err *err)
{
    *out = mem_zalloc(sizeof **out);
    return *out ? 0 : err_set(err, ERR_NOMEM, "out of memory for batches");
}

static void slot_free(struct slot *s, struct cuda *cu)
{
    if (s->host)
        (void)cudaFreeHost(s->host);
    cuda_memory_free(cu, s->device);
    if (s->copied)
        (void)cudaEventDestroy(s->copied);
    if (s->used)
        (void)cudaEventDestroy(s->used);
    mem_free(s->row);
    memset(s, 0, sizeof *s);
}

void cuda_staging_free(struct cuda_staging *s, struct cuda *cu)
{
    if (!s)
        return;
    slot_free(&s->slot[0], cu);
    slot_free(&s->slot[1], cu);
    mem_free(s->pageable);
    mem_free(s);
}

void cuda_staging_forget(struct cuda_staging *s)
{
    s->slot[0].n = s->slot[1].n = 0;
    s->slot[0].data = s->slot[1].data = NULL;
}

/* ---- gathering ---- */

static void floats_to(void *to, enum nn_dtype type, int64_t at, const float *x,
                      int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (type == NN_F64)
            ((double *)to)[at + i] = x[i];
        else
            ((float *)to)[at + i] = x[i];
    }
}

static void bytes_to(void *to, enum nn_dtype type, int64_t at, const uint8_t *x,
                     const struct batch *b)
{
    float divide = b->data->divide;

    for (int64_t i = 0; i < b->len; i++) {
        if (type == NN_F64)
            ((double *)to)[at + i] = (double)x[i] / (double)divide;
        else
            ((float *)to)[at + i] = (float)x[i] / divide;
    }
}

static void label_to(void *to, enum nn_dtype type, int64_t at, int32_t label)
{
    float number = (float)label;

    if (type == NN_I32)
        ((int32_t *)to)[at] = label;
    else
        floats_to(to, type, at, &number, 1);
}

/* Bytes of x in the batch's own type, then of y. */
static size_t x_bytes(const struct batch *b)
{
    return nn_tensor_bytes(b->x);
}

static size_t y_bytes(const struct batch *b)
{
    return b->y ? nn_tensor_bytes(b->y) : 0;
}

static size_t all_bytes(const struct batch *b)
{
    return x_bytes(b) + y_bytes(b);
}

static void gather(char *to, const struct batch *b, const int64_t *row)
{
    const struct nn_data *d = b->data;
    char *y = to + x_bytes(b);

    for (int64_t i = 0; i < b->n; i++) {
        if (d->dtype == NN_U8)
            bytes_to(to, b->x->dtype, i * b->len,
                     (const uint8_t *)d->x + row[i] * b->len, b);
        else
            floats_to(to, b->x->dtype, i * b->len,
                      (const float *)d->x + row[i] * b->len, b->len);
        if (b->y && d->label)
            label_to(y, b->y->dtype, i, d->label[row[i]]);
        else if (b->y)
            floats_to(y, b->y->dtype, i * b->width,
                      d->target + row[i] * b->width, b->width);
    }
}

/* ---- pageable ---- */

int cuda_pageable_copy(struct cuda_staging *s, struct cuda *cu,
                       const struct batch *b, struct err *err)
{
    size_t size = all_bytes(b), rows = (size_t)b->n * sizeof(int64_t);
    int64_t *row;
    int rc;

    if (rows + size > s->pageable_cap) {
        void *bigger = mem_grow(s->pageable, rows + size, 1);

        if (!bigger)
            return err_set(err, ERR_NOMEM, "out of memory for a batch");
        s->pageable = bigger;
        s->pageable_cap = rows + size;
    }
    row = s->pageable;
    for (int64_t i = 0; i < b->n; i++)
        row[i] = batch_row(b, i);
    gather((char *)s->pageable + rows, b, row);
    rc = CU(cudaMemcpyAsync(cuda_data(b->x), (char *)s->pageable + rows,
                            x_bytes(b), cudaMemcpyHostToDevice, cu->stream),
            err);
    if (rc == 0 && b->y)
        rc = CU(cudaMemcpyAsync(cuda_data(b->y),
                                (char *)s->pageable + rows + x_bytes(b),
                                y_bytes(b), cudaMemcpyHostToDevice, cu->stream),
                err);
    return rc;
}

/* ---- pinned ---- */

static int slot_events(struct slot *s, struct err *err)
{
    int rc = 0;

    if (!s->copied)
        rc = CU(cudaEventCreateWithFlags(&s->copied, cudaEventDisableTiming),
                err);
    if (rc == 0 && !s->used)
        rc =
            CU(cudaEventCreateWithFlags(&s->used, cudaEventDisableTiming), err);
    return rc;
}

static int slot_reserve(struct slot *s, struct cuda *cu, const struct batch *b,
                        struct err *err)
{
    size_t size = all_bytes(b);
    int rc = slot_events(s, err);

    if (rc == 0 && b->n > s->row_cap) {
        int64_t *bigger = mem_grow(s->row, (size_t)b->n, sizeof *bigger);

        if (!bigger)
            return err_set(err, ERR_NOMEM, "out of memory for a batch");
        s->row = bigger;
        s->row_cap = b->n;
    }
    if (rc != 0 || size <= s->cap)
        return rc;
    s->cap = 0;
    rc = CU(cudaDeviceSynchronize(), err);
    if (s->host)
        CU_LATE(cudaFreeHost(s->host), cu);
    cuda_memory_free(cu, s->device);
    s->host = s->device = NULL;
    if (rc == 0)
        rc = cuda_pinned_alloc(&s->host, size, err);
    if (rc == 0)
        rc = cuda_memory_alloc(cu, &s->device, size, err);
    s->cap = rc == 0 ? size : 0;
    return rc;
}

/* Gathers the batch into the slot and starts its copy. */
static int slot_fill(struct slot *s, struct cuda *cu, const struct batch *b,
                     struct err *err)
{
    int rc = slot_reserve(s, cu, b, err);

    s->n = 0;
    if (rc == 0) /* the last copy out of host, if it still runs */
        rc = CU(cudaEventSynchronize(s->copied), err);
    if (rc != 0)
        return rc;
    for (int64_t i = 0; i < b->n; i++)
        s->row[i] = batch_row(b, i);
    gather(s->host, b, s->row);
    rc = CU(cudaStreamWaitEvent(cu->copy, s->used, 0), err);
    if (rc == 0)
        rc = CU(cudaMemcpyAsync(s->device, s->host, all_bytes(b),
                                cudaMemcpyHostToDevice, cu->copy),
                err);
    if (rc == 0)
        rc = CU(cudaEventRecord(s->copied, cu->copy), err);
    if (rc == 0) {
        s->n = b->n;
        s->data = b->data;
    }
    return rc;
}

/* Whether the slot holds this very batch: the order may have been shuffled
 * anew since it was guessed. */
static bool slot_is(const struct slot *s, const struct batch *b)
{
    if (s->n != b->n || s->data != b->data || s->cap < all_bytes(b))
        return false;
    for (int64_t i = 0; i < b->n; i++)
        if (s->row[i] != batch_row(b, i))
            return false;
    return true;
}

/* From the slot to x and y, behind its copy. */
static int slot_take(struct slot *s, struct cuda *cu, const struct batch *b,
                     struct err *err)
{
    int rc = CU(cudaStreamWaitEvent(cu->stream, s->copied, 0), err);

    if (rc == 0)
        rc = CU(cudaMemcpyAsync(cuda_data(b->x), s->device, x_bytes(b),
                                cudaMemcpyDeviceToDevice, cu->stream),
                err);
    if (rc == 0 && b->y)
        rc = CU(cudaMemcpyAsync(cuda_data(b->y), (char *)s->device + x_bytes(b),
                                y_bytes(b), cudaMemcpyDeviceToDevice,
                                cu->stream),
                err);
    if (rc == 0)
        rc = CU(cudaEventRecord(s->used, cu->stream), err);
    s->n = 0;
    return rc;
}

/* The batch that most likely comes next: the samples after this one's. */
static int fill_ahead(struct slot *s, struct cuda *cu, const struct batch *b,
                      struct err *err)
{
    struct nn_batch_source after = *b->source;
    struct batch next = *b;

    after.first += b->n;
    if (after.first + b->n > b->data->n)
        return 0;
    for (int64_t i = 0; i < b->n; i++)
        if (batch_sample(&after, i) < 0 ||
            batch_sample(&after, i) >= b->data->n)
            return 0; /* its own step will say so */
    next.source = &after;
    return slot_fill(s, cu, &next, err);
}

int cuda_staging_copy(struct cuda_staging *s, struct cuda *cu,
                      const struct batch *b, struct err *err)
{
    struct slot *now = &s->slot[s->next];
    int rc = 0;

    if (!slot_is(now, b))
        rc = slot_fill(now, cu, b, err);
    if (rc == 0)
        rc = slot_take(now, cu, b, err);
    s->next = 1 - s->next;
    return rc == 0 ? fill_ahead(&s->slot[s->next], cu, b, err) : rc;
}
