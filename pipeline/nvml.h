/* A GPU's clock, power cap and temperature, by NVIDIA's management library,
 * where there is one (libnvidia-ml.so.1). */
#ifndef PIPELINE_NVML_H
#define PIPELINE_NVML_H

struct pl_gpu_state {
    double sm_mhz, power_cap_w, celsius; /* NaN: it cannot be told */
};

/* Of the GPU at that PCI address ("0000:3b:00.0"); "": none. */
void pl_gpu_state(struct pl_gpu_state *out, const char *pci_bus_id);

#endif
