/* Capture: what a stream is given becomes nodes of a graph, each behind the
 * nodes that its stream (and the events it waited for) had come to. Calls that
 * a capture forbids fail and spoil it. */
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake.h"

static bool in_front(struct fake_op *const *front, size_t n,
                     const struct fake_op *op)
{
    for (size_t i = 0; i < n; i++)
        if (front[i] == op)
            return true;
    return false;
}

void fake_front_join(struct fake_op ***front, size_t *n,
                     struct fake_op *const *more, size_t n_more)
{
    struct fake_op **both = fake_zalloc((*n + n_more) * sizeof *both);
    size_t total = *n;

    if (*n > 0)
        memcpy(both, *front, *n * sizeof *both);
    for (size_t i = 0; i < n_more; i++)
        if (!in_front(both, total, more[i]))
            both[total++] = more[i];
    free(*front);
    *front = both;
    *n = total;
}

void fake_front_set(struct fake_op ***front, size_t *n, struct fake_op *op)
{
    free(*front);
    *front = NULL;
    *n = 0;
    if (op)
        fake_front_join(front, n, &op, 1);
}

cudaError_t fake_capture_spoil(struct CUstream_st *s)
{
    s->capture->spoilt = true;
    return cudaErrorStreamCaptureUnsupported;
}

cudaError_t fake_capture_forbids(void)
{
    struct CUstream_st *s;
    cudaError_t rc = cudaSuccess;

    for (s = fake_streams(); s; s = s->next)
        if (s->capture && s->mode != cudaStreamCaptureModeRelaxed)
            rc = fake_capture_spoil(s);
    return rc;
}

cudaError_t fake_capture_add(struct CUstream_st *s, struct fake_op *op)
{
    struct CUgraph_st *g = s->capture;
    struct fake_body *b = g->body;

    if (g->spoilt) {
        fake_op_free(op);
        return cudaErrorStreamCaptureInvalidated;
    }
    fake_front_join(&op->deps, &op->n_deps, s->front, s->n_front);
    op->id = fake_node_ids(1);
    b->nodes = realloc(b->nodes, (b->n + 1) * sizeof(struct fake_op *));
    if (!b->nodes)
        abort();
    b->nodes[b->n++] = op;
    fake_front_set(&s->front, &s->n_front, op);
    if (fake_tracer())
        fake_tracer()->node(op, NULL);
    return cudaSuccess;
}

static cudaError_t begin(struct CUstream_st *s, enum cudaStreamCaptureMode mode)
{
    struct CUgraph_st *g;

    if (!s)
        return cudaErrorInvalidResourceHandle;
    if (s == fake_streams())
        return cudaErrorStreamCaptureUnsupported;
    if (s->capture)
        return cudaErrorIllegalState;
    g = fake_zalloc(sizeof *g);
    g->body = fake_body_new();
    fake_count(FAKE_GRAPHS, 1);
    s->capture = g;
    s->origin = true;
    s->mode = mode;
    fake_front_set(&s->front, &s->n_front, NULL);
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
                                   enum cudaStreamCaptureMode mode)
{
    struct CUstream_st *s = fake_stream(stream);

    ENTER(cudaStreamBeginCapture);
    LEAVE(begin(s, mode));
}

static bool comes_before(const struct fake_op *early, const struct fake_op *op)
{
    if (early == op)
        return true;
    for (size_t i = 0; i < op->n_deps; i++)
        if (op->deps[i]->id >= early->id && comes_before(early, op->deps[i]))
            return true;
    return false;
}

/* Whether all that t was given has been waited for by s, who ends. */
static bool joined(const struct CUstream_st *s, const struct CUstream_st *t)
{
    for (size_t i = 0; i < t->n_front; i++) {
        bool found = false;

        for (size_t k = 0; k < s->n_front && !found; k++)
            found = comes_before(t->front[i], s->front[k]);
        if (!found)
            return false;
    }
    return true;
}

