#include "cuda/cuda_trace_read.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/cuda_device.h"
#include "cuda/cuda_trace_buffers.h"
#include "cuda/cuda_trace_name.h"
#include "nn/base/mem.h"

/* What was called, or launched, while a span was at hand. */
struct link {
    uint32_t correlation;
    int64_t span;
};

struct reader {
    struct nn_device_trace *t;
    const struct cupti *cupti;
    const struct cuda_nodes *nodes;
    struct cuda_names names;
    size_t cap;
    struct link *link;
    size_t n_link, cap_link;
};

static int no_memory(struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory for the records of the GPU");
}

/* --- one record ----------------------------------------------------------- */

/* Times of 0 are what CUPTI gives where it had no room for the real ones. */
static bool has_times(struct reader *r, uint64_t begin, uint64_t end)
{
    if (begin > 0 && end >= begin && end <= INT64_MAX)
        return true;
    r->t->invalid++;
    return false;
}

static int add_event(struct reader *r, const struct nn_device_event *e,
                     struct err *err)
{
    struct nn_device_trace *t = r->t;

    if (!e->name)
        return no_memory(err);
    if (t->n == r->cap) {
        size_t cap = r->cap ? 2 * r->cap : 4096;
        struct nn_device_event *bigger =
            mem_grow(t->event, cap, sizeof *bigger);

        if (!bigger)
            return no_memory(err);
        t->event = bigger;
        r->cap = cap;
    }
    t->event[t->n++] = *e;
    return 0;
}

static int add_link(struct reader *r,
                    const CUpti_ActivityExternalCorrelation *x, struct err *err)
{
    if (x->externalKind != CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0)
        return 0;
    if (r->n_link == r->cap_link) {
        size_t cap = r->cap_link ? 2 * r->cap_link : 4096;
        struct link *bigger = mem_grow(r->link, cap, sizeof *bigger);

        if (!bigger)
            return no_memory(err);
        r->link = bigger;
        r->cap_link = cap;
    }
    r->link[r->n_link].correlation = x->correlationId;
    r->link[r->n_link++].span = (int64_t)x->externalId;
    return 0;
}

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Questions, which give the device nothing to do and would hide the calls that
 * do; of the driver's functions all but launches. */
static bool is_noise(const char *name, bool driver)
{
    static const char *const noise[] = {
        "__cuda",
        "cudaGetLastError",
        "cudaPeekAtLastError",
        "cudaGetDevice",
        "cudaSetDevice",
        "cudaDeviceGet",
        "cudaFuncGet",
        "cudaFuncSet",
        "cudaOccupancy",
        "cudaEventCreate",
        "cudaEventDestroy",
        "cudaPointerGet",
        "cudaStreamGetCaptureInfo",
        "cudaStreamIsCapturing",
        "cudaRuntimeGetVersion",
        "cudaDriverGetVersion",
    };

    if (driver)
        return !begins_with(name, "cuLaunch");
    for (size_t i = 0; i < sizeof noise / sizeof *noise; i++)
        if (begins_with(name, noise[i]))
            return true;
    return false;
}

static int add_call(struct reader *r, const CUpti_ActivityAPI *x,
                    struct err *err)
{
    bool driver = x->kind == CUPTI_ACTIVITY_KIND_DRIVER;
    struct nn_device_event e = {.kind = NN_EVENT_CALL};

    e.name = cuda_name_call(&r->names,
                            driver ? CUPTI_CB_DOMAIN_DRIVER_API
                                   : CUPTI_CB_DOMAIN_RUNTIME_API,
                            x->cbid);
    if (!e.name)
        return no_memory(err);
    if (is_noise(e.name, driver) || !has_times(r, x->start, x->end))
        return 0;
    e.begin = (int64_t)x->start;
    e.end = (int64_t)x->end;
    e.correlation = x->correlationId;
    e.tid = x->threadId;
    e.cbid = x->cbid;
    return add_event(r, &e, err);
}

/* What kernels, copies and fills have alike. */
#define DEVICE_EVENT(type, x) \
    { \
        .kind = (type), .begin = (int64_t)(x)->start, \
        .end = (int64_t)(x)->end, .correlation = (x)->correlationId, \
        .device = (x)->deviceId, .context = (x)->contextId, \
        .stream = (x)->streamId, .graph = (x)->graphId, \
        .node = (x)->graphNodeId \
    }

static int add_kernel(struct reader *r, const cupti_kernel_record *x,
                      struct err *err)
{
    struct nn_device_event e = DEVICE_EVENT(NN_EVENT_KERNEL, x);
    struct cuda_launch l = {.threads = x->blockX * x->blockY * x->blockZ,
                            .registers = x->registersPerThread,
                            .shared_static = (size_t)x->staticSharedMemory,
                            .shared_dynamic = (size_t)x->dynamicSharedMemory};

    if (!has_times(r, x->start, x->end))
        return 0;
    e.name = cuda_name_kernel(&r->names, x->name);
    e.grid[0] = (uint32_t)x->gridX;
    e.grid[1] = (uint32_t)x->gridY;
    e.grid[2] = (uint32_t)x->gridZ;
    e.block[0] = (uint32_t)x->blockX;
    e.block[1] = (uint32_t)x->blockY;
    e.block[2] = (uint32_t)x->blockZ;
    e.registers = x->registersPerThread;
    e.shared = (uint32_t)(l.shared_static + l.shared_dynamic);
    e.blocks_per_sm = cuda_blocks_per_sm(&r->t->device, &l);
    return add_event(r, &e, err);
}

