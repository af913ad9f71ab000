/* Streams are queues. FAKE_CUDA_ORDER says when work runs: lazy (as late as
 * can be: when something waits for it), eager (at the call), or random:SEED
 * (interleaved over the streams when something waits). A wait that was left out
 * shows as a wrong result in one of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake.h"

static struct CUstream_st default_stream = {.tail = &default_stream.head,
                                            .id = 7};
static struct {
    uint64_t seq;
    uint64_t host_known[FAKE_CLOCKS];
    unsigned last_id;
} queue = {.last_id = 12};

enum fake_order fake_order(void)
{
    const char *s = getenv("FAKE_CUDA_ORDER");

    if (!s || strcmp(s, "lazy") == 0)
        return FAKE_LAZY;
    return strcmp(s, "eager") == 0 ? FAKE_EAGER : FAKE_RANDOM;
}

/* --- what is known to be done --------------------------------------------- */

void fake_known_join(uint64_t to[FAKE_CLOCKS], const uint64_t from[FAKE_CLOCKS])
{
    for (int i = 0; i < FAKE_CLOCKS; i++)
        if (from[i] > to[i])
            to[i] = from[i];
}

void fake_host_knows(const uint64_t known[FAKE_CLOCKS])
{
    fake_known_join(queue.host_known, known);
}

static void host_waited(const struct CUstream_st *s)
{
    fake_host_knows(s->known);
    if (s->last > queue.host_known[s->slot])
        queue.host_known[s->slot] = s->last;
}

void fake_host_waited(const struct CUstream_st *s)
{
    const struct CUstream_st *t;

    for (t = fake_streams(); t; t = t->next)
        if (!s || t == s)
            host_waited(t);
}

/* --- the list of streams -------------------------------------------------- */

struct CUstream_st *fake_streams(void)
{
    return &default_stream;
}

struct CUstream_st *fake_stream(cudaStream_t handle)
{
    struct CUstream_st *s;

    if (!handle || handle == &default_stream || handle == cudaStreamLegacy ||
        handle == cudaStreamPerThread)
        return &default_stream;
    for (s = default_stream.next; s; s = s->next)
        if (s == handle && !s->closing)
            return s;
    return NULL;
}

void fake_stream_add(struct CUstream_st *s)
{
    struct CUstream_st *t;
    unsigned slot = 0;

    for (t = default_stream.next; t; t = t->next)
        slot = t->slot > slot ? t->slot : slot;
    s->slot = slot + 1 < FAKE_CLOCKS ? slot + 1 : FAKE_CLOCKS - 1;
    s->tail = &s->head;
    s->id = ++queue.last_id;
    s->next = default_stream.next;
    default_stream.next = s;
}

/* Closed streams whose work is done go. */
static void sweep(void)
{
    struct CUstream_st **at = &default_stream.next, *s;

    while (*at) {
        s = *at;
        if (!s->closing || s->head) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        free(s->front);
        free(s);
    }
}

void fake_stream_close(struct CUstream_st *s)
{
    s->closing = true;
    sweep();
}

void fake_event_release(cudaEvent_t e)
{
    if (--e->refs > 0)
        return;
    free(e->front);
    free(e);
}

void fake_op_free(struct fake_op *op)
{
    if (op->event)
        fake_event_release(op->event);
    if (op->kind == FAKE_GRAPH)
        fake_body_release(op->body);
    free(op->deps);
    free(op);
}

/* --- running -------------------------------------------------------------- */

static void run_kernel(const struct fake_op *op)
{
    struct cusim_launch l = {op->name,  op->func,   op->run,
                             op->blob,  op->size,   op->grid,
                             op->block, op->shared, NULL};

    fake_fault(cusim_run(&l));
}

static void run_host_work(const struct fake_op *op)
{
    unsigned before = cusim_reports();

    op->run(op->blob);
    if (cusim_reports() != before)
        fake_fault(cudaErrorLaunchFailure);
}

void fake_op_run(struct fake_op *op, const struct CUstream_st *s, uint32_t corr,
                 uint32_t graph)
{
    struct fake_work w = {op, corr, s->id, graph, graph ? op->id : 0, 0, 0};

    if (op->kind == FAKE_EVENT) {
        op->event->done = op->seq;
        op->event->when = fake_now();
    }
    if (fake_faulted() || op->kind == FAKE_EVENT || op->kind == FAKE_WAIT)
        return;
    check_begin(op, s);
    if (op->kind == FAKE_GRAPH) {
        fake_body_run(op->body, s, corr);
        return;
    }
    w.start = fake_tracer() ? fake_now() : 0;
    if (op->kind == FAKE_KERNEL)
        run_kernel(op);
    else
        run_host_work(op);
    w.end = fake_tracer() ? fake_now() : 0;
    if (fake_tracer() && op->kind != FAKE_HOST)
        fake_tracer()->work(&w);
}

/* The default stream and the streams that are not "non-blocking" wait for each
 * other's earlier work. */
