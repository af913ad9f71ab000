/* The double of libnvidia-ml.so.1: steady clocks, temperature and power cap.
 * The toolkit has no nvml.h everywhere, so the few prototypes are here, as
 * NVIDIA's NVML reference gives them. */
#include <stdio.h>
#include <string.h>

#include "tests/cuda/fake_inject.h"

enum { NVML_SUCCESS, NVML_INVALID_ARGUMENT = 2, NVML_NOT_FOUND = 6 };
enum { SM_MHZ = 1980, MEMORY_MHZ = 2619, CELSIUS = 41, MILLIWATT = 700000 };

struct nvmlDevice_st {
    int index;
};
typedef struct nvmlDevice_st *nvmlDevice_t;

int nvmlInit_v2(void);
int nvmlShutdown(void);
int nvmlDeviceGetCount_v2(unsigned *n);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *out);
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *out);
int nvmlDeviceGetName(nvmlDevice_t d, char *name, unsigned size);
int nvmlDeviceGetClockInfo(nvmlDevice_t d, unsigned clock, unsigned *mhz);
int nvmlDeviceGetMaxClockInfo(nvmlDevice_t d, unsigned clock, unsigned *mhz);
int nvmlDeviceGetTemperature(nvmlDevice_t d, unsigned sensor, unsigned *c);
int nvmlDeviceGetPowerManagementLimit(nvmlDevice_t d, unsigned *milliwatt);
int nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t d, unsigned *milliwatt);
int nvmlDeviceGetPowerUsage(nvmlDevice_t d, unsigned *milliwatt);
int nvmlSystemGetDriverVersion(char *version, unsigned size);
const char *nvmlErrorString(int rc);

static struct nvmlDevice_st device;

int nvmlInit_v2(void)
{
    return fake_injected("nvmlInit");
}

int nvmlShutdown(void)
{
    return fake_injected("nvmlShutdown");
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
    *n = 1;
    return fake_injected("nvmlDeviceGetCount");
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *out)
{
    int rc = fake_injected("nvmlDeviceGetHandleByIndex");

    *out = &device;
    return rc ? rc : index > 0 ? NVML_INVALID_ARGUMENT : NVML_SUCCESS;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char *id, nvmlDevice_t *out)
{
    int rc = fake_injected("nvmlDeviceGetHandleByPciBusId");

    *out = &device;
    return rc ? rc : id ? NVML_SUCCESS : NVML_INVALID_ARGUMENT;
}

/* One number of the device, if it is the device. */
static int tell(const char *fn, const struct nvmlDevice_st *d, unsigned number,
                unsigned *out)
{
    int rc = fake_injected(fn);

    if (rc)
        return rc;
    if (d != &device || !out)
        return NVML_INVALID_ARGUMENT;
    *out = number;
    return NVML_SUCCESS;
}

int nvmlDeviceGetClockInfo(nvmlDevice_t d, unsigned clock, unsigned *mhz)
{
    return tell("nvmlDeviceGetClockInfo", d, clock == 2 ? MEMORY_MHZ : SM_MHZ,
                mhz);
}

int nvmlDeviceGetMaxClockInfo(nvmlDevice_t d, unsigned clock, unsigned *mhz)
{
    return tell("nvmlDeviceGetMaxClockInfo", d,
                clock == 2 ? MEMORY_MHZ : SM_MHZ, mhz);
}

int nvmlDeviceGetTemperature(nvmlDevice_t d, unsigned sensor, unsigned *c)
{
    (void)sensor;
    return tell("nvmlDeviceGetTemperature", d, CELSIUS, c);
}

int nvmlDeviceGetPowerManagementLimit(nvmlDevice_t d, unsigned *milliwatt)
{
    return tell("nvmlDeviceGetPowerManagementLimit", d, MILLIWATT, milliwatt);
}

int nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t d, unsigned *milliwatt)
{
    return tell("nvmlDeviceGetEnforcedPowerLimit", d, MILLIWATT, milliwatt);
}

int nvmlDeviceGetPowerUsage(nvmlDevice_t d, unsigned *milliwatt)
{
    return tell("nvmlDeviceGetPowerUsage", d, MILLIWATT / 7, milliwatt);
}

static int text(const char *fn, const char *value, char *out, unsigned size)
{
    int rc = fake_injected(fn);

    if (!rc)
        (void)snprintf(out, size, "%s", value);
    return rc;
}

int nvmlDeviceGetName(nvmlDevice_t d, char *name, unsigned size)
{
    (void)d;
    return text("nvmlDeviceGetName", "SIMULATED", name, size);
}

int nvmlSystemGetDriverVersion(char *version, unsigned size)
{
    return text("nvmlSystemGetDriverVersion", "0.0 (simulated)", version, size);
}

const char *nvmlErrorString(int rc)
{
    return rc == NVML_SUCCESS     ? "Success"
           : rc == NVML_NOT_FOUND ? "Not Found"
                                  : "simulated failure";
}
