/* What a GPU did, in Kineto's words. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nn/device_trace.h"
#include "pipeline/trace_write_parts.h"

/* ---- the device ---- */

static void add_number(struct pl_trace_text *o, const char *key, int64_t v)
{
    pl_trace_add(o, ", ");
    trace_add_key(o, key);
    pl_trace_int(o, v);
}

void trace_add_gpu(struct pl_trace_text *o, const struct nn_device_info *gpu)
{
    const struct {
        const char *key;
        int64_t v;
    } number[] = {
        {"totalGlobalMem", (int64_t)gpu->memory},
        {"computeMajor", gpu->major},
        {"computeMinor", gpu->minor},
        {"maxThreadsPerBlock", gpu->threads_per_block},
        {"maxThreadsPerMultiprocessor", gpu->threads_per_sm},
        {"regsPerBlock", gpu->registers_per_block},
        {"warpSize", gpu->warp},
        {"sharedMemPerBlock", (int64_t)gpu->shared_per_block},
        {"numSms", gpu->sms},
        {"regsPerMultiprocessor", gpu->registers_per_sm},
        {"sharedMemPerBlockOptin", (int64_t)gpu->shared_per_block_optin},
        {"sharedMemPerMultiprocessor", (int64_t)gpu->shared_per_sm},
    };
    size_t i;

    pl_trace_add(o, "[{\"id\": ");
    pl_trace_int(o, gpu->id);
    trace_add_label(o, "name", gpu->name);
    for (i = 0; i < sizeof number / sizeof *number; i++)
        add_number(o, number[i].key, number[i].v);
    pl_trace_add(o, "}]");
}

static void add_version(struct pl_trace_text *o, const char *key, int v)
{
    if (v == 0)
        return;
    trace_add_key(o, key);
    pl_trace_int(o, v);
    pl_trace_add(o, ",\n");
}

void trace_add_versions(struct pl_trace_text *o,
                        const struct nn_device_info *gpu)
{
    add_version(o, "cupti_version", gpu->cupti);
    add_version(o, "cuda_runtime_version", gpu->runtime);
    add_version(o, "cuda_driver_version", gpu->driver);
    add_version(o, "simulated", gpu->simulated);
}

/* ---- its events ---- */

static void add_real(struct pl_trace_text *o, const char *key, double v)
{
    char text[40];

    (void)snprintf(text, sizeof text, "%.6f", v);
    pl_trace_add(o, ", ");
    trace_add_key(o, key);
    pl_trace_add(o, text);
}

static void add_three(struct pl_trace_text *o, const char *key,
                      const uint32_t v[3])
{
    char text[40];

    (void)snprintf(text, sizeof text, "[%u, %u, %u]", (unsigned)v[0],
                   (unsigned)v[1], (unsigned)v[2]);
    pl_trace_add(o, ", ");
    trace_add_key(o, key);
    pl_trace_add(o, text);
}

/* How full the multiprocessors are with one kernel, as Kineto estimates it. */
static void add_occupancy(struct pl_trace_text *o,
                          const struct nn_device_info *gpu,
                          const struct nn_device_event *e)
{
    double blocks = (double)e->grid[0] * e->grid[1] * e->grid[2];
    double threads = (double)e->block[0] * e->block[1] * e->block[2];
    double at_once = e->blocks_per_sm, per_sm;

    if (!gpu || gpu->sms <= 0 || gpu->warp <= 0)
        return;
    per_sm = blocks / gpu->sms;
    add_real(o, "blocks per SM", per_sm);
    add_real(o, "warps per SM", per_sm * ceil(threads / gpu->warp));
    if (gpu->threads_per_sm <= 0 || e->blocks_per_sm == 0)
        return;
    at_once = per_sm < at_once ? per_sm : at_once;
    add_number(o, "est. achieved occupancy %",
               (int64_t)lround(100 * at_once * threads / gpu->threads_per_sm));
}

static void add_kernel(struct pl_trace_writer *w,
                       const struct nn_device_event *e)
{
    struct pl_trace_text *o = &w->out;

    add_number(o, "registers per thread", e->registers);
    add_number(o, "shared memory", e->shared);
    add_occupancy(o, w->gpu, e);
    add_three(o, "grid", e->grid);
    add_three(o, "block", e->block);
}

