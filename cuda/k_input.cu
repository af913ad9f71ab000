#include "cuda/k_input.h"

#include "cuda/cuda_kernel.h"

#define GATHER(name, To, From, expression) \
    KERNEL name(struct k_gather g) \
    { \
        EACH(i, g.n *g.len) \
        { \
            From x = \
                ((const From *)g.from)[g.row[i / g.len] * g.len + i % g.len]; \
            ((To *)g.to)[i] = expression; \
        } \
    }
GATHER(gather_u8_f32, float, uint8_t, (float)x / g.divide)
GATHER(gather_u8_f64, double, uint8_t, (double)x / (double)g.divide)
GATHER(gather_i32_i32, int32_t, int32_t, x)
GATHER(gather_i32_f32, float, int32_t, (float)x)
GATHER(gather_i32_f64, double, int32_t, (double)x)
GATHER(gather_f32_f32, float, float, x)
GATHER(gather_f32_f64, double, float, (double)x)

#define LAUNCH_GATHER(kernel) \
    LAUNCH(kernel, cuda_grid(g->n * g->len), CUDA_BLOCK, 0, stream, *g)

cudaError_t k_gather(const struct k_gather *g, cudaStream_t stream)
{
    bool f64 = g->to_type == NN_F64;

    switch (g->from_type) {
    case NN_U8:
        return f64 ? LAUNCH_GATHER(gather_u8_f64)
                   : LAUNCH_GATHER(gather_u8_f32);
    case NN_I32:
        if (g->to_type == NN_I32)
            return LAUNCH_GATHER(gather_i32_i32);
        return f64 ? LAUNCH_GATHER(gather_i32_f64)
                   : LAUNCH_GATHER(gather_i32_f32);
    case NN_F32:
        return f64 ? LAUNCH_GATHER(gather_f32_f64)
                   : LAUNCH_GATHER(gather_f32_f32);
    default:
        return cudaErrorInvalidValue;
    }
}
