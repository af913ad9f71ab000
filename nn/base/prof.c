#include "nn/base/prof.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "nn/base/arena.h"
#include "nn/base/mem.h"

enum { CHUNK = 4096 };

struct chunk {
    size_t n;
    struct prof_span span[CHUNK];
};

/* Of one thread; another one of the same pthread_t comes after its end. */
struct track {
    atomic_bool ready; /* owner and tid are set */
    pthread_t owner;
    int32_t tid;
    struct chunk *chunk; /* at hand; NULL: none yet */
};

struct open_span {
    const char *name; /* NULL: none is open */
    int64_t begin;
};

struct prof {
    struct prof_schedule schedule;
    clockid_t clock;
    int64_t clock_offset; /* from that clock to CLOCK_REALTIME */
    int64_t last_id;
    /* Chunks are made by the thread of the steps and taken by any. */
    _Atomic(struct chunk *) *chunk;
    size_t most_chunks;
    atomic_size_t n_made, n_taken;
    struct track track[PROF_THREADS];
    atomic_int n_tracks;
    atomic_uint_fast64_t n_spans, lost;
    int64_t step; /* the next, or the one at hand */
    atomic_bool active;
    struct open_span at_step, at_phase;
    uint64_t before, most; /* spans before this step; most of one step */
    struct arena kept;
};

enum prof_state prof_schedule_at(const struct prof_schedule *s, int64_t step)
{
    int64_t at = step - s->skip_first, ahead = s->wait + s->warmup;

    if (at < 0)
        return PROF_IDLE;
    if (s->active > 0) {
        if (s->repeat > 0 && at / (ahead + s->active) >= s->repeat)
            return PROF_IDLE;
        at %= ahead + s->active;
    }
    if (at < s->wait)
        return PROF_IDLE;
    return at < ahead ? PROF_WARMUP : PROF_ACTIVE;
}

