/* The double of the CUDA runtime: does it act as NVIDIA's
 * documents say? */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#define OK(call) assert_int_equal((call), cudaSuccess)

enum { N = 64 };

static const char *const orders[] = {"lazy",     "eager",    "random:1",
                                     "random:2", "random:3", "random:4"};
enum { ORDERS = sizeof orders / sizeof *orders };

static int reset(void **state)
{
    (void)state;
    (void)unsetenv("FAKE_CUDA_ORDER");
    (void)unsetenv("FAKE_CUDA_FAIL");
    (void)unsetenv("FAKE_CUDA_MEM");
    (void)unsetenv("FAKE_CUDA_DRIVER");
    (void)cudaDeviceSynchronize();
    (void)cudaGetLastError();
    return 0;
}

static float *device_floats(size_t n)
{
    void *p;

    OK(cudaMalloc(&p, n * sizeof(float)));
    return p;
}

static cudaStream_t stream_new(void)
{
    cudaStream_t s;

    OK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    return s;
}

/* --- order ---------------------------------------------------------------- */

static void add_one(void *data)
{
    ++*(int *)data;
}

static void lazy_work_runs_when_waited_for(void **state)
{
    cudaStream_t s = stream_new();
    int ran = 0;

    (void)state;
    OK(cudaLaunchHostFunc(s, add_one, &ran));
    assert_int_equal(ran, 0);
    OK(cudaStreamSynchronize(s));
    assert_int_equal(ran, 1);
    (void)setenv("FAKE_CUDA_ORDER", "eager", 1);
    OK(cudaLaunchHostFunc(s, add_one, &ran));
    assert_int_equal(ran, 2);
    OK(cudaStreamDestroy(s));
}

static void a_query_lets_work_go_on(void **state)
{
    cudaStream_t s = stream_new();
    int ran = 0, asked = 0;

    (void)state;
    OK(cudaLaunchHostFunc(s, add_one, &ran));
    OK(cudaLaunchHostFunc(s, add_one, &ran));
    while (cudaStreamQuery(s) == cudaErrorNotReady)
        assert_true(++asked < 10);
    assert_int_equal(ran, 2);
    OK(cudaStreamDestroy(s));
}

