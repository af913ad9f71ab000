#include "nn/base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "nn/base/mem.h"

/* A job is cut into pieces, and each thread owns a run of them: its queue.
 * Whoever has finished its own takes from the others' queues, so a thread that
 * sleeps or lost its core delays the job by one piece at most, and the caller
 * finishes alone if nobody comes.
 *
 * A queue is one word: job number, next piece, end. A piece is claimed by
 * compare and swap on all three, so a thread that wakes late cannot claim
 * from a later job by mistake; and while a claimed piece is unfinished the
 * job's description does not change. */
enum {
    PIECES_EACH = 8, /* per thread */
    MAX_THREADS = 1024,
    SPIN = 4000 /* looks before going to sleep: some 20 to 100 us */
};

struct queue {
    _Alignas(64) _Atomic uint64_t word;
};

struct pool {
    int threads;
    int spin;
    struct queue *queues; /* one a thread */
    pthread_t *ids;       /* of threads 1, 2, ... */
    int started;

    /* the job */
    pool_fn fn;
    void *arg;
    int64_t n, grain, pieces;
    _Alignas(64) _Atomic uint32_t job; /* its number; changes last */
    _Atomic bool quit;
    _Alignas(64) _Atomic int64_t unfinished;

    pthread_mutex_t lock; /* for sleeping only */
    pthread_cond_t work, done;
    _Atomic int sleepers;
};

struct worker {
    struct pool *pool;
    int index;
};

static uint64_t queue_word(uint32_t job, int64_t next, int64_t end)
{
    return (uint64_t)job << 32 | (uint64_t)next << 16 | (uint64_t)end;
}

/* Claims a piece of job from queue q: false when none is left. */
static bool claim(struct queue *q, uint32_t job, int64_t *piece)
{
    uint64_t w = atomic_load(&q->word);

    for (;;) {
        int64_t next = (int64_t)(w >> 16 & 0xffff);
        int64_t end = (int64_t)(w & 0xffff);

        if ((uint32_t)(w >> 32) != job || next >= end)
            return false;
        if (atomic_compare_exchange_weak(&q->word, &w,
                                         queue_word(job, next + 1, end))) {
            *piece = next;
            return true;
        }
    }
}

/* First grain of piece i of the job. */
static int64_t piece_begin(const struct pool *p, int64_t i)
{
    int64_t grains = (p->n + p->grain - 1) / p->grain;

    return grains / p->pieces * i + grains % p->pieces * i / p->pieces;
}

static void run_piece(struct pool *p, int64_t piece)
{
    int64_t begin = piece_begin(p, piece) * p->grain;
    int64_t end = piece_begin(p, piece + 1) * p->grain;

    p->fn(p->arg, begin, end < p->n ? end : p->n);
    if (atomic_fetch_sub(&p->unfinished, 1) == 1) {
        pthread_mutex_lock(&p->lock);
        pthread_cond_signal(&p->done);
        pthread_mutex_unlock(&p->lock);
    }
}

/* Own queue first, then the others'. */
static void help(struct pool *p, int self, uint32_t job)
{
    int64_t piece;

    for (int i = 0; i < p->threads; i++) {
        struct queue *q = &p->queues[(self + i) % p->threads];

        while (claim(q, job, &piece))
            run_piece(p, piece);
    }
}

static void relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* Waits for a job other than seen, and returns its number. */
static uint32_t await_job(struct pool *p, uint32_t seen)
{
    uint32_t job;

    for (int i = 0; i < p->spin; i++) {
        job = atomic_load(&p->job);
        if (job != seen)
            return job;
        relax();
    }
    pthread_mutex_lock(&p->lock);
    atomic_fetch_add(&p->sleepers, 1);
    while ((job = atomic_load(&p->job)) == seen)
        pthread_cond_wait(&p->work, &p->lock);
    atomic_fetch_sub(&p->sleepers, 1);
    pthread_mutex_unlock(&p->lock);
    return job;
}

