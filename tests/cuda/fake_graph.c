/* Graphs: nodes with their order, run as the order allows. Of the nodes that
 * could run next, "lazy" takes the last, "eager" the first and "random" any,
 * so that an edge that a capture lacks shows. */
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake.h"

static struct {
    uint32_t graphs, nodes;
} last;

uint32_t fake_node_ids(size_t n)
{
    uint32_t first = last.nodes + 1;

    last.nodes += (uint32_t)n;
    return first;
}

struct fake_body *fake_body_new(void)
{
    struct fake_body *b = fake_zalloc(sizeof *b);

    b->refs = 1;
    b->graph = ++last.graphs;
    return b;
}

void fake_body_release(struct fake_body *b)
{
    if (--b->refs > 0)
        return;
    for (size_t i = 0; i < b->n; i++)
        fake_op_free(b->nodes[i]);
    free(b->nodes);
    free(b);
}

static bool may_run(const struct fake_op *op, const bool *done, uint32_t first)
{
    for (size_t i = 0; i < op->n_deps; i++)
        if (!done[op->deps[i]->id - first])
            return false;
    return true;
}

/* The next node to run, or n: none is left. */
static size_t next_node(const struct fake_body *b, const bool *done)
{
    enum fake_order order = fake_order();
    size_t pick = b->n, ready = 0;

    for (size_t i = 0; i < b->n; i++) {
        if (done[i] || !may_run(b->nodes[i], done, b->nodes[0]->id))
            continue;
        ready++;
        if (ready == 1 || order == FAKE_LAZY ||
            (order == FAKE_RANDOM && cusim_random() % ready == 0))
            pick = i;
    }
    return pick;
}

/* In a graph of one chain the next node is the next in the list. */
static bool is_chain(const struct fake_body *b)
{
    for (size_t i = 1; i < b->n; i++)
        if (b->nodes[i]->n_deps != 1 || b->nodes[i]->deps[0] != b->nodes[i - 1])
            return false;
    return true;
}

void fake_body_run(struct fake_body *b, const struct CUstream_st *s,
                   uint32_t corr)
{
    bool chain = is_chain(b);
    bool *done = fake_zalloc(b->n * sizeof *done);

    for (size_t k = 0; k < b->n; k++) {
        size_t i = chain ? k : next_node(b, done);

        fake_op_run(b->nodes[i], s, corr, b->graph);
        done[i] = true;
    }
    free(done);
}

static struct fake_op *clone_node(const struct fake_op *op,
                                  const struct fake_body *from,
                                  const struct fake_body *to)
{
    struct fake_op *c = fake_zalloc(sizeof *c + op->size);

    memcpy(c, op, sizeof *c + op->size);
    c->id = to->first_id + (op->id - from->nodes[0]->id);
    c->deps = fake_zalloc(op->n_deps * sizeof(struct fake_op *));
    for (size_t i = 0; i < op->n_deps; i++)
        c->deps[i] = to->nodes[op->deps[i]->id - from->nodes[0]->id];
    if (fake_tracer())
        fake_tracer()->node(c, op);
    return c;
}

/* As the driver does: an executable graph has nodes, and numbers, of its own.
 * Node numbers of one graph have no gaps: captures do not interleave. */
static struct fake_body *clone(const struct fake_body *from)
{
    struct fake_body *b = fake_body_new();

    b->nodes = fake_zalloc(from->n * sizeof(struct fake_op *));
    b->first_id = fake_node_ids(from->n);
    for (size_t i = 0; i < from->n; i++)
        b->nodes[b->n++] = clone_node(from->nodes[i], from, b);
    return b;
}

static cudaError_t instantiate(cudaGraphExec_t *out, cudaGraph_t g)
{
    struct CUgraphExec_st *e;

    if (!g)
        return cudaErrorInvalidValue;
    e = fake_zalloc(sizeof *e);
    e->body = clone(g->body);
    fake_count(FAKE_EXECS, 1);
    *out = e;
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *out, cudaGraph_t g,
                                 unsigned long long flags)
{
    cudaError_t rc;

    (void)flags;
    ENTER(cudaGraphInstantiate);
    rc = fake_capture_forbids();
    LEAVE(rc ? rc : instantiate(out, g));
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t g,
                                          unsigned long long flags)
{
    return cudaGraphInstantiate(out, g, flags);
}

