/* Kernels that are wrong on purpose, and a few that are right: the proof that
 * the double finds what it says. `planted NAME` runs one. The line at fault
 * ends in "BUG: NAME", or the one above in "BUG below: NAME": test_double.c
 * looks for that. */
#include <stdio.h>
#include <stdlib.h>

#include "cuda/cuda_kernel.h"

enum { N = 256 };

/* --- right ---------------------------------------------------------------- */

template <class T> __device__ static T warp_sum(T x)
{
    for (int step = 16; step > 0; step /= 2)
        x += __shfl_xor_sync(0xffffffffu, x, step);
    return x;
}

/* out = sum of in[0..n), one block */
template <class T> __global__ static void clean_sum(const T *in, T *out, int n)
{
    __shared__ T part[8];
    T sum = 0;

    for (int i = threadIdx.x; i < n; i += blockDim.x)
        sum += in[i];
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned w = 1; w < blockDim.x / 32; w++)
            sum += part[w];
        *out = sum;
    }
}

KERNEL clean_reverse(const float *in, float *out, int n)
{
    SHARED_DYN(float, s);

    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[n - 1 - threadIdx.x];
}

KERNEL clean_count(const float *in, int *count, int64_t n)
{
    EACH(i, n)
    if (in[i] > 0.0f)
        atomicAdd(count, 1);
}

KERNEL clean_pairs(const float *in, float *out)
{
    __shared__ float s[N];

    s[threadIdx.x] = in[threadIdx.x];
    __syncwarp();
    out[threadIdx.x] = s[threadIdx.x ^ 1];
}

/* --- wrong ---------------------------------------------------------------- */

