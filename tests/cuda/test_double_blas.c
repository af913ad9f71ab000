/* The double of cuBLAS and cuBLASLt: products, types, epilogues. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#define OK(call) assert_int_equal((call), cudaSuccess)

static float *device_floats(size_t n)
{
    void *p;

    OK(cudaMalloc(&p, n * sizeof(float)));
    return p;
}

static float *device_copy(const float *from, size_t n)
{
    float *p = device_floats(n);

    OK(cudaMemcpy(p, from, n * sizeof(float), cudaMemcpyHostToDevice));
    return p;
}

enum { M = 37, K = 29, COLS = 18 };
enum { A_SIZE = M * K, B_SIZE = K * COLS, C_SIZE = M * COLS };

static float value(int i)
{
    return (float)((i * 7919) % 201 - 100) / 63.0f;
}

static void fill(float *x, int n, int seed)
{
    for (int i = 0; i < n; i++)
        x[i] = value(i + seed);
}

/* By columns; a transposed operand has the other leading dimension. */
static double product(const float *a, bool ta, const float *b, bool tb, int i,
                      int j)
{
    double sum = 0.0;

    for (int s = 0; s < K; s++)
        sum += (double)a[ta ? i * K + s : s * M + i] *
               (double)b[tb ? s * COLS + j : j * K + s];
    return sum;
}

static double worst_error(const float *c, const float *a, bool ta,
                          const float *b, bool tb)
{
    double worst = 0.0, e;

    for (int j = 0; j < COLS; j++)
        for (int i = 0; i < M; i++) {
            e = fabs((double)c[j * M + i] - 2.0 * product(a, ta, b, tb, i, j));
            worst = e > worst || isnan(e) ? e : worst;
        }
    return worst;
}

static void products_are_right_in_every_layout(void **state)
{
    float a[A_SIZE], b[B_SIZE], c[C_SIZE], two = 2.0f, zero = 0.0f;
    float *da, *db, *dc;
    cublasHandle_t h;

    (void)state;
    fill(a, A_SIZE, 0);
    fill(b, B_SIZE, 5);
    da = device_copy(a, A_SIZE);
    db = device_copy(b, B_SIZE);
    dc = device_floats(C_SIZE); /* NaNs: beta 0 must not read them */
    assert_int_equal(cublasCreate(&h), CUBLAS_STATUS_SUCCESS);
    for (int t = 0; t < 8; t++) {
        bool ta = t & 1, tb = t & 2, tf32 = t & 4;
        double error;

        assert_int_equal(cublasSetMathMode(h, tf32 ? CUBLAS_TF32_TENSOR_OP_MATH
                                                   : CUBLAS_DEFAULT_MATH),
                         0);
        assert_int_equal(cublasSgemm(h, ta, tb, M, COLS, K, &two, da,
                                     ta ? K : M, db, tb ? COLS : K, &zero, dc,
                                     M),
                         0);
        OK(cudaMemcpy(c, dc, sizeof c, cudaMemcpyDeviceToHost));
        error = worst_error(c, a, ta, b, tb);
        assert_true(error < (tf32 ? 0.05 : 1e-4));
        assert_true(!tf32 || error > 1e-4);
    }
    assert_int_equal(cublasDestroy(h), 0);
    OK(cudaFree(da));
    OK(cudaFree(db));
    OK(cudaFree(dc));
}

static void half_products_round_as_halves(void **state)
{
    const uint16_t one_and = 0x3c01, three = 0x4200; /* 1 + 2^-10, 3 */
    float one = 1.0f, zero = 0.0f;
    uint16_t got, *d;
    cublasHandle_t h;

    (void)state;
    OK(cudaMalloc((void **)&d, 3 * sizeof *d));
    OK(cudaMemcpy(d, &one_and, 2, cudaMemcpyHostToDevice));
    OK(cudaMemcpy(d + 1, &three, 2, cudaMemcpyHostToDevice));
    assert_int_equal(cublasCreate(&h), 0);
    assert_int_equal(cublasGemmEx(h, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, d,
                                  CUDA_R_16F, 1, d + 1, CUDA_R_16F, 1, &zero,
                                  d + 2, CUDA_R_16F, 1, CUBLAS_COMPUTE_32F,
                                  CUBLAS_GEMM_DEFAULT),
                     0);
    OK(cudaMemcpy(&got, d + 2, 2, cudaMemcpyDeviceToHost));
    assert_int_equal(got, 0x4202); /* 3 + 3 * 2^-10, to even */
    assert_int_equal(cublasDestroy(h), 0);
    OK(cudaFree(d));
}

static void lt_adds_bias_and_relu(void **state)
{
    const float a[2] = {1.0f, -1.0f}, b = 3.0f, bias[2] = {0.5f, 1.0f};
    const int32_t epilogue = CUBLASLT_EPILOGUE_RELU_BIAS;
    float *da = device_copy(a, 2), *db = device_copy(&b, 1), *dc, got[2];
    float *dbias = device_copy(bias, 2), one = 1.0f, zero = 0.0f;
    cublasLtMatrixLayout_t la, lb, lc;
    cublasLtMatmulDesc_t desc;
    cublasLtHandle_t h;

    (void)state;
    dc = device_floats(2);
    assert_int_equal(cublasLtCreate(&h), 0);
    assert_int_equal(
        cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F), 0);
    assert_int_equal(
        cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_EPILOGUE,
                                       &epilogue, sizeof epilogue),
        0);
    assert_int_equal(
        cublasLtMatmulDescSetAttribute(desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                                       &dbias, sizeof dbias),
        0);
    assert_int_equal(cublasLtMatrixLayoutCreate(&la, CUDA_R_32F, 2, 1, 2), 0);
    assert_int_equal(cublasLtMatrixLayoutCreate(&lb, CUDA_R_32F, 1, 1, 1), 0);
    assert_int_equal(cublasLtMatrixLayoutCreate(&lc, CUDA_R_32F, 2, 1, 2), 0);
    assert_int_equal(cublasLtMatmul(h, desc, &one, da, la, db, lb, &zero, dc,
                                    lc, dc, lc, NULL, NULL, 0, NULL),
                     0);
    OK(cudaMemcpy(got, dc, sizeof got, cudaMemcpyDeviceToHost));
    assert_float_equal(got[0], 3.5f, 0.0f);
    assert_float_equal(got[1], 0.0f, 0.0f);
    (void)cublasLtMatrixLayoutDestroy(la);
    (void)cublasLtMatrixLayoutDestroy(lb);
    (void)cublasLtMatrixLayoutDestroy(lc);
    (void)cublasLtMatmulDescDestroy(desc);
    (void)cublasLtDestroy(h);
    OK(cudaFree(da));
    OK(cudaFree(db));
    OK(cudaFree(dc));
    OK(cudaFree(dbias));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_right_in_every_layout),
        cmocka_unit_test(half_products_round_as_halves),
        cmocka_unit_test(lt_adds_bias_and_relu),
    };

    (void)setenv("FAKE_CUDA_LEAKS", "1", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
