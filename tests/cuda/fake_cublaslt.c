/* The double of cuBLASLt: matmul with the epilogues none, bias, relu and both.
 * Descriptors keep their attributes by number. */
#include <cublasLt.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake.h"
#include "tests/cuda/fake_gemm.h"

#define INJECT(name) \
    do { \
        int injected = fake_injected(#name); \
        if (injected) \
            return (cublasStatus_t)injected; \
    } while (0)

/* Lie in NVIDIA's own opaque structures, as theirs do. */
struct desc {
    int32_t compute, scale, pointer_mode, trans[2], epilogue;
    const void *bias;
};
struct layout {
    uint64_t rows, cols;
    int64_t ld, stride;
    int32_t type, batch, order;
};

static const struct desc *desc_of(cublasLtMatmulDesc_t d)
{
    return (const struct desc *)(const void *)d;
}

static const struct layout *layout_of(cublasLtMatrixLayout_t l)
{
    return (const struct layout *)(const void *)l;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *out)
{
    INJECT(cublasLtCreate);
    *out = fake_zalloc(8);
    fake_count(FAKE_HANDLES, 1);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t h)
{
    int injected = fake_injected("cublasLtDestroy");

    free(h);
    fake_count(FAKE_HANDLES, -1);
    return (cublasStatus_t)injected;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *out,
                                        cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
    struct desc *d;

    INJECT(cublasLtMatmulDescCreate);
    *out = fake_zalloc(sizeof **out);
    d = (struct desc *)(void *)*out;
    d->compute = (int32_t)compute;
    d->scale = (int32_t)scale;
    d->epilogue = CUBLASLT_EPILOGUE_DEFAULT;
    fake_count(FAKE_HANDLES, 1);
    return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t release(const char *name, void *p)
{
    int injected = fake_injected(name);

    free(p);
    fake_count(FAKE_HANDLES, -1);
    return (cublasStatus_t)injected;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t d)
{
    return release("cublasLtMatmulDescDestroy", d);
}

static cublasStatus_t set(void *field, size_t want, const void *value,
                          size_t size)
{
    if (size != want)
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(field, value, size);
    return CUBLAS_STATUS_SUCCESS;
}
#define SET(field) set(&(field), sizeof(field), value, size)

cublasStatus_t
cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc,
                               cublasLtMatmulDescAttributes_t attr,
                               const void *value, size_t size)
{
    struct desc *d = (struct desc *)(void *)desc;

    INJECT(cublasLtMatmulDescSetAttribute);
    switch (attr) {
    case CUBLASLT_MATMUL_DESC_TRANSA:
        return SET(d->trans[0]);
    case CUBLASLT_MATMUL_DESC_TRANSB:
        return SET(d->trans[1]);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
        return SET(d->epilogue);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
        return SET(d->bias);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
        return SET(d->pointer_mode);
    default:
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *out,
                                          cudaDataType type, uint64_t rows,
                                          uint64_t cols, int64_t ld)
{
    INJECT(cublasLtMatrixLayoutCreate);
    *out = fake_zalloc(sizeof **out);
    *(struct layout *)(void *)*out = (struct layout){
        rows, cols, ld, 0, (int32_t)type, 1, CUBLASLT_ORDER_COL};
    fake_count(FAKE_HANDLES, 1);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t l)
{
    return release("cublasLtMatrixLayoutDestroy", l);
}

cublasStatus_t
cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                 cublasLtMatrixLayoutAttribute_t attr,
                                 const void *value, size_t size)
{
    struct layout *l = (struct layout *)(void *)layout;

    INJECT(cublasLtMatrixLayoutSetAttribute);
    switch (attr) {
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
        return SET(l->batch);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
        return SET(l->stride);
    case CUBLASLT_MATRIX_LAYOUT_LD:
        return SET(l->ld);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
        return SET(l->order);
    default:
        return CUBLAS_STATUS_NOT_SUPPORTED;
    }
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *out)
{
    INJECT(cublasLtMatmulPreferenceCreate);
    *out = fake_zalloc(sizeof **out);
    fake_count(FAKE_HANDLES, 1);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t p)
{
    return release("cublasLtMatmulPreferenceDestroy", p);
}

cublasStatus_t
cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t p,
                                     cublasLtMatmulPreferenceAttributes_t attr,
                                     const void *value, size_t size)
{
    (void)p;
    (void)attr;
    (void)value;
    (void)size;
    INJECT(cublasLtMatmulPreferenceSetAttribute);
    return CUBLAS_STATUS_SUCCESS;
}