static void *worker_main(void *arg)
{
    struct worker w = *(struct worker *)arg;
    uint32_t job = 0;

    mem_free(arg);
    for (;;) {
        job = await_job(w.pool, job);
        if (atomic_load(&w.pool->quit))
            return NULL;
        help(w.pool, w.index, job);
    }
}

static void wake(struct pool *p)
{
    if (atomic_load(&p->sleepers) == 0)
        return;
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
}

static void await_done(struct pool *p)
{
    for (int i = 0; i < p->spin; i++) {
        if (atomic_load(&p->unfinished) == 0)
            return;
        relax();
    }
    pthread_mutex_lock(&p->lock);
    while (atomic_load(&p->unfinished) != 0)
        pthread_cond_wait(&p->done, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

void pool_for(struct pool *p, int64_t n, int64_t grain, pool_fn fn, void *arg)
{
    int64_t grains, most = (int64_t)p->threads * PIECES_EACH;
    uint32_t job;

    if (n <= 0)
        return;
    grain = grain > 0 ? grain : 1;
    grains = n / grain + (n % grain != 0);
    if (p->threads == 1 || grains == 1) {
        fn(arg, 0, n);
        return;
    }
    p->fn = fn;
    p->arg = arg;
    p->n = n;
    p->grain = grain;
    p->pieces = grains < most ? grains : most;
    atomic_store(&p->unfinished, p->pieces);
    job = atomic_load(&p->job) + 1;
    for (int i = 0; i < p->threads; i++)
        atomic_store(&p->queues[i].word,
                     queue_word(job, p->pieces * i / p->threads,
                                p->pieces * (i + 1) / p->threads));
    atomic_store(&p->job, job);
    wake(p);
    help(p, 0, job);
    await_done(p);
}

static int start_worker(struct pool *p, int index)
{
    struct worker *w = mem_alloc(sizeof *w);

    if (!w)
        return ERR_NOMEM;
    w->pool = p;
    w->index = index;
    if (pthread_create(&p->ids[index], NULL, worker_main, w) != 0) {
        mem_free(w);
        return ERR_NOMEM;
    }
    p->started++;
    return 0;
}

int pool_new(struct pool **out, int threads, struct err *err)
{
    struct pool *p;

    *out = NULL;
    if (threads < 1 || threads > MAX_THREADS)
        return err_set(err, ERR_CONFIG, "a pool takes 1 to %d threads, not %d",
                       MAX_THREADS, threads);
    p = mem_alloc_aligned(sizeof *p); /* zeroed */
    if (!p)
        return err_set(err, ERR_NOMEM, "out of memory for a thread pool");
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->work, NULL);
    pthread_cond_init(&p->done, NULL);
    p->threads = threads;
    /* more threads than cores: spinning only keeps others from working */
    p->spin = threads <= pool_cores() ? SPIN : 0;
    p->queues = mem_alloc_aligned((size_t)threads * sizeof *p->queues);
    p->ids = mem_array((size_t)threads, sizeof *p->ids);
    if (!p->queues || !p->ids)
        goto fail;
    for (int i = 1; i < threads; i++)
        if (start_worker(p, i) != 0)
            goto fail;
    *out = p;
    return 0;
fail:
    pool_free(p);
    return err_set(err, ERR_NOMEM, "cannot start %d threads", threads);
}

void pool_free(struct pool *p)
{
    if (!p)
        return;
    atomic_store(&p->quit, true);
    atomic_fetch_add(&p->job, 1);
    pthread_mutex_lock(&p->lock);
    pthread_cond_broadcast(&p->work);
    pthread_mutex_unlock(&p->lock);
    for (int i = 1; i <= p->started; i++)
        pthread_join(p->ids[i], NULL);
    pthread_cond_destroy(&p->done);
    pthread_cond_destroy(&p->work);
    pthread_mutex_destroy(&p->lock);
    mem_free(p->ids);
    mem_free_aligned(p->queues);
    mem_free_aligned(p);
}

int pool_threads(const struct pool *p)
{
    return p->threads;
}

int pool_cores(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 1)
        return 1;
    return CPU_COUNT(&set);
}
