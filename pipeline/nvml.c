#include "pipeline/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>

/* The few functions that are called, as NVIDIA's NVML reference has them; 0 is
 * success. */
typedef int (*plain_fn)(void);
typedef int (*handle_fn)(const char *pci_bus_id, void **device);
typedef int (*number_fn)(void *device, unsigned *out);
typedef int (*which_fn)(void *device, unsigned which, unsigned *out);

enum { CLOCK_SM = 1, TEMPERATURE_GPU = 0 };

/* dlsym into a pointer to a function; ISO C has no such cast. */
static void find(void *lib, const char *name, void *fn)
{
    void *sym = dlsym(lib, name);

    memcpy(fn, &sym, sizeof sym);
}

static double number(void *lib, const char *name, void *device)
{
    number_fn fn;
    unsigned v = 0;

    find(lib, name, &fn);
    return fn && fn(device, &v) == 0 ? (double)v : NAN;
}

static double number_of(void *lib, const char *name, void *device,
                        unsigned which)
{
    which_fn fn;
    unsigned v = 0;

    find(lib, name, &fn);
    return fn && fn(device, which, &v) == 0 ? (double)v : NAN;
}

static void ask(struct pl_gpu_state *out, void *lib, const char *pci_bus_id)
{
    handle_fn by_address;
    void *device = NULL;

    find(lib, "nvmlDeviceGetHandleByPciBusId_v2", &by_address);
    if (!by_address || by_address(pci_bus_id, &device) != 0)
        return;
    out->sm_mhz = number_of(lib, "nvmlDeviceGetClockInfo", device, CLOCK_SM);
    out->power_cap_w =
        number(lib, "nvmlDeviceGetEnforcedPowerLimit", device) / 1000;
    out->celsius =
        number_of(lib, "nvmlDeviceGetTemperature", device, TEMPERATURE_GPU);
}

void pl_gpu_state(struct pl_gpu_state *out, const char *pci_bus_id)
{
    plain_fn begin = NULL, end = NULL;
    void *lib = NULL;

    *out = (struct pl_gpu_state){NAN, NAN, NAN};
    if (pci_bus_id[0])
        lib = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (!lib)
        return;
    find(lib, "nvmlInit_v2", &begin);
    find(lib, "nvmlShutdown", &end);
    if (begin && begin() == 0) {
        ask(out, lib, pci_bus_id);
        if (end)
            (void)end();
    }
    (void)dlclose(lib);
}
