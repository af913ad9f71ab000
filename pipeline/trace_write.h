/* Writes traces as torch.profiler does (Kineto's JSON), for Perfetto, HTA and
 * chrome://tracing. Event by event: memory does not grow with the trace. */
#ifndef PIPELINE_TRACE_WRITE_H
#define PIPELINE_TRACE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/err.h"
#include "nn/tensor.h"

struct pl_trace_writer;
struct nn_device_info; /* nn/device_trace.h */
struct nn_device_event;
struct nn_step_memory; /* nn/step_memory.h */

/* A key of the file's own beside Kineto's: a text, or a number. */
struct pl_trace_fact {
    const char *key;
    const char *text; /* NULL: number counts */
    int64_t number;
};

struct pl_trace_head {
    int64_t begin;    /* ns since 1970: no event is earlier */
    int64_t pid;      /* of this process */
    const char *name; /* of the process and its threads: "pipeline" */
    const struct nn_device_info *gpu; /* NULL: none */
    const struct pl_trace_fact *fact;
    size_t n_facts;
    const int32_t *tid; /* the threads that have events */
    size_t n_tids;
    const struct pl_trace_stream *stream; /* that have events, by device */
    size_t n_streams;
    bool memory; /* pl_trace_memory will be called */
};

/* A row of a GPU. stream is not 0, which HTA takes for none. */
struct pl_trace_stream {
    uint32_t device, stream;
};

/* What an event of ph "X" says of itself. Texts are UTF-8; what JSON cannot
 * hold as it is is escaped, what is not UTF-8 replaced. */
struct pl_trace_event {
    const char *category; /* "cpu_op", "user_annotation" */
    const char *name;
    int64_t number; /* >= 0: "#number" stands behind the name */
    int64_t tid, begin, end;
    int64_t external_id; /* 0: none */
    bool on_gpu;         /* gpu_user_annotation: tid is a stream of device */
    uint32_t device;
    /* cpu_op only */
    const char *layer, *role, *phase; /* NULL, "": none */
    const struct nn_tensor *const *input;
    int n_inputs; /* -1: nothing is known of them */
};

/* Opens path, compressed where it ends in .gz, and writes all that stands
 * before the events. Nothing is at path before pl_trace_commit. */
int pl_trace_create(struct pl_trace_writer **out, const char *path,
                    const struct pl_trace_head *head, struct err *err);
/* Events of a thread come in order of time, what encloses first. After a
 * failed call only pl_trace_abort is of use. */
int pl_trace_event(struct pl_trace_writer *w, const struct pl_trace_event *e,
                   struct err *err);
/* A record of a device, with the end of the flow from a launch to its work. */
struct pl_trace_record {
    const struct nn_device_event *of;
    int64_t begin, end;         /* as drawn; the recorded ones stand in args */
    int64_t external_id;        /* of the operator's event; 0: none is known */
    const struct nn_call *call; /* the operator; NULL: none */
    const char *phase;          /* "": none */
    bool flows; /* of a call: what it gave is written too; others: its call */
};
int pl_trace_record(struct pl_trace_writer *w, const struct pl_trace_record *r,
                    struct err *err);
/* [memory] instants in the row of a thread, and a counter of each category's
 * bytes, which add up to Total Allocated. m is timed. */
int pl_trace_memory(struct pl_trace_writer *w, const struct nn_step_memory *m,
                    int64_t tid, struct err *err);
/* "Record Window End" at end (ns since 1970), and the file is whole. Ends w, as
 * pl_trace_abort does, which leaves no file. */
int pl_trace_commit(struct pl_trace_writer *w, int64_t end, struct err *err);
void pl_trace_abort(struct pl_trace_writer *w); /* NULL is fine */

/* The largest time that ts can be counted from so that it stays exact in a
 * double: t floored to 7,889,238 s, as torch does. */
int64_t pl_trace_base(int64_t t);

#endif
