/* What a GPU is, and how many blocks of a kernel fit on one of its
 * multiprocessors. */
#ifndef CUDA_DEVICE_H
#define CUDA_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "nn/device_trace.h"

/* Unknown facts stay 0. */
void cuda_device_info(struct nn_device_info *out, int device);

/* A kernel as it was launched: threads of a block, registers of a thread,
 * bytes of shared memory, given when it was compiled and at the launch. */
struct cuda_launch {
    int threads, registers;
    size_t shared_static, shared_dynamic;
};
/* By NVIDIA's occupancy rules (cuda_occupancy.h); 0: not known for this
 * device, or none fits. */
uint32_t cuda_blocks_per_sm(const struct nn_device_info *device,
                            const struct cuda_launch *l);

#endif
