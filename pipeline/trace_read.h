/* Reads traces of torch.profiler (Kineto), of this program, and of Chrome's
 * kind in general: plain or gzipped, an object with traceEvents or a bare
 * array. The text is read once, event by event; what stays of an event that
 * takes time is a struct trace_slice, of a name one copy. */
#ifndef PIPELINE_TRACE_READ_H
#define PIPELINE_TRACE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/arena.h"
#include "nn/base/err.h"
#include "pipeline/name_index.h"
#include "pipeline/trace_rule.h"

enum {
    TRACE_SLICES_MAX = 1 << 25,     /* more: ERR_CORRUPT; 1.5 GiB of them */
    TRACE_TRACKS_MAX = 1 << 16,     /* more: ERR_CORRUPT */
    TRACE_NAMES_MAX = 1 << 18,      /* more, or more bytes of them: one name, */
    TRACE_NAME_BYTES_MAX = 1 << 26, /* "(other names)" */
    TRACE_FACTS_MAX = 64,
    TRACE_DEVICES_MAX = 64
};

enum trace_class {
    TRACE_STEP, /* ProfilerStep#N on the CPU */
    TRACE_NOTE, /* user_annotation */
    TRACE_OP,   /* cpu_op */
    TRACE_CALL, /* cuda_runtime, cuda_driver */
    TRACE_KERNEL,
    TRACE_COPY,     /* gpu_memcpy, gpu_memset */
    TRACE_GPU_NOTE, /* gpu_user_annotation */
    TRACE_SYNC,     /* cuda_sync */
    TRACE_OTHER,
    TRACE_FLOW_OUT, /* ph "s"; no slice, but kept as one */
    TRACE_FLOW_IN,  /* ph "f" */
    TRACE_CLASSES
};

/* What takes time, or an end of a flow. */
struct trace_slice {
    int64_t ts, dur; /* ns */
    /* STEP: its number. CALL, KERNEL, COPY: the correlation, or -1. FLOW: its
     * id, of texts a hash. */
    int64_t link;
    uint64_t offset; /* in the unpacked text */
    uint32_t index;  /* of the event, from 0 */
    uint32_t name;   /* in names; of a flow its category */
    uint32_t track;
    uint8_t class; /* enum trace_class */
    bool open;     /* only while reading: B without its E */
};

/* A row: a thread, or a stream of a device. */
struct trace_track {
    const char *pid, *tid;
    bool gpu;     /* kernels or copies lie on it; pid is their device */
    int64_t open; /* only while reading: the innermost B, or -1 */
};

/* A synchronisation, as cuda_sync tells it. */
struct trace_wait {
    int64_t ts;
    uint64_t offset;
    uint32_t index;
    const char *kind;            /* "Stream Sync", "Stream Wait Event" */
    const char *device, *stream; /* "": not told */
    int64_t record; /* correlation of what is waited for, -1: not told */
};

/* The allocator of a device, by its [memory] events. */
struct trace_memory {
    int64_t type, id; /* type 0: CPU, 1: CUDA */
    int64_t peak_allocated, peak_reserved, peak_ts;
    uint64_t n;
};

struct trace_fact {
    const char *key, *value;
};

struct trace_sum;

struct trace {
    const char *path;
    struct trace_sum *sum;     /* NULL: every slice is kept */
    struct trace_slice *slice; /* by track, time, longest first */
    size_t n, cap;
    struct name_index names, track_names;
    size_t name_bytes;
    struct trace_track *track; /* track_names.n of them */
    size_t track_cap;
    struct trace_wait *wait;
    size_t n_waits, wait_cap;
    struct trace_memory memory[TRACE_DEVICES_MAX];
    size_t n_memories;
    struct trace_fact fact[TRACE_FACTS_MAX]; /* keys beside traceEvents */
    size_t n_facts;
    struct trace_fact device[TRACE_DEVICES_MAX]; /* id, name */
    size_t n_devices;
    const char *process; /* the first process_name, or "" */
    bool bare;           /* an array of events */
    bool simulated;      /* a name says so: the tests' double of a GPU */
    uint64_t n_events;
    uint64_t n_skipped;         /* without a time that can be used */
    uint64_t n_unfinished;      /* B without its E */
    uint64_t n_bytes;           /* unpacked */
    struct trace_faults faults; /* what reading noticed */
    struct arena arena;
};

/* *out is the caller's (pl_trace_free). ERR_IO; ERR_CORRUPT names path and
 * offset: no JSON, no events, damaged gzip, more than the limits above. */
int pl_trace_read(struct trace **out, const char *path, struct err *err);
/* The same for a summary: where the events are in order (pipeline/trace_sum.h)
 * only steps and phases are kept as slices, all else is summed up in sum; where
 * they are not, the file is read once more and sum is NULL. */
int pl_trace_read_summed(struct trace **out, const char *path, struct err *err);
void pl_trace_free(struct trace *t); /* NULL is fine */

/* A sum of times; one of more than 146 years stays that. */
static inline int64_t trace_plus(int64_t a, int64_t b)
{
    const int64_t most = INT64_C(1) << 62;
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? most : -most;
    return sum > most ? most : sum < -most ? -most : sum;
}

static inline bool trace_is_gpu_op(const struct trace_slice *s)
{
    return s->class == TRACE_KERNEL || s->class == TRACE_COPY;
}

static inline bool trace_is_flow(const struct trace_slice *s)
{
    return s->class == TRACE_FLOW_OUT || s->class == TRACE_FLOW_IN;
}

static inline const char *trace_name(const struct trace *t,
                                     const struct trace_slice *s)
{
    return t->names.name[s->name];
}

#endif
