#include "nn/cpu/cpu_layout.h"

#include "nn/cpu/cpu_kernels.h"

bool cpu_is_panels(const struct nn_shape *shape, enum nn_dtype dtype,
                   enum nn_layout layout)
{
    return layout == NN_WEIGHT && dtype == NN_F32 && shape->ndim >= 2;
}

int64_t cpu_panel_rest(const struct nn_shape *shape)
{
    int64_t n = 1;

    for (int i = 1; i < shape->ndim; i++)
        n *= shape->dim[i];
    return n;
}

static int64_t panels_of(int64_t out)
{
    return out / CPU_PANEL + (out % CPU_PANEL != 0);
}

size_t cpu_layout_bytes(const struct nn_shape *shape, enum nn_dtype dtype,
                        enum nn_layout layout)
{
    if (cpu_is_panels(shape, dtype, layout))
        return (size_t)panels_of(shape->dim[0]) * CPU_PANEL *
               (size_t)cpu_panel_rest(shape) * sizeof(float);
    return (size_t)nn_shape_numel(shape) * nn_dtype_size(dtype);
}

void cpu_to_panels(float *panels, const float *rows, int64_t out, int64_t in)
{
    for (int64_t p = 0; p < panels_of(out); p++)
        for (int64_t i = 0; i < in; i++)
            for (int64_t j = 0; j < CPU_PANEL; j++) {
                int64_t o = p * CPU_PANEL + j;

                *panels++ = o < out ? rows[o * in + i] : 0.0f;
            }
}

void cpu_from_panels(float *rows, const float *panels, int64_t out, int64_t in)
{
    for (int64_t o = 0; o < out; o++) {
        const float *p = panels + o / CPU_PANEL * in * CPU_PANEL;

        for (int64_t i = 0; i < in; i++)
            rows[o * in + i] = p[i * CPU_PANEL + o % CPU_PANEL];
    }
}
