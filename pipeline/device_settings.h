/* How a GPU is to work, as stages say it. The CPU has one way only. */
#ifndef PIPELINE_DEVICE_SETTINGS_H
#define PIPELINE_DEVICE_SETTINGS_H

#include "nn/backend.h"
#include "pipeline/schema.h"

/* In the order of enum nn_numerics and enum nn_data_path; NULL-terminated. */
extern const char *const pl_numerics[];
extern const char *const pl_data_paths[];

/* Fields of a stage's `with`, each an int at its offset. */
#define PL_NUMERICS_FIELD(at) \
    { \
        .name = "numerics", .type = PL_T_ENUM, .offset = (at), .def = "fast", \
        .flags = PL_F_GPU, .choices = pl_numerics, \
        .help = "who multiplies on a GPU: NVIDIA's library in float32 (fast) " \
                "or TF32, or kernels that give the CPU's bits (strict); the " \
                "CPU is always strict" \
    }
#define PL_DATA_FIELD(at) \
    { \
        .name = "data", .type = PL_T_ENUM, .offset = (at), .def = "device", \
        .flags = PL_F_GPU, .choices = pl_data_paths, \
        .help = "where batches come from on a GPU: the whole set lies there " \
                "(device), or each is copied, ahead of its step " \
                "(host_pinned) or as a notebook does (host_pageable); the " \
                "same bits" \
    }

/* Tells the device, before a stage makes its model on it. */
int pl_device_configure(struct nn_backend *be,
                        const struct nn_backend_config *c, struct err *err);

/* Whether a backend of that description stands in for a GPU in tests
 * (tests/cuda): its results are real, its times and points are not. NULL:
 * none. */
bool pl_device_is_simulated(const char *description);

/* What is so on this device: "strict" and "host" on the CPU. */
const char *pl_numerics_on(const struct nn_backend *be, int numerics);
const char *pl_data_path_on(const struct nn_backend *be, int data);

#endif
