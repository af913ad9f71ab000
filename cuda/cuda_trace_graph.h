/* Which operator each node of a graph does: noted when the node is captured,
 * and handed on to its clones, of which an executable graph is made. */
#ifndef CUDA_TRACE_GRAPH_H
#define CUDA_TRACE_GRAPH_H

#include <stddef.h>

#include "cuda/cuda_cupti.h"
#include "nn/op.h"

struct cuda_nodes {
    const struct cupti *cupti;
    const struct nn_call *at; /* being captured; NULL: none is */
    struct cuda_node {
        uint64_t id, of; /* of: what it is a clone of, 0: of none */
        const struct nn_call *call;
    } * node;
    size_t n, cap;
    bool lost; /* some are not there: no memory */
};

/* CUPTI's callback; data is the struct cuda_nodes. */
void cuda_nodes_event(void *data, CUpti_CallbackDomain domain,
                      CUpti_CallbackId number, const void *event);
/* Once, before the first of: */
void cuda_nodes_sort(struct cuda_nodes *n);
const struct nn_call *cuda_nodes_call(const struct cuda_nodes *n, uint64_t id);
void cuda_nodes_free(struct cuda_nodes *n);

#endif
