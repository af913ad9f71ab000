/* The panels of a float32 weight matrix, see CPU_PANEL. */
#ifndef NN_CPU_LAYOUT_H
#define NN_CPU_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/tensor.h"

bool cpu_is_panels(const struct nn_shape *shape, enum nn_dtype dtype,
                   enum nn_layout layout);
size_t cpu_layout_bytes(const struct nn_shape *shape, enum nn_dtype dtype,
                        enum nn_layout layout);
/* (out, rest) of a tensor of two or more dimensions */
int64_t cpu_panel_rest(const struct nn_shape *shape);
/* Rows (out, in) to panels, their padding set to 0, and back. */
void cpu_to_panels(float *panels, const float *rows, int64_t out, int64_t in);
void cpu_from_panels(float *rows, const float *panels, int64_t out, int64_t in);

#endif
