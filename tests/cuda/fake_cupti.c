/* The double of CUPTI's activity API: records in NVIDIA's own layouts, in
 * buffers asked for and handed over by callbacks, full or flushed. A record
 * that no buffer takes is dropped and counted. FAKE_CUPTI_DROP=N: the first N
 * records of device work are; FAKE_CUPTI_TIMELESS=N: the first N have times of
 * 0, as the real ones do for want of device memory. */
#include "tests/cuda/fake_cupti.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STACKS = 8, DEPTH = 32 };

static struct {
    CUpti_BuffersCallbackRequestFunc request;
    CUpti_BuffersCallbackCompleteFunc complete;
    bool on[CUPTI_ACTIVITY_KIND_COUNT];
    uint8_t *buffer;
    size_t size, used, most, records, dropped;
    size_t works;  /* that a record was due for */
    bool launches; /* of the driver, whatever is on */
    CUpti_ActivityThreadIdType thread_ids;
    struct {
        uint64_t id[DEPTH];
        unsigned n;
    } external[STACKS];
} cupti;

static size_t record_size(CUpti_ActivityKind kind)
{
    switch (kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
        return sizeof(fake_kernel_record);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
        return sizeof(fake_copy_record);
    case CUPTI_ACTIVITY_KIND_MEMSET:
        return sizeof(CUpti_ActivityMemset4);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
        return sizeof(CUpti_ActivityAPI);
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
        return sizeof(CUpti_ActivityOverhead3);
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
        return sizeof(CUpti_ActivityExternalCorrelation);
    default:
        return 0;
    }
}

static size_t padded(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

static void hand_over(void)
{
    uint8_t *buffer = cupti.buffer;
    size_t size = cupti.size, used = cupti.used;

    cupti.buffer = NULL;
    cupti.size = cupti.used = cupti.records = 0;
    if (buffer)
        cupti.complete(NULL, 0, buffer, size, used);
}

static void emit(const void *record, size_t n)
{
    if (cupti.buffer && (cupti.used + padded(n) > cupti.size ||
                         (cupti.most && cupti.records == cupti.most)))
        hand_over();
    if (!cupti.buffer && cupti.request)
        cupti.request(&cupti.buffer, &cupti.size, &cupti.most);
    if (!cupti.buffer || cupti.size < padded(n)) {
        cupti.dropped++;
        return;
    }
    memcpy(cupti.buffer + cupti.used, record, n);
    cupti.used += padded(n);
    cupti.records++;
}

/* --- records -------------------------------------------------------------- */

static void emit_external(uint32_t corr)
{
    if (!cupti.on[CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION])
        return;
    for (unsigned k = 0; k < STACKS; k++) {
        CUpti_ActivityExternalCorrelation r = {
            .kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};

        if (cupti.external[k].n == 0)
            continue;
        r.externalKind = (CUpti_ExternalCorrelationKind)k;
        r.externalId = cupti.external[k].id[cupti.external[k].n - 1];
        r.correlationId = corr;
        emit(&r, sizeof r);
    }
}

/* Unless it is told otherwise CUPTI takes the number of the C library. */
static uint32_t thread_id(void)
{
    return cupti.thread_ids == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM
               ? (uint32_t)gettid()
               : (uint32_t)(uintptr_t)pthread_self();
}

static void emit_call(CUpti_ActivityKind kind, uint32_t number,
                      const struct fake_call *call, uint64_t end,
                      cudaError_t rc)
{
    CUpti_ActivityAPI r = {.kind = kind};

    r.cbid = number;
    r.start = call->start;
    r.end = end;
    r.processId = (uint32_t)getpid();
    r.threadId = thread_id();
    r.correlationId = call->corr;
    r.returnValue = (uint32_t)rc;
    emit(&r, sizeof r);
}

/* The runtime's launch calls the driver's; a library may call that alone. */
static void on_api(const struct fake_call *call, uint64_t end, cudaError_t rc)
{
    bool driver = cupti.on[CUPTI_ACTIVITY_KIND_DRIVER] || cupti.launches;

    if (call->start == 0) /* begun before anybody listened */
        return;
    emit_external(call->corr);
    if (driver && strcmp(call->fn, "cudaLaunchKernel") == 0)
        emit_call(CUPTI_ACTIVITY_KIND_DRIVER,
                  CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, call, end, rc);
    if (cupti.on[CUPTI_ACTIVITY_KIND_RUNTIME] && !call->driver)
        emit_call(CUPTI_ACTIVITY_KIND_RUNTIME, fake_cupti_number(call->fn),
                  call, end, rc);
}

static void emit_kernel(const struct fake_work *w)
{
    fake_kernel_record r = {.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};

    r.start = w->start;
    r.end = w->end;
    r.contextId = 1;
    r.streamId = w->stream;
    r.correlationId = w->corr;
    r.name = w->op->name;
    r.graphId = w->graph;
    r.graphNodeId = w->node;
    r.gridX = (int32_t)w->op->grid.x;
    r.gridY = (int32_t)w->op->grid.y;
    r.gridZ = (int32_t)w->op->grid.z;
    r.blockX = (int32_t)w->op->block.x;
    r.blockY = (int32_t)w->op->block.y;
    r.blockZ = (int32_t)w->op->block.z;
    r.dynamicSharedMemory = (int32_t)w->op->shared;
    r.registersPerThread = 32;
    emit(&r, sizeof r);
}

static void emit_copy(const struct fake_work *w)
{
    static const uint8_t kinds[] = {
        CUPTI_ACTIVITY_MEMCPY_KIND_HTOH, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD,
        CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CUPTI_ACTIVITY_MEMCPY_KIND_DTOD};
    const struct fake_copy *c = (const void *)w->op->blob;
    uint8_t host = c->pinned ? CUPTI_ACTIVITY_MEMORY_KIND_PINNED
                             : CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE;
    fake_copy_record r = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY};

    r.copyKind = kinds[c->dir & 3];
    r.srcKind = c->dir == cudaMemcpyHostToDevice
                    ? host
                    : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    r.dstKind = c->dir == cudaMemcpyDeviceToHost
                    ? host
                    : CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    r.bytes = c->n;
    r.start = w->start;
    r.end = w->end;
    r.contextId = 1;
    r.streamId = w->stream;
    r.correlationId = w->corr;
    r.graphId = w->graph;
    r.graphNodeId = w->node;
    emit(&r, sizeof r);
}

