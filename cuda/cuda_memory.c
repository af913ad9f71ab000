#include "cuda/cuda_memory.h"

#include "cuda/cuda_mem.h"
#include "nn/base/mem.h"

struct cuda_memory {
    struct cuda_memory *next;
    void *p; /* on the device */
    size_t size;
    bool retired;
};

static size_t held(const struct cuda *cu)
{
    const struct cuda_memory *m;
    size_t n = 0;

    for (m = cu->memory; m; m = m->next)
        n += m->size;
    return n;
}

static int out_of_memory(const struct cuda *cu, size_t asked, struct err *err)
{
    size_t unused = 0, total = 0;

    (void)cudaMemGetInfo(&unused, &total);
    return err_set(err, ERR_NOMEM,
                   "out of GPU memory: cudaMalloc was asked for %zu bytes; "
                   "this program holds %zu, and %zu of %zu are free; a smaller "
                   "batch_size or hidden_dim needs less",
                   asked, held(cu), unused, total);
}

/* An error that is dealt with must not be the next launch's. */
static cudaError_t allocate(void **out, size_t size)
{
    cudaError_t rc = cudaMalloc(out, size);

    if (rc == cudaErrorMemoryAllocation)
        (void)cudaGetLastError();
    return rc;
}

int cuda_memory_alloc(struct cuda *cu, void **out, size_t size, struct err *err)
{
    struct cuda_memory *m;
    cudaError_t rc;

    *out = NULL;
    if (size == 0)
        return 0;
    m = mem_zalloc(sizeof *m);
    if (!m)
        return err_set(err, ERR_NOMEM, "out of memory for an allocation");
    rc = allocate(out, size);
    if (rc == cudaErrorMemoryAllocation && cuda_arenas_trim(cu))
        rc = allocate(out, size);
    if (rc != cudaSuccess) {
        mem_free(m);
        *out = NULL;
        return rc == cudaErrorMemoryAllocation
                   ? out_of_memory(cu, size, err)
                   : cuda_check(rc, "cudaMalloc", err);
    }
    m->p = *out;
    m->size = size;
    m->next = cu->memory;
    cu->memory = m;
    return 0;
}

/* Frees those that are p, or that are retired. */
static void free_those(struct cuda *cu, const void *p, bool retired)
{
    struct cuda_memory **at = &cu->memory;

    while (*at) {
        struct cuda_memory *m = *at;

        if (m->p != p && !(retired && m->retired)) {
            at = &m->next;
            continue;
        }
        *at = m->next;
        CU_LATE(cudaFree(m->p), cu);
        mem_free(m);
    }
}

void cuda_memory_free(struct cuda *cu, void *p)
{
    if (p)
        free_those(cu, p, false);
}

void cuda_memory_retire(struct cuda *cu, void *p)
{
    struct cuda_memory *m;

    if (!p)
        return;
    for (m = cu->memory; m; m = m->next)
        if (m->p == p)
            m->retired = true;
    if (cu->graphs == 0)
        cuda_memory_sweep(cu);
}

void cuda_memory_sweep(struct cuda *cu)
{
    free_those(cu, NULL, true);
}

void cuda_memory_free_all(struct cuda *cu)
{
    while (cu->memory)
        cuda_memory_free(cu, cu->memory->p);
}

int cuda_pinned_alloc(void **out, size_t size, struct err *err)
{
    cudaError_t rc = cudaMallocHost(out, size);

    if (rc == cudaSuccess)
        return 0;
    *out = NULL;
    if (rc != cudaErrorMemoryAllocation)
        return cuda_check(rc, "cudaMallocHost", err);
    (void)cudaGetLastError();
    return err_set(err, ERR_NOMEM,
                   "out of host memory: cudaMallocHost was asked for %zu bytes "
                   "that stay in place (data: host_pageable needs none)",
                   size);
}
