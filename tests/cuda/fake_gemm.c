/* Both operands are packed as floats into panels (16 rows of op(A), 4 columns
 * of op(B)), and tiles of 16 x 4 are summed in registers. float64, which only
 * checks use, goes by plain loops. */
#include "tests/cuda/fake_gemm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cuda/fake.h"

enum { TILE_M = 16, TILE_N = 4 };

typedef float vec __attribute__((vector_size(32), aligned(4)));

static float from_bits(uint32_t u)
{
    float f;

    memcpy(&f, &u, sizeof f);
    return f;
}

static uint32_t to_bits(float f)
{
    uint32_t u;

    memcpy(&u, &f, sizeof u);
    return u;
}

/* To nearest even, leaving out the low bits. */
static float round_off(float x, unsigned low)
{
    uint32_t u = to_bits(x), half = (1u << (low - 1)) - 1;

    if ((u & 0x7f800000u) == 0x7f800000u)
        return x;
    return from_bits((u + half + (u >> low & 1)) & ~((1u << low) - 1));
}

/* IEEE half: 5 bits of exponent, 10 of fraction. */
static float from_half(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31;
    uint32_t fraction = h & 1023;

    if (exponent == 0)
        return copysignf((float)fraction * 0x1p-24f, from_bits(sign | 1));
    exponent += exponent == 31 ? 224 : 112;
    return from_bits(sign | exponent << 23 | fraction << 13);
}

static uint16_t to_half(float f)
{
    uint32_t sign = to_bits(f) >> 16 & 0x8000;
    float a = fabsf(f);

    if (!(a < 65520.0f))
        return (uint16_t)(sign | (a >= 65520.0f ? 0x7c00 : 0x7e00));
    if (a < 0x1p-14f)
        return (uint16_t)(sign | (uint32_t)nearbyintf(a * 0x1p24f));
    return (uint16_t)(sign | ((to_bits(round_off(a, 13)) >> 13) - (112 << 10)));
}

