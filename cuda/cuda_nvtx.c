#include "cuda/cuda_nvtx.h"

#include "nn/base/mem.h"

#if __has_include(<nvtx3/nvToolsExt.h>)

#include <nvtx3/nvToolsExt.h>
#include <stdio.h>

struct cuda_nvtx {
    nvtxDomainHandle_t domain;
    const char *phase; /* at hand; NULL: none is */
    nvtxRangeId_t range;
};

/* Without a tool there is no domain. */
void cuda_nvtx_open(struct cuda *cu)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("pipeline");

    if (!domain)
        return;
    cu->nvtx = mem_zalloc(sizeof *cu->nvtx);
    if (cu->nvtx)
        cu->nvtx->domain = domain;
}

void cuda_nvtx_close(struct cuda *cu)
{
    if (!cu->nvtx)
        return;
    cuda_nvtx_phase(cu, NULL);
    nvtxDomainDestroy(cu->nvtx->domain);
    mem_free(cu->nvtx);
    cu->nvtx = NULL;
}

static nvtxEventAttributes_t labelled(const char *text)
{
    const nvtxEventAttributes_t a = {.version = NVTX_VERSION,
                                     .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
                                     .messageType = NVTX_MESSAGE_TYPE_ASCII,
                                     .message = {.ascii = text}};

    return a;
}

void cuda_nvtx_phase(struct cuda *cu, const char *name)
{
    struct cuda_nvtx *n = cu->nvtx;
    nvtxEventAttributes_t a = labelled(name);

    if (n->phase == name)
        return;
    if (n->phase)
        nvtxDomainRangeEnd(n->domain, n->range);
    if (name)
        n->range = nvtxDomainRangeStartEx(n->domain, &a);
    n->phase = name;
}

void cuda_nvtx_begin_named(struct cuda *cu, const char *name)
{
    nvtxEventAttributes_t a = labelled(name);

    (void)nvtxDomainRangePushEx(cu->nvtx->domain, &a);
}

void cuda_nvtx_end(struct cuda *cu)
{
    (void)nvtxDomainRangePop(cu->nvtx->domain);
}

void cuda_nvtx_begin(struct cuda *cu, const struct nn_call *call)
{
    const char *layer = call->layer ? call->layer : "";
    const char *role = nn_role_name(call->role);
    char text[160];

    cuda_nvtx_phase(
        cu, call->phase == NN_PHASE_NONE ? NULL : nn_phase_name(call->phase));
    (void)snprintf(text, sizeof text, "%s%s%s%s%s", nn_op_name(call->op),
                   layer[0] ? " " : "", layer, role[0] ? " " : "", role);
    cuda_nvtx_begin_named(cu, text);
}

#else

void cuda_nvtx_open(struct cuda *cu)
{
    (void)cu;
}

void cuda_nvtx_close(struct cuda *cu)
{
    (void)cu;
}

void cuda_nvtx_phase(struct cuda *cu, const char *name)
{
    (void)cu;
    (void)name;
}

void cuda_nvtx_begin(struct cuda *cu, const struct nn_call *call)
{
    (void)cu;
    (void)call;
}

void cuda_nvtx_begin_named(struct cuda *cu, const char *name)
{
    (void)cu;
    (void)name;
}

void cuda_nvtx_end(struct cuda *cu)
{
    (void)cu;
}

#endif
