/* Runs one grid of a kernel. The threads of a block share a fiber for as long
 * as none of them has to wait; one that waits keeps its fiber, and the rest go
 * on in another. Kernels without barriers are thus plain calls. There is one OS
 * thread, so that every run can be had again. */
#include "tests/cuda/cusim_exec.h"

#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/cusim_fiber.h"

struct cusim_thread *cusim_cur;
struct cusim_block cusim_blk;

/* Makes sure that there is a segment of shared arrays. */
static _Thread_local volatile char first_shared;

static struct {
    struct cusim_thread threads[CUSIM_MAX_THREADS];
    unsigned order[CUSIM_MAX_THREADS]; /* in which they start */
    unsigned ready[CUSIM_MAX_THREADS]; /* those that can go on: a queue */
    unsigned n, live, started, head, n_ready;
    const struct cusim_launch *launch;
    cudaError_t killed;
    enum cusim_order how;
    uint64_t seed;
    char *shared, *shared_end;
    pthread_t shared_of; /* every OS thread has its own */
    char dyn[CUSIM_MAX_DYN] __attribute__((aligned(256)));
} run = {.seed = 1};

void cusim_set_order(enum cusim_order order, uint64_t seed)
{
    run.how = order;
    run.seed = seed * 2654435761u + 1;
}

uint64_t cusim_random(void)
{
    run.seed ^= run.seed << 13;
    run.seed ^= run.seed >> 7;
    run.seed ^= run.seed << 17;
    return run.seed;
}

/* The thread-local segment that holds first_shared. */
static int find_shared(struct dl_phdr_info *info, size_t size, void *none)
{
    const char *anchor = (const char *)&first_shared;
    char *data = info->dlpi_tls_data;

    (void)size;
    (void)none;
    for (int i = 0; data && i < info->dlpi_phnum; i++) {
        if (info->dlpi_phdr[i].p_type != PT_TLS || anchor < data ||
            anchor >= data + info->dlpi_phdr[i].p_memsz)
            continue;
        run.shared = data;
        run.shared_end = data + info->dlpi_phdr[i].p_memsz;
        return 1;
    }
    return 0;
}

static void locate_shared(void)
{
    first_shared = 0;
    if (run.shared && pthread_equal(run.shared_of, pthread_self()))
        return;
    run.shared_of = pthread_self();
    (void)dl_iterate_phdr(find_shared, NULL);
}

void cusim_shared_range(char **begin, char **end)
{
    *begin = run.shared;
    *end = run.shared_end;
}

static bool within(const void *p, const void *of, size_t size)
{
    const char *c = p, *begin = of;

    return c >= begin && c < begin + size;
}

bool cusim_is_own(const void *p)
{
    return within(p, run.threads, sizeof run.threads) ||
           within(p, &cusim_cur, sizeof cusim_cur) ||
           within(p, &cusim_blk, sizeof cusim_blk) ||
           within(p, run.launch->blob, run.launch->size);
}

void cusim_copy(void *dst, const void *src, size_t n)
{
    memcpy(dst, src, n);
}

/* What every fiber does: takes one thread after another through the kernel. */
static void take_threads(void)
{
    for (;;) {
        while (run.started < run.n && !run.killed) {
            struct cusim_thread *t = &run.threads[run.order[run.started++]];

            cusim_cur = t;
            t->fiber = fiber_current();
            run.launch->run(run.launch->blob);
            cusim_cur->state = CUSIM_EXITED;
            run.live--;
        }
        fiber_park();
    }
}

void cusim_suspend(enum cusim_state state, struct cusim_site site)
{
    struct cusim_thread *t = cusim_cur;

    t->state = state;
    t->site = site;
    if (run.started < run.n && run.how != CUSIM_RANDOM)
        fiber_switch(fiber_get(take_threads)); /* spares a visit to main */
    else
        fiber_switch(fiber_main());
    cusim_cur = t;
}

void cusim_make_ready(struct cusim_thread *t)
{
    t->state = CUSIM_READY;
    run.ready[run.n_ready++] = t->lin;
}

void cusim_barrier(struct cusim_site site)
{
    cusim_suspend(CUSIM_AT_BARRIER, site);
}

void cusim_kill(cudaError_t rc)
{
    run.killed = rc;
    fiber_switch(fiber_main());
    abort(); /* nobody comes back */
}

/* Oldest first; any of them in a random order. */
static void resume_one(void)
{
    unsigned k = run.head;
    struct cusim_thread *t;

    if (run.how == CUSIM_RANDOM) {
        k = (unsigned)(cusim_random() % run.n_ready);
        t = &run.threads[run.ready[k]];
        run.ready[k] = run.ready[--run.n_ready];
    } else {
        t = &run.threads[run.ready[k]];
        if (++run.head == run.n_ready)
            run.head = run.n_ready = 0;
    }
    cusim_cur = t;
    fiber_switch(t->fiber);
}

static bool same_site(struct cusim_site a, struct cusim_site b)
{
    return a.line == b.line &&
           (a.file == b.file || strcmp(a.file, b.file) == 0);
}

