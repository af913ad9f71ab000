#include "cuda/cuda_cupti.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Of CUPTI's results those that 12.4 has no name for yet. */
enum { MIG_DEVICE = 43, WSL_DEVICE = 45 };

static const struct {
    const char *name;
    size_t at;
} functions[] = {
#define F(name) {#name, offsetof(struct cupti, name)},
    CUPTI_FUNCTIONS(F)
#undef F
};

static bool find(void *lib, const char *name, void *out)
{
    void *p = dlsym(lib, name);

    memcpy(out, &p, sizeof p); /* ISO C has no such cast */
    return p != NULL;
}

bool cupti_open(struct cupti *c, char refused[CUPTI_REFUSED])
{
    enum { MAJOR = CUDART_VERSION / 1000, MINOR = CUDART_VERSION % 1000 / 10 };
    char name[32];
    void *lib;

    memset(c, 0, sizeof *c);
    (void)snprintf(name, sizeof name, "libcupti.so.%d", MAJOR);
    lib = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (!lib) {
        (void)snprintf(refused, CUPTI_REFUSED,
                       "the GPU's own records need %s, which is not to be "
                       "loaded here (%.60s); it comes with the CUDA toolkit, "
                       "in the package cuda-cupti-%d-%d",
                       name, dlerror(), MAJOR, MINOR);
        return false;
    }
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (find(lib, functions[i].name, (char *)c + functions[i].at))
            continue;
        (void)snprintf(refused, CUPTI_REFUSED,
                       "the GPU's own records need another %s: this one has "
                       "no %s",
                       name, functions[i].name);
        return false;
    }
    (void)find(lib, "cuptiActivityEnableDriverApi", &c->enable_driver);
    return true;
}

static const char *meaning(CUptiResult rc)
{
    switch ((int)rc) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
        return "the driver shows the GPU's records to administrators only: "
               "load it with NVreg_RestrictProfilingToAdminUsers=0, run as "
               "root, or give a container --cap-add=SYS_ADMIN";
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
        return "another tool holds the GPU's records (nsys, ncu, cuda-gdb or "
               "compute-sanitizer is attached): run without it to have them "
               "here";
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
        return "the GPU is a virtual one (vGPU) whose host does not allow "
               "profiling";
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
        return "the GPU runs in confidential-computing mode, which allows no "
               "profiling";
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
        return "the GPU is a mining processor (CMP), which allows no "
               "profiling";
    case MIG_DEVICE:
        return "the GPU is a slice of one (MIG), which this CUPTI does not "
               "profile";
    case WSL_DEVICE:
        return "this CUPTI does not profile under Windows' Linux subsystem "
               "(WSL)";
    case CUPTI_ERROR_NOT_INITIALIZED:
        return "CUPTI could not be initialised: the NVIDIA driver is older "
               "than the CUDA toolkit that this program was built with";
    default:
        return NULL;
    }
}

void cupti_refusal(const struct cupti *c, CUptiResult rc, const char *call,
                   char refused[CUPTI_REFUSED])
{
    const char *text = meaning(rc), *name = NULL;

    if (text) {
        (void)snprintf(refused, CUPTI_REFUSED, "%s", text);
        return;
    }
    if (c->cuptiGetResultString(rc, &name) != CUPTI_SUCCESS || !name)
        name = "an unknown error";
    (void)snprintf(refused, CUPTI_REFUSED,
                   "the GPU's own records could not be had: %.60s: %.120s "
                   "(%d)",
                   call, name, (int)rc);
}
