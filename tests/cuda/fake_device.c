/* The one device, which says by its name that it is none; versions, errors. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake.h"

static const char device_name[] = "SIMULATED (no GPU: kernels run on the CPU)";

static const struct {
    cudaError_t rc;
    const char *name, *text;
} errors[] = {
#define E(rc, text) \
    { \
        rc, #rc, text \
    }
    E(cudaSuccess, "no error"),
    E(cudaErrorInvalidValue, "invalid argument"),
    E(cudaErrorMemoryAllocation, "out of memory"),
    E(cudaErrorInitializationError, "initialization error"),
    E(cudaErrorInvalidConfiguration, "invalid configuration argument"),
    E(cudaErrorInvalidMemcpyDirection, "invalid copy direction for memcpy"),
    E(cudaErrorInsufficientDriver,
      "CUDA driver version is insufficient for CUDA runtime version"),
    E(cudaErrorInvalidDeviceFunction, "invalid device function"),
    E(cudaErrorNoDevice, "no CUDA-capable device is detected"),
    E(cudaErrorInvalidDevice, "invalid device ordinal"),
    E(cudaErrorNoKernelImageForDevice,
      "no kernel image is available for execution on the device"),
    E(cudaErrorECCUncorrectable, "uncorrectable ECC error encountered"),
    E(cudaErrorInvalidResourceHandle, "invalid resource handle"),
    E(cudaErrorIllegalState,
      "the operation cannot be performed in the present state"),
    E(cudaErrorNotReady, "device not ready"),
    E(cudaErrorIllegalAddress, "an illegal memory access was encountered"),
    E(cudaErrorLaunchOutOfResources, "too many resources requested for launch"),
    E(cudaErrorLaunchTimeout, "the launch timed out and was terminated"),
    E(cudaErrorMisalignedAddress, "misaligned address"),
    E(cudaErrorLaunchFailure, "unspecified launch failure"),
    E(cudaErrorNotPermitted, "operation not permitted"),
    E(cudaErrorNotSupported, "operation not supported"),
    E(cudaErrorStreamCaptureUnsupported,
      "operation not permitted when stream is capturing"),
    E(cudaErrorStreamCaptureInvalidated,
      "operation failed due to a previous error during capture"),
    E(cudaErrorStreamCaptureMerge,
      "operation would result in a merge of separate capture sequences"),
    E(cudaErrorStreamCaptureUnmatched,
      "capture was not ended in the same stream as it began"),
    E(cudaErrorStreamCaptureUnjoined, "capturing stream has unjoined work"),
    E(cudaErrorStreamCaptureIsolation,
      "dependency created on uncaptured work in another stream"),
    E(cudaErrorStreamCaptureImplicit,
      "operation would make the legacy stream depend on a capturing blocking "
      "stream"),
    E(cudaErrorCapturedEvent,
      "operation not permitted on an event last recorded in a capturing "
      "stream"),
    E(cudaErrorGraphExecUpdateFailure,
      "the graph update was not performed because it included changes which "
      "violated constraints specific to instantiated graph update"),
    E(cudaErrorStubLibrary, "CUDA driver is a stub library"),
    E(cudaErrorUnknown, "unknown error"),
#undef E
};

static size_t error_at(cudaError_t rc)
{
    size_t i = 0, n = sizeof errors / sizeof *errors;

    while (i < n && errors[i].rc != rc)
        i++;
    return i;
}

static bool known(cudaError_t rc)
{
    return error_at(rc) < sizeof errors / sizeof *errors;
}

const char *cudaGetErrorName(cudaError_t rc)
{
    return known(rc) ? errors[error_at(rc)].name : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t rc)
{
    return known(rc) ? errors[error_at(rc)].text : "unrecognized error code";
}

cudaError_t cudaGetLastError(void)
{
    return fake_take_last_error(true);
}

cudaError_t cudaPeekAtLastError(void)
{
    return fake_take_last_error(false);
}

/* FAKE_CUDA_DRIVER=none|old|nodevice. */
static bool driver_is(const char *what)
{
    const char *s = getenv("FAKE_CUDA_DRIVER");

    return s && strcmp(s, what) == 0;
}

