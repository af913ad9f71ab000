/* The matrix products of cuBLAS's double, as work for a stream. */
#ifndef FAKE_GEMM_H
#define FAKE_GEMM_H

#include <cublas_v2.h>
#include <stdbool.h>

struct fake_matrix {
    void *p;
    cudaDataType_t type;
    int64_t ld, stride; /* in elements; stride: from one of a batch on */
    bool trans;
};

/* D = act(alpha op(A) op(B) + beta C + bias), by columns: op(A) is m x k. */
struct fake_gemm {
    const char *name;
    int64_t m, n, k, batch;
    struct fake_matrix a, b, c, d;
    double alpha, beta;
    const void *alpha_at, *beta_at; /* not NULL: in device memory */
    const void *bias;               /* m numbers of d's type, or NULL */
    bool relu, tf32;
    const void *pc; /* of the caller */
};

/* Checks what cuBLAS checks and puts the product on the stream. */
cublasStatus_t fake_gemm(const struct fake_gemm *g, cudaStream_t stream);
/* alpha and beta as the pointer mode says; is_double: of the scale type. */
void fake_gemm_scale(struct fake_gemm *g, const void *alpha, const void *beta,
                     bool on_device, bool is_double);

#endif
