/* What CUDA says, in our words. */
#include <string.h>

#include "cuda/cuda_backend.h"
#include "cuda/cuda_nvtx.h"

/* "cudaMalloc" of "cudaMalloc(&base, s->size)" */
static int name_length(const char *call)
{
    return (int)strcspn(call, "(");
}

int cuda_check(cudaError_t rc, const char *call, struct err *err)
{
    if (rc == cudaSuccess)
        return 0;
    (void)cudaGetLastError(); /* told here: the next call starts clean */
    return err_set(err,
                   rc == cudaErrorMemoryAllocation ? ERR_NOMEM : ERR_DEVICE,
                   "the GPU failed: %.*s: %s (%s)", name_length(call), call,
                   cudaGetErrorString(rc), cudaGetErrorName(rc));
}

int cuda_check_blas(cublasStatus_t rc, const char *call, struct err *err)
{
    if (rc == CUBLAS_STATUS_SUCCESS)
        return 0;
    return err_set(err,
                   rc == CUBLAS_STATUS_ALLOC_FAILED ? ERR_NOMEM : ERR_DEVICE,
                   "the GPU's matrix library failed: %.*s: %s",
                   name_length(call), call, cublasGetStatusString(rc));
}

int cuda_late(struct cuda *cu, struct err *err)
{
    int rc = cu->late.code;

    if (rc == 0)
        return 0;
    *err = cu->late;
    err_clear(&cu->late);
    return rc;
}

/* In the words of the CPU backend. */
static int report(const struct cuda_fault *f, struct err *err)
{
    bool table = f->op == NN_OP_EMBEDDING || f->op == NN_OP_EMBEDDING_GRAD;

    return err_set(err, ERR_CORRUPT, "%s %lld %s %lld is outside 0 to %lld",
                   table ? "index" : "label", (long long)f->value,
                   table ? "at place" : "of row", (long long)f->where,
                   (long long)f->limit - 1);
}

int cuda_wait(struct cuda *cu, struct err *err)
{
    struct cuda_fault fault = {0};
    int rc = cuda_late(cu, err);

    if (cu->nvtx)
        cuda_nvtx_phase(cu, NULL);
    if (rc == 0)
        rc = CU(cudaMemcpyAsync(&fault, cu->fault, sizeof fault,
                                cudaMemcpyDeviceToHost, cu->stream),
                err);
    if (rc == 0)
        rc = CU(cudaStreamSynchronize(cu->stream), err);
    if (rc != 0 || !fault.set)
        return rc;
    rc = CU(cudaMemsetAsync(cu->fault, 0, sizeof fault, cu->stream), err);
    return rc != 0 ? rc : report(&fault, err);
}
