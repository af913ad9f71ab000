#include "cuda/cuda_device.h"

#include <cuda_occupancy.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

static int attribute(enum cudaDeviceAttr what, int device)
{
    int value = 0;

    return cudaDeviceGetAttribute(&value, what, device) == cudaSuccess ? value
                                                                       : 0;
}

void cuda_device_info(struct nn_device_info *out, int device)
{
    struct cudaDeviceProp p;

    memset(out, 0, sizeof *out);
    out->id = device;
    (void)cudaRuntimeGetVersion(&out->runtime);
    (void)cudaDriverGetVersion(&out->driver);
    if (cudaGetDeviceProperties(&p, device) != cudaSuccess)
        return;
    (void)snprintf(out->name, sizeof out->name, "%.127s", p.name);
    out->simulated = strncmp(p.name, "SIMULATED", 9) == 0;
    out->major = p.major;
    out->minor = p.minor;
    out->memory = p.totalGlobalMem;
    out->sms = p.multiProcessorCount;
    out->warp = p.warpSize;
    out->threads_per_block = p.maxThreadsPerBlock;
    out->threads_per_sm = p.maxThreadsPerMultiProcessor;
    out->registers_per_block = p.regsPerBlock;
    out->registers_per_sm = p.regsPerMultiprocessor;
    out->shared_per_block = p.sharedMemPerBlock;
    out->shared_per_block_optin = p.sharedMemPerBlockOptin;
    out->shared_per_sm = p.sharedMemPerMultiprocessor;
    out->memory_bus_bits = p.memoryBusWidth;
    out->clock_khz = attribute(cudaDevAttrClockRate, device);
    out->memory_clock_khz = attribute(cudaDevAttrMemoryClockRate, device);
}

/* The driver keeps 1 KiB of each block's shared memory for itself from compute
 * capability 8 on (CUDA programming guide, compute capabilities). */
static size_t reserved(const struct nn_device_info *d)
{
    return d->major >= 8 ? 1024 : 0;
}

uint32_t cuda_blocks_per_sm(const struct nn_device_info *d,
                            const struct cuda_launch *l)
{
    const struct cudaOccDeviceProp device = {
        .computeMajor = d->major,
        .computeMinor = d->minor,
        .maxThreadsPerBlock = d->threads_per_block,
        .maxThreadsPerMultiprocessor = d->threads_per_sm,
        .regsPerBlock = d->registers_per_block,
        .regsPerMultiprocessor = d->registers_per_sm,
        .warpSize = d->warp,
        .sharedMemPerBlock = d->shared_per_block,
        .sharedMemPerMultiprocessor = d->shared_per_sm,
        .numSms = d->sms,
        .sharedMemPerBlockOptin = d->shared_per_block_optin,
        .reservedSharedMemPerBlock = reserved(d)};
    const struct cudaOccFuncAttributes kernel = {
        .maxThreadsPerBlock = d->threads_per_block,
        .numRegs = l->registers,
        .sharedSizeBytes = l->shared_static,
        .partitionedGCConfig = PARTITIONED_GC_OFF,
        .shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN,
        .maxDynamicSharedSizeBytes = l->shared_dynamic,
        .numBlockBarriers = 1};
    const struct cudaOccDeviceState state = {.carveoutConfig =
                                                 SHAREDMEM_CARVEOUT_DEFAULT};
    struct cudaOccResult r;

    if (l->threads <= 0 ||
        cudaOccMaxActiveBlocksPerMultiprocessor(
            &r, &device, &kernel, &state, l->threads, l->shared_dynamic) !=
            CUDA_OCC_SUCCESS ||
        r.activeBlocksPerMultiprocessor < 0)
        return 0;
    return (uint32_t)r.activeBlocksPerMultiprocessor;
}