cudaError_t cudaGraphUpload(cudaGraphExec_t e, cudaStream_t stream)
{
    (void)stream;
    ENTER(cudaGraphUpload);
    LEAVE(e ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t e, cudaStream_t stream)
{
    struct fake_op op = {.kind = FAKE_GRAPH, .name = "graph"};
    struct CUstream_st *s = fake_stream(stream);

    ENTER(cudaGraphLaunch);
    if (!e || !s)
        LEAVE(cudaErrorInvalidValue);
    if (s->capture)
        LEAVE(fake_capture_spoil(s));
    op.body = e->body;
    op.corr = call.corr;
    LEAVE(fake_enqueue(stream, &op, NULL, 0));
}

static bool same_shape(const struct fake_op *a, const struct fake_op *b,
                       uint32_t first_a, uint32_t first_b)
{
    if (a->kind != b->kind || a->func != b->func || a->n_deps != b->n_deps)
        return false;
    for (size_t i = 0; i < a->n_deps; i++)
        if (a->deps[i]->id - first_a != b->deps[i]->id - first_b)
            return false;
    return true;
}

/* The first node of g that is not as in the executable graph; n if none. */
static size_t first_change(const struct fake_body *e, const struct fake_body *g)
{
    for (size_t i = 0; i < g->n; i++)
        if (!same_shape(e->nodes[i], g->nodes[i], e->nodes[0]->id,
                        g->nodes[0]->id))
            return i;
    return g->n;
}

cudaError_t cudaGraphExecUpdate(cudaGraphExec_t e, cudaGraph_t g,
                                cudaGraphExecUpdateResultInfo *info)
{
    cudaGraphExecUpdateResultInfo none;
    struct fake_body *old, *b;
    size_t at;

    ENTER(cudaGraphExecUpdate);
    if (!info)
        info = &none;
    memset(info, 0, sizeof *info);
    if (!e || !g)
        LEAVE(cudaErrorInvalidValue);
    old = e->body;
    if (old->n != g->body->n) {
        info->result = cudaGraphExecUpdateErrorTopologyChanged;
        LEAVE(cudaErrorGraphExecUpdateFailure);
    }
    at = first_change(old, g->body);
    if (at < old->n) {
        info->result = cudaGraphExecUpdateErrorFunctionChanged;
        info->errorNode = (cudaGraphNode_t)g->body->nodes[at];
        LEAVE(cudaErrorGraphExecUpdateFailure);
    }
    b = clone(g->body);
    b->graph = old->graph;
    for (size_t i = 0; i < b->n; i++)
        b->nodes[i]->id = old->nodes[i]->id;
    e->body = b;
    fake_body_release(old);
    info->result = cudaGraphExecUpdateSuccess;
    LEAVE(cudaSuccess);
}

cudaError_t cudaGraphDestroy(cudaGraph_t g)
{
    ENTER_RELEASE(cudaGraphDestroy);
    if (!g)
        LEAVE_RELEASE(cudaErrorInvalidValue);
    fake_body_release(g->body);
    free(g);
    fake_count(FAKE_GRAPHS, -1);
    LEAVE_RELEASE(cudaSuccess);
}

/* Launches that still wait keep their nodes. */
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t e)
{
    ENTER_RELEASE(cudaGraphExecDestroy);
    if (!e)
        LEAVE_RELEASE(cudaErrorInvalidValue);
    fake_body_release(e->body);
    free(e);
    fake_count(FAKE_EXECS, -1);
    LEAVE_RELEASE(cudaSuccess);
}

cudaError_t cudaGraphGetNodes(cudaGraph_t g, cudaGraphNode_t *nodes, size_t *n)
{
    size_t i, room;

    ENTER(cudaGraphGetNodes);
    if (!g || !n)
        LEAVE(cudaErrorInvalidValue);
    room = *n;
    *n = g->body->n;
    for (i = 0; nodes && i < room; i++)
        nodes[i] = i < g->body->n ? (cudaGraphNode_t)g->body->nodes[i] : NULL;
    if (nodes && room < *n)
        *n = room;
    LEAVE(cudaSuccess);
}

cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node,
                                 enum cudaGraphNodeType *type)
{
    static const enum cudaGraphNodeType types[] = {
        [FAKE_KERNEL] = cudaGraphNodeTypeKernel,
        [FAKE_LIBRARY] = cudaGraphNodeTypeKernel,
        [FAKE_COPY] = cudaGraphNodeTypeMemcpy,
        [FAKE_SET] = cudaGraphNodeTypeMemset,
        [FAKE_HOST] = cudaGraphNodeTypeHost};
    const struct fake_op *op = (const struct fake_op *)node;

    ENTER(cudaGraphNodeGetType);
    if (!op)
        LEAVE(cudaErrorInvalidValue);
    *type = types[op->kind];
    LEAVE(cudaSuccess);
}

cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
                                         struct cudaKernelNodeParams *params)
{
    const struct fake_op *op = (const struct fake_op *)node;

    ENTER(cudaGraphKernelNodeGetParams);
    if (!op || op->kind > FAKE_LIBRARY)
        LEAVE(cudaErrorInvalidValue);
    memset(params, 0, sizeof *params);
    params->func = (void *)(uintptr_t)op->func;
    params->gridDim = op->grid;
    params->blockDim = op->block;
    params->sharedMemBytes = (unsigned)op->shared;
    LEAVE(cudaSuccess);
}
