#include "nn/backend.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The plug-in's one entry point (cuda/ builds libpipeline_cuda.so). */
typedef int (*cuda_open_fn)(struct nn_backend **out, int device, bool automatic,
                            char why[200], struct err *err);

static bool driver_present(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);

    if (lib)
        (void)dlclose(lib);
    return lib != NULL;
}

/* Loads the CUDA plug-in that lies beside the program or on the library path.
 * Its handle stays open as long as the process: backends hold its code. */
static int cuda_open(struct nn_backend **out, int device, bool automatic,
                     char why[200], struct err *err)
{
    void *lib = dlopen("libpipeline_cuda.so", RTLD_NOW | RTLD_LOCAL);
    const char *missing = lib ? NULL : dlerror(); /* it, or what it wants */
    cuda_open_fn fn = NULL;
    void *sym;

    if (lib) {
        sym = dlsym(lib, "cuda_backend_open");
        memcpy(&fn, &sym, sizeof fn); /* ISO C has no such cast */
    }
    if (!fn) {
        (void)snprintf(why, 200, "no CUDA backend in this build");
        return err_set(err, ERR_DEVICE, "no CUDA backend: %.180s",
                       missing ? missing : "libpipeline_cuda.so is another");
    }
    return fn(out, device, automatic, why, err);
}

/* "cuda" or "cuda:N" gives N, anything else -1. */
static int cuda_index(const char *device)
{
    int n = 0;

    if (strncmp(device, "cuda", 4) != 0)
        return -1;
    device += 4;
    if (*device == '\0')
        return 0;
    if (*device++ != ':' || *device == '\0' || strlen(device) > 3)
        return -1;
    for (; *device; device++) {
        if (*device < '0' || *device > '9')
            return -1;
        n = n * 10 + (*device - '0');
    }
    return n;
}

static int open_cuda_asked(struct nn_backend **out, const char *device,
                           char why[200], struct err *err)
{
    if (!driver_present())
        return err_set(err, ERR_DEVICE,
                       "device %s: no NVIDIA driver (libcuda.so.1) on this "
                       "machine; --device cpu runs without one",
                       device);
    return cuda_open(out, cuda_index(device), false, why, err);
}

int nn_backend_open(struct nn_backend **out, const struct nn_device_opts *opts,
                    char why[200], struct err *err)
{
    const char *device = opts->device ? opts->device : "auto";
    char reason[200] = "no NVIDIA driver";
    int rc;

    *out = NULL;
    if (cuda_index(device) >= 0)
        rc = open_cuda_asked(out, device, reason, err);
    else if (strcmp(device, "cpu") == 0) {
        (void)snprintf(reason, sizeof reason, "asked for");
        rc = nn_cpu_open(out, opts->threads, NULL, err);
    } else if (strcmp(device, "auto") == 0) {
        struct err none = {0};

        if (!driver_present() || cuda_open(out, 0, true, reason, &none) != 0)
            rc = nn_cpu_open(out, opts->threads, NULL, err);
        else
            rc = 0;
    } else
        rc = err_set(err, ERR_CONFIG,
                     "device '%s' is none of auto, cpu, cuda, cuda:N", device);
    if (rc == 0 && why)
        (void)snprintf(why, 200, "%s (%.180s)", (*out)->ops->name, reason);
    return rc;
}

void nn_backend_close(struct nn_backend *be)
{
    if (be)
        be->ops->close(be);
}

int nn_backend_run(struct nn_backend *be, const struct nn_call *call,
                   struct err *err)
{
    if (!be->ops->supports(be, call))
        return err_set(err, ERR_SHAPE,
                       "%s on %s tensors is not in the %s "
                       "backend",
                       nn_op_name(call->op),
                       call->n_in ? nn_dtype_name(call->in[0]->dtype)
                                  : nn_dtype_name(call->out[0]->dtype),
                       be->ops->name);
    return be->ops->run(be, call, err);
}

int nn_backend_sync(struct nn_backend *be, struct err *err)
{
    return be->ops->sync(be, err);
}
