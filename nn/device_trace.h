/* What a device tells of its own work: the kernels, copies and fills that it
 * ran, and the calls of its library by which the host gave them to it. */
#ifndef NN_DEVICE_TRACE_H
#define NN_DEVICE_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/arena.h"
#include "nn/op.h"

enum nn_event_kind {
    NN_EVENT_CALL, /* of the library, by a thread of this process */
    NN_EVENT_KERNEL,
    NN_EVENT_COPY,
    NN_EVENT_FILL,
    NN_EVENT_KINDS
};

struct nn_device_event {
    enum nn_event_kind kind;
    /* ns since 1970 of CLOCK_REALTIME; see prof_device_clock. end >= begin */
    int64_t begin, end;
    /* The trace's own: of a call its function without a version
     * ("cudaLaunchKernel"), of a kernel its name in the source, of a copy
     * "Memcpy HtoD (Pageable -> Device)", of a fill "Memset (Device)". */
    const char *name;
    /* The operator that it does, known for the nodes of a graph, which one call
     * launches for all operators of a step; else NULL: span tells. */
    const struct nn_call *call;
    int64_t span;         /* prof_id of the span it was given in; 0: in none */
    uint32_t correlation; /* of a call and of all that it gave */
    uint32_t tid, cbid;   /* of a call: its thread; CUPTI's number of it */
    uint32_t device, context, stream; /* of the others; stream is not 0 */
    uint32_t graph;                   /* 0: not a part of one */
    uint64_t node;                    /* of the graph */
    uint64_t bytes;                   /* of a copy or fill */
    uint32_t grid[3], block[3];       /* of a kernel, as are these: */
    uint32_t registers;               /* a thread's */
    uint32_t shared;                  /* bytes, static and dynamic */
    uint32_t blocks_per_sm;           /* that fit at once; 0: unknown */
};

/* As cudaDeviceProp and cudaDeviceGetAttribute have it; 0 where unknown. */
struct nn_device_info {
    char name[128];
    bool simulated; /* the tests' double: nothing was measured */
    int id, major, minor;
    uint64_t memory; /* bytes */
    int sms, warp, threads_per_block, threads_per_sm;
    int registers_per_block, registers_per_sm;
    uint64_t shared_per_block, shared_per_block_optin, shared_per_sm;
    int clock_khz, memory_clock_khz, memory_bus_bits;
    int cupti, runtime, driver; /* versions, as each library counts */
};

struct nn_device_trace {
    struct nn_device_event *event; /* by begin, a call before what it gave */
    size_t n;
    uint64_t dropped;  /* records that found no room */
    uint64_t invalid;  /* records without times or of no known kind */
    uint64_t overhead; /* ns in which recording itself held up the host */
    char refused[300]; /* why not everything could be recorded, a sentence;
                          "": everything was */
    struct nn_device_info device;
    struct arena arena; /* of the names */
};

void nn_device_trace_free(struct nn_device_trace *t); /* NULL is fine */

#endif
