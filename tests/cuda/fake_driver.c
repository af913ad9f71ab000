/* The double of libcuda.so.1: as much as a program asks to learn whether there
 * is a driver and a device. FAKE_CUDA_DRIVER=none|old|nodevice. */
#include <cuda.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake_inject.h"

static bool driver_is(const char *what)
{
    const char *s = getenv("FAKE_CUDA_DRIVER");

    return s && strcmp(s, what) == 0;
}

CUresult cuInit(unsigned flags)
{
    int rc = fake_injected("cuInit");

    (void)flags;
    if (rc)
        return (CUresult)rc;
    if (driver_is("none"))
        return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
    return driver_is("nodevice") ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int *version)
{
    int rc = fake_injected("cuDriverGetVersion");

    *version = driver_is("none") ? 0 : driver_is("old") ? 11040 : CUDA_VERSION;
    return (CUresult)rc;
}

CUresult cuDeviceGetCount(int *n)
{
    int rc = fake_injected("cuDeviceGetCount");

    if (rc)
        return (CUresult)rc;
    if (driver_is("none"))
        return CUDA_ERROR_NOT_INITIALIZED;
    *n = driver_is("nodevice") ? 0 : 1;
    return CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult rc, const char **text)
{
    *text = rc == CUDA_SUCCESS           ? "no error"
            : rc == CUDA_ERROR_NO_DEVICE ? "no CUDA-capable device is detected"
                                         : "simulated failure";
    return CUDA_SUCCESS;
}
