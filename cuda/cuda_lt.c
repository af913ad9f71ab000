#include "cuda/cuda_lt.h"

#include <cublasLt.h>
#include <limits.h>

#include "cuda/cuda_gemm.h"
#include "nn/base/mem.h"

/* A product in the library's terms: c in rows is c^T in columns there, so that
 * it multiplies b^T by a^T. */
struct shape {
    int64_t m, n, k;
    cublasOperation_t op_a, op_b; /* of the library's A (our b) and B */
    int64_t ld_a, ld_b;
    cublasLtEpilogue_t epilogue;
    cublasComputeType_t compute;
};

struct plan {
    struct plan *next;
    struct shape shape;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t a, b, c;
    cublasLtMatmulAlgo_t algo;
};

struct cuda_lt {
    cublasLtHandle_t handle;
    struct plan *plans;
};

bool cuda_lt_fits(const struct k_gemm *g)
{
    return g->bias && (g->act == NN_ACT_NONE || g->act == NN_ACT_RELU) &&
           g->m <= INT_MAX && g->n <= INT_MAX && g->k <= INT_MAX;
}

static void plan_free(struct plan *p)
{
    if (p->desc)
        (void)cublasLtMatmulDescDestroy(p->desc);
    if (p->a)
        (void)cublasLtMatrixLayoutDestroy(p->a);
    if (p->b)
        (void)cublasLtMatrixLayoutDestroy(p->b);
    if (p->c)
        (void)cublasLtMatrixLayoutDestroy(p->c);
    mem_free(p);
}

void cuda_lt_free(struct cuda_lt *lt)
{
    struct plan *p, *next;

    if (!lt)
        return;
    for (p = lt->plans; p; p = next) {
        next = p->next;
        plan_free(p);
    }
    if (lt->handle)
        (void)cublasLtDestroy(lt->handle);
    mem_free(lt);
}

static int open_lt(struct cuda *cu, struct err *err)
{
    int rc;

    if (cu->lt)
        return 0;
    cu->lt = mem_zalloc(sizeof *cu->lt);
    if (!cu->lt)
        return err_set(err, ERR_NOMEM, "out of memory for a matrix product");
    rc = CUBLAS(cublasLtCreate(&cu->lt->handle), err);
    if (rc != 0) {
        mem_free(cu->lt);
        cu->lt = NULL;
    }
    return rc;
}

static struct shape shape_of(const struct cuda *cu, const struct k_gemm *g)
{
    struct cuda_operand a = cuda_operand(g->n, g->b_row, g->b_col);
    struct cuda_operand b = cuda_operand(g->k, g->a_row, g->a_col);
    struct shape s = {
        .m = g->m,
        .n = g->n,
        .k = g->k,
        .op_a = a.op,
        .op_b = b.op,
        .ld_a = a.ld,
        .ld_b = b.ld,
        .epilogue = g->act == NN_ACT_RELU ? CUBLASLT_EPILOGUE_RELU_BIAS
                                          : CUBLASLT_EPILOGUE_BIAS,
        .compute = cu->config.numerics == NN_NUMERICS_TF32
                       ? CUBLAS_COMPUTE_32F_FAST_TF32
                       : CUBLAS_COMPUTE_32F,
    };

    return s;
}

static bool same_shape(const struct shape *a, const struct shape *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->op_a == b->op_a &&
           a->op_b == b->op_b && a->ld_a == b->ld_a && a->ld_b == b->ld_b &&
           a->epilogue == b->epilogue && a->compute == b->compute;
}

static int set(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t what,
               const void *value, size_t size, struct err *err)
{
    return CUBLAS(cublasLtMatmulDescSetAttribute(desc, what, value, size), err);
}

static int plan_desc(struct plan *p, struct err *err)
{
    const struct shape *s = &p->shape;
    int rc =
        CUBLAS(cublasLtMatmulDescCreate(&p->desc, s->compute, CUDA_R_32F), err);

    if (rc == 0)
        rc = set(p->desc, CUBLASLT_MATMUL_DESC_TRANSA, &s->op_a, sizeof s->op_a,
                 err);
    if (rc == 0)
        rc = set(p->desc, CUBLASLT_MATMUL_DESC_TRANSB, &s->op_b, sizeof s->op_b,
                 err);
    if (rc == 0)
        rc = set(p->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &s->epilogue,
                 sizeof s->epilogue, err);
    return rc;
}