/* One stream writes, another reads after an event. */
static void events_hold_in_every_order(void **state)
{
    cudaStream_t a = stream_new(), b = stream_new();
    unsigned char *p, got[N];
    cudaEvent_t e;

    (void)state;
    OK(cudaMalloc((void **)&p, N));
    OK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    for (int i = 0; i < ORDERS; i++) {
        (void)setenv("FAKE_CUDA_ORDER", orders[i], 1);
        OK(cudaMemsetAsync(p, 0, N, a));
        OK(cudaMemsetAsync(p, i + 1, N, a));
        OK(cudaEventRecord(e, a));
        OK(cudaStreamWaitEvent(b, e, 0));
        OK(cudaMemcpyAsync(got, p, N, cudaMemcpyDeviceToHost, b));
        assert_int_equal(got[N - 1], i + 1);
    }
    OK(cudaEventDestroy(e));
    OK(cudaFree(p));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

static void pageable_memory_is_read_at_the_call(void **state)
{
    cudaStream_t s = stream_new();
    float x = 1.0f, got, *p = device_floats(1), *pinned;

    (void)state;
    OK(cudaMemcpyAsync(p, &x, sizeof x, cudaMemcpyHostToDevice, s));
    x = 2.0f;
    OK(cudaMemcpyAsync(&got, p, sizeof x, cudaMemcpyDeviceToHost, s));
    assert_float_equal(got, 1.0f, 0.0f);

    OK(cudaMallocHost((void **)&pinned, sizeof *pinned));
    *pinned = 1.0f;
    OK(cudaMemcpyAsync(p, pinned, sizeof x, cudaMemcpyHostToDevice, s));
    *pinned = 2.0f;
    OK(cudaMemcpyAsync(&got, p, sizeof x, cudaMemcpyDeviceToHost, s));
    assert_float_equal(got, 2.0f, 0.0f);
    OK(cudaFreeHost(pinned));
    OK(cudaFree(p));
    OK(cudaStreamDestroy(s));
}

/* cudaMemcpy has read them when it returns, no more. */
static void pageable_bytes_may_be_under_way_after_the_copy(void **state)
{
    cudaStream_t s = stream_new();
    float x = 1.0f, got, *p = device_floats(1);

    (void)state;
    OK(cudaMemsetAsync(p, 0, sizeof x, s));
    OK(cudaStreamSynchronize(s));
    OK(cudaMemcpy(p, &x, sizeof x, cudaMemcpyHostToDevice));
    x = 2.0f;
    OK(cudaMemcpyAsync(&got, p, sizeof x, cudaMemcpyDeviceToHost, s));
    assert_float_equal(got, 0.0f, 0.0f);
    OK(cudaMemcpy(&got, p, sizeof x, cudaMemcpyDeviceToHost));
    assert_float_equal(got, 1.0f, 0.0f);
    OK(cudaFree(p));
    OK(cudaStreamDestroy(s));
}

static void elapsed_time_needs_both_events(void **state)
{
    cudaEvent_t a, b;
    float ms = -1.0f;

    (void)state;
    OK(cudaEventCreate(&a));
    OK(cudaEventCreate(&b));
    assert_int_equal(cudaEventElapsedTime(&ms, a, b),
                     cudaErrorInvalidResourceHandle);
    OK(cudaEventRecord(a, NULL));
    OK(cudaEventRecord(b, NULL));
    assert_int_equal(cudaEventElapsedTime(&ms, a, b), cudaErrorNotReady);
    OK(cudaEventSynchronize(b));
    OK(cudaEventElapsedTime(&ms, a, b));
    assert_true(ms >= 0.0f);
    OK(cudaEventDestroy(a));
    OK(cudaEventDestroy(b));
}

/* --- memory --------------------------------------------------------------- */

static void memory_has_a_capacity(void **state)
{
    size_t unused, total, before;
    void *p, *q;

    (void)state;
    (void)setenv("FAKE_CUDA_MEM", "4", 1);
    OK(cudaMemGetInfo(&before, &total));
    assert_int_equal(total, 4 << 20);
    OK(cudaMalloc(&p, 3 << 20));
    OK(cudaMemGetInfo(&unused, &total));
    assert_int_equal(before - unused, 3 << 20);
    assert_int_equal(cudaMalloc(&q, 2 << 20), cudaErrorMemoryAllocation);
    assert_null(q);
    assert_int_equal(cudaGetLastError(), cudaErrorMemoryAllocation);
    OK(cudaGetLastError());
    OK(cudaFree(p));
    assert_int_equal(cudaFree(p), cudaErrorInvalidValue);
}

static void fresh_memory_holds_nans(void **state)
{
    float got, *p = device_floats(1);

    (void)state;
    OK(cudaMemcpy(&got, p, sizeof got, cudaMemcpyDeviceToHost));
    assert_true(isnan(got));
    OK(cudaFree(p));
}

static void copies_beyond_an_allocation_fail(void **state)
{
    float x[2] = {0}, *p = device_floats(1);

    (void)state;
    assert_int_equal(cudaMemcpy(p, x, sizeof x, cudaMemcpyHostToDevice),
                     cudaErrorInvalidValue);
    assert_int_equal(cudaMemcpy(p, x, 4, cudaMemcpyDeviceToHost),
                     cudaErrorInvalidValue);
    assert_int_equal(cudaMemset(p, 0, 5), cudaErrorInvalidValue);
    OK(cudaFree(p));
}

/* --- failures ------------------------------------------------------------- */

static void the_call_asked_for_fails(void **state)
{
    void *p; /* no other test calls cudaHostAlloc */

    (void)state;
    (void)setenv("FAKE_CUDA_FAIL", "cudaHostAlloc@2=2,cudaHostAlloc@4=1", 1);
    for (int i = 1; i <= 5; i++) {
        static const int wanted[] = {
            0, 0, cudaErrorMemoryAllocation, 0, cudaErrorInvalidValue, 0};
        int rc = (int)cudaHostAlloc(&p, 8, 0);

        assert_int_equal(rc, wanted[i]);
        if (rc == 0)
            OK(cudaFreeHost(p));
    }
}

/* Told to fail, it gives back all the same: no leak is told at the exit. */
static void a_failed_release_releases(void **state)
{
    unsigned failed = 0;
    void *p;

    (void)state;
    (void)setenv("FAKE_CUDA_FAIL", "cudaFreeHost@9=1", 1);
    for (int i = 0; i < 9; i++) {
        OK(cudaMallocHost(&p, 8));
        failed += cudaFreeHost(p) == cudaErrorInvalidValue;
    }
    assert_int_equal(failed, 1);
}

static void drivers_are_acted(void **state)
{
    struct cudaDeviceProp prop;
    int n = -1, version = -1;

    (void)state;
    OK(cudaGetDeviceCount(&n));
    assert_int_equal(n, 1);
    OK(cudaGetDeviceProperties(&prop, 0));
    assert_memory_equal(prop.name, "SIMULATED", 9);
    assert_int_equal(cudaSetDevice(1), cudaErrorInvalidDevice);
    (void)setenv("FAKE_CUDA_DRIVER", "none", 1);
    assert_int_equal(cudaGetDeviceCount(&n), cudaErrorInsufficientDriver);
    OK(cudaDriverGetVersion(&version));
    assert_int_equal(version, 0);
    (void)setenv("FAKE_CUDA_DRIVER", "nodevice", 1);
    assert_int_equal(cudaGetDeviceCount(&n), cudaErrorNoDevice);
}

/* --- graphs --------------------------------------------------------------- */

static cudaGraph_t capture_fill(cudaStream_t s, void *p, int value)
{
    cudaGraph_t g;

    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    OK(cudaMemsetAsync(p, value, N, s));
    OK(cudaStreamEndCapture(s, &g));
    return g;
}

static unsigned char byte_at(const unsigned char *p)
{
    unsigned char x;

    OK(cudaMemcpy(&x, p, 1, cudaMemcpyDeviceToHost));
    return x;
}

static void a_graph_replays_what_was_captured(void **state)
{
    cudaStream_t s = stream_new();
    cudaGraphExecUpdateResultInfo info;
    cudaGraphNode_t nodes[4];
    enum cudaGraphNodeType type;
    unsigned char *p;
    cudaGraphExec_t e;
    cudaGraph_t g;
    size_t n = 4;

    (void)state;
    OK(cudaMalloc((void **)&p, N));
    OK(cudaMemset(p, 9, N));
    g = capture_fill(s, p, 3);
    OK(cudaGraphGetNodes(g, nodes, &n));
    assert_int_equal(n, 1);
    OK(cudaGraphNodeGetType(nodes[0], &type));
    assert_int_equal(type, cudaGraphNodeTypeMemset);
    OK(cudaGraphInstantiate(&e, g, 0));
    OK(cudaGraphDestroy(g));
    assert_int_equal(byte_at(p), 9); /* captured, not run */
    OK(cudaGraphLaunch(e, s));
    OK(cudaStreamSynchronize(s));
    assert_int_equal(byte_at(p), 3);
    g = capture_fill(s, p, 4);
    OK(cudaGraphExecUpdate(e, g, &info));
    OK(cudaGraphDestroy(g));
    OK(cudaGraphLaunch(e, s));
    OK(cudaGraphExecDestroy(e)); /* the launch still runs */
    OK(cudaStreamSynchronize(s));
    assert_int_equal(byte_at(p), 4);
    OK(cudaFree(p));
    OK(cudaStreamDestroy(s));
}

static void forbidden_calls_spoil_a_capture(void **state)
{
    cudaStream_t s = stream_new();
    cudaGraph_t g = NULL;
    void *p;

    (void)state;
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    assert_int_equal(cudaMalloc(&p, 8), cudaErrorStreamCaptureUnsupported);
    assert_int_equal(cudaStreamEndCapture(s, &g),
                     cudaErrorStreamCaptureInvalidated);
    assert_null(g);
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
    assert_int_equal(cudaStreamSynchronize(s),
                     cudaErrorStreamCaptureUnsupported);
    assert_int_equal(cudaStreamEndCapture(s, &g),
                     cudaErrorStreamCaptureInvalidated);
    OK(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed));
    OK(cudaMalloc(&p, 8));
    OK(cudaStreamEndCapture(s, &g));
    OK(cudaGraphDestroy(g));
    OK(cudaFree(p));
    OK(cudaStreamDestroy(s));
}