static bool held_up(const struct CUstream_st *s, const struct CUstream_st *t,
                    uint64_t seq)
{
    const struct CUstream_st *other = s == &default_stream ? t : s;

    return t != s && t->head && t->head->seq < seq &&
           (s == &default_stream || t == &default_stream) &&
           !(other->flags & cudaStreamNonBlocking);
}

static bool ready(const struct CUstream_st *s)
{
    const struct fake_op *op = s->head;
    const struct CUstream_st *t;

    if (!op || (op->kind == FAKE_WAIT && op->event->done < op->wanted))
        return false;
    for (t = &default_stream; t; t = t->next)
        if (held_up(s, t, op->seq))
            return false;
    return true;
}

static void run_head(struct CUstream_st *s)
{
    struct fake_op *op = s->head;

    fake_op_run(op, s, op->corr, 0);
    s->head = op->next;
    if (!s->head)
        s->tail = &s->head;
    fake_op_free(op);
}

/* prefer, unless it cannot run or the order is random; else any that can. */
static struct CUstream_st *choose(struct CUstream_st *prefer)
{
    struct CUstream_st *t, *pick = NULL;
    bool random = fake_order() == FAKE_RANDOM;
    unsigned n = 0;

    if (prefer && !random && ready(prefer))
        return prefer;
    for (t = &default_stream; t; t = t->next) {
        if (!ready(t))
            continue;
        n++;
        if (!pick || (random && cusim_random() % n == 0))
            pick = t;
    }
    return pick;
}

static bool has_work(const struct CUstream_st *s, uint64_t seq)
{
    const struct CUstream_st *t;

    for (t = &default_stream; t; t = t->next)
        if ((!s || t == s) && t->head && t->head->seq <= seq)
            return true;
    return false;
}

void fake_drain(struct CUstream_st *s, uint64_t seq)
{
    struct CUstream_st *t;

    if (!has_work(s, seq))
        return;
    fake_mem_open(true);
    while (has_work(s, seq)) {
        t = choose(s);
        if (!t) {
            fprintf(stderr, "fake CUDA: streams wait for each other\n");
            abort();
        }
        run_head(t);
    }
    fake_mem_open(false);
    sweep();
}

void fake_progress(struct CUstream_st *s)
{
    struct CUstream_st *t = choose(s);

    if (!t)
        return;
    fake_mem_open(true);
    run_head(t);
    fake_mem_open(false);
    sweep();
}

/* --- enqueueing ----------------------------------------------------------- */

static struct fake_op *op_new(const struct fake_op *like, const void *blob,
                              size_t size)
{
    struct fake_op *op = fake_zalloc(sizeof *op + size);

    memcpy(op, like, sizeof *op);
    op->size = size;
    if (size > 0)
        memcpy(op->blob, blob, size);
    if (op->event)
        op->event->refs++;
    if (op->kind == FAKE_GRAPH)
        op->body->refs++;
    return op;
}

/* The work is known to come behind what its stream, the host and, for the
 * default stream and those that it blocks, each other have seen. */
static void stamp(struct CUstream_st *s, struct fake_op *op)
{
    const struct CUstream_st *t;

    op->seq = ++queue.seq;
    fake_known_join(s->known, queue.host_known);
    for (t = &default_stream; t; t = t->next)
        if (t != s && (t == &default_stream || s == &default_stream) &&
            !((t == &default_stream ? s : t)->flags & cudaStreamNonBlocking) &&
            t->last > s->known[t->slot])
            s->known[t->slot] = t->last;
    if (op->kind == FAKE_WAIT)
        fake_known_join(s->known, op->event->known);
    memcpy(op->known, s->known, sizeof op->known);
    s->last = op->seq;
    if (op->kind == FAKE_EVENT) {
        op->event->wanted = op->seq;
        memcpy(op->event->known, s->known, sizeof s->known);
        op->event->known[s->slot] = op->seq;
    }
}

/* Work in the default stream would wait for a stream that is captured. */
static struct CUstream_st *blocking_capture(const struct CUstream_st *s)
{
    struct CUstream_st *t;

    for (t = default_stream.next; t && s == &default_stream; t = t->next)
        if (t->capture && !(t->flags & cudaStreamNonBlocking))
            return t;
    return NULL;
}

cudaError_t fake_enqueue(cudaStream_t stream, const struct fake_op *like,
                         const void *blob, size_t size)
{
    struct CUstream_st *s = fake_stream(stream);
    struct fake_op *op;

    if (!s)
        return cudaErrorInvalidResourceHandle;
    if (blocking_capture(s)) {
        (void)fake_capture_spoil(blocking_capture(s));
        return cudaErrorStreamCaptureImplicit;
    }
    op = op_new(like, blob, size);
    if (s->capture)
        return fake_capture_add(s, op);
    stamp(s, op);
    *s->tail = op;
    s->tail = &op->next;
    if (fake_order() != FAKE_EAGER)
        return cudaSuccess;
    fake_drain(s, op->seq);
    return fake_faulted();
}