static void add_bytes(struct pl_trace_text *o, const struct nn_device_event *e)
{
    add_number(o, "bytes", (int64_t)e->bytes);
    if (e->end > e->begin) /* bytes/ns are GB/s */
        add_real(o, "memory bandwidth (GB/s)",
                 (double)e->bytes / (double)(e->end - e->begin));
}

static void add_work(struct pl_trace_writer *w, const struct nn_device_event *e)
{
    struct pl_trace_text *o = &w->out;

    pl_trace_add(o, "\"queued\": 0");
    add_number(o, "device", e->device);
    add_number(o, "context", e->context);
    add_number(o, "stream", e->stream);
    add_number(o, "correlation", e->correlation);
    if (e->kind == NN_EVENT_KERNEL)
        add_kernel(w, e);
    else
        add_bytes(o, e);
    add_number(o, "graph id", e->graph);
    add_number(o, "graph node id", (int64_t)e->node);
}

static void add_operator(struct pl_trace_text *o,
                         const struct pl_trace_record *r)
{
    if (r->call) {
        trace_add_label(o, "layer", r->call->layer);
        trace_add_label(o, "op", nn_op_name(r->call->op));
        trace_add_label(o, "role", nn_role_name(r->call->role));
    }
    trace_add_label(o, "phase", r->phase);
}

static void add_args(struct pl_trace_writer *w, const struct pl_trace_record *r)
{
    struct pl_trace_text *o = &w->out;
    const struct nn_device_event *e = r->of;

    pl_trace_add(o, ", \"args\": {");
    if (e->kind == NN_EVENT_CALL) {
        pl_trace_add(o, "\"cbid\": ");
        pl_trace_int(o, e->cbid);
        add_number(o, "correlation", e->correlation);
    } else {
        add_work(w, e);
    }
    if (r->external_id > 0)
        add_number(o, "External id", r->external_id);
    add_operator(o, r);
    if (r->begin != e->begin || r->end != e->end) {
        pl_trace_add(o, ", \"recorded ts\": ");
        trace_add_us(o, e->begin - w->base);
        pl_trace_add(o, ", \"recorded dur\": ");
        trace_add_us(o, e->end - e->begin);
    }
    pl_trace_addc(o, '}');
}

static const char *category_of(const struct nn_device_event *e)
{
    switch (e->kind) {
    case NN_EVENT_KERNEL:
        return "kernel";
    case NN_EVENT_COPY:
        return "gpu_memcpy";
    case NN_EVENT_FILL:
        return "gpu_memset";
    default:
        return strncmp(e->name, "cuda", 4) == 0 ? "cuda_runtime"
                                                : "cuda_driver";
    }
}

/* From a launch (s) to its work (f). */
static void add_flow(struct pl_trace_writer *w, const struct pl_trace_record *r,
                     int64_t pid, int64_t tid)
{
    struct pl_trace_text *o = &w->out;
    bool out = r->of->kind == NN_EVENT_CALL;

    trace_begin_event(w);
    pl_trace_add(o,
                 out ? "{\"ph\": \"s\", \"id\": " : "{\"ph\": \"f\", \"id\": ");
    pl_trace_int(o, r->of->correlation);
    trace_add_place(w, pid, tid, r->begin);
    pl_trace_add(o, ", \"cat\": \"ac2g\", \"name\": \"ac2g\"");
    pl_trace_add(o, out ? "}" : ", \"bp\": \"e\"}");
}

int pl_trace_record(struct pl_trace_writer *w, const struct pl_trace_record *r,
                    struct err *err)
{
    struct pl_trace_text *o = &w->out;
    const struct nn_device_event *e = r->of;
    bool call = e->kind == NN_EVENT_CALL;
    int64_t pid = call ? w->pid : e->device, tid = call ? e->tid : e->stream;

    trace_begin_event(w);
    pl_trace_add(o, "{\"ph\": \"X\", \"cat\": ");
    pl_trace_quote(o, category_of(e));
    pl_trace_add(o, ", \"name\": ");
    pl_trace_quote(o, e->name);
    trace_add_place(w, pid, tid, r->begin);
    pl_trace_add(o, ", \"dur\": ");
    trace_add_us(o, r->end - r->begin);
    add_args(w, r);
    pl_trace_addc(o, '}');
    if (r->flows)
        add_flow(w, r, pid, tid);
    return pl_trace_text_failed(o, err);
}
