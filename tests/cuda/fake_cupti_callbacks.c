/* The double of CUPTI's callback API: the names of functions, one subscriber,
 * and the news of a graph's nodes, made at capture and cloned when the graph is
 * instantiated. */
#include <string.h>

#include "tests/cuda/fake_cupti.h"

static const struct {
    const char *fn, *name;
    uint32_t number;
} functions[] = {
#define F(fn, v) \
    { \
#fn, #fn "_" #v, CUPTI_RUNTIME_TRACE_CBID_##fn##_##v \
    }
    F(cudaGetDeviceCount, v3020),
    F(cudaSetDevice, v3020),
    F(cudaGetDevice, v3020),
    F(cudaDeviceGetAttribute, v5000),
    F(cudaDriverGetVersion, v3020),
    F(cudaRuntimeGetVersion, v3020),
    F(cudaDeviceSynchronize, v3020),
    F(cudaMemGetInfo, v3020),
    F(cudaMalloc, v3020),
    F(cudaFree, v3020),
    F(cudaMallocAsync, v11020),
    F(cudaFreeAsync, v11020),
    F(cudaHostAlloc, v3020),
    F(cudaMallocHost, v3020),
    F(cudaFreeHost, v3020),
    F(cudaMemcpy, v3020),
    F(cudaMemcpyAsync, v3020),
    F(cudaMemset, v3020),
    F(cudaMemsetAsync, v3020),
    F(cudaStreamCreate, v3020),
    F(cudaStreamCreateWithFlags, v5000),
    F(cudaStreamDestroy, v5050),
    F(cudaStreamSynchronize, v3020),
    F(cudaStreamQuery, v3020),
    F(cudaStreamWaitEvent, v3020),
    F(cudaEventCreate, v3020),
    F(cudaEventCreateWithFlags, v3020),
    F(cudaEventDestroy, v3020),
    F(cudaEventRecord, v3020),
    F(cudaEventSynchronize, v3020),
    F(cudaEventQuery, v3020),
    F(cudaEventElapsedTime, v3020),
    F(cudaStreamBeginCapture, v10000),
    F(cudaStreamEndCapture, v10000),
    F(cudaStreamIsCapturing, v10000),
    F(cudaGraphInstantiate, v12000),
    F(cudaGraphUpload, v10000),
    F(cudaGraphLaunch, v10000),
    F(cudaGraphExecUpdate, v10020),
    F(cudaGraphGetNodes, v10000),
    F(cudaGraphDestroy, v10000),
    F(cudaGraphExecDestroy, v10000),
    F(cudaLaunchKernel, v7000),
    F(cudaLaunchHostFunc, v10000),
    F(cudaFuncSetAttribute, v9000),
#undef F
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

uint32_t fake_cupti_number(const char *fn)
{
    for (int i = 0; i < FUNCTIONS; i++)
        if (strcmp(functions[i].fn, fn) == 0)
            return functions[i].number;
    return 0;
}

CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t number,
                                 const char **name)
{
    int injected = fake_injected("cuptiGetCallbackName");

    if (injected)
        return (CUptiResult)injected;
    *name = "cuLaunchKernel";
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API &&
        number == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel)
        return CUPTI_SUCCESS;
    if (domain != CUPTI_CB_DOMAIN_RUNTIME_API)
        return CUPTI_ERROR_INVALID_PARAMETER;
    for (int i = 0; i < FUNCTIONS; i++)
        if (functions[i].number == number) {
            *name = functions[i].name;
            return CUPTI_SUCCESS;
        }
    return CUPTI_ERROR_INVALID_PARAMETER;
}

static struct {
    CUpti_CallbackFunc fn;
    void *data;
    bool nodes_made, nodes_cloned;
} subscriber;

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *out, CUpti_CallbackFunc fn,
                           void *data)
{
    int injected = fake_injected("cuptiSubscribe");

    if (injected)
        return (CUptiResult)injected;
    if (!out)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (subscriber.fn)
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    subscriber.fn = fn;
    subscriber.data = data;
    *out = (CUpti_SubscriberHandle)(void *)&subscriber;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle handle)
{
    int injected = fake_injected("cuptiUnsubscribe");

    (void)handle;
    memset(&subscriber, 0, sizeof subscriber);
    return (CUptiResult)injected;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle handle,
                                CUpti_CallbackDomain domain,
                                CUpti_CallbackId number)
{
    int injected = fake_injected("cuptiEnableCallback");

    (void)handle;
    if (injected)
        return (CUptiResult)injected;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE &&
        number == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED)
        subscriber.nodes_made = enable;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE &&
        number == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED)
        subscriber.nodes_cloned = enable;
    fake_cupti_trace();
    return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle handle,
                              CUpti_CallbackDomain domain)
{
    int injected = fake_injected("cuptiEnableDomain");

    (void)handle;
    if (injected)
        return (CUptiResult)injected;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE)
        subscriber.nodes_made = subscriber.nodes_cloned = enable;
    fake_cupti_trace();
    return CUPTI_SUCCESS;
}

void fake_cupti_node(const struct fake_op *node, const struct fake_op *of)
{
    CUpti_GraphData graph = {0};
    CUpti_ResourceData resource = {0};

    if (!subscriber.fn ||
        !(of ? subscriber.nodes_cloned : subscriber.nodes_made))
        return;
    graph.node = (CUgraphNode)(uintptr_t)node;
    graph.originalNode = (CUgraphNode)(uintptr_t)of;
    graph.nodeType = node->kind <= FAKE_LIBRARY ? CU_GRAPH_NODE_TYPE_KERNEL
                     : node->kind == FAKE_COPY  ? CU_GRAPH_NODE_TYPE_MEMCPY
                     : node->kind == FAKE_SET   ? CU_GRAPH_NODE_TYPE_MEMSET
                                                : CU_GRAPH_NODE_TYPE_HOST;
    resource.resourceDescriptor = &graph;
    subscriber.fn(subscriber.data, CUPTI_CB_DOMAIN_RESOURCE,
                  of ? CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED
                     : CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED,
                  &resource);
}

CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t *id)
{
    int injected = fake_injected("cuptiGetGraphNodeId");

    if (injected)
        return (CUptiResult)injected;
    if (!node)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *id = ((const struct fake_op *)(uintptr_t)node)->id;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphId(CUgraph graph, uint32_t *id)
{
    if (!graph)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *id = graph->body->graph;
    return CUPTI_SUCCESS;
}

CUptiResult cuptiGetGraphExecId(CUgraphExec graph, uint32_t *id)
{
    if (!graph)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *id = graph->body->graph;
    return CUPTI_SUCCESS;
}