static int64_t clock_ns(clockid_t id)
{
    struct timespec t;

    (void)clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t prof_now(const struct prof *p)
{
    return clock_ns(p->clock) + p->clock_offset;
}

void prof_device_clock(struct prof *p)
{
    p->clock = CLOCK_REALTIME;
    p->clock_offset = 0;
}

int prof_new(struct prof **out, const struct prof_schedule *schedule,
             size_t most_spans, struct err *err)
{
    struct prof *p = mem_zalloc(sizeof *p);

    *out = NULL;
    if (!p)
        return err_set(err, ERR_NOMEM, "out of memory for a profile");
    p->schedule = *schedule;
    p->most_chunks = (most_spans + CHUNK - 1) / CHUNK;
    p->chunk = mem_array(p->most_chunks, sizeof *p->chunk);
    if (!p->chunk) {
        mem_free(p);
        return err_set(err, ERR_NOMEM, "out of memory for a profile");
    }
    p->clock = CLOCK_MONOTONIC;
    p->clock_offset = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
    *out = p;
    return 0;
}

void prof_free(struct prof *p)
{
    size_t i;

    if (!p)
        return;
    for (i = 0; i < p->n_made; i++)
        mem_free(p->chunk[i]);
    mem_free(p->chunk);
    arena_free(&p->kept);
    mem_free(p);
}

/* ---- memory ---- */

/* Room for n more spans; its pages are touched here, not in a step. Without
 * memory the spans are lost, which is counted. */
static void make_ready(struct prof *p, uint64_t n)
{
    size_t want = p->n_taken + (size_t)((n + CHUNK - 1) / CHUNK) + 1;

    while (p->n_made < want && p->n_made < p->most_chunks) {
        struct chunk *c = mem_zalloc(sizeof *c);

        if (!c)
            return;
        p->chunk[p->n_made] = c;
        atomic_fetch_add(&p->n_made, 1);
    }
}

static struct chunk *take_chunk(struct prof *p)
{
    size_t i = atomic_load(&p->n_taken);

    while (i < atomic_load(&p->n_made))
        if (atomic_compare_exchange_weak(&p->n_taken, &i, i + 1))
            return p->chunk[i];
    return NULL;
}

static struct track *claim_track(struct prof *p)
{
    int i = atomic_load(&p->n_tracks);
    struct track *t;

    do {
        if (i == PROF_THREADS)
            return NULL;
    } while (!atomic_compare_exchange_weak(&p->n_tracks, &i, i + 1));
    t = &p->track[i];
    t->owner = pthread_self();
    t->tid = (int32_t)gettid();
    atomic_store_explicit(&t->ready, true, memory_order_release);
    return t;
}

static struct track *own_track(struct prof *p)
{
    int i, n = atomic_load_explicit(&p->n_tracks, memory_order_acquire);

    for (i = 0; i < n; i++) {
        struct track *t = &p->track[i];

        if (atomic_load_explicit(&t->ready, memory_order_acquire) &&
            pthread_equal(t->owner, pthread_self()))
            return t;
    }
    return claim_track(p);
}

/* Where the next span of this thread goes; NULL: nowhere, which is counted. */
static struct prof_span *next_span(struct prof *p)
{
    struct track *t = own_track(p);
    struct prof_span *s = NULL;

    if (t && (!t->chunk || t->chunk->n == CHUNK)) {
        struct chunk *c = take_chunk(p);

        if (c)
            t->chunk = c;
    }
    if (t && t->chunk && t->chunk->n < CHUNK) {
        s = &t->chunk->span[t->chunk->n++];
        s->tid = t->tid;
    }
    atomic_fetch_add_explicit(s ? &p->n_spans : &p->lost, 1,
                              memory_order_relaxed);
    return s;
}

static void put(struct prof *p, enum prof_kind kind, const char *name,
                const void *arg, int64_t begin, int64_t end, int64_t id)
{
    struct prof_span *s = next_span(p);

    if (!s)
        return;
    s->begin = begin;
    s->end = end < begin ? begin : end;
    s->name = name;
    s->arg = arg;
    s->step = p->step;
    s->id = id;
    s->kind = kind;
}

/* ---- recording ---- */

bool prof_active(const struct prof *p)
{
    return atomic_load_explicit(&p->active, memory_order_relaxed);
}

void prof_step_begin(struct prof *p)
{
    enum prof_state state = prof_schedule_at(&p->schedule, p->step);

    if (state == PROF_IDLE)
        return;
    make_ready(p, p->most * 2 > CHUNK ? p->most * 2 : CHUNK);
    if (state != PROF_ACTIVE)
        return;
    p->before = p->n_spans;
    p->at_step.name = "ProfilerStep";
    atomic_store(&p->active, true);
    p->at_step.begin = prof_now(p);
}

void prof_step_end(struct prof *p)
{
    if (prof_active(p)) {
        int64_t now = prof_now(p);
        uint64_t n;

        prof_phase(p, NULL, now);
        put(p, PROF_STEP, p->at_step.name, NULL, p->at_step.begin, now, 0);
        atomic_store(&p->active, false);
        n = p->n_spans - p->before;
        p->most = n > p->most ? n : p->most;
    }
    p->step++;
}

void prof_phase(struct prof *p, const char *name, int64_t now)
{
    if (!prof_active(p) || p->at_phase.name == name)
        return;
    if (p->at_phase.name)
        put(p, PROF_PHASE, p->at_phase.name, NULL, p->at_phase.begin, now, 0);
    p->at_phase.name = name;
    p->at_phase.begin = now;
}

void prof_add(struct prof *p, enum prof_kind kind, const char *name,
              const void *arg, int64_t begin, int64_t end)
{
    prof_add_as(p, kind, name, arg, begin, end, 0);
}

int64_t prof_id(struct prof *p)
{
    return ++p->last_id;
}

void prof_add_as(struct prof *p, enum prof_kind kind, const char *name,
                 const void *arg, int64_t begin, int64_t end, int64_t id)
{
    if (prof_active(p))
        put(p, kind, name, arg, begin, end, id);
}

void *prof_keep(struct prof *p, const void *data, size_t size)
{
    void *copy = arena_alloc(&p->kept, size);

    if (copy)
        memcpy(copy, data, size);
    return copy;
}

/* ---- reading ---- */

uint64_t prof_lost(const struct prof *p)
{
    return atomic_load(&p->lost);
}

static int in_order(const void *a, const void *b)
{
    const struct prof_span *const *pa = a, *const *pb = b;
    const struct prof_span *x = *pa, *y = *pb;

    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    return (x->kind > y->kind) - (x->kind < y->kind);
}

int prof_spans(const struct prof *p, const struct prof_span ***out, size_t *n,
               struct err *err)
{
    const struct prof_span **all = mem_array((size_t)p->n_spans, sizeof *all);
    size_t i, k;

    *out = all;
    *n = 0;
    if (!all)
        return err_set(err, ERR_NOMEM, "out of memory for %llu spans",
                       (unsigned long long)p->n_spans);
    for (i = 0; i < p->n_taken; i++)
        for (k = 0; k < p->chunk[i]->n; k++)
            all[(*n)++] = &p->chunk[i]->span[k];
    qsort(all, *n, sizeof(const struct prof_span *), in_order);
    return 0;
}
