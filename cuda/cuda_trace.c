#include "cuda/cuda_trace.h"

#include <stdio.h>

#include "cuda/cuda_cupti.h"
#include "cuda/cuda_device.h"
#include "cuda/cuda_trace_buffers.h"
#include "cuda/cuda_trace_graph.h"
#include "cuda/cuda_trace_read.h"
#include "nn/base/mem.h"

struct cuda_trace {
    struct cupti cupti;
    CUpti_SubscriberHandle subscriber;
    bool recording;
    struct cuda_nodes nodes;
    char refused[CUPTI_REFUSED];
};

/* Not KIND_KERNEL: kernels would run one after the other. */
static const CUpti_ActivityKind kinds[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
    CUPTI_ACTIVITY_KIND_MEMCPY,
    CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_RUNTIME,
    CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
    CUPTI_ACTIVITY_KIND_OVERHEAD,
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Libraries may launch through the driver. */
static const CUpti_CallbackId launches[] = {
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx,
    CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel,
};
enum { LAUNCHES = sizeof launches / sizeof *launches };

/* The first refusal is the one that is told. */
static bool fine(struct cuda_trace *t, CUptiResult rc, const char *call)
{
    if (rc != CUPTI_SUCCESS && t->refused[0] == '\0')
        cupti_refusal(&t->cupti, rc, call, t->refused);
    return rc == CUPTI_SUCCESS;
}
#define FINE(t, name, ...) fine(t, (t)->cupti.name(__VA_ARGS__), #name)

static bool enable_driver(struct cuda_trace *t)
{
    if (!t->cupti.enable_driver)
        return FINE(t, cuptiActivityEnable, CUPTI_ACTIVITY_KIND_DRIVER);
    for (int i = 0; i < LAUNCHES; i++)
        if (!fine(t, t->cupti.enable_driver(launches[i], 1),
                  "cuptiActivityEnableDriverApi"))
            return false;
    return true;
}

static bool enable(struct cuda_trace *t)
{
    for (int i = 0; i < KINDS; i++)
        if (!FINE(t, cuptiActivityEnable, kinds[i]))
            return false;
    return enable_driver(t);
}

static bool listen_to_nodes(struct cuda_trace *t)
{
    return FINE(t, cuptiEnableCallback, 1, t->subscriber,
                CUPTI_CB_DOMAIN_RESOURCE,
                CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) &&
           FINE(t, cuptiEnableCallback, 1, t->subscriber,
                CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED);
}

/* cuptiFinalize is not called: with graphs it has crashed in several
 * releases. Errors of what only gives back are of no interest. */
static void stop(struct cuda_trace *t)
{
    const struct cupti *c = &t->cupti;

    if (!t->recording)
        return;
    (void)FINE(t, cuptiActivityFlushAll, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    for (int i = 0; i < KINDS; i++)
        (void)c->cuptiActivityDisable(kinds[i]);
    if (!c->enable_driver)
        (void)c->cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER);
    for (int i = 0; c->enable_driver && i < LAUNCHES; i++)
        (void)c->enable_driver(launches[i], 0);
    (void)c->cuptiUnsubscribe(t->subscriber);
    cuda_trace_buffers_stop();
    t->recording = false;
}

/* No timestamp callback is registered: CUPTI's clock is CLOCK_REALTIME, which
 * is prof's too. */
static bool start(struct cuda_trace *t)
{
    t->recording = true;
    return FINE(t, cuptiActivityRegisterCallbacks, cuda_trace_buffer_request,
                cuda_trace_buffer_complete) &&
           FINE(t, cuptiSetThreadIdType,
                CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM) &&
           listen_to_nodes(t) && enable(t);
}

static int begin(struct cuda_trace *t, struct err *err)
{
    bool used = false;
    int rc;

    t->nodes.cupti = &t->cupti;
    if (!cupti_open(&t->cupti, t->refused))
        return 0;
    /* First of all: it tells whether another tool is there. */
    if (!FINE(t, cuptiSubscribe, &t->subscriber, cuda_nodes_event, &t->nodes))
        return 0;
    rc = cuda_trace_buffers_begin(&t->cupti, &used, err);
    if (used)
        (void)snprintf(t->refused, sizeof t->refused,
                       "the GPU's own records were taken in this process once "
                       "already: a second time CUPTI 13.0 takes the launches "
                       "of graphs for others");
    if (rc != 0 || used) {
        (void)t->cupti.cuptiUnsubscribe(t->subscriber);
        return rc;
    }
    if (!start(t))
        stop(t);
    return 0;
}

int cuda_trace_begin(struct nn_backend *be, struct err *err)
{
    struct cuda *cu = (struct cuda *)be;
    int rc;

    if (cu->trace)
        return err_set(err, ERR_DEVICE,
                       "the GPU's own records have begun already");
    cu->trace = mem_zalloc(sizeof *cu->trace);
    if (!cu->trace)
        return err_set(err, ERR_NOMEM,
                       "out of memory for the records of the GPU");
    /* What was given before is done before: its launches are not recorded. */
    rc = CU(cudaDeviceSynchronize(), err);
    if (rc == 0)
        rc = begin(cu->trace, err);
    if (rc != 0)
        cuda_trace_free(cu);
    return rc;
}

void cuda_trace_free(struct cuda *cu)
{
    if (!cu->trace)
        return;
    stop(cu->trace);
    cuda_trace_buffers_free();
    cuda_nodes_free(&cu->trace->nodes);
    mem_free(cu->trace);
    cu->trace = NULL;
}

static void tell_lost_nodes(struct cuda_trace *t)
{
    if (t->nodes.lost && t->refused[0] == '\0')
        (void)snprintf(t->refused, sizeof t->refused,
                       "there was no memory for which operator each part of a "
                       "recorded step does");
}

static int read_all(struct cuda *cu, struct nn_device_trace *out,
                    struct err *err)
{
    struct cuda_trace *t = cu->trace;
    bool recorded = t->recording;
    uint32_t version = 0;
    int rc = 0;

    cuda_device_info(&out->device, cu->device);
    stop(t);
    if (recorded && FINE(t, cuptiGetVersion, &version))
        out->device.cupti = (int)version;
    tell_lost_nodes(t);
    (void)snprintf(out->refused, sizeof out->refused, "%s", t->refused);
    cuda_nodes_sort(&t->nodes);
    if (recorded)
        rc = cuda_trace_read(out, &t->cupti, &t->nodes, err);
    return rc;
}

int cuda_trace_end(struct nn_backend *be, struct nn_device_trace **out,
                   struct err *err)
{
    struct cuda *cu = (struct cuda *)be;
    struct nn_device_trace *t;
    int rc;

    *out = NULL;
    if (!cu->trace)
        return err_set(err, ERR_DEVICE, "the GPU's own records have not begun");
    t = mem_zalloc(sizeof *t);
    rc =
        t ? cuda_wait(cu, err)
          : err_set(err, ERR_NOMEM, "out of memory for the records of the GPU");
    if (rc == 0)
        rc = CU(cudaDeviceSynchronize(), err);
    if (rc == 0)
        rc = read_all(cu, t, err);
    cuda_trace_free(cu);
    if (rc != 0) {
        nn_device_trace_free(t);
        return rc;
    }
    *out = t;
    return 0;
}

void cuda_trace_push(struct cuda *cu)
{
    struct cuda_trace *t = cu->trace;

    if (t && t->recording && cu->base.at_span != 0)
        (void)FINE(t, cuptiActivityPushExternalCorrelationId,
                   CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
                   (uint64_t)cu->base.at_span);
}

void cuda_trace_pop(struct cuda *cu)
{
    struct cuda_trace *t = cu->trace;
    uint64_t last;

    if (t && t->recording && cu->base.at_span != 0)
        (void)FINE(t, cuptiActivityPopExternalCorrelationId,
                   CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
}

void cuda_trace_capture(struct cuda *cu, const struct nn_call *call)
{
    if (cu->trace)
        cu->trace->nodes.at = call;
}
