/* Numbers that change from step to step, in device memory so that a captured
 * graph reads the new ones: struct nn_scalars as kernels see it. */
#ifndef CUDA_SCALARS_H
#define CUDA_SCALARS_H

#include <stdint.h>

struct cuda_scalars {
    float lr, decay, adam_step, adam_rsqrt_bias2;
    uint32_t step;
    int32_t result;
};

#endif
