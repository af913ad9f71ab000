/* Streams and events. */
#include <stdlib.h>

#include "tests/cuda/fake.h"

static cudaError_t stream_new(cudaStream_t *out, unsigned flags)
{
    struct CUstream_st *s = fake_zalloc(sizeof *s);

    s->flags = flags;
    fake_stream_add(s);
    fake_count(FAKE_STREAMS, 1);
    *out = s;
    return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *out)
{
    ENTER(cudaStreamCreate);
    LEAVE(stream_new(out, 0));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    ENTER(cudaStreamCreateWithFlags);
    if (flags > cudaStreamNonBlocking)
        LEAVE(cudaErrorInvalidValue);
    LEAVE(stream_new(out, flags));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags,
                                         int priority)
{
    (void)priority;
    ENTER(cudaStreamCreateWithPriority);
    if (flags > cudaStreamNonBlocking)
        LEAVE(cudaErrorInvalidValue);
    LEAVE(stream_new(out, flags));
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
    ENTER(cudaDeviceGetStreamPriorityRange);
    *least = 0;
    *greatest = -5;
    LEAVE(cudaSuccess);
}

/* The stream's work still gets done. */
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    struct CUstream_st *s = stream ? fake_stream(stream) : NULL;

    ENTER_RELEASE(cudaStreamDestroy);
    if (!s || s == fake_streams())
        LEAVE_RELEASE(cudaErrorInvalidResourceHandle);
    fake_count(FAKE_STREAMS, -1);
    fake_stream_close(s);
    LEAVE_RELEASE(cudaSuccess);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    struct CUstream_st *s = fake_stream(stream);

    ENTER(cudaStreamSynchronize);
    if (!s)
        LEAVE(cudaErrorInvalidResourceHandle);
    if (s->capture)
        LEAVE(fake_capture_spoil(s));
    fake_drain(s, UINT64_MAX);
    fake_host_waited(s);
    LEAVE(fake_faulted());
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    struct CUstream_st *s = fake_stream(stream);

    ENTER(cudaStreamQuery);
    if (!s)
        LEAVE(cudaErrorInvalidResourceHandle);
    if (s->capture)
        LEAVE(fake_capture_spoil(s));
    if (s->head) {
        fake_progress(s);
        LEAVE(fake_faulted() ? fake_faulted() : cudaErrorNotReady);
    }
    fake_host_waited(s);
    LEAVE(cudaSuccess);
}

cudaError_t cudaDeviceSynchronize(void)
{
    cudaError_t rc;

    ENTER(cudaDeviceSynchronize);
    rc = fake_capture_forbids();
    if (rc)
        LEAVE(rc);
    fake_drain(NULL, UINT64_MAX);
    fake_host_waited(NULL);
    LEAVE(fake_faulted());
}

static cudaError_t event_new(cudaEvent_t *out, unsigned flags)
{
    cudaEvent_t e = fake_zalloc(sizeof *e);

    e->flags = flags;
    e->refs = 1;
    fake_count(FAKE_EVENTS, 1);
    *out = e;
    return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *out)
{
    ENTER(cudaEventCreate);
    LEAVE(event_new(out, cudaEventDefault));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
    ENTER(cudaEventCreateWithFlags);
    LEAVE(event_new(out, flags));
}

cudaError_t cudaEventDestroy(cudaEvent_t e)
{
    ENTER_RELEASE(cudaEventDestroy);
    if (!e)
        LEAVE_RELEASE(cudaErrorInvalidResourceHandle);
    fake_count(FAKE_EVENTS, -1);
    fake_event_release(e);
    LEAVE_RELEASE(cudaSuccess);
}

