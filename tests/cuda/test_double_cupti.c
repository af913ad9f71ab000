/* The double of CUPTI: the records of a small program and of a graph. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cuda_runtime_api.h>
#include <cupti.h>

#define OK(call) assert_int_equal((call), 0)

enum { N = 64, BUFFER = 512, NODES = 8 };

struct seen {
    unsigned api, fills, copies, external, buffers, overheads, timeless;
    uint32_t thread;
    uint32_t fill_corr, external_corr, copy_kind, node;
    uint64_t external_id, fill_bytes;
    bool refuses; /* to give buffers */
    unsigned made, cloned;
    uint64_t clone_id, original_id;
};
static struct seen seen;

static void note(const CUpti_Activity *r)
{
    if (r->kind == CUPTI_ACTIVITY_KIND_RUNTIME) {
        seen.api++;
        seen.thread = ((const CUpti_ActivityAPI *)(const void *)r)->threadId;
    } else if (r->kind == CUPTI_ACTIVITY_KIND_OVERHEAD) {
        seen.overheads++;
    } else if (r->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
        const CUpti_ActivityMemset4 *m = (const void *)r;

        seen.fills++;
        seen.fill_corr = m->correlationId;
        seen.fill_bytes = m->bytes;
        seen.timeless += m->start == 0 && m->end == 0;
        seen.node = (uint32_t)m->graphNodeId;
        assert_true(m->end >= m->start);
    } else if (r->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
        seen.copies++;
        seen.copy_kind =
            ((const CUpti_ActivityMemcpy5 *)(const void *)r)->copyKind;
    } else if (r->kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) {
        const CUpti_ActivityExternalCorrelation *e = (const void *)r;

        seen.external++;
        seen.external_id = e->externalId;
        seen.external_corr = e->correlationId;
    }
}

static void request(uint8_t **buffer, size_t *size, size_t *most)
{
    *buffer = seen.refuses ? NULL : aligned_alloc(8, BUFFER);
    *size = BUFFER;
    *most = 0;
}

static void complete(CUcontext context, uint32_t stream, uint8_t *buffer,
                     size_t size, size_t valid)
{
    CUpti_Activity *r = NULL;

    (void)context;
    (void)stream;
    assert_true(valid <= size);
    seen.buffers++;
    while (cuptiActivityGetNextRecord(buffer, valid, &r) == CUPTI_SUCCESS)
        note(r);
    free(buffer);
}

static int set_up(void **state)
{
    static const CUpti_ActivityKind kinds[] = {
        CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_MEMCPY,
        CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
        CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};

    (void)state;
    OK(cuptiActivityFlushAll(0));
    memset(&seen, 0, sizeof seen);
    OK(cuptiActivityRegisterCallbacks(request, complete));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        OK(cuptiActivityEnable(kinds[i]));
    return 0;
}

static void records_tell_what_was_done(void **state)
{
    unsigned char *p, x;
    uint64_t popped;

    (void)state;
    OK(cudaMalloc((void **)&p, N));
    OK(cuptiActivityPushExternalCorrelationId(
        CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 77));
    OK(cudaMemset(p, 1, N));
    OK(cuptiActivityPopExternalCorrelationId(
        CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &popped));
    assert_int_equal(popped, 77);
    OK(cudaMemcpy(&x, p, 1, cudaMemcpyDeviceToHost));
    OK(cudaFree(p));
    OK(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
    assert_int_equal(seen.api, 4);
    assert_int_equal(seen.fills, 1);
    assert_int_equal(seen.fill_bytes, N);
    assert_int_equal(seen.copies, 1);
    assert_int_equal(seen.copy_kind, CUPTI_ACTIVITY_MEMCPY_KIND_DTOH);
    assert_int_equal(seen.external, 1);
    assert_int_equal(seen.external_id, 77);
    assert_int_equal(seen.external_corr, seen.fill_corr);
}

static void full_buffers_are_handed_over(void **state)
{
    int device;

    (void)state;
    for (int i = 0; i < 100; i++)
        OK(cudaGetDevice(&device));
    assert_true(seen.buffers > 3);
    OK(cuptiActivityFlushAll(0));
    assert_int_equal(seen.api, 100);
}

static void records_without_a_buffer_are_counted(void **state)
{
    size_t dropped;
    int device;

    (void)state;
    seen.refuses = true;
    OK(cudaGetDevice(&device));
    OK(cudaGetDevice(&device));
    OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    assert_int_equal(dropped, 2);
}

static void threads_go_by_the_systems_number_when_told_so(void **state)
{
    int device;

    (void)state;
    OK(cudaGetDevice(&device));
    OK(cuptiActivityFlushAll(0));
    assert_int_not_equal(seen.thread, gettid());
    OK(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM));
    OK(cudaGetDevice(&device));
    OK(cuptiActivityFlushAll(0));
    assert_int_equal(seen.thread, gettid());
}

