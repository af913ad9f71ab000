/* Device memory: a range of addresses that the host cannot touch unless work
 * runs, filled with 0xff (NaNs) when handed out, with gaps in between. Pinned
 * host memory. FAKE_CUDA_MEM=MIB is the capacity (1024). Closing memory is dear
 * where pages are many, and a program does the same over and over: after
 * ALWAYS_CLOSED times it is closed only one time in SOMETIMES. It always is
 * with FAKE_CUDA_PROTECT=always, never with FAKE_CUDA_PROTECT=0. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/cuda/fake.h"

enum { ALIGN = 512, PAGE = 4096, ARENA_LOG = 36, FREED = 64 };
enum { ALWAYS_CLOSED = 64, SOMETIMES = 64 };

struct pinned {
    struct pinned *next;
    char *p;
    size_t n;
};

static struct {
    char *arena;
    size_t top;                /* bytes that were ever in use */
    struct fake_alloc *allocs; /* by address */
    size_t n, room;
    unsigned last_id, n_freed;
    struct fake_alloc freed[FREED]; /* the last ones */
    size_t used;
    struct pinned *pinned;
    int open; /* how deep */
    bool closed;
    size_t opened_top;   /* of the pages that are open */
    unsigned long times; /* that it was to be closed */
} mem;

