/* What running on a GPU takes, and what of it this machine has. */
#ifndef NN_PROBE_H
#define NN_PROBE_H

#include <stdbool.h>

enum { NN_PROBE_DEVICES = 16 };

struct nn_probe_device {
    char name[160];  /* "cuda:0 (NVIDIA H200, sm_90)" */
    char error[200]; /* why it does not open; "": it does */
    bool simulated;  /* the tests' double of a GPU */
};

struct nn_probe {
    /* The plug-in, libpipeline_cuda.so. */
    bool plugin_found;
    bool plugin_loads;
    char plugin_path[256];  /* where it was loaded from */
    char plugin_error[256]; /* the dynamic linker's words; "": none */
    /* The driver, libcuda.so.1. */
    bool driver_found;
    int driver_version;     /* 12040: CUDA 12.4; 0: it does not say */
    char driver_error[256]; /* why it is of no use; "": it is */
    int n_devices;          /* of the driver; the first are in device */
    struct nn_probe_device device[NN_PROBE_DEVICES];
    /* What `auto` takes. */
    bool auto_cuda;
    char auto_why[200]; /* "cpu (no NVIDIA driver)" */
};

/* Looks at all of it; opens each device once to see whether it can be. */
void nn_probe(struct nn_probe *out);

#endif