static void emit_set(const struct fake_work *w)
{
    const struct fake_copy *c = (const void *)w->op->blob;
    CUpti_ActivityMemset4 r = {.kind = CUPTI_ACTIVITY_KIND_MEMSET};

    r.value = (uint32_t)c->value;
    r.bytes = c->n;
    r.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    r.start = w->start;
    r.end = w->end;
    r.contextId = 1;
    r.streamId = w->stream;
    r.correlationId = w->corr;
    r.graphId = w->graph;
    r.graphNodeId = w->node;
    emit(&r, sizeof r);
}

static bool is_due(const struct fake_work *w)
{
    if (w->op->kind <= FAKE_LIBRARY)
        return cupti.on[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] ||
               cupti.on[CUPTI_ACTIVITY_KIND_KERNEL];
    return cupti.on[w->op->kind == FAKE_COPY ? CUPTI_ACTIVITY_KIND_MEMCPY
                                             : CUPTI_ACTIVITY_KIND_MEMSET];
}

static bool is_told(const char *variable)
{
    const char *s = getenv(variable);

    return s && cupti.works <= strtoul(s, NULL, 10);
}

static void emit_work(const struct fake_work *w)
{
    if (w->op->kind <= FAKE_LIBRARY)
        emit_kernel(w);
    else if (w->op->kind == FAKE_COPY)
        emit_copy(w);
    else
        emit_set(w);
}

static void on_work(const struct fake_work *w)
{
    struct fake_work told = *w;

    if (!is_due(w))
        return;
    cupti.works++;
    if (is_told("FAKE_CUPTI_DROP")) {
        cupti.dropped++;
        return;
    }
    if (is_told("FAKE_CUPTI_TIMELESS"))
        told.start = told.end = 0;
    emit_work(&told);
}

/* A flush takes time, and says so. */
static void emit_overhead(uint64_t start)
{
    CUpti_ActivityOverhead3 r = {.kind = CUPTI_ACTIVITY_KIND_OVERHEAD};

    if (!cupti.on[CUPTI_ACTIVITY_KIND_OVERHEAD])
        return;
    r.overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH;
    r.objectKind = CUPTI_ACTIVITY_OBJECT_PROCESS;
    r.start = start;
    r.end = fake_now();
    emit(&r, sizeof r);
}

void fake_cupti_trace(void)
{
    static const struct fake_tracer tracer = {on_api, on_work, fake_cupti_node};

    fake_set_tracer(&tracer);
}

/* --- the API -------------------------------------------------------------- */

