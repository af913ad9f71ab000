/* The line between the maths and the machine. nn/ calls a backend only through
 * this header; nn/cpu and cuda/ implement it. */
#ifndef NN_BACKEND_H
#define NN_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/err.h"
#include "nn/op.h"

struct nn_backend;
struct nn_buf;          /* opaque: memory of one backend */
struct prof;            /* nn/base/prof.h */
struct nn_step;         /* nn/step.h */
struct nn_device_trace; /* nn/device_trace.h */

/* Who multiplies on a GPU: kernels that follow the one arithmetic to the bit,
 * or the vendor's library in float32 or TF32. The CPU is always strict. */
enum nn_numerics { NN_NUMERICS_FAST, NN_NUMERICS_STRICT, NN_NUMERICS_TF32 };
/* How a batch comes to a GPU: gathered there from the whole set, or by the host
 * and copied from pinned (ahead of its step) or pageable memory. */
enum nn_data_path { NN_DATA_DEVICE, NN_DATA_PINNED, NN_DATA_PAGEABLE };

struct nn_backend_config {
    enum nn_numerics numerics;
    enum nn_data_path data;
    bool fuse; /* a library's product may take bias and activation in */
};

struct nn_backend_ops {
    const char *name; /* "cpu", "cuda" */

    /* Required. Return 0, or an err_code with *err filled in. */
    void (*close)(struct nn_backend *be);
    int (*alloc)(struct nn_backend *be, struct nn_buf **out, size_t size,
                 enum nn_category cat,
                 struct err *err); /* zeroed, 64-byte aligned */
    void (*free)(struct nn_backend *be, struct nn_buf *buf);
    /* Bytes that a tensor takes in this backend's layout. */
    size_t (*layout_bytes)(const struct nn_backend *be,
                           const struct nn_shape *shape, enum nn_dtype dtype,
                           enum nn_layout layout);
    /* Host row-major numbers of t's own type to t, and back. Padding of the
     * layout is set to 0 by import. import waits for the copy, export for all
     * work that writes t. */
    int (*import)(struct nn_backend *be, struct nn_tensor *t, const void *src,
                  struct err *err);
    int (*export)(struct nn_backend *be, const struct nn_tensor *t, void *dst,
                  struct err *err);
    bool (*supports)(const struct nn_backend *be, const struct nn_call *call);
    /* The scalars that the calls after this one read. */
    int (*set_scalars)(struct nn_backend *be, const struct nn_scalars *s,
                       struct err *err);
    /* May return before the work is done; sync waits and reports its errors. */
    int (*run)(struct nn_backend *be, const struct nn_call *call,
               struct err *err);
    int (*sync)(struct nn_backend *be, struct err *err);

    /* Optional: NULL means the feature is absent. configure is called before
     * a model is made, and again for the next one. */
    int (*configure)(struct nn_backend *be, const struct nn_backend_config *c,
                     struct err *err);
    /* Optional. A prepared step replays a
     * recorded one, with the same bits. */
    int (*step_prepare)(struct nn_backend *be, struct nn_step *step,
                        struct err *err);
    int (*step_run)(struct nn_backend *be, struct nn_step *step,
                    struct err *err);
    void (*step_release)(struct nn_backend *be, struct nn_step *step);
    /* Optional, both or none: the device's own clock. mark notes, as mark i <
     * NN_MARKS, the moment when all work given before it is done, and does not
     * wait for it. elapsed waits for mark j and gives the seconds from mark i
     * to it. */
    int (*mark)(struct nn_backend *be, int i, struct err *err);
    int (*elapsed)(struct nn_backend *be, int i, int j, double *seconds,
                   struct err *err);
    /* Optional, both or none: the device's own records of what it does. They
     * begin before the model is made whose steps are looked at, at most once in
     * the life of the process. What the device cannot record is no error but
     * stands in the trace. trace_end waits for the device; *out is the
     * caller's, and the calls that it names are those of the steps. */
    int (*trace_begin)(struct nn_backend *be, struct err *err);
    int (*trace_end)(struct nn_backend *be, struct nn_device_trace **out,
                     struct err *err);
};

enum { NN_MARKS = 64 };

/* What every backend begins with. */
struct nn_backend {
    const struct nn_backend_ops *ops;
    char description[160];         /* "cpu (2 threads, avx2)" */
    int threads;                   /* that compute on the CPU; a GPU: 0 */
    char pci_bus_id[20];           /* of a GPU, "0000:3b:00.0"; else "" */
    size_t live_bytes, peak_bytes; /* kept by nn_storage */
    size_t work_bytes;             /* scratch of operators and libraries */
    struct prof *prof; /* borrowed: records what runs; NULL: nothing does */
    int64_t at_span;   /* prof_id of the span at hand; 0: none is */
};

struct nn_device_opts {
    const char *device; /* "auto", "cpu", "cuda", "cuda:1" */
    int threads;        /* 0: all the cores this process may use */
};

/* Opens the device asked for. *out is the caller's, ended by nn_backend_close.
 * why (may be NULL) gets a line such as "cpu (no NVIDIA driver)". ERR_DEVICE
 * if an asked device is not there, ERR_CONFIG if the name is none. */
int nn_backend_open(struct nn_backend **out, const struct nn_device_opts *opts,
                    char why[200], struct err *err);
void nn_backend_close(struct nn_backend *be); /* NULL is fine */

/* The CPU backend (nn/cpu/cpu_backend.c); it never fails but for memory. isa
 * is NULL for the best one, or "scalar", "avx2", "avx512" to force one that
 * this machine has (ERR_DEVICE otherwise). */
int nn_cpu_open(struct nn_backend **out, int threads, const char *isa,
                struct err *err);

/* The instruction set that nn_cpu_open takes where isa is NULL. */
const char *nn_cpu_isa(void);

int nn_backend_run(struct nn_backend *be, const struct nn_call *call,
                   struct err *err);
int nn_backend_sync(struct nn_backend *be, struct err *err);

#endif