static int layout(cublasLtMatrixLayout_t *out, cublasOperation_t op,
                  int64_t rows, int64_t cols, int64_t ld, struct err *err)
{
    bool plain = op == CUBLAS_OP_N;

    return CUBLAS(cublasLtMatrixLayoutCreate(
                      out, CUDA_R_32F, (uint64_t)(plain ? rows : cols),
                      (uint64_t)(plain ? cols : rows), ld),
                  err);
}

static int plan_layouts(struct plan *p, struct err *err)
{
    const struct shape *s = &p->shape;
    int rc = layout(&p->a, s->op_a, s->n, s->k, s->ld_a, err);

    if (rc == 0)
        rc = layout(&p->b, s->op_b, s->k, s->m, s->ld_b, err);
    if (rc == 0)
        rc = layout(&p->c, CUBLAS_OP_N, s->n, s->m, s->n, err);
    return rc;
}

/* The library's first choice within the workspace. */
static int plan_algorithm(struct cuda *cu, struct plan *p, struct err *err)
{
    cublasLtMatmulPreference_t preference = NULL;
    cublasLtMatmulHeuristicResult_t found;
    size_t most = cu->blas_work_size;
    int n = 0;
    int rc = CUBLAS(cublasLtMatmulPreferenceCreate(&preference), err);

    if (rc == 0)
        rc = CUBLAS(cublasLtMatmulPreferenceSetAttribute(
                        preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                        &most, sizeof most),
                    err);
    if (rc == 0)
        rc = CUBLAS(cublasLtMatmulAlgoGetHeuristic(cu->lt->handle, p->desc,
                                                   p->a, p->b, p->c, p->c,
                                                   preference, 1, &found, &n),
                    err);
    if (preference)
        (void)cublasLtMatmulPreferenceDestroy(preference);
    if (rc == 0 && n < 1)
        rc = err_set(err, ERR_DEVICE,
                     "the GPU's matrix library knows no way to multiply (%lld, "
                     "%lld) by (%lld, %lld)",
                     (long long)p->shape.m, (long long)p->shape.k,
                     (long long)p->shape.k, (long long)p->shape.n);
    if (rc == 0)
        p->algo = found.algo;
    return rc;
}

static int plan_new(struct cuda *cu, const struct shape *s, struct plan **out,
                    struct err *err)
{
    struct plan *p = mem_zalloc(sizeof *p);
    int rc;

    if (!p)
        return err_set(err, ERR_NOMEM, "out of memory for a matrix product");
    p->shape = *s;
    rc = plan_desc(p, err);
    if (rc == 0)
        rc = plan_layouts(p, err);
    if (rc == 0)
        rc = plan_algorithm(cu, p, err);
    if (rc != 0) {
        plan_free(p);
        return rc;
    }
    p->next = cu->lt->plans;
    cu->lt->plans = p;
    *out = p;
    return 0;
}

static int find_plan(struct cuda *cu, const struct shape *s, struct plan **out,
                     struct err *err)
{
    struct plan *p;

    for (p = cu->lt->plans; p; p = p->next)
        if (same_shape(&p->shape, s)) {
            *out = p;
            return 0;
        }
    return plan_new(cu, s, out, err);
}

int cuda_lt_multiply(struct cuda *cu, const struct k_gemm *g, struct err *err)
{
    const float one = 1.0f, zero = 0.0f;
    struct shape s = shape_of(cu, g);
    struct plan *p = NULL;
    int rc = open_lt(cu, err);

    if (rc == 0)
        rc = find_plan(cu, &s, &p, err);
    if (rc == 0)
        rc = set(p->desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &g->bias,
                 sizeof g->bias, err);
    if (rc != 0)
        return rc;
    return CUBLAS(cublasLtMatmul(cu->lt->handle, p->desc, &one, g->b, p->a,
                                 g->a, p->b, &zero, g->c, p->c, g->c, p->c,
                                 &p->algo, cu->blas_work, cu->blas_work_size,
                                 cu->stream),
                  err);
}