static size_t size_of(cudaDataType_t type)
{
    return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

static double get(const struct fake_matrix *x, const char *p, int64_t i)
{
    switch (x->type) {
    case CUDA_R_64F:
        return ((const double *)(const void *)p)[i];
    case CUDA_R_16F:
        return from_half(((const uint16_t *)(const void *)p)[i]);
    case CUDA_R_16BF:
        return from_bits((uint32_t)((const uint16_t *)(const void *)p)[i]
                         << 16);
    default:
        return ((const float *)(const void *)p)[i];
    }
}

static void put(const struct fake_matrix *x, char *p, int64_t i, double value)
{
    float f = (float)value;

    switch (x->type) {
    case CUDA_R_64F:
        ((double *)(void *)p)[i] = value;
        break;
    case CUDA_R_16F:
        ((uint16_t *)(void *)p)[i] = to_half(f);
        break;
    case CUDA_R_16BF:
        ((uint16_t *)(void *)p)[i] =
            (uint16_t)(to_bits(round_off(f, 16)) >> 16);
        break;
    default:
        ((float *)(void *)p)[i] = f;
    }
}

static char *of_batch(const struct fake_matrix *x, int64_t z)
{
    return (char *)x->p + (size_t)(z * x->stride) * size_of(x->type);
}

static int64_t element(const struct fake_matrix *x, int64_t row, int64_t col)
{
    return x->trans ? row * x->ld + col : col * x->ld + row;
}

/* --- what it touches ------------------------------------------------------ */

static bool check_matrix(const struct fake_gemm *g, const struct fake_matrix *x,
                         int64_t rows, int64_t cols, bool write)
{
    size_t size = size_of(x->type), column;

    if (x->trans) {
        int64_t swap = rows;

        rows = cols;
        cols = swap;
    }
    column = (size_t)rows * size;
    for (int64_t z = 0; z < g->batch; z++)
        for (int64_t j = 0; j < cols; j++) {
            const char *p = of_batch(x, z) + (size_t)(j * x->ld) * size;

            if (!fake_mem_holds(p, column)) {
                cusim_report("out of bounds",
                             "%s: column %lld of a matrix is not in device "
                             "memory",
                             g->name, (long long)j);
                return false;
            }
            check_range(p, column, write, g->name, g->pc);
        }
    return true;
}

static bool check_operands(const struct fake_gemm *g)
{
    if (!check_matrix(g, &g->a, g->m, g->k, false) ||
        !check_matrix(g, &g->b, g->k, g->n, false) ||
        (g->beta != 0.0 && !check_matrix(g, &g->c, g->m, g->n, false)))
        return false;
    if (g->bias)
        check_range(g->bias, (size_t)g->m * size_of(g->d.type), false, g->name,
                    g->pc);
    return check_matrix(g, &g->d, g->m, g->n, true);
}

/* --- the product ---------------------------------------------------------- */

static void store(const struct fake_gemm *g, int64_t z, int64_t i, int64_t j,
                  double sum)
{
    double v = g->alpha * sum;

    if (g->beta != 0.0)
        v += g->beta * get(&g->c, of_batch(&g->c, z), element(&g->c, i, j));
    if (g->bias)
        v += get(&g->d, g->bias, i);
    if (g->relu && v < 0.0)
        v = 0.0;
    put(&g->d, of_batch(&g->d, z), element(&g->d, i, j), v);
}

/* rows of x (columns if across) from at on as a panel: width numbers for each
 * of the k steps, zeros beyond the edge. */
static void pack(const struct fake_gemm *g, const struct fake_matrix *x,
                 int64_t z, int64_t at, float *panel)
{
    bool across = x == &g->b;
    int64_t width = across ? TILE_N : TILE_M, end = across ? g->n : g->m;
    const char *p = of_batch(x, z);

    for (int64_t s = 0; s < g->k; s++)
        for (int64_t i = 0; i < width; i++) {
            float v = 0.0f;

            if (at + i < end)
                v = (float)get(x, p,
                               across ? element(x, s, at + i)
                                      : element(x, at + i, s));
            panel[s * width + i] = g->tf32 ? round_off(v, 13) : v;
        }
}

static void multiply_tile(const float *a, const float *b, int64_t k,
                          float out[TILE_N][TILE_M])
{
    vec acc[TILE_N][2] = {0};

    for (int64_t s = 0; s < k; s++) {
        const vec *v = (const vec *)(const void *)(a + s * TILE_M);

        for (int j = 0; j < TILE_N; j++) {
            acc[j][0] += v[0] * b[s * TILE_N + j];
            acc[j][1] += v[1] * b[s * TILE_N + j];
        }
    }
    memcpy(out, acc, sizeof acc);
}

static void store_tile(const struct fake_gemm *g, int64_t z, int64_t i0,
                       int64_t j0, float tile[TILE_N][TILE_M])
{
    for (int64_t j = j0; j < j0 + TILE_N && j < g->n; j++)
        for (int64_t i = i0; i < i0 + TILE_M && i < g->m; i++)
            store(g, z, i, j, (double)tile[j - j0][i - i0]);
}

static void multiply_float(const struct fake_gemm *g, int64_t z)
{
    int64_t panels = (g->m + TILE_M - 1) / TILE_M;
    size_t size = (size_t)g->k * TILE_M;
    float *a = fake_zalloc((size_t)panels * size * sizeof *a);
    float *b = fake_zalloc((size_t)g->k * TILE_N * sizeof *b);
    float tile[TILE_N][TILE_M];

    for (int64_t i = 0; i < panels; i++)
        pack(g, &g->a, z, i * TILE_M, a + (size_t)i * size);
    for (int64_t j = 0; j < g->n; j += TILE_N) {
        pack(g, &g->b, z, j, b);
        for (int64_t i = 0; i < panels; i++) {
            multiply_tile(a + (size_t)i * size, b, g->k, tile);
            store_tile(g, z, i * TILE_M, j, tile);
        }
    }
    free(a);
    free(b);
}

static void multiply_double(const struct fake_gemm *g, int64_t z)
{
    const char *a = of_batch(&g->a, z), *b = of_batch(&g->b, z);

    for (int64_t j = 0; j < g->n; j++)
        for (int64_t i = 0; i < g->m; i++) {
            double sum = 0.0;

            for (int64_t s = 0; s < g->k; s++)
                sum += get(&g->a, a, element(&g->a, i, s)) *
                       get(&g->b, b, element(&g->b, s, j));
            store(g, z, i, j, sum);
        }
}

static double read_scale(const void *p, bool is_double)
{
    return is_double ? *(const double *)p : (double)*(const float *)p;
}

static void run(const void *blob)
{
    struct fake_gemm g = *(const struct fake_gemm *)blob;
    bool is_double = g.d.type == CUDA_R_64F;

    if (g.alpha_at)
        g.alpha = read_scale(g.alpha_at, is_double);
    if (g.beta_at)
        g.beta = read_scale(g.beta_at, is_double);
    if (!check_operands(&g))
        return;
    for (int64_t z = 0; z < g.batch; z++)
        if (is_double)
            multiply_double(&g, z);
        else
            multiply_float(&g, z);
}

void fake_gemm_scale(struct fake_gemm *g, const void *alpha, const void *beta,
                     bool on_device, bool is_double)
{
    if (on_device) {
        g->alpha_at = alpha;
        g->beta_at = beta;
        g->beta = 1.0; /* not known to be 0 */
        return;
    }
    g->alpha = read_scale(alpha, is_double);
    g->beta = read_scale(beta, is_double);
}

static bool wrong_matrix(const struct fake_matrix *x, int64_t rows,
                         int64_t cols)
{
    int64_t least = x->trans ? cols : rows;

    return x->ld < (least > 1 ? least : 1);
}

cublasStatus_t fake_gemm(const struct fake_gemm *g, cudaStream_t stream)
{
    cudaError_t rc;

    if (g->m < 0 || g->n < 0 || g->k < 0 || g->batch < 0 ||
        wrong_matrix(&g->a, g->m, g->k) || wrong_matrix(&g->b, g->k, g->n) ||
        wrong_matrix(&g->d, g->m, g->n))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (g->m == 0 || g->n == 0 || g->batch == 0)
        return CUBLAS_STATUS_SUCCESS;
    rc = fake_library(g->name, run, g, sizeof *g, stream);
    return rc ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}