static bool end_streams(struct CUstream_st *s, const struct CUgraph_st *g)
{
    struct CUstream_st *t;
    bool all = true;

    for (t = fake_streams(); t; t = t->next)
        if (t->capture == g)
            all = joined(s, t) && all;
    for (t = fake_streams(); t; t = t->next) {
        if (t->capture != g)
            continue;
        t->capture = NULL;
        t->origin = false;
        fake_front_set(&t->front, &t->n_front, NULL);
    }
    return all;
}

static cudaError_t end(struct CUstream_st *s, cudaGraph_t *out)
{
    struct CUgraph_st *g;
    bool all_joined;
    cudaError_t rc = cudaSuccess;

    *out = NULL;
    if (!s || !s->capture)
        return cudaErrorIllegalState;
    if (!s->origin) {
        (void)fake_capture_spoil(s);
        return cudaErrorStreamCaptureUnmatched;
    }
    g = s->capture;
    all_joined = end_streams(s, g);
    if (g->spoilt)
        rc = cudaErrorStreamCaptureInvalidated;
    else if (!all_joined)
        rc = cudaErrorStreamCaptureUnjoined;
    if (rc == cudaSuccess) {
        *out = g;
        return rc;
    }
    fake_body_release(g->body);
    free(g);
    fake_count(FAKE_GRAPHS, -1);
    return rc;
}

/* A capture must end, even if the call must say that something failed. */
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out)
{
    struct CUstream_st *s = fake_stream(stream);
    cudaError_t rc;

    ENTER_RELEASE(cudaStreamEndCapture);
    rc = call.rc;
    if (rc && s && s->capture)
        s->capture->spoilt = true;
    if (rc) {
        (void)end(s, out);
        LEAVE(rc);
    }
    LEAVE(end(s, out));
}

static enum cudaStreamCaptureStatus status_of(const struct CUstream_st *s)
{
    if (!s || !s->capture)
        return cudaStreamCaptureStatusNone;
    return s->capture->spoilt ? cudaStreamCaptureStatusInvalidated
                              : cudaStreamCaptureStatusActive;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                  enum cudaStreamCaptureStatus *status)
{
    ENTER(cudaStreamIsCapturing);
    *status = status_of(fake_stream(stream));
    LEAVE(cudaSuccess);
}

struct info {
    unsigned long long *id;
    cudaGraph_t *graph;
    const cudaGraphNode_t **deps;
    size_t *n_deps;
};

static void tell(const struct CUstream_st *s, const struct info *out)
{
    if (out->id)
        *out->id = s->capture->body->graph;
    if (out->graph)
        *out->graph = s->capture;
    if (out->deps)
        *out->deps = (const cudaGraphNode_t *)s->front;
    if (out->n_deps)
        *out->n_deps = s->n_front;
}

/* The nodes that the next one would come behind: right after a launch, the
 * node of that launch. */
#if CUDART_VERSION >= 13000
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream,
                                     enum cudaStreamCaptureStatus *status,
                                     unsigned long long *id, cudaGraph_t *graph,
                                     const cudaGraphNode_t **deps,
                                     const cudaGraphEdgeData **edges,
                                     size_t *n_deps)
#else
cudaError_t cudaStreamGetCaptureInfo_v3(
    cudaStream_t stream, enum cudaStreamCaptureStatus *status,
    unsigned long long *id, cudaGraph_t *graph, const cudaGraphNode_t **deps,
    const cudaGraphEdgeData **edges, size_t *n_deps)
#endif
{
    const struct CUstream_st *s = fake_stream(stream);
    const struct info out = {id, graph, deps, n_deps};

    ENTER(cudaStreamGetCaptureInfo);
    *status = status_of(s);
    if (edges)
        *edges = NULL;
    if (*status == cudaStreamCaptureStatusActive)
        tell(s, &out);
    LEAVE(cudaSuccess);
}

#if CUDART_VERSION < 13000
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream,
                                        enum cudaStreamCaptureStatus *status,
                                        unsigned long long *id,
                                        cudaGraph_t *graph,
                                        const cudaGraphNode_t **deps,
                                        size_t *n_deps)
{
    return cudaStreamGetCaptureInfo_v3(stream, status, id, graph, deps, NULL,
                                       n_deps);
}
#endif
