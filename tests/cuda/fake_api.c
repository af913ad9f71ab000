/* What every call of the API goes through, and what is said at exit. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/cuda/fake.h"

enum { EXIT_REPORTS = 86 };

static struct {
    pthread_mutex_t lock;
    uint32_t corr;
    cudaError_t last, fault;
    const struct fake_tracer *tracer;
    int alive[FAKE_OBJECTS];
} api = {.lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP};

void *fake_zalloc(size_t size)
{
    void *p = calloc(1, size ? size : 1);

    if (!p) {
        fprintf(stderr, "fake CUDA: the host is out of memory\n");
        abort();
    }
    return p;
}

uint64_t fake_now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Errors after which a CUDA context is of no more use. */
static bool is_fault(cudaError_t rc)
{
    return rc == cudaErrorIllegalAddress || rc == cudaErrorLaunchTimeout ||
           rc == cudaErrorECCUncorrectable || rc == cudaErrorLaunchFailure ||
           (rc >= cudaErrorAssert && rc <= cudaErrorInvalidPc &&
            rc != cudaErrorHostMemoryAlreadyRegistered &&
            rc != cudaErrorHostMemoryNotRegistered);
}

void fake_fault(cudaError_t rc)
{
    if (rc && !api.fault)
        api.fault = rc;
}

cudaError_t fake_faulted(void)
{
    return api.fault;
}

struct fake_call fake_enter(const char *fn)
{
    struct fake_call call = {.fn = fn};

    pthread_mutex_lock(&api.lock);
    call.corr = ++api.corr;
    call.start = api.tracer ? fake_now() : 0;
    call.rc = (cudaError_t)fake_injected(fn);
    if (is_fault(call.rc))
        fake_fault(call.rc);
    if (!call.rc)
        call.rc = api.fault;
    return call;
}

cudaError_t fake_leave(const struct fake_call *call, cudaError_t rc)
{
    if (api.tracer)
        api.tracer->api(call, fake_now(), rc);
    if (rc && rc != cudaErrorNotReady)
        api.last = rc;
    pthread_mutex_unlock(&api.lock);
    return rc;
}

cudaError_t fake_take_last_error(bool clear)
{
    cudaError_t rc = api.fault ? api.fault : api.last;

    if (clear)
        api.last = cudaSuccess;
    return rc;
}

void fake_set_tracer(const struct fake_tracer *t)
{
    api.tracer = t;
}

const struct fake_tracer *fake_tracer(void)
{
    return api.tracer;
}

void fake_count(enum fake_object what, int change)
{
    api.alive[what] += change;
}

/* A faulted context is gone with all that it held: no leaks then. */
static bool leaks(void)
{
    static const char *const names[FAKE_OBJECTS] = {"device allocations",
                                                    "pinned allocations",
                                                    "streams",
                                                    "events",
                                                    "graphs",
                                                    "graph executables",
                                                    "library handles"};
    bool any = false;

    if (!getenv("FAKE_CUDA_LEAKS") || api.fault)
        return false;
    for (int i = 0; i < FAKE_OBJECTS; i++) {
        if (api.alive[i] == 0)
            continue;
        fprintf(stderr, "fake CUDA: leak: %d %s were not given back\n",
                api.alive[i], names[i]);
        any = true;
    }
    return any;
}

/* Reports and leaks turn a success into a failure. */
static void at_exit(int status, void *none)
{
    bool bad = leaks() || cusim_reports() > 0;

    (void)none;
    if (cusim_reports() > 0)
        fprintf(stderr, "cusim: %u reports\n", cusim_reports());
    if (!bad || status != 0)
        return;
    (void)fflush(NULL);
    _exit(EXIT_REPORTS);
}

__attribute__((constructor)) static void start(void)
{
    const char *threads = getenv("FAKE_CUDA_THREADS");
    const char *order = getenv("FAKE_CUDA_ORDER");
    uint64_t seed = 1;

    if (order && strncmp(order, "random:", 7) == 0)
        seed = strtoull(order + 7, NULL, 10);
    cusim_set_order(!threads                          ? CUSIM_FORWARD
                    : strcmp(threads, "reverse") == 0 ? CUSIM_REVERSE
                    : strcmp(threads, "random") == 0  ? CUSIM_RANDOM
                                                      : CUSIM_FORWARD,
                    seed);
    (void)on_exit(at_exit, NULL);
}