static int add_copy(struct reader *r, const cupti_copy_record *x,
                    struct err *err)
{
    struct nn_device_event e = DEVICE_EVENT(NN_EVENT_COPY, x);

    if (!has_times(r, x->start, x->end))
        return 0;
    e.name = cuda_name_copy(&r->names, x);
    e.bytes = x->bytes;
    return add_event(r, &e, err);
}

static int add_fill(struct reader *r, const cupti_fill_record *x,
                    struct err *err)
{
    struct nn_device_event e = DEVICE_EVENT(NN_EVENT_FILL, x);

    if (!has_times(r, x->start, x->end))
        return 0;
    e.name = cuda_name_fill(&r->names, x);
    e.bytes = x->bytes;
    return add_event(r, &e, err);
}

static void add_overhead(struct reader *r, const cupti_overhead_record *x)
{
    if (has_times(r, x->start, x->end))
        r->t->overhead += x->end - x->start;
}

static int add_record(struct reader *r, const CUpti_Activity *record,
                      struct err *err)
{
    const void *x = record;

    switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
        return add_call(r, x, err);
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return add_kernel(r, x, err);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return add_copy(r, x, err);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return add_fill(r, x, err);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        return add_link(r, x, err);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        add_overhead(r, x);
        return 0;
    default:
        r->t->invalid++;
        return 0;
    }
}

/* Behind a record that is not whole a buffer cannot be read on. */
static int read_buffer(struct reader *r, uint8_t *data, size_t valid,
                       struct err *err)
{
    CUpti_Activity *record = NULL;
    CUptiResult got = CUPTI_SUCCESS;
    int rc = 0;

    while (rc == 0 && got == CUPTI_SUCCESS) {
        got = r->cupti->cuptiActivityGetNextRecord(data, valid, &record);
        if (got == CUPTI_SUCCESS)
            rc = add_record(r, record, err);
    }
    if (got == CUPTI_ERROR_INVALID_KIND)
        r->t->invalid++;
    else if (rc == 0 && got != CUPTI_ERROR_MAX_LIMIT_REACHED)
        cupti_refusal(r->cupti, got, "cuptiActivityGetNextRecord",
                      r->t->refused);
    return rc;
}

/* --- all of them ---------------------------------------------------------- */

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int link_order(const void *a, const void *b)
{
    const struct link *x = a, *y = b;

    return compare_u64(x->correlation, y->correlation);
}

static bool is_driver_call(const struct nn_device_event *e)
{
    return e->kind == NN_EVENT_CALL && !begins_with(e->name, "cuda");
}

/* Calls before what they gave, the runtime's before the driver's within it. */
static int correlation_order(const void *a, const void *b)
{
    const struct nn_device_event *x = a, *y = b;

    if (x->correlation != y->correlation)
        return compare_u64(x->correlation, y->correlation);
    if (x->kind != y->kind)
        return compare_u64(x->kind, y->kind);
    return (int)is_driver_call(x) - (int)is_driver_call(y);
}

static int time_order(const void *a, const void *b)
{
    const struct nn_device_event *x = a, *y = b;

    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->kind != y->kind)
        return compare_u64(x->kind, y->kind);
    return compare_u64(x->correlation, y->correlation);
}

/* A launch is told of twice where the runtime's function calls the driver's:
 * the outer one stays. */
static void drop_inner_calls(struct nn_device_trace *t)
{
    size_t i, n = 0;

    for (i = 0; i < t->n; i++)
        if (n == 0 || !is_driver_call(&t->event[i]) ||
            t->event[n - 1].kind != NN_EVENT_CALL ||
            t->event[n - 1].correlation != t->event[i].correlation)
            t->event[n++] = t->event[i];
    t->n = n;
}

/* Both are in the order of correlation. */
static void join(struct reader *r)
{
    size_t k = 0;

    for (size_t i = 0; i < r->t->n; i++) {
        struct nn_device_event *e = &r->t->event[i];

        while (k < r->n_link && r->link[k].correlation < e->correlation)
            k++;
        if (k < r->n_link && r->link[k].correlation == e->correlation)
            e->span = r->link[k].span;
        if (e->node != 0)
            e->call = cuda_nodes_call(r->nodes, e->node);
    }
}

static void put_in_order(struct reader *r)
{
    struct nn_device_trace *t = r->t;

    if (r->n_link > 0)
        qsort(r->link, r->n_link, sizeof *r->link, link_order);
    if (t->n == 0)
        return;
    qsort(t->event, t->n, sizeof *t->event, correlation_order);
    drop_inner_calls(t);
    join(r);
    qsort(t->event, t->n, sizeof *t->event, time_order);
}

int cuda_trace_read(struct nn_device_trace *t, const struct cupti *c,
                    const struct cuda_nodes *nodes, struct err *err)
{
    struct reader r = {.t = t,
                       .cupti = c,
                       .nodes = nodes,
                       .names = {.cupti = c, .arena = &t->arena}};
    uint8_t *data;
    size_t valid = 0, i;
    int rc = 0;

    for (i = 0; rc == 0 && (data = cuda_trace_buffer(i, &valid)); i++)
        rc = read_buffer(&r, data, valid, err);
    if (rc == 0)
        put_in_order(&r);
    t->dropped = cuda_trace_buffers_dropped();
    cuda_names_free(&r.names);
    mem_free(r.link);
    return rc;
}
