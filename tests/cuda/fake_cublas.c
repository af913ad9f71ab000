/* The double of cuBLAS: handles and the products' entry points. Like the real
 * one it takes device memory of its own for a handle, and forgets the workspace
 * when the stream is set. */
#include <cublas_v2.h>
#include <stdlib.h>

#include "tests/cuda/fake.h"
#include "tests/cuda/fake_gemm.h"

enum { OWN_WORKSPACE = 4 << 20 };

struct cublasContext {
    cudaStream_t stream;
    cublasMath_t math;
    cublasPointerMode_t pointers;
    void *own;
};

#define INJECT(name) \
    do { \
        int injected = fake_injected(#name); \
        if (injected) \
            return (cublasStatus_t)injected; \
    } while (0)

static cublasStatus_t create(cublasHandle_t *out)
{
    void *own;

    *out = NULL;
    if (fake_faulted())
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (fake_capture_forbids() || fake_mem_alloc(&own, OWN_WORKSPACE))
        return CUBLAS_STATUS_ALLOC_FAILED;
    *out = fake_zalloc(sizeof **out);
    (*out)->own = own;
    fake_count(FAKE_HANDLES, 1);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasCreate_v2(cublasHandle_t *out)
{
    INJECT(cublasCreate);
    return create(out);
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t h)
{
    int injected = fake_injected("cublasDestroy");

    if (!h)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    fake_drain(NULL, UINT64_MAX);
    (void)fake_mem_free(h->own);
    free(h);
    fake_count(FAKE_HANDLES, -1);
    return (cublasStatus_t)injected;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t h, cudaStream_t stream)
{
    INJECT(cublasSetStream);
    if (!h)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    h->stream = stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t h, cudaStream_t *stream)
{
    INJECT(cublasGetStream);
    if (!h)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    *stream = h->stream;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t h, cublasMath_t mode)
{
    INJECT(cublasSetMathMode);
    if (!h)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    h->math = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t h, cublasMath_t *mode)
{
    INJECT(cublasGetMathMode);
    if (!h)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    *mode = h->math;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t h, void *p, size_t n)
{
    INJECT(cublasSetWorkspace);
    if (!h)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (n > 0 && ((uintptr_t)p % 256 != 0 || !fake_mem_holds(p, n)))
        return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t h,
                                       cublasPointerMode_t mode)
{
    INJECT(cublasSetPointerMode);
    if (!h)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    h->pointers = mode;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t h, int *version)
{
    (void)h;
    INJECT(cublasGetVersion);
    *version = CUBLAS_VERSION;
    return CUBLAS_STATUS_SUCCESS;
}

const char *cublasGetStatusName(cublasStatus_t rc)
{
    switch (rc) {
#define NAME(x) \
    case x: \
        return #x;
        NAME(CUBLAS_STATUS_SUCCESS)
        NAME(CUBLAS_STATUS_NOT_INITIALIZED)
        NAME(CUBLAS_STATUS_ALLOC_FAILED)
        NAME(CUBLAS_STATUS_INVALID_VALUE)
        NAME(CUBLAS_STATUS_ARCH_MISMATCH)
        NAME(CUBLAS_STATUS_MAPPING_ERROR)
        NAME(CUBLAS_STATUS_EXECUTION_FAILED)
        NAME(CUBLAS_STATUS_INTERNAL_ERROR)
        NAME(CUBLAS_STATUS_NOT_SUPPORTED)
        NAME(CUBLAS_STATUS_LICENSE_ERROR)
#undef NAME
    }
    return "unknown error";
}

const char *cublasGetStatusString(cublasStatus_t rc)
{
    return cublasGetStatusName(rc);
}

/* --- products ------------------------------------------------------------- */

static cublasStatus_t launch(cublasHandle_t h, struct fake_gemm *g,
                             const void *alpha, const void *beta)
{
    if (!h)
        return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!alpha || !beta)
        return CUBLAS_STATUS_INVALID_VALUE;
    fake_gemm_scale(g, alpha, beta, h->pointers == CUBLAS_POINTER_MODE_DEVICE,
                    g->d.type == CUDA_R_64F);
    g->c = g->d;
    g->tf32 = g->tf32 || (h->math == CUBLAS_TF32_TENSOR_OP_MATH &&
                          g->a.type == CUDA_R_32F);
    return fake_gemm(g, h->stream);
}

/* A matrix as the entry points get it. */
static struct fake_matrix matrix(const void *p, cudaDataType_t type, int ld,
                                 long long stride, cublasOperation_t op)
{
    return (struct fake_matrix){(void *)(uintptr_t)p, type, ld, stride,
                                op != CUBLAS_OP_N};
}
#define GEMM(name_, m_, n_, k_, batch_) \
    struct fake_gemm g = {.name = #name_, \
                          .m = (m_), \
                          .n = (n_), \
                          .k = (k_), \
                          .batch = (batch_), \
                          .pc = __builtin_return_address(0)}; \
    int injected = fake_injected(g.name); \
    if (injected) \
    return (cublasStatus_t)injected

cublasStatus_t cublasSgemm_v2(cublasHandle_t h, cublasOperation_t ta,
                              cublasOperation_t tb, int m, int n, int k,
                              const float *alpha, const float *A, int lda,
                              const float *B, int ldb, const float *beta,
                              float *C, int ldc)
{
    GEMM(cublasSgemm, m, n, k, 1);
    g.a = matrix(A, CUDA_R_32F, lda, 0, ta);
    g.b = matrix(B, CUDA_R_32F, ldb, 0, tb);
    g.d = matrix(C, CUDA_R_32F, ldc, 0, CUBLAS_OP_N);
    return launch(h, &g, alpha, beta);
}

cublasStatus_t cublasDgemm_v2(cublasHandle_t h, cublasOperation_t ta,
                              cublasOperation_t tb, int m, int n, int k,
                              const double *alpha, const double *A, int lda,
                              const double *B, int ldb, const double *beta,
                              double *C, int ldc)
{
    GEMM(cublasDgemm, m, n, k, 1);
    g.a = matrix(A, CUDA_R_64F, lda, 0, ta);
    g.b = matrix(B, CUDA_R_64F, ldb, 0, tb);
    g.d = matrix(C, CUDA_R_64F, ldc, 0, CUBLAS_OP_N);
    return launch(h, &g, alpha, beta);
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t h, cublasOperation_t ta,
                                         cublasOperation_t tb, int m, int n,
                                         int k, const float *alpha,
                                         const float *A, int lda, long long sa,
                                         const float *B, int ldb, long long sb,
                                         const float *beta, float *C, int ldc,
                                         long long sc, int batch)
{
    GEMM(cublasSgemmStridedBatched, m, n, k, batch);
    g.a = matrix(A, CUDA_R_32F, lda, sa, ta);
    g.b = matrix(B, CUDA_R_32F, ldb, sb, tb);
    g.d = matrix(C, CUDA_R_32F, ldc, sc, CUBLAS_OP_N);
    return launch(h, &g, alpha, beta);
}

static bool supported(cublasComputeType_t compute, cudaDataType_t out)
{
    if (out == CUDA_R_64F)
        return compute == CUBLAS_COMPUTE_64F;
    return compute == CUBLAS_COMPUTE_32F ||
           compute == CUBLAS_COMPUTE_32F_PEDANTIC ||
           compute == CUBLAS_COMPUTE_32F_FAST_TF32;
}

cublasStatus_t cublasGemmEx(cublasHandle_t h, cublasOperation_t ta,
                            cublasOperation_t tb, int m, int n, int k,
                            const void *alpha, const void *A, cudaDataType_t at,
                            int lda, const void *B, cudaDataType_t bt, int ldb,
                            const void *beta, void *C, cudaDataType_t ct,
                            int ldc, cublasComputeType_t compute,
                            cublasGemmAlgo_t algo)
{
    (void)algo;
    GEMM(cublasGemmEx, m, n, k, 1);
    if (!supported(compute, ct))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    g.tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    g.a = matrix(A, at, lda, 0, ta);
    g.b = matrix(B, bt, ldb, 0, tb);
    g.d = matrix(C, ct, ldc, 0, CUBLAS_OP_N);
    return launch(h, &g, alpha, beta);
}

cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t h, cublasOperation_t ta, cublasOperation_t tb, int m, int n,
    int k, const void *alpha, const void *A, cudaDataType_t at, int lda,
    long long sa, const void *B, cudaDataType_t bt, int ldb, long long sb,
    const void *beta, void *C, cudaDataType_t ct, int ldc, long long sc,
    int batch, cublasComputeType_t compute, cublasGemmAlgo_t algo)
{
    (void)algo;
    GEMM(cublasGemmStridedBatchedEx, m, n, k, batch);
    if (!supported(compute, ct))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    g.tf32 = compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    g.a = matrix(A, at, lda, sa, ta);
    g.b = matrix(B, bt, ldb, sb, tb);
    g.d = matrix(C, ct, ldc, sc, CUBLAS_OP_N);
    return launch(h, &g, alpha, beta);
}
