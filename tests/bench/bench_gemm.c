/* The three products of a linear layer 784 -> 256 in float32: GF/s, and what
 * share that is of the fused multiply-adds this core can do, measured between
 * the rounds of the same run since clocks drift. Both are the best of many
 * short rounds, those that nothing else on the machine disturbed.
 *
 * bench_gemm [scalar|avx2|avx512 [threads]] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "nn/backend.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { IN = 784, OUT = 256, ROUNDS = 200 };

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#if defined(__x86_64__)
/* Ten chains, more than latency times throughput of any core; each starts
 * elsewhere, lest the compiler see one chain in all of them. */
#define PEAK_LOOP(V, SET1, FMA) \
    V a0 = SET1(1), a1 = SET1(2), a2 = SET1(3), a3 = SET1(4), a4 = SET1(5); \
    V a5 = SET1(6), a6 = SET1(7), a7 = SET1(8), a8 = SET1(9), a9 = SET1(10); \
    V x = SET1(0.999F), y = SET1(0.001F); \
    for (long i = 0; i < n; i++) { \
        a0 = FMA(a0, x, y), a1 = FMA(a1, x, y), a2 = FMA(a2, x, y); \
        a3 = FMA(a3, x, y), a4 = FMA(a4, x, y), a5 = FMA(a5, x, y); \
        a6 = FMA(a6, x, y), a7 = FMA(a7, x, y), a8 = FMA(a8, x, y); \
        a9 = FMA(a9, x, y); \
    } \
    a0 += a1 + a2 + a3 + a4 + a5 + a6 + a7 + a8 + a9; \
    return a0[0]

__attribute__((target("avx2,fma"))) static float peak_avx2(long n)
{
    PEAK_LOOP(__m256, _mm256_set1_ps, _mm256_fmadd_ps);
}

__attribute__((target("avx512f"))) static float peak_avx512(long n)
{
    PEAK_LOOP(__m512, _mm512_set1_ps, _mm512_fmadd_ps);
}
#endif

/* GF/s of one core, 0 where the loop is not written. */
static double peak(const char *isa)
{
    volatile float sink = 0;
    long n = 20000;
    int lanes = 0;
    double t = now();

#if defined(__x86_64__)
    if (strstr(isa, "avx512")) {
        sink = peak_avx512(n);
        lanes = 16;
    } else if (strstr(isa, "avx2")) {
        sink = peak_avx2(n);
        lanes = 8;
    }
#else
    (void)isa;
#endif
    (void)sink;
    t = now() - t;
    return 2.0 * 10 * lanes * (double)n / t * 1e-9;
}

static void check(int rc, const struct err *err)
{
    if (rc == 0)
        return;
    (void)fprintf(stderr, "bench_gemm: %s\n", err->msg);
    exit(1);
}

static struct nn_tensor *tensor(struct nn_backend *be, int64_t rows,
                                int64_t cols, enum nn_layout layout)
{
    struct nn_shape shape = nn_shape2(rows, cols);
    struct nn_tensor *t = NULL;
    struct err err = {0};
    float *x = calloc((size_t)(rows * cols), sizeof *x);

    if (!x)
        exit(1);
    for (int64_t i = 0; i < rows * cols; i++)
        x[i] = (float)(i * 7919 % 1000) * 0.001F - 0.5F;
    check(nn_tensor_new(&t, be, &shape, NN_F32, layout, NN_CAT_TEMPORARY, &err),
          &err);
    check(nn_tensor_set(t, x, &err), &err);
    free(x);
    return t;
}

static void bench(struct nn_backend *be, const char *name,
                  const struct nn_call *call, double flops, int threads)
{
    double best = 0, top = 0;
    struct err err = {0};

    for (int r = 0; r < ROUNDS; r++) {
        double one = peak(be->description) * threads, t = now();

        check(nn_backend_run(be, call, &err), &err);
        t = flops / (now() - t) * 1e-9;
        best = t > best ? t : best;
        top = one > top ? one : top;
    }
    printf("  %-12s %7.1f GF/s", name, best);
    if (top > 0)
        printf(" %5.1f %% of fma peak", 100 * best / top);
    printf("\n");
}

static void bench_batch(struct nn_backend *be, int64_t batch, int threads)
{
    struct nn_tensor *x = tensor(be, batch, IN, NN_ROWS);
    struct nn_tensor *y = tensor(be, batch, OUT, NN_ROWS);
    struct nn_tensor *w = tensor(be, OUT, IN, NN_WEIGHT);
    struct nn_tensor *dw = tensor(be, OUT, IN, NN_WEIGHT);
    double flops = 2.0 * (double)batch * IN * OUT;
    struct nn_call forward = {
        .op = NN_OP_LINEAR, .n_in = 2, .n_out = 1, .in = {x, w}, .out = {y}};
    struct nn_call grad_weight = {.op = NN_OP_LINEAR_GRAD_WEIGHT,
                                  .n_in = 2,
                                  .n_out = 1,
                                  .in = {y, x},
                                  .out = {dw}};
    struct nn_call grad_input = {.op = NN_OP_LINEAR_GRAD_INPUT,
                                 .n_in = 2,
                                 .n_out = 1,
                                 .in = {y, w},
                                 .out = {x}};

    printf("batch %lld\n", (long long)batch);
    bench(be, "forward", &forward, flops, threads);
    bench(be, "grad_weight", &grad_weight, flops, threads);
    bench(be, "grad_input", &grad_input, flops, threads);
    nn_tensor_free(x);
    nn_tensor_free(y);
    nn_tensor_free(w);
    nn_tensor_free(dw);
}

int main(int argc, char **argv)
{
    static const int64_t batches[] = {32, 128, 512};
    int threads = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1;
    struct nn_backend *be;
    struct err err = {0};

    check(nn_cpu_open(&be, threads, argc > 1 ? argv[1] : NULL, &err), &err);
    printf("%s\n", be->description);
    for (size_t i = 0; i < sizeof batches / sizeof *batches; i++)
        bench_batch(be, batches[i], threads);
    nn_backend_close(be);
    return 0;
}
