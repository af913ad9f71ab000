/* Copies and fills. Pageable memory is read at the call and written before it
 * returns; pinned memory is read and written when the stream gets there, as
 * NVIDIA's "API synchronization behavior" has it. So cudaMemcpy from pageable
 * memory, too, returns when it was read: the stream's earlier work is done
 * then, but the bytes may not have arrived, and a stream that does not wait
 * for the default one may look for them too early. */
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake.h"

static void run_copy(const void *blob)
{
    const struct fake_copy *c = blob;
    const void *src = c->staged ? c + 1 : c->src;

    check_pinned(c);
    if (c->dir == cudaMemcpyDeviceToHost)
        check_range(c->src, c->n, false, "a copy", c->pc);
    if (c->dir == cudaMemcpyHostToDevice || c->dir == cudaMemcpyDeviceToDevice)
        check_range(c->dst, c->n, true, "a copy", c->pc);
    memmove(c->dst, src, c->n);
    if (c->dir == cudaMemcpyDeviceToDevice)
        check_copied(c->dst, c->src, c->n);
}

static void run_set(const void *blob)
{
    const struct fake_copy *c = blob;

    check_range(c->dst, c->n, true, "a fill", c->pc);
    memset(c->dst, c->value, c->n);
}

static int direction(const void *dst, const void *src)
{
    bool to = fake_mem_holds(dst, 1), from = fake_mem_holds(src, 1);

    if (to)
        return from ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice;
    return from ? cudaMemcpyDeviceToHost : cudaMemcpyHostToHost;
}

/* Each side must be what dir says, from its first to its last byte. */
static bool sides_fit(const struct fake_copy *c)
{
    bool to =
        c->dir == cudaMemcpyHostToDevice || c->dir == cudaMemcpyDeviceToDevice;
    bool from =
        c->dir == cudaMemcpyDeviceToHost || c->dir == cudaMemcpyDeviceToDevice;

    return fake_mem_holds(c->dst, to ? c->n : 1) == to &&
           fake_mem_holds(c->src, from ? c->n : 1) == from;
}

static uint64_t hash_of(const void *p, size_t n)
{
    const unsigned char *c = p;
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < n; i++)
        h = (h ^ c[i]) * 1099511628211u;
    return h;
}

/* A pinned source must hold at the copy what it held at the call. */
void check_pinned(const struct fake_copy *c)
{
    char place[300];

    if (c->hash == 0 || hash_of(c->src, c->n) == c->hash)
        return;
    cusim_place(place, sizeof place, c->pc);
    cusim_report("pinned memory reused",
                 "%zu bytes at %p changed between the call of a copy and the "
                 "copy, %s",
                 c->n, c->src, place);
}

static cudaError_t enqueue_copy(struct fake_copy *c, struct CUstream_st *s,
                                uint32_t corr)
{
    struct fake_op op = {
        .kind = FAKE_COPY, .name = "copy", .run = run_copy, .corr = corr};
    size_t size = sizeof *c + (c->staged ? c->n : 0);
    struct fake_copy *blob = fake_zalloc(size);
    cudaError_t rc;

    if (check_on() && c->pinned && c->dir == cudaMemcpyHostToDevice &&
        !s->capture)
        c->hash = hash_of(c->src, c->n);
    *blob = *c;
    if (c->staged)
        memcpy(blob + 1, c->src, c->n);
    rc = fake_enqueue(s, &op, blob, size);
    free(blob);
    return rc;
}

static cudaError_t copy(struct fake_copy *c, struct CUstream_st *s, bool async,
                        uint32_t corr)
{
    bool from_host, waits;
    cudaError_t rc = cudaSuccess;

    if (!s)
        return cudaErrorInvalidResourceHandle;
    if (c->n == 0)
        return cudaSuccess;
    if (c->dir == cudaMemcpyDefault)
        c->dir = direction(c->dst, c->src);
    if (!sides_fit(c))
        return cudaErrorInvalidValue;
    from_host = c->dir == cudaMemcpyHostToDevice;
    c->pinned = fake_mem_is_pinned(from_host ? c->src : c->dst);
    c->staged = from_host && !c->pinned && !s->capture;
    waits = !s->capture &&
            (!async || (c->dir == cudaMemcpyDeviceToHost && !c->pinned));
    if (!waits || !c->staged)
        rc = enqueue_copy(c, s, corr);
    if (rc || !waits)
        return rc;
    fake_drain(s, UINT64_MAX);
    fake_host_waited(s);
    if (c->staged && !fake_faulted())
        return enqueue_copy(c, s, corr);
    return fake_faulted();
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t n,
                            enum cudaMemcpyKind dir, cudaStream_t stream)
{
    struct fake_copy c = {.dst = dst, .src = src, .n = n, .dir = (int)dir};

    ENTER(cudaMemcpyAsync);
    c.pc = __builtin_return_address(0);
    LEAVE(copy(&c, fake_stream(stream), true, call.corr));
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t n,
                       enum cudaMemcpyKind dir)
{
    struct fake_copy c = {.dst = dst, .src = src, .n = n, .dir = (int)dir};
    cudaError_t rc;

    ENTER(cudaMemcpy);
    c.pc = __builtin_return_address(0);
    rc = fake_capture_forbids();
    LEAVE(rc ? rc : copy(&c, fake_streams(), false, call.corr));
}

static cudaError_t set(struct fake_copy *c, cudaStream_t stream, uint32_t corr)
{
    struct fake_op op = {
        .kind = FAKE_SET, .name = "fill", .run = run_set, .corr = corr};

    if (c->n == 0)
        return cudaSuccess;
    if (!fake_mem_holds(c->dst, c->n))
        return cudaErrorInvalidValue;
    return fake_enqueue(stream, &op, c, sizeof *c);
}

cudaError_t cudaMemsetAsync(void *dst, int value, size_t n, cudaStream_t stream)
{
    struct fake_copy c = {.dst = dst, .n = n, .value = value};

    ENTER(cudaMemsetAsync);
    c.pc = __builtin_return_address(0);
    LEAVE(set(&c, stream, call.corr));
}

cudaError_t cudaMemset(void *dst, int value, size_t n)
{
    struct fake_copy c = {.dst = dst, .n = n, .value = value};
    cudaError_t rc;

    ENTER(cudaMemset);
    c.pc = __builtin_return_address(0);
    rc = fake_capture_forbids();
    LEAVE(rc ? rc : set(&c, NULL, call.corr));
}