static bool epilogue_known(int32_t e)
{
    return e == CUBLASLT_EPILOGUE_DEFAULT || e == CUBLASLT_EPILOGUE_RELU ||
           e == CUBLASLT_EPILOGUE_BIAS || e == CUBLASLT_EPILOGUE_RELU_BIAS;
}

static bool fits(const struct desc *d, const struct layout *a,
                 const struct layout *b, const struct layout *out)
{
    uint64_t m = d->trans[0] ? a->cols : a->rows;
    uint64_t k = d->trans[0] ? a->rows : a->cols;
    uint64_t kb = d->trans[1] ? b->cols : b->rows;
    uint64_t n = d->trans[1] ? b->rows : b->cols;

    return k == kb && m == out->rows && n == out->cols &&
           a->order == CUBLASLT_ORDER_COL && b->order == CUBLASLT_ORDER_COL &&
           out->order == CUBLASLT_ORDER_COL;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(
    cublasLtHandle_t h, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t A,
    cublasLtMatrixLayout_t B, cublasLtMatrixLayout_t C,
    cublasLtMatrixLayout_t D, cublasLtMatmulPreference_t preference, int asked,
    cublasLtMatmulHeuristicResult_t results[], int *found)
{
    (void)C;
    (void)preference;
    INJECT(cublasLtMatmulAlgoGetHeuristic);
    *found = 0;
    if (!h || asked < 1 ||
        !fits(desc_of(desc), layout_of(A), layout_of(B), layout_of(D)))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!epilogue_known(desc_of(desc)->epilogue))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    memset(results, 0, sizeof *results);
    results->state = CUBLAS_STATUS_SUCCESS;
    results->wavesCount = 1.0f;
    *found = 1;
    return CUBLAS_STATUS_SUCCESS;
}

static struct fake_matrix matrix(const void *p, const struct layout *l,
                                 bool trans)
{
    return (struct fake_matrix){(void *)(uintptr_t)p, (cudaDataType_t)l->type,
                                l->ld, l->stride, trans};
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t h, cublasLtMatmulDesc_t desc,
                              const void *alpha, const void *A,
                              cublasLtMatrixLayout_t a, const void *B,
                              cublasLtMatrixLayout_t b, const void *beta,
                              const void *C, cublasLtMatrixLayout_t c, void *D,
                              cublasLtMatrixLayout_t out,
                              const cublasLtMatmulAlgo_t *algo, void *workspace,
                              size_t workspace_size, cudaStream_t stream)
{
    const struct desc *d = desc_of(desc);
    struct fake_gemm g = {.name = "cublasLtMatmul",
                          .pc = __builtin_return_address(0)};

    (void)algo;
    INJECT(cublasLtMatmul);
    if (!h || !d || !fits(d, layout_of(a), layout_of(b), layout_of(out)) ||
        (workspace_size > 0 && !fake_mem_holds(workspace, workspace_size)))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (!epilogue_known(d->epilogue))
        return CUBLAS_STATUS_NOT_SUPPORTED;
    g.m = (int64_t)layout_of(out)->rows;
    g.n = (int64_t)layout_of(out)->cols;
    g.k = (int64_t)(d->trans[0] ? layout_of(a)->rows : layout_of(a)->cols);
    g.batch = layout_of(out)->batch;
    g.a = matrix(A, layout_of(a), d->trans[0]);
    g.b = matrix(B, layout_of(b), d->trans[1]);
    g.c = matrix(C, layout_of(c), false);
    g.d = matrix(D, layout_of(out), false);
    fake_gemm_scale(&g, alpha, beta,
                    d->pointer_mode == CUBLASLT_POINTER_MODE_DEVICE,
                    d->scale == CUDA_R_64F);
    g.bias = d->epilogue & CUBLASLT_EPILOGUE_BIAS ? d->bias : NULL;
    g.relu = (d->epilogue & CUBLASLT_EPILOGUE_RELU) != 0;
    g.tf32 = d->compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    return fake_gemm(&g, stream);
}