static void a_flush_is_an_overhead(void **state)
{
    int device;

    (void)state;
    OK(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_OVERHEAD));
    OK(cudaGetDevice(&device));
    OK(cuptiActivityFlushAll(0));
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_OVERHEAD));
    assert_int_equal(seen.overheads, 1);
}

static void records_lose_their_times_or_are_lost(void **state)
{
    size_t dropped;
    void *p;

    (void)state;
    OK(cudaMalloc(&p, N));
    (void)setenv("FAKE_CUPTI_TIMELESS", "1000", 1);
    OK(cudaMemset(p, 1, N));
    OK(cudaDeviceSynchronize());
    (void)unsetenv("FAKE_CUPTI_TIMELESS");
    (void)setenv("FAKE_CUPTI_DROP", "1000", 1);
    OK(cudaMemset(p, 1, N));
    OK(cudaDeviceSynchronize());
    (void)unsetenv("FAKE_CUPTI_DROP");
    OK(cudaMemset(p, 1, N));
    OK(cudaFree(p));
    OK(cuptiActivityFlushAll(0));
    OK(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
    assert_int_equal(seen.fills, 2);
    assert_int_equal(seen.timeless, 1);
    assert_int_equal(dropped, 1);
}

static void on_event(void *data, CUpti_CallbackDomain domain,
                     CUpti_CallbackId number, const void *event)
{
    const CUpti_ResourceData *resource = event;
    const CUpti_GraphData *graph = resource->resourceDescriptor;

    (void)data;
    assert_int_equal(domain, CUPTI_CB_DOMAIN_RESOURCE);
    if (number == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) {
        seen.made++;
        return;
    }
    seen.cloned++;
    OK(cuptiGetGraphNodeId(graph->node, &seen.clone_id));
    OK(cuptiGetGraphNodeId(graph->originalNode, &seen.original_id));
}

static void nodes_of_a_graph_are_known_by_number(void **state)
{
    CUpti_SubscriberHandle handle, second;
    cudaGraphExec_t e;
    cudaStream_t s;
    cudaGraph_t g;
    void *p;

    (void)state;
    OK(cuptiSubscribe(&handle, on_event, NULL));
    assert_int_equal(cuptiSubscribe(&second, on_event, NULL),
                     CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    OK(cuptiEnableDomain(1, handle, CUPTI_CB_DOMAIN_RESOURCE));
    OK(cudaMalloc(&p, N));
    OK(cudaStreamCreate(&s));
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMemsetAsync(p, 1, N, s));
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphInstantiate(&e, g, 0));
    OK(cudaGraphLaunch(e, s));
    OK(cudaStreamSynchronize(s));
    OK(cuptiActivityFlushAll(0));
    assert_int_equal(seen.made, 1);
    assert_int_equal(seen.cloned, 1);
    assert_int_not_equal(seen.clone_id, seen.original_id);
    assert_int_equal(seen.node, seen.clone_id);
    OK(cudaGraphExecDestroy(e));
    OK(cudaGraphDestroy(g));
    OK(cudaStreamDestroy(s));
    OK(cudaFree(p));
    OK(cuptiUnsubscribe(handle));
}

static void functions_have_names(void **state)
{
    const char *name;

    (void)state;
    OK(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RUNTIME_API,
                            CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020, &name));
    assert_string_equal(name, "cudaMalloc_v3020");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(records_tell_what_was_done, set_up),
        cmocka_unit_test_setup(full_buffers_are_handed_over, set_up),
        cmocka_unit_test_setup(records_without_a_buffer_are_counted, set_up),
        cmocka_unit_test_setup(threads_go_by_the_systems_number_when_told_so,
                               set_up),
        cmocka_unit_test_setup(a_flush_is_an_overhead, set_up),
        cmocka_unit_test_setup(records_lose_their_times_or_are_lost, set_up),
        cmocka_unit_test_setup(nodes_of_a_graph_are_known_by_number, set_up),
        cmocka_unit_test_setup(functions_have_names, set_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