KERNEL missing_syncthreads(const float *in, float *out, int n)
{
    __shared__ float s[N];

    s[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = s[n - 1 - threadIdx.x]; /* BUG: missing_syncthreads */
}

/* The barrier at the end of the round is missing: the next one writes to s
 * while others still read it. */
KERNEL missing_second_barrier(const float *in, float *out)
{
    __shared__ float s[N];

    for (int round = 0; round < 2; round++) {
        s[threadIdx.x] = in[threadIdx.x]; /* BUG: missing_second_barrier */
        __syncthreads();
        out[threadIdx.x] = s[N - 1 - threadIdx.x];
    }
}

KERNEL missing_syncwarp(const float *in, float *out)
{
    __shared__ float s[N];

    s[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = s[threadIdx.x ^ 1]; /* BUG: missing_syncwarp */
}

KERNEL off_by_one(float *out, int n)
{
    for (int i = threadIdx.x; i <= n; i += blockDim.x)
        out[i] = 1.0f; /* BUG: off_by_one */
}

KERNEL shared_overrun(float *out, int n)
{
    __shared__ float s[N];

    s[threadIdx.x + n - N + 1] = 1.0f; /* BUG: shared_overrun */
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}

KERNEL dynamic_overrun(float *out, int n)
{
    SHARED_DYN(float, s);

    s[threadIdx.x + n - N + 1] = 1.0f; /* BUG: dynamic_overrun */
    out[threadIdx.x] = 0.0f;
}

KERNEL divergent_barrier(float *out)
{
    if (threadIdx.x < 16)
        __syncthreads(); /* BUG: divergent_barrier */
    out[threadIdx.x] = 1.0f;
}

KERNEL two_barriers(float *out)
{
    if (threadIdx.x < 16)
        __syncthreads(); /* BUG: two_barriers */
    else
        __syncthreads();
    out[threadIdx.x] = 1.0f;
}

KERNEL warp_mask(float *out)
{
    float x = (float)threadIdx.x;

    if (threadIdx.x % 32 < 16)
        x = __shfl_down_sync(0xffffffffu, x, 1); /* BUG: warp_mask */
    out[threadIdx.x] = x;
}

KERNEL uninitialised(const float *in, float *out)
{
    out[threadIdx.x] = in[threadIdx.x]; /* BUG: uninitialised */
}

KERNEL use_after_free(const float *in, float *out)
{
    out[threadIdx.x] = in[threadIdx.x]; /* BUG: use_after_free */
}

KERNEL host_pointer(const float *in, float *out)
{
    out[threadIdx.x] = in[threadIdx.x]; /* BUG: host_pointer */
}

/* Written for one block. */
KERNEL wrong_grid(float *out, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        out[i] = (float)i; /* BUG: wrong_grid */
}

KERNEL float_atomic(const float *in, float *out)
{
    atomicAdd(out, in[threadIdx.x]); /* BUG: float_atomic */
}

KERNEL copy_items(const float *in, float *out, int n)
{
    EACH(i, n)
    out[i] = in[i]; /* BUG: missing_event_wait */
}

/* --- how each is run ------------------------------------------------------ */

static float host[N + 1];
static float *in, *out; /* N numbers each, on the device */

static void must(cudaError_t rc, const char *what)
{
    if (rc == cudaSuccess)
        return;
    fprintf(stderr, "planted: %s: %s\n", what, cudaGetErrorString(rc));
    exit(1);
}
#define MUST(call) must(call, #call)

static void set_up(void)
{
    for (int i = 0; i < N; i++)
        host[i] = (float)(i + 1);
    MUST(cudaMalloc((void **)&in, sizeof(float) * N));
    MUST(cudaMalloc((void **)&out, sizeof(float) * N));
    MUST(cudaMemcpy(in, host, sizeof(float) * N, cudaMemcpyHostToDevice));
    /* It has only read the host's numbers: other streams would not wait. */
    MUST(cudaDeviceSynchronize());
}

static void expect(const char *what, double got, double wanted)
{
    if (got == wanted)
        return;
    fprintf(stderr, "planted: %s is %g, not %g\n", what, got, wanted);
    exit(1);
}

static float result(int i)
{
    float x;

    MUST(cudaMemcpy(&x, out + i, sizeof x, cudaMemcpyDeviceToHost));
    return x;
}

#define RUN(name, ...) \
    static void run_##name(void) \
    { \
        MUST(LAUNCH(name, 1, N, 0, NULL, __VA_ARGS__)); \
        MUST(cudaDeviceSynchronize()); \
    }
RUN(missing_syncthreads, in, out, N)
RUN(missing_second_barrier, in, out)
RUN(missing_syncwarp, in, out)
RUN(off_by_one, out, N)
RUN(shared_overrun, out, N)
RUN(divergent_barrier, out)
RUN(two_barriers, out)
RUN(warp_mask, out)
RUN(float_atomic, in, out)
RUN(host_pointer, host, out)

static void run_clean(void)
{
    int count = 0, *counter;

    MUST(LAUNCH(clean_sum<float>, 1, N, 0, NULL, in, out, N));
    expect("the sum", (double)result(0), N * (N + 1) / 2.0);
    MUST(LAUNCH(clean_reverse, 1, N, N * sizeof(float), NULL, in, out, N));
    expect("the reverse", (double)result(3), N - 3.0);
    MUST(LAUNCH(clean_pairs, 1, N, 0, NULL, in, out));
    expect("the pair", (double)result(3), 3.0);
    MUST(cudaMalloc((void **)&counter, sizeof count));
    MUST(cudaMemset(counter, 0, sizeof count));
    MUST(LAUNCH(clean_count, 3, 64, 0, NULL, in, counter, N));
    MUST(cudaMemcpy(&count, counter, sizeof count, cudaMemcpyDeviceToHost));
    expect("the count", count, N);
    MUST(cudaFree(counter));
    MUST(cudaFree(in));
    MUST(cudaFree(out));
}

static void run_leak(void)
{
    MUST(cudaFree(in));
}

static void run_host_touches_device(void)
{
    printf("%g\n", (double)in[0]);
}

static void run_dynamic_overrun(void)
{
    MUST(LAUNCH(dynamic_overrun, 1, N, N * sizeof(float), NULL, out, N));
    MUST(cudaDeviceSynchronize());
}

static void run_uninitialised(void)
{
    float *fresh;

    MUST(cudaMalloc((void **)&fresh, sizeof(float) * N));
    MUST(LAUNCH(uninitialised, 1, N, 0, NULL, fresh, out));
    MUST(cudaDeviceSynchronize());
}

static void run_use_after_free(void)
{
    MUST(cudaFree(in));
    MUST(LAUNCH(use_after_free, 1, N, 0, NULL, in, out));
    MUST(cudaDeviceSynchronize());
}

static void run_wrong_grid(void)
{
    MUST(LAUNCH(wrong_grid, 2, 64, 0, NULL, out, N));
    MUST(cudaDeviceSynchronize());
}

/* Two streams: the second reads what the copy on the first brings. */
static void two_streams(bool waits)
{
    cudaStream_t first, second;
    cudaEvent_t copied;
    float *pinned;

    MUST(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    MUST(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    MUST(cudaEventCreateWithFlags(&copied, cudaEventDisableTiming));
    MUST(cudaMallocHost((void **)&pinned, sizeof(float) * N));
    for (int i = 0; i < N; i++)
        pinned[i] = 5.0f;
    MUST(cudaMemcpyAsync(in, pinned, sizeof(float) * N, cudaMemcpyHostToDevice,
                         first));
    MUST(cudaEventRecord(copied, first));
    if (waits)
        MUST(cudaStreamWaitEvent(second, copied, 0));
    MUST(LAUNCH(copy_items, 1, N, 0, second, in, out, N));
    MUST(cudaStreamSynchronize(second));
    MUST(cudaDeviceSynchronize());
    expect("the item", (double)result(3), 5.0);
    MUST(cudaStreamDestroy(first));
    MUST(cudaStreamDestroy(second));
    MUST(cudaEventDestroy(copied));
    MUST(cudaFreeHost(pinned));
}

static void run_missing_event_wait(void)
{
    two_streams(false);
}

static void run_clean_event_wait(void)
{
    two_streams(true);
}

static void run_pinned_reuse(void)
{
    float *pinned;

    MUST(cudaMallocHost((void **)&pinned, sizeof(float) * N));
    for (int i = 0; i < N; i++)
        pinned[i] = 1.0f;
    /* BUG below: pinned_reuse */
    MUST(cudaMemcpyAsync(out, pinned, N * 4, cudaMemcpyDefault, NULL));
    pinned[3] = 2.0f;
    expect("the item", (double)result(3), 1.0);
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {
#define CASE(name) \
    { \
#name, run_##name \
    }
    CASE(clean),
    CASE(clean_event_wait),
    CASE(leak),
    CASE(host_touches_device),
    CASE(missing_syncthreads),
    CASE(missing_second_barrier),
    CASE(missing_syncwarp),
    CASE(off_by_one),
    CASE(shared_overrun),
    CASE(dynamic_overrun),
    CASE(divergent_barrier),
    CASE(two_barriers),
    CASE(warp_mask),
    CASE(uninitialised),
    CASE(use_after_free),
    CASE(host_pointer),
    CASE(wrong_grid),
    CASE(float_atomic),
    CASE(missing_event_wait),
    CASE(pinned_reuse),
};

int main(int argc, char **argv)
{
    for (const auto &c : cases)
        if (argc == 2 && strcmp(argv[1], c.name) == 0) {
            set_up();
            c.run();
            return 0;
        }
    fprintf(stderr, "usage: planted NAME\n");
    return 2;
}
