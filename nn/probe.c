#include "nn/probe.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "nn/backend.h"

#define PLUGIN "libpipeline_cuda.so"

/* The driver's functions that are asked: NVIDIA's CUDA driver API. */
typedef int (*init_fn)(unsigned flags);
typedef int (*number_fn)(int *out);
typedef int (*device_fn)(int *device, int ordinal);
typedef int (*name_fn)(char *name, int len, int device);
typedef int (*text_fn)(int code, const char **text);

struct driver {
    init_fn init;
    number_fn version, count;
    device_fn device;
    name_fn name;
    text_fn text;
};

/* dlsym into a pointer to a function; ISO C has no such cast. */
static void find(void *lib, const char *name, void *fn)
{
    void *sym = dlsym(lib, name);

    memcpy(fn, &sym, sizeof sym);
}

static void look_at_plugin(struct nn_probe *out)
{
    void *lib = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL);
    const char *why = lib ? NULL : dlerror();
    Dl_info info;
    void *entry;

    if (!lib) {
        /* A library that it wants may be what was not found. */
        out->plugin_found = why && strncmp(why, PLUGIN ":", sizeof PLUGIN) != 0;
        (void)snprintf(out->plugin_error, sizeof out->plugin_error, "%s",
                       why ? why : "it does not load");
        return;
    }
    out->plugin_found = true;
    entry = dlsym(lib, "cuda_backend_open");
    out->plugin_loads = entry != NULL;
    if (!entry)
        (void)snprintf(out->plugin_error, sizeof out->plugin_error,
                       "it has no cuda_backend_open");
    else if (dladdr(entry, &info) != 0 && info.dli_fname)
        (void)snprintf(out->plugin_path, sizeof out->plugin_path, "%s",
                       info.dli_fname);
}

/* Whether a call of the driver went well; else its words are the error. */
static bool went_well(struct nn_probe *out, const struct driver *d, int rc,
                      const char *call)
{
    const char *text = NULL;

    if (rc == 0)
        return true;
    if (d->text)
        (void)d->text(rc, &text);
    (void)snprintf(out->driver_error, sizeof out->driver_error, "%s: %s (%d)",
                   call, text ? text : "it failed", rc);
    return false;
}

static void name_devices(struct nn_probe *out, const struct driver *d)
{
    int i, device;
    char name[128];

    for (i = 0; i < out->n_devices && i < NN_PROBE_DEVICES; i++) {
        struct nn_probe_device *p = &out->device[i];

        (void)snprintf(p->name, sizeof p->name, "cuda:%d", i);
        if (!d->device || !d->name || d->device(&device, i) != 0 ||
            d->name(name, (int)sizeof name, device) != 0)
            continue;
        (void)snprintf(p->name, sizeof p->name, "cuda:%d (%.120s)", i, name);
    }
}

static void look_at_driver(struct nn_probe *out)
{
    void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    const char *why = lib ? NULL : dlerror();
    struct driver d = {0};

    if (!lib) {
        (void)snprintf(out->driver_error, sizeof out->driver_error, "%s",
                       why ? why : "it does not load");
        return;
    }
    out->driver_found = true;
    find(lib, "cuInit", &d.init);
    find(lib, "cuDriverGetVersion", &d.version);
    find(lib, "cuDeviceGetCount", &d.count);
    find(lib, "cuDeviceGet", &d.device);
    find(lib, "cuDeviceGetName", &d.name);
    find(lib, "cuGetErrorString", &d.text);
    if (!d.init || !d.version || !d.count) {
        (void)snprintf(out->driver_error, sizeof out->driver_error,
                       "libcuda.so.1 is no NVIDIA driver");
        return;
    }
    (void)d.version(&out->driver_version);
    if (went_well(out, &d, d.init(0), "cuInit") &&
        went_well(out, &d, d.count(&out->n_devices), "cuDeviceGetCount"))
        name_devices(out, &d);
}

/* Only the plug-in knows whether its toolkit can work with this driver. */
static void try_device(struct nn_probe_device *p, int i)
{
    char device[16];
    struct nn_device_opts opts = {.device = device};
    struct nn_backend *be;
    struct err err = {0};

    (void)snprintf(device, sizeof device, "cuda:%d", i);
    if (nn_backend_open(&be, &opts, NULL, &err) != 0) {
        (void)snprintf(p->error, sizeof p->error, "%.199s", err.msg);
        return;
    }
    (void)snprintf(p->name, sizeof p->name, "%s", be->description);
    p->simulated = strstr(be->description, "SIMULATED") != NULL;
    nn_backend_close(be);
}

static void try_auto(struct nn_probe *out)
{
    struct nn_device_opts opts = {.device = "auto"};
    struct nn_backend *be;
    struct err err = {0};

    if (nn_backend_open(&be, &opts, out->auto_why, &err) != 0) {
        (void)snprintf(out->auto_why, sizeof out->auto_why, "%.199s", err.msg);
        return;
    }
    out->auto_cuda = strcmp(be->ops->name, "cuda") == 0;
    nn_backend_close(be);
}

void nn_probe(struct nn_probe *out)
{
    int i;

    memset(out, 0, sizeof *out);
    look_at_plugin(out);
    look_at_driver(out);
    for (i = 0; i < out->n_devices && i < NN_PROBE_DEVICES; i++)
        try_device(&out->device[i], i);
    try_auto(out);
}
