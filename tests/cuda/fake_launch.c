/* Launches: limits that a GPU would hold them to, host functions, library
 * work. */
#include <string.h>

#include "tests/cuda/fake.h"

enum { SHARED_DEFAULT = 48 << 10, FUNCTIONS = 256 };

/* What cudaFuncSetAttribute allowed beyond the default. */
static struct {
    const void *func;
    int dyn;
} allowed[FUNCTIONS];

static size_t shared_limit(const void *func)
{
    for (unsigned i = 0; i < FUNCTIONS && allowed[i].func; i++)
        if (allowed[i].func == func)
            return (size_t)allowed[i].dyn;
    return SHARED_DEFAULT;
}

cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr,
                                 int value)
{
    unsigned i = 0;

    ENTER(cudaFuncSetAttribute);
    if (attr != cudaFuncAttributeMaxDynamicSharedMemorySize)
        LEAVE(cudaSuccess); /* hints */
    if (!func || value < 0 || value > CUSIM_MAX_DYN)
        LEAVE(cudaErrorInvalidValue);
    while (i < FUNCTIONS - 1 && allowed[i].func && allowed[i].func != func)
        i++;
    allowed[i].func = func;
    allowed[i].dyn = value;
    LEAVE(cudaSuccess);
}

static cudaError_t check_launch(const struct cusim_launch *l)
{
    const dim3 g = l->grid, b = l->block;

    if (!g.x || !g.y || !g.z || g.x > 0x7fffffffu || g.y > 65535 || g.z > 65535)
        return cudaErrorInvalidConfiguration;
    if (!b.x || !b.y || !b.z || b.z > 64 ||
        (uint64_t)b.x * b.y * b.z > CUSIM_MAX_THREADS)
        return cudaErrorInvalidConfiguration;
    if (l->shared > shared_limit(l->func))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

cudaError_t cusim_launch_kernel(const struct cusim_launch *l)
{
    struct fake_op op = {.kind = FAKE_KERNEL,
                         .name = l->name,
                         .func = l->func,
                         .run = l->run,
                         .grid = l->grid,
                         .block = l->block,
                         .shared = l->shared};
    cudaError_t rc;

    ENTER(cudaLaunchKernel);
    op.corr = call.corr;
    rc = check_launch(l);
    LEAVE(rc ? rc : fake_enqueue(l->stream, &op, l->blob, l->size));
}

cudaError_t fake_library(const char *name, void (*run)(const void *),
                         const void *blob, size_t size, cudaStream_t stream)
{
    struct fake_op op = {.kind = FAKE_LIBRARY,
                         .name = name,
                         .run = run,
                         .grid = {1, 1, 1},
                         .block = {128, 1, 1}};

    ENTER(cudaLaunchKernel);
    call.driver = true;
    op.corr = call.corr;
    LEAVE(fake_enqueue(stream, &op, blob, size));
}

struct host_call {
    cudaHostFn_t fn;
    void *data;
};

static void run_host(const void *blob)
{
    const struct host_call *h = blob;

    h->fn(h->data);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *data)
{
    struct fake_op op = {
        .kind = FAKE_HOST, .name = "host function", .run = run_host};
    const struct host_call h = {fn, data};

    ENTER(cudaLaunchHostFunc);
    op.corr = call.corr;
    LEAVE(fake_enqueue(stream, &op, &h, sizeof h));
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                          const void *func,
                                                          int block_size,
                                                          size_t shared)
{
    ENTER(cudaOccupancyMaxActiveBlocksPerMultiprocessor);
    if (!func || block_size < 1 || block_size > CUSIM_MAX_THREADS)
        LEAVE(cudaErrorInvalidValue);
    *blocks = shared > shared_limit(func) ? 0 : 2048 / block_size;
    LEAVE(cudaSuccess);
}
