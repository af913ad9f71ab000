#include "pipeline/device_settings.h"

#include <string.h>

const char *const pl_numerics[] = {
    [NN_NUMERICS_FAST] = "fast",
    [NN_NUMERICS_STRICT] = "strict",
    [NN_NUMERICS_TF32] = "tf32",
    NULL,
};
const char *const pl_data_paths[] = {
    [NN_DATA_DEVICE] = "device",
    [NN_DATA_PINNED] = "host_pinned",
    [NN_DATA_PAGEABLE] = "host_pageable",
    NULL,
};

int pl_device_configure(struct nn_backend *be,
                        const struct nn_backend_config *c, struct err *err)
{
    return be->ops->configure ? be->ops->configure(be, c, err) : 0;
}

bool pl_device_is_simulated(const char *description)
{
    return description && strstr(description, "(SIMULATED") != NULL;
}

const char *pl_numerics_on(const struct nn_backend *be, int numerics)
{
    return be->ops->configure ? pl_numerics[numerics] : "strict";
}

const char *pl_data_path_on(const struct nn_backend *be, int data)
{
    return be->ops->configure ? pl_data_paths[data] : "host";
}