/* A second stream comes in by an event; forgetting to wait for it is an error.
 */
static void a_fork_must_join(void **state)
{
    cudaStream_t a = stream_new(), b = stream_new();
    cudaEvent_t fork, join;
    cudaGraph_t g;
    void *p;

    (void)state;
    OK(cudaMalloc(&p, N));
    OK(cudaEventCreate(&fork));
    OK(cudaEventCreate(&join));
    for (int joins = 0; joins < 2; joins++) {
        OK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
        OK(cudaEventRecord(fork, a));
        OK(cudaStreamWaitEvent(b, fork, 0));
        OK(cudaMemsetAsync(p, 1, N, b));
        if (joins) {
            OK(cudaEventRecord(join, b));
            OK(cudaStreamWaitEvent(a, join, 0));
        }
        assert_int_equal(cudaStreamEndCapture(a, &g),
                         joins ? cudaSuccess : cudaErrorStreamCaptureUnjoined);
    }
    OK(cudaGraphDestroy(g));
    OK(cudaFree(p));
    OK(cudaEventDestroy(fork));
    OK(cudaEventDestroy(join));
    OK(cudaStreamDestroy(a));
    OK(cudaStreamDestroy(b));
}

#define CASE(name) cmocka_unit_test_setup(name, reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(lazy_work_runs_when_waited_for),
        CASE(a_query_lets_work_go_on),
        CASE(events_hold_in_every_order),
        CASE(pageable_memory_is_read_at_the_call),
        CASE(pageable_bytes_may_be_under_way_after_the_copy),
        CASE(elapsed_time_needs_both_events),
        CASE(memory_has_a_capacity),
        CASE(fresh_memory_holds_nans),
        CASE(copies_beyond_an_allocation_fail),
        CASE(the_call_asked_for_fails),
        CASE(a_failed_release_releases),
        CASE(drivers_are_acted),
        CASE(a_graph_replays_what_was_captured),
        CASE(forbidden_calls_spoil_a_capture),
        CASE(a_fork_must_join),
    };

    (void)setenv("FAKE_CUDA_LEAKS", "1", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