#define INJECT(name) \
    do { \
        int injected = fake_injected(#name); \
        if (injected) \
            return (CUptiResult)injected; \
    } while (0)

CUptiResult
cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                               CUpti_BuffersCallbackCompleteFunc complete)
{
    INJECT(cuptiActivityRegisterCallbacks);
    if (!request || !complete)
        return CUPTI_ERROR_INVALID_PARAMETER;
    cupti.request = request;
    cupti.complete = complete;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind)
{
    INJECT(cuptiActivityEnable);
    if (record_size(kind) == 0)
        return CUPTI_ERROR_INVALID_KIND;
    cupti.on[kind] = true;
    fake_cupti_trace();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind)
{
    INJECT(cuptiActivityDisable);
    if (kind >= CUPTI_ACTIVITY_KIND_COUNT)
        return CUPTI_ERROR_INVALID_KIND;
    cupti.on[kind] = false;
    return CUPTI_SUCCESS;
}

#if CUPTI_API_VERSION >= 130000 /* 12.4 has it not */
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId number,
                                         uint8_t enable)
{
    INJECT(cuptiActivityEnableDriverApi);
    if (number == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel)
        cupti.launches = enable;
    fake_cupti_trace();
    return CUPTI_SUCCESS;
}
#endif

CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type)
{
    INJECT(cuptiSetThreadIdType);
    if (type >= CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE)
        return CUPTI_ERROR_INVALID_PARAMETER;
    cupti.thread_ids = type;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid,
                                       CUpti_Activity **record)
{
    uint8_t *next = buffer;

    INJECT(cuptiActivityGetNextRecord);
    if (!buffer || !record)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (*record)
        next = (uint8_t *)*record + padded(record_size((*record)->kind));
    if (next >= buffer + valid)
        return CUPTI_ERROR_MAX_LIMIT_REACHED;
    *record = (CUpti_Activity *)(void *)next;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context,
                                              uint32_t stream, size_t *dropped)
{
    (void)context;
    (void)stream;
    INJECT(cuptiActivityGetNumDroppedRecords);
    *dropped = cupti.dropped;
    cupti.dropped = 0;
    return CUPTI_SUCCESS;
}

/* Does not wait for work, as the real one does not. */
CUptiResult cuptiActivityFlushAll(uint32_t flag)
{
    uint64_t start = fake_now();

    (void)flag;
    INJECT(cuptiActivityFlushAll);
    if (cupti.buffer)
        emit_overhead(start);
    hand_over();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityFlushPeriod(uint32_t milliseconds)
{
    (void)milliseconds;
    INJECT(cuptiActivityFlushPeriod);
    return CUPTI_SUCCESS;
}

CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute attr,
                                      size_t *size, void *value)
{
    (void)attr;
    (void)size;
    (void)value;
    INJECT(cuptiActivitySetAttribute);
    return CUPTI_SUCCESS;
}

/* One stack a kind for all host threads: the tests have one that pushes. */
CUptiResult
cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                       uint64_t id)
{
    INJECT(cuptiActivityPushExternalCorrelationId);
    if ((unsigned)kind >= STACKS || cupti.external[kind].n == DEPTH)
        return CUPTI_ERROR_INVALID_PARAMETER;
    cupti.external[kind].id[cupti.external[kind].n++] = id;
    return CUPTI_SUCCESS;
}

CUptiResult
cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind,
                                      uint64_t *last)
{
    INJECT(cuptiActivityPopExternalCorrelationId);
    if ((unsigned)kind >= STACKS)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (cupti.external[kind].n == 0)
        return CUPTI_ERROR_QUEUE_EMPTY;
    cupti.external[kind].n--;
    if (last)
        *last = cupti.external[kind].id[cupti.external[kind].n];
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetTimestamp(uint64_t *now)
{
    INJECT(cuptiGetTimestamp);
    *now = fake_now();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetVersion(uint32_t *version)
{
    INJECT(cuptiGetVersion);
    *version = CUPTI_API_VERSION;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetResultString(CUptiResult rc, const char **text)
{
    *text = rc == CUPTI_SUCCESS                   ? "CUPTI_SUCCESS"
            : rc == CUPTI_ERROR_MAX_LIMIT_REACHED ? "CUPTI_ERROR_MAX_LIMIT_"
                                                    "REACHED"
            : rc == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
                ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"
            : rc == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
                ? "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"
                : "a simulated CUPTI error";
    return CUPTI_SUCCESS;
}

CUptiResult cuptiFinalize(void)
{
    INJECT(cuptiFinalize);
    memset(cupti.on, 0, sizeof cupti.on);
    fake_set_tracer(NULL);
    return CUPTI_SUCCESS;
}
