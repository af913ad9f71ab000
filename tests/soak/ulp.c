/* The float32 functions of nn/cpu/cpu_vmath.h against libm's double ones, for
 * every float: prints the largest error of each in ulp and where it is. Exits
 * 1 when one is beyond 2 ulp or a special value is wrong. Some minutes.
 *
 * ulp [scalar|avx2|avx512 [threads [function]]] */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/pool.h"
#include "nn/cpu/cpu_kernels.h"

enum { BLOCK = 1 << 14 };
#define BLOCKS ((int64_t)1 << 18) /* times BLOCK: all bit patterns */
#define LIMIT 2.0

static double sigmoid(double x)
{
    double e = exp(-fabs(x));

    return (x < 0 ? e : 1) / (1 + e);
}

static const struct {
    const char *name;
    enum cpu_unary kernel;
    double (*exact)(double);
} functions[] = {
    {"exp", CPU_EXP, exp},
    {"log", CPU_LOG, log},
    {"log1p", CPU_LOG1P, log1p},
    {"tanh", CPU_TANH, tanh},
    {"sigmoid", CPU_SIGMOID, sigmoid},
    {"erf", CPU_ERF, erf},
};

struct search {
    const struct cpu_kernels *kernels;
    int function;
    pthread_mutex_t lock;
    double worst; /* INFINITY: a special value is wrong */
    float at;
};

/* Bits of a double, without the sign. */
static uint64_t magnitude(double x)
{
    uint64_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits & INT64_MAX;
}

/* The distance in units of the last place that a float near exact has. */
static double error_ulp(float got, double exact)
{
    int exponent = (int)(magnitude(exact) >> 52) - 1023;
    float nearest = (float)exact;

    if (isnan(got) || isnan(nearest))
        return isnan(got) && isnan(nearest) ? 0 : INFINITY;
    if (isinf(got) || isinf(nearest))
        return got == nearest ? 0 : INFINITY;
    if (nearest == 0 && got == 0)
        return signbit(nearest) == signbit(got) ? 0 : INFINITY;
    if (exponent < -126)
        exponent = -126;
    return fabs((double)got - exact) * ldexp(1, 23 - exponent);
}

static void search_block(struct search *s, int64_t block)
{
    float x[BLOCK], y[BLOCK], at = 0;
    double worst = 0;

    for (int i = 0; i < BLOCK; i++) {
        uint32_t bits = (uint32_t)(block * BLOCK + i);

        memcpy(&x[i], &bits, sizeof bits);
    }
    s->kernels->elem->unary[functions[s->function].kernel](y, x, BLOCK);
    for (int i = 0; i < BLOCK; i++) {
        double e = error_ulp(y[i], functions[s->function].exact(x[i]));

        if (e > worst) {
            worst = e;
            at = x[i];
        }
    }
    pthread_mutex_lock(&s->lock);
    if (worst > s->worst) {
        s->worst = worst;
        s->at = at;
    }
    pthread_mutex_unlock(&s->lock);
}

static void search_range(void *arg, int64_t begin, int64_t end)
{
    for (int64_t b = begin; b < end; b++)
        search_block(arg, b);
}

static const struct cpu_kernels *find(const char *isa)
{
#if defined(__x86_64__)
    if (strcmp(isa, "avx512") == 0)
        return &cpu_kernels_avx512;
    if (strcmp(isa, "avx2") == 0)
        return &cpu_kernels_avx2;
#endif
    return &cpu_kernels_scalar;
}

int main(int argc, char **argv)
{
    struct search s = {.kernels = find(argc > 1 ? argv[1] : "avx2"),
                       .lock = PTHREAD_MUTEX_INITIALIZER};
    int threads = argc > 2 ? (int)strtol(argv[2], NULL, 10) : pool_cores();
    struct pool *pool;
    int bad = 0;

    if (pool_new(&pool, threads, NULL) != 0)
        return 2;
    for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
        if (argc > 3 && strcmp(argv[3], functions[f].name) != 0)
            continue;
        s.function = (int)f;
        s.worst = 0;
        pool_for(pool, BLOCKS, 64, search_range, &s);
        printf("%-8s %-7s %.4f ulp at %a\n", functions[f].name, s.kernels->name,
               s.worst, (double)s.at);
        (void)fflush(stdout);
        bad |= s.worst > LIMIT;
    }
    pool_free(pool);
    return bad;
}