static size_t rounded(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

size_t fake_mem_capacity(void)
{
    const char *s = getenv("FAKE_CUDA_MEM");
    size_t mib = s ? (size_t)strtoull(s, NULL, 10) : 1024;

    return mib << 20;
}

size_t fake_mem_used(void)
{
    return mem.used;
}

static bool must_close(void)
{
    const char *s = getenv("FAKE_CUDA_PROTECT");

    if (s && strcmp(s, "0") == 0)
        return false;
    if (s && strcmp(s, "always") == 0)
        return true;
    mem.times++;
    return mem.times < ALWAYS_CLOSED || mem.times % SOMETIMES == 0;
}

static void protect(int how)
{
    size_t n = (mem.top + PAGE - 1) / PAGE * PAGE;

    if (n > 0 && mprotect(mem.arena, n, how) != 0) {
        perror("fake CUDA: mprotect");
        abort();
    }
}

void fake_mem_open(bool open)
{
    if (open) {
        if (mem.open++ > 0 || (!mem.closed && mem.opened_top == mem.top))
            return;
        protect(PROT_READ | PROT_WRITE);
        mem.closed = false;
        mem.opened_top = mem.top;
    } else if (--mem.open == 0 && must_close()) {
        protect(PROT_NONE);
        mem.closed = true;
    }
}

/* The first gap of size bytes; *at is its place among the allocations. */
static char *first_fit(size_t size, size_t *at)
{
    char *p = mem.arena;
    size_t i;

    for (i = 0; i < mem.n; i++) {
        if (p + size + ALIGN <= mem.allocs[i].p)
            break;
        p = mem.allocs[i].p + rounded(mem.allocs[i].n) + ALIGN;
    }
    *at = i;
    return p;
}

static void reserve(void)
{
    if (!mem.arena) {
        mem.arena = mmap(NULL, (size_t)1 << ARENA_LOG, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mem.arena == MAP_FAILED) {
            perror("fake CUDA: mmap");
            abort();
        }
    }
    if (mem.n == mem.room) {
        mem.room = mem.room ? 2 * mem.room : 64;
        mem.allocs = realloc(mem.allocs, mem.room * sizeof *mem.allocs);
        if (!mem.allocs)
            abort();
    }
}

cudaError_t fake_mem_alloc(void **out, size_t n)
{
    size_t capacity = fake_mem_capacity(), at, end;
    char *p;

    *out = NULL;
    if (n == 0)
        return cudaSuccess;
    if (n > capacity || mem.used + rounded(n) > capacity)
        return cudaErrorMemoryAllocation;
    reserve();
    p = first_fit(rounded(n), &at);
    end = (size_t)(p - mem.arena) + rounded(n);
    if (end > mem.top)
        mem.top = end;
    memmove(mem.allocs + at + 1, mem.allocs + at,
            (mem.n++ - at) * sizeof *mem.allocs);
    mem.allocs[at] = (struct fake_alloc){.p = p, .n = n, .id = ++mem.last_id};
    if (check_on())
        mem.allocs[at].init = fake_zalloc((n + 7) / 8);
    mem.used += rounded(n);
    fake_count(FAKE_MEMORY, 1);
    fake_mem_open(true);
    memset(p, 0xff, n);
    fake_mem_open(false);
    *out = p;
    return cudaSuccess;
}

cudaError_t fake_mem_free(void *p)
{
    size_t i = 0;
    struct fake_alloc *a;

    if (!p)
        return cudaSuccess;
    while (i < mem.n && mem.allocs[i].p != p)
        i++;
    if (i == mem.n)
        return cudaErrorInvalidValue;
    a = &mem.allocs[i];
    mem.used -= rounded(a->n);
    mem.freed[mem.n_freed++ % FREED] = *a;
    check_forget(a);
    free(a->init);
    memmove(a, a + 1, (--mem.n - i) * sizeof *a);
    fake_count(FAKE_MEMORY, -1);
    return cudaSuccess;
}

static bool within(const struct fake_alloc *a, const void *p)
{
    return (const char *)p >= a->p && (const char *)p < a->p + a->n;
}

/* The first allocation that ends behind p. */
static size_t search(const void *p)
{
    size_t low = 0, high = mem.n, mid;

    while (low < high) {
        mid = (low + high) / 2;
        if (mem.allocs[mid].p + mem.allocs[mid].n <= (const char *)p)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

struct fake_alloc *fake_mem_find(const void *p, unsigned *freed)
{
    size_t at = search(p);

    if (freed)
        *freed = 0;
    if (at < mem.n && within(&mem.allocs[at], p))
        return &mem.allocs[at];
    for (unsigned i = 0; freed && i < FREED && i < mem.n_freed; i++)
        if (within(&mem.freed[i], p))
            *freed = mem.freed[i].id;
    return NULL;
}

struct fake_alloc *fake_mem_before(const void *p)
{
    size_t at = search(p);

    return at > 0 ? &mem.allocs[at - 1] : NULL;
}

bool fake_mem_holds(const void *p, size_t n)
{
    struct fake_alloc *a = fake_mem_find(p, NULL);

    return a && n <= a->n - (size_t)((const char *)p - a->p);
}

bool fake_mem_is_pinned(const void *p)
{
    const struct pinned *q;

    for (q = mem.pinned; q; q = q->next)
        if ((const char *)p >= q->p && (const char *)p < q->p + q->n)
            return true;
    return false;
}

/* --- the API -------------------------------------------------------------- */

cudaError_t cudaMalloc(void **out, size_t n)
{
    cudaError_t rc;

    ENTER(cudaMalloc);
    rc = fake_capture_forbids();
    LEAVE(rc ? rc : fake_mem_alloc(out, n));
}

cudaError_t cudaFree(void *p)
{
    cudaError_t rc = cudaSuccess;

    ENTER_RELEASE(cudaFree);
    if (p)
        rc = fake_capture_forbids();
    if (!rc) {
        fake_drain(NULL, UINT64_MAX);
        rc = fake_mem_free(p);
    }
    LEAVE_RELEASE(rc ? rc : fake_faulted());
}

cudaError_t cudaMallocAsync(void **out, size_t n, cudaStream_t stream)
{
    struct CUstream_st *s = fake_stream(stream);

    ENTER(cudaMallocAsync);
    if (!s)
        LEAVE(cudaErrorInvalidResourceHandle);
    if (s->capture)
        LEAVE(fake_capture_spoil(s));
    LEAVE(fake_mem_alloc(out, n));
}

static void run_free(const void *blob)
{
    void *p;

    memcpy(&p, blob, sizeof p);
    (void)fake_mem_free(p);
}

cudaError_t cudaFreeAsync(void *p, cudaStream_t stream)
{
    struct fake_op op = {.kind = FAKE_HOST, .name = "free", .run = run_free};

    ENTER(cudaFreeAsync);
    op.corr = call.corr;
    LEAVE(fake_enqueue(stream, &op, &p, sizeof p));
}

cudaError_t cudaMemGetInfo(size_t *unused, size_t *total)
{
    ENTER(cudaMemGetInfo);
    *total = fake_mem_capacity();
    *unused = *total - mem.used;
    LEAVE(cudaSuccess);
}

static cudaError_t pinned_new(void **out, size_t n)
{
    struct pinned *q = fake_zalloc(sizeof *q);

    q->n = n ? n : 1;
    q->p = aligned_alloc(PAGE, (q->n + PAGE - 1) / PAGE * PAGE);
    if (!q->p)
        abort();
    memset(q->p, 0xff, q->n);
    q->next = mem.pinned;
    mem.pinned = q;
    fake_count(FAKE_PINNED, 1);
    *out = q->p;
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **out, size_t n, unsigned flags)
{
    cudaError_t rc;

    (void)flags;
    ENTER(cudaHostAlloc);
    rc = fake_capture_forbids();
    LEAVE(rc ? rc : pinned_new(out, n));
}

cudaError_t cudaMallocHost(void **out, size_t n)
{
    cudaError_t rc;

    ENTER(cudaMallocHost);
    rc = fake_capture_forbids();
    LEAVE(rc ? rc : pinned_new(out, n));
}

static cudaError_t pinned_free(void *p)
{
    struct pinned **at = &mem.pinned, *q;

    while (*at && (*at)->p != p)
        at = &(*at)->next;
    q = *at;
    if (!q)
        return cudaErrorInvalidValue;
    *at = q->next;
    free(q->p);
    free(q);
    fake_count(FAKE_PINNED, -1);
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *p)
{
    ENTER_RELEASE(cudaFreeHost);
    if (!p)
        LEAVE_RELEASE(cudaSuccess);
    fake_drain(NULL, UINT64_MAX);
    LEAVE_RELEASE(pinned_free(p));
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *a,
                                     const void *p)
{
    bool device;

    ENTER(cudaPointerGetAttributes);
    device = fake_mem_find(p, NULL) != NULL;
    memset(a, 0, sizeof *a);
    a->type = device                  ? cudaMemoryTypeDevice
              : fake_mem_is_pinned(p) ? cudaMemoryTypeHost
                                      : cudaMemoryTypeUnregistered;
    a->device = device || a->type == cudaMemoryTypeHost ? 0 : -2;
    a->devicePointer = device ? (void *)(uintptr_t)p : NULL;
    a->hostPointer =
        a->type == cudaMemoryTypeHost ? (void *)(uintptr_t)p : NULL;
    LEAVE(cudaSuccess);
}
