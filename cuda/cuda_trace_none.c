/* In place of the other cuda_trace*.c where the toolkit has no cupti.h. */
#include <stdio.h>

#include "cuda/cuda_device.h"
#include "cuda/cuda_trace.h"
#include "nn/base/mem.h"

struct cuda_trace {
    char refused[300];
};

int cuda_trace_begin(struct nn_backend *be, struct err *err)
{
    struct cuda *cu = (struct cuda *)be;

    if (cu->trace)
        return err_set(err, ERR_DEVICE,
                       "the GPU's own records have begun already");
    cu->trace = mem_zalloc(sizeof *cu->trace);
    if (!cu->trace)
        return err_set(err, ERR_NOMEM,
                       "out of memory for the records of the GPU");
    (void)snprintf(cu->trace->refused, sizeof cu->trace->refused,
                   "the GPU's own records need CUPTI, whose headers this "
                   "program was built without; they come with the CUDA "
                   "toolkit, in the package cuda-cupti-dev-%d-%d",
                   CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
    return 0;
}

int cuda_trace_end(struct nn_backend *be, struct nn_device_trace **out,
                   struct err *err)
{
    struct cuda *cu = (struct cuda *)be;
    struct nn_device_trace *t;
    int rc;

    *out = NULL;
    if (!cu->trace)
        return err_set(err, ERR_DEVICE, "the GPU's own records have not begun");
    rc = cuda_wait(cu, err);
    if (rc != 0)
        return rc;
    t = mem_zalloc(sizeof *t);
    if (!t)
        return err_set(err, ERR_NOMEM,
                       "out of memory for the records of the GPU");
    cuda_device_info(&t->device, cu->device);
    (void)snprintf(t->refused, sizeof t->refused, "%s", cu->trace->refused);
    cuda_trace_free(cu);
    *out = t;
    return 0;
}

void cuda_trace_free(struct cuda *cu)
{
    mem_free(cu->trace);
    cu->trace = NULL;
}

void cuda_trace_push(struct cuda *cu)
{
    (void)cu;
}

void cuda_trace_pop(struct cuda *cu)
{
    (void)cu;
}

void cuda_trace_capture(struct cuda *cu, const struct nn_call *call)
{
    (void)cu;
    (void)call;
}
