#include "cuda/cuda_upload.h"

#include <string.h>

#include "cuda/cuda_input_parts.h"
#include "cuda/cuda_memory.h"
#include "nn/base/mem.h"

enum { SLOTS = 8, HEAD = 64, SLOT_AT_LEAST = 4096 };

/* Scalars at 0, rows at HEAD. */
struct slot {
    char *pinned;
    size_t cap;
    cudaEvent_t copied;
};

struct cuda_upload {
    struct slot slot[SLOTS];
    int next;
    struct cuda_scalars scalars;
    bool noted; /* scalars are not on their way yet */
    char *device;
};

int cuda_upload_new(struct cuda *cu, struct err *err)
{
    struct cuda_upload *u = mem_zalloc(sizeof *u);
    void *device = NULL;
    int rc;

    if (!u)
        return err_set(err, ERR_NOMEM, "out of memory for uploads");
    cu->upload = u;
    rc = cuda_memory_alloc(cu, &device,
                           HEAD + CUDA_UPLOAD_ROWS * sizeof(int64_t), err);
    u->device = device;
    cu->scalars = device;
    return rc == 0 ? CU(cudaMemsetAsync(device, 0, HEAD, cu->stream), err) : rc;
}

void cuda_upload_free(struct cuda *cu)
{
    struct cuda_upload *u = cu->upload;

    if (!u)
        return;
    for (int i = 0; i < SLOTS; i++) {
        if (u->slot[i].copied)
            (void)cudaEventDestroy(u->slot[i].copied);
        if (u->slot[i].pinned)
            (void)cudaFreeHost(u->slot[i].pinned);
    }
    cuda_memory_free(cu, u->device);
    mem_free(u);
    cu->upload = NULL;
}

void cuda_upload_note(struct cuda *cu, const struct cuda_scalars *v)
{
    cu->upload->scalars = *v;
    cu->upload->noted = true;
}

static int slot_grow(struct slot *s, struct cuda *cu, size_t size,
                     struct err *err)
{
    size_t cap = s->cap ? s->cap : SLOT_AT_LEAST;
    void *pinned = NULL;
    int rc = 0;

    if (!s->copied)
        rc = CU(cudaEventCreateWithFlags(&s->copied, cudaEventDisableTiming),
                err);
    if (rc != 0)
        return rc;
    while (cap < size)
        cap *= 2;
    if (s->pinned)
        CU_LATE(cudaFreeHost(s->pinned), cu);
    s->pinned = NULL;
    s->cap = 0;
    rc = cuda_pinned_alloc(&pinned, cap, err);
    if (rc != 0)
        return rc;
    s->pinned = pinned;
    s->cap = cap;
    return 0;
}

/* The next slot in turn, of at least size bytes, when no copy reads it. */
static int take_slot(struct slot **out, struct cuda *cu, size_t size,
                     struct err *err)
{
    struct cuda_upload *u = cu->upload;
    struct slot *s = &u->slot[u->next];
    int rc = 0;

    u->next = (u->next + 1) % SLOTS;
    *out = s;
    if (s->copied)
        rc = CU(cudaEventSynchronize(s->copied), err);
    if (rc == 0 && size > s->cap)
        rc = slot_grow(s, cu, size, err);
    return rc;
}

static int copy(struct cuda *cu, const struct slot *s, void *to, size_t from,
                size_t size, struct err *err)
{
    int rc = CU(cudaMemcpyAsync(to, s->pinned + from, size,
                                cudaMemcpyHostToDevice, cu->stream),
                err);

    return rc == 0 ? CU(cudaEventRecord(s->copied, cu->stream), err) : rc;
}

int cuda_upload_scalars(struct cuda *cu, struct err *err)
{
    struct cuda_upload *u = cu->upload;
    struct slot *s;
    int rc;

    if (!u->noted)
        return 0;
    rc = take_slot(&s, cu, HEAD, err);
    if (rc != 0)
        return rc;
    memcpy(s->pinned, &u->scalars, sizeof u->scalars);
    u->noted = false;
    return copy(cu, s, u->device, 0, sizeof u->scalars, err);
}

int64_t *cuda_upload_place(const struct cuda *cu)
{
    return (int64_t *)(void *)(cu->upload->device + HEAD);
}

int cuda_upload_rows(struct cuda *cu, const struct batch *b, int64_t *place,
                     struct err *err)
{
    struct cuda_upload *u = cu->upload;
    size_t size = (size_t)b->n * sizeof(int64_t);
    struct slot *s;
    int64_t *row;
    int rc = take_slot(&s, cu, HEAD + size, err);

    if (rc != 0)
        return rc;
    row = (int64_t *)(void *)(s->pinned + HEAD);
    for (int64_t i = 0; i < b->n; i++)
        row[i] = batch_row(b, i);
    if (place != cuda_upload_place(cu))
        return copy(cu, s, place, HEAD, size, err);
    memset(s->pinned, 0, HEAD);
    memcpy(s->pinned, &u->scalars, sizeof u->scalars);
    u->noted = false;
    return copy(cu, s, u->device, 0, HEAD + size, err);
}