/* All threads must come to __syncthreads, and to the same one. */
static void compare_sites(unsigned waiting)
{
    const struct cusim_thread *first = NULL, *t;
    unsigned i;

    for (i = 0; i < run.n; i++) {
        t = &run.threads[i];
        if (t->state != CUSIM_AT_BARRIER)
            continue;
        if (!first && waiting < run.n)
            cusim_report("divergent barrier",
                         "%u of %u threads have exited before it, %s:%d",
                         run.n - waiting, run.n, t->site.file, t->site.line);
        if (!first)
            first = t;
        if (same_site(first->site, t->site))
            continue;
        cusim_report("divergent barrier",
                     "thread %u waits at %s:%d, thread %u at %s:%d", first->lin,
                     first->site.file, first->site.line, t->lin, t->site.file,
                     t->site.line);
        return;
    }
}

/* The barrier opens when every thread that has not exited is there. */
static bool release_barrier(void)
{
    unsigned i, waiting = 0;

    for (i = 0; i < run.n; i++) {
        if (run.threads[i].state == CUSIM_AT_BARRIER)
            waiting++;
        else if (run.threads[i].state != CUSIM_EXITED)
            return false;
    }
    if (waiting == 0)
        return false;
    compare_sites(waiting);
    for (i = 0; i < run.n; i++) {
        struct cusim_thread *t =
            &run.threads[run.how == CUSIM_REVERSE ? run.n - 1 - i : i];

        if (t->state == CUSIM_AT_BARRIER) {
            t->epoch++;
            cusim_make_ready(t);
        }
    }
    return true;
}

static void deadlock(void)
{
    const struct cusim_thread *t = run.threads;

    while (t->state != CUSIM_AT_BARRIER && t->state != CUSIM_AT_WARP)
        t++;
    cusim_report("deadlock", "thread %u waits for ever in a %s, %s:%d", t->lin,
                 t->state == CUSIM_AT_WARP ? "warp operation" : "barrier",
                 t->site.file, t->site.line);
    run.killed = cudaErrorLaunchTimeout;
}

static void step(void)
{
    bool random = run.how == CUSIM_RANDOM;

    if (run.n_ready > 0 &&
        (run.started == run.n || !random || (cusim_random() & 1)))
        resume_one();
    else if (run.started < run.n)
        fiber_switch(fiber_get(take_threads));
    else if (!cusim_warps_release(run.threads, run.n) && !release_barrier())
        deadlock();
}

static void shuffle_order(void)
{
    unsigned i, j, swap;

    for (i = 1; i < run.n; i++) {
        j = (unsigned)(cusim_random() % (i + 1));
        swap = run.order[i];
        run.order[i] = run.order[j];
        run.order[j] = swap;
    }
}

static void run_block(void)
{
    unsigned i;

    run.live = run.n;
    run.started = run.n_ready = run.head = 0;
    for (i = 0; i < run.n; i++) {
        run.threads[i].state = CUSIM_NEW;
        run.threads[i].epoch = run.threads[i].warp_epoch = 0;
    }
    if (run.how == CUSIM_RANDOM)
        shuffle_order();
    memset(run.shared, 0xff, (size_t)(run.shared_end - run.shared));
    memset(run.dyn, 0xff, cusim_blk.dyn_size);
    while (run.live > 0 && !run.killed)
        step();
    cusim_cur = NULL;
    if (run.killed)
        fiber_reset();
}

static void set_up(const struct cusim_launch *l)
{
    const dim3 b = l->block;
    unsigned i;

    locate_shared();
    run.launch = l;
    run.killed = cudaSuccess;
    run.n = b.x * b.y * b.z;
    for (i = 0; i < run.n; i++) {
        run.threads[i].lin = i;
        run.threads[i].tid = (uint3){i % b.x, i / b.x % b.y, i / (b.x * b.y)};
        run.order[i] = run.how == CUSIM_REVERSE ? run.n - 1 - i : i;
    }
    cusim_blk.kernel = l->name;
    cusim_blk.launch++;
    cusim_blk.dim = b;
    cusim_blk.grid = l->grid;
    cusim_blk.dyn = run.dyn;
    cusim_blk.dyn_size = l->shared;
}

cudaError_t cusim_run(const struct cusim_launch *l)
{
    unsigned before = cusim_reports(), n = l->grid.x * l->grid.y * l->grid.z;
    unsigned i, k, first = 0;

    set_up(l);
    if (run.how == CUSIM_RANDOM)
        first = (unsigned)(cusim_random() % n);
    for (i = 0; i < n && !run.killed; i++) {
        k = run.how == CUSIM_REVERSE ? n - 1 - i : (i + first) % n;
        cusim_blk.lin = k;
        cusim_blk.idx = (uint3){k % l->grid.x, k / l->grid.x % l->grid.y,
                                k / (l->grid.x * l->grid.y)};
        run_block();
    }
    if (run.killed)
        return run.killed;
    return cusim_reports() != before ? cudaErrorLaunchFailure : cudaSuccess;
}