static cudaError_t driver_error(void)
{
    if (driver_is("none") || driver_is("old"))
        return cudaErrorInsufficientDriver;
    return driver_is("nodevice") ? cudaErrorNoDevice : cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int *n)
{
    cudaError_t rc;

    ENTER(cudaGetDeviceCount);
    rc = driver_error();
    if (!rc)
        *n = 1; /* the real one, too, leaves it alone otherwise */
    LEAVE(rc);
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    ENTER(cudaRuntimeGetVersion);
    *version = CUDART_VERSION;
    LEAVE(cudaSuccess);
}

cudaError_t cudaDriverGetVersion(int *version)
{
    ENTER(cudaDriverGetVersion);
    *version = driver_is("none")  ? 0
               : driver_is("old") ? 11040
                                  : CUDART_VERSION;
    LEAVE(cudaSuccess);
}

static cudaError_t check_device(int device)
{
    cudaError_t rc = driver_error();

    return rc ? rc : device != 0 ? cudaErrorInvalidDevice : cudaSuccess;
}

cudaError_t cudaSetDevice(int device)
{
    ENTER(cudaSetDevice);
    LEAVE(check_device(device));
}

cudaError_t cudaGetDevice(int *device)
{
    ENTER(cudaGetDevice);
    *device = 0;
    LEAVE(driver_error());
}

cudaError_t cudaDeviceReset(void)
{
    ENTER(cudaDeviceReset);
    fake_drain(NULL, UINT64_MAX);
    LEAVE(cudaSuccess);
}

#undef cudaGetDeviceProperties
#if CUDART_VERSION >= 13000
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int device)
#else
cudaError_t cudaGetDeviceProperties_v2(struct cudaDeviceProp *p, int device)
#endif
{
    cudaError_t rc;

    ENTER(cudaGetDeviceProperties);
    rc = check_device(device);
    if (rc)
        LEAVE(rc);
    memset(p, 0, sizeof *p);
    (void)snprintf(p->name, sizeof p->name, "%s", device_name);
    p->totalGlobalMem = fake_mem_capacity();
    p->sharedMemPerBlock = 48 << 10;
    p->sharedMemPerBlockOptin = CUSIM_MAX_DYN;
    p->sharedMemPerMultiprocessor = CUSIM_MAX_DYN + (1 << 10);
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = CUSIM_WARP;
    p->maxThreadsPerBlock = CUSIM_MAX_THREADS;
    p->maxThreadsPerMultiProcessor = 2048;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
    p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = 0x7fffffff;
    p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->major = 9;
    p->multiProcessorCount = 4;
    p->memoryBusWidth = 64;
    p->l2CacheSize = 4 << 20;
    p->concurrentKernels = p->asyncEngineCount = 1;
    LEAVE(cudaSuccess);
}

static int attribute(enum cudaDeviceAttr attr)
{
    switch ((int)attr) {
    case cudaDevAttrMaxThreadsPerBlock:
        return CUSIM_MAX_THREADS;
    case cudaDevAttrMaxSharedMemoryPerBlock:
        return 48 << 10;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        return CUSIM_MAX_DYN;
    case cudaDevAttrWarpSize:
        return CUSIM_WARP;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate:
        return 1000000; /* kHz */
    case cudaDevAttrGlobalMemoryBusWidth:
        return 64;
    case cudaDevAttrMultiProcessorCount:
        return 4;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
        return 2048;
    case cudaDevAttrComputeCapabilityMajor:
        return 9;
    case cudaDevAttrL2CacheSize:
        return 4 << 20;
    default:
        return 0;
    }
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr,
                                   int device)
{
    cudaError_t rc;

    ENTER(cudaDeviceGetAttribute);
    rc = check_device(device);
    if (!rc)
        *value = attribute(attr);
    LEAVE(rc);
}
