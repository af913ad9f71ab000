#include "cuda/cuda_trace_graph.h"

#include <stdlib.h>

#include "nn/base/mem.h"

static void add(struct cuda_nodes *n, const struct cuda_node *node)
{
    if (n->n == n->cap) {
        size_t cap = n->cap ? 2 * n->cap : 256;
        struct cuda_node *bigger = mem_grow(n->node, cap, sizeof *bigger);

        if (!bigger) {
            n->lost = true;
            return;
        }
        n->node = bigger;
        n->cap = cap;
    }
    n->node[n->n++] = *node;
}

/* Nodes are also made when a graph is instantiated: those are clones, and are
 * told of once more as such. */
void cuda_nodes_event(void *data, CUpti_CallbackDomain domain,
                      CUpti_CallbackId number, const void *event)
{
    struct cuda_nodes *n = data;
    const CUpti_ResourceData *resource = event;
    const CUpti_GraphData *graph;
    struct cuda_node node = {.call = n->at};
    bool clone = number == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED;

    if (domain != CUPTI_CB_DOMAIN_RESOURCE ||
        (!clone && number != CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED))
        return;
    graph = resource->resourceDescriptor;
    if (!clone && !n->at)
        return;
    if (clone) {
        node.call = NULL;
        if (n->cupti->cuptiGetGraphNodeId(graph->originalNode, &node.of) !=
            CUPTI_SUCCESS)
            return;
    }
    if (n->cupti->cuptiGetGraphNodeId(graph->node, &node.id) == CUPTI_SUCCESS)
        add(n, &node);
}

static int by_id(const void *a, const void *b)
{
    const struct cuda_node *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

void cuda_nodes_sort(struct cuda_nodes *n)
{
    if (n->n > 0)
        qsort(n->node, n->n, sizeof *n->node, by_id);
}

const struct nn_call *cuda_nodes_call(const struct cuda_nodes *n, uint64_t id)
{
    enum { DEPTH = 8 }; /* clones of clones */
    struct cuda_node key = {.id = id};
    const struct cuda_node *node;

    for (int i = 0; i < DEPTH && n->n > 0 && key.id != 0; i++) {
        node = bsearch(&key, n->node, n->n, sizeof *n->node, by_id);
        if (!node || node->call)
            return node ? node->call : NULL;
        key.id = node->of;
    }
    return NULL;
}

void cuda_nodes_free(struct cuda_nodes *n)
{
    mem_free(n->node);
    n->node = NULL;
    n->n = n->cap = 0;
}
