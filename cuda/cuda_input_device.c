/* Data sets that lie on the device whole: a batch costs its indices alone. */
#include "cuda/cuda_input_parts.h"
#include "cuda/cuda_memory.h"
#include "cuda/cuda_upload.h"
#include "cuda/k_input.h"
#include "nn/base/mem.h"

/* A data set's arrays: the rows that it reaches, of a subset its base's. */
struct set {
    struct set *next;
    const struct nn_data *data; /* what they are copies of */
    const void *host_x, *host_y;
    void *x, *y;
};

/* Rows of a batch that is too large for cuda_upload_place, on the device. A
 * graph keeps the address, so a buffer that grows too small stays and a larger
 * one comes before it. */
struct rows {
    struct rows *next;
    int64_t cap;
    int64_t *device;
};

struct cuda_resident {
    struct set *sets;
    struct rows *rows;
};

int cuda_resident_new(struct cuda_resident **out, struct err *err)
{
    *out = mem_zalloc(sizeof **out);
    return *out ? 0 : err_set(err, ERR_NOMEM, "out of memory for batches");
}

static void rows_free(struct rows *r, struct cuda *cu)
{
    cuda_memory_free(cu, r->device);
    mem_free(r);
}

/* A graph that is still alive may be run once more. */
void cuda_resident_forget(struct cuda_resident *r, struct cuda *cu)
{
    struct set *s, *next;

    for (s = r->sets; s; s = next) {
        next = s->next;
        cuda_memory_retire(cu, s->x);
        cuda_memory_retire(cu, s->y);
        mem_free(s);
    }
    r->sets = NULL;
}

void cuda_resident_free(struct cuda_resident *r, struct cuda *cu)
{
    struct rows *p, *next;

    if (!r)
        return;
    cuda_resident_forget(r, cu);
    for (p = r->rows; p; p = next) {
        next = p->next;
        rows_free(p, cu);
    }
    mem_free(r);
}

static const void *host_y(const struct nn_data *d)
{
    return d->label ? (const void *)d->label : (const void *)d->target;
}

/* Rows of the arrays that the set reaches: a subset's largest, and one. */
static int64_t rows_reached(const struct nn_data *d)
{
    int64_t n = d->rows ? 0 : d->n;

    if (d->rows)
        for (int64_t i = 0; i < d->n; i++)
            n = d->rows[i] >= n ? d->rows[i] + 1 : n;
    return n;
}

/* On the stream of the gathering: cudaMemcpy may return before the last bytes
 * have arrived, and no stream of ours waits for the default one. */
static int upload(struct cuda *cu, void **out, const void *from, size_t size,
                  struct err *err)
{
    int rc = cuda_memory_alloc(cu, out, size, err);

    return rc == 0 && size > 0
               ? CU(cudaMemcpyAsync(*out, from, size, cudaMemcpyHostToDevice,
                                    cu->stream),
                    err)
               : rc;
}

static int set_new(struct cuda_resident *r, struct cuda *cu,
                   const struct batch *b, struct set **out, struct err *err)
{
    const struct nn_data *d = b->data;
    size_t n = (size_t)rows_reached(d);
    struct set *s = mem_zalloc(sizeof *s);
    int rc;

    if (!s)
        return err_set(err, ERR_NOMEM, "out of memory for a data set");
    s->next = r->sets;
    r->sets = s; /* from here on it is freed with the others */
    rc = upload(cu, &s->x, d->x, n * (size_t)b->len * nn_dtype_size(d->dtype),
                err);
    if (rc == 0)
        rc = upload(cu, &s->y, host_y(d), n * (size_t)b->width * sizeof(float),
                    err);
    if (rc != 0)
        return rc;
    s->data = d;
    s->host_x = d->x;
    s->host_y = host_y(d);
    *out = s;
    return 0;
}

static struct set *set_find(const struct cuda_resident *r,
                            const struct nn_data *d)
{
    struct set *s;

    for (s = r->sets; s; s = s->next)
        if (s->data == d && s->host_x == d->x && s->host_y == host_y(d))
            return s;
    return NULL;
}

static int rows_new(struct cuda_resident *r, struct cuda *cu, int64_t n,
                    int64_t **place, struct err *err)
{
    struct rows *p = mem_zalloc(sizeof *p);
    void *memory = NULL;
    int rc;

    if (!p)
        return err_set(err, ERR_NOMEM, "out of memory for a batch");
    rc = cuda_memory_alloc(cu, &memory, (size_t)n * sizeof(int64_t), err);
    if (rc != 0) {
        mem_free(p);
        return rc;
    }
    p->device = *place = memory;
    p->cap = n;
    p->next = r->rows;
    r->rows = p;
    return 0;
}

/* The smallest that holds n: one graph finds the same one every time. */
static int64_t *rows_find(const struct cuda_resident *r, const struct cuda *cu,
                          int64_t n)
{
    struct rows *p, *best = NULL;

    if (n <= CUDA_UPLOAD_ROWS)
        return cuda_upload_place(cu);
    for (p = r->rows; p; p = p->next)
        if (p->cap >= n && (!best || p->cap < best->cap))
            best = p;
    return best ? best->device : NULL;
}

int cuda_resident_begin(struct cuda_resident *r, struct cuda *cu,
                        const struct batch *b, struct err *err)
{
    int64_t *place = rows_find(r, cu, b->n);
    struct set *s = set_find(r, b->data);
    int rc = 0;

    if (!s)
        rc = set_new(r, cu, b, &s, err);
    if (rc == 0 && !place)
        rc = rows_new(r, cu, b->n, &place, err);
    return rc == 0 ? cuda_upload_rows(cu, b, place, err) : rc;
}

int cuda_resident_gather(struct cuda_resident *r, struct cuda *cu,
                         const struct batch *b, struct err *err)
{
    const struct set *s = set_find(r, b->data);
    const int64_t *place = rows_find(r, cu, b->n);
    struct k_gather g;
    int rc;

    if (!s || !place)
        return err_set(err, ERR_DEVICE, "a batch was not begun");
    g = (struct k_gather){.to = cuda_data(b->x),
                          .to_type = b->x->dtype,
                          .from = s->x,
                          .from_type = b->data->dtype,
                          .row = place,
                          .n = b->n,
                          .len = b->len,
                          .divide = b->data->divide};
    rc = CU(k_gather(&g, cu->stream), err);
    if (rc != 0 || !b->y)
        return rc;
    g.to = cuda_data(b->y);
    g.to_type = b->y->dtype;
    g.from = s->y;
    g.from_type = b->data->label ? NN_I32 : NN_F32;
    g.len = b->width;
    return CU(k_gather(&g, cu->stream), err);
}