static cudaError_t record(cudaEvent_t e, struct CUstream_st *s, uint32_t corr)
{
    struct fake_op op = {.kind = FAKE_EVENT, .event = e, .corr = corr};

    if (!s || !e)
        return cudaErrorInvalidResourceHandle;
    free(e->front);
    e->front = NULL;
    e->n_front = 0;
    e->capture = s->capture;
    e->recorded = true;
    if (!s->capture)
        return fake_enqueue(s, &op, NULL, 0);
    fake_front_join(&e->front, &e->n_front, s->front, s->n_front);
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t stream)
{
    struct CUstream_st *s = fake_stream(stream);

    ENTER(cudaEventRecord);
    LEAVE(record(e, s, call.corr));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t stream,
                                     unsigned flags)
{
    struct CUstream_st *s = fake_stream(stream);

    ENTER(cudaEventRecordWithFlags);
    if (flags != cudaEventRecordDefault)
        LEAVE(cudaErrorNotSupported);
    LEAVE(record(e, s, call.corr));
}

/* Waiting for an event of a capture draws the stream into it. */
static cudaError_t wait_event(struct CUstream_st *s, cudaEvent_t e,
                              uint32_t corr)
{
    struct fake_op op = {.kind = FAKE_WAIT, .event = e, .corr = corr};

    if (!s || !e)
        return cudaErrorInvalidResourceHandle;
    if (!e->recorded)
        return cudaSuccess;
    op.wanted = e->wanted;
    if (!e->capture && s->capture) {
        (void)fake_capture_spoil(s);
        return cudaErrorStreamCaptureIsolation;
    }
    if (!e->capture)
        return fake_enqueue(s, &op, NULL, 0);
    if (s == fake_streams())
        return cudaErrorStreamCaptureUnsupported;
    if (s->capture && s->capture != e->capture) {
        (void)fake_capture_spoil(s);
        return cudaErrorStreamCaptureMerge;
    }
    s->capture = e->capture;
    fake_front_join(&s->front, &s->n_front, e->front, e->n_front);
    return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t e,
                                unsigned flags)
{
    struct CUstream_st *s = fake_stream(stream);

    (void)flags;
    ENTER(cudaStreamWaitEvent);
    LEAVE(wait_event(s, e, call.corr));
}

/* The stream in which the event's last record still waits. */
static struct CUstream_st *holder(cudaEvent_t e)
{
    struct CUstream_st *s;
    const struct fake_op *op;

    for (s = fake_streams(); s; s = s->next)
        for (op = s->head; op; op = op->next)
            if (op->kind == FAKE_EVENT && op->event == e &&
                op->seq == e->wanted)
                return s;
    return NULL;
}

cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
    struct CUstream_st *s;

    ENTER(cudaEventSynchronize);
    if (!e)
        LEAVE(cudaErrorInvalidResourceHandle);
    if (e->capture)
        LEAVE(fake_capture_forbids() ? fake_capture_forbids()
                                     : cudaErrorCapturedEvent);
    s = holder(e);
    if (s)
        fake_drain(s, e->wanted);
    fake_host_knows(e->known);
    LEAVE(fake_faulted());
}

cudaError_t cudaEventQuery(cudaEvent_t e)
{
    ENTER(cudaEventQuery);
    if (!e)
        LEAVE(cudaErrorInvalidResourceHandle);
    if (e->capture)
        LEAVE(fake_capture_forbids() ? fake_capture_forbids()
                                     : cudaErrorCapturedEvent);
    if (e->done < e->wanted) {
        fake_progress(holder(e));
        LEAVE(fake_faulted() ? fake_faulted() : cudaErrorNotReady);
    }
    fake_host_knows(e->known);
    LEAVE(fake_faulted());
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
    ENTER(cudaEventElapsedTime);
    if (!from || !to || !from->recorded || !to->recorded ||
        ((from->flags | to->flags) & cudaEventDisableTiming))
        LEAVE(cudaErrorInvalidResourceHandle);
    if (from->done < from->wanted || to->done < to->wanted)
        LEAVE(cudaErrorNotReady);
    *ms = (float)((double)(int64_t)(to->when - from->when) * 1e-6);
    LEAVE(cudaSuccess);
}
