/* The float32 functions, sampled; tests/soak/ulp.c tries every float. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "nn/cpu/cpu_kernels.h"

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
enum { FUNCTIONS = sizeof functions / sizeof *functions, BLOCK = 4096 };

static const struct cpu_kernels *kernels[3];
static int n_kernels;

static float float_of(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Error in units of the last place of the nearest float. */
static double error_ulp(float got, double exact)
{
    float nearest = (float)exact;
    int exponent;

    if (isnan(got) || isnan(nearest))
        return isnan(got) && isnan(nearest) ? 0 : INFINITY;
    if (isinf(got) || isinf(nearest))
        return got == nearest ? 0 : INFINITY;
    if (nearest == 0 && got == 0)
        return signbit(got) == signbit(nearest) ? 0 : INFINITY;
    (void)frexp(exact, &exponent);
    return fabs(got - exact) *
           ldexp(1, 24 - (exponent < -125 ? -125 : exponent));
}

static void check_block(int f, const float *x, int n)
{
    float want[BLOCK], got[BLOCK];

    kernels[0]->elem->unary[functions[f].kernel](want, x, n);
    for (int i = 0; i < n; i++) {
        double e = error_ulp(want[i], functions[f].exact((double)x[i]));

        if (e > 2)
            fail_msg("%s(%a) = %a is %.2f ulp off", functions[f].name,
                     (double)x[i], (double)want[i], e);
    }
    for (int k = 1; k < n_kernels; k++) {
        kernels[k]->elem->unary[functions[f].kernel](got, x, n);
        for (int i = 0; i < n; i++)
            if (bits_of(got[i]) != bits_of(want[i]) &&
                !(isnan(got[i]) && isnan(want[i])))
                fail_msg("%s(%a) is %a on %s, %a on %s", functions[f].name,
                         (double)x[i], (double)got[i], kernels[k]->name,
                         (double)want[i], kernels[0]->name);
    }
}

static void sampled_floats_are_within_2_ulp_and_equal(void **state)
{
    float x[BLOCK];
    int n = 0;

    (void)state;
    for (int f = 0; f < FUNCTIONS; f++) {
        for (uint64_t bits = 0; bits <= 0xffffffff; bits += 2039) {
            x[n++] = float_of((uint32_t)bits);
            if (n == BLOCK) {
                check_block(f, x, n);
                n = 0;
            }
        }
        check_block(f, x, n);
        n = 0;
    }
}

/* Where the sequences change course: a few floats to both sides of each. */
static void floats_around_the_seams_are_within_2_ulp(void **state)
{
    static const float seams[] = {
        0.0f,    0x1p-149f, 0x1p-126f, 0x1p-24f, 0x1p-12f,       0.5f,
        0.625f,  0.92f,     1.0f,      2.0f,     3.95f,          9.01f,
        17.33f,  87.33f,    88.72f,    89.0f,    103.97f,        104.0f,
        0x1p23f, 0x1p30f,   0x1p64f,   0x1p126f, 0x1.fffffep127f};
    float x[201];

    (void)state;
    for (size_t s = 0; s < sizeof seams / sizeof *seams; s++)
        for (int f = 0; f < FUNCTIONS; f++)
            for (int sign = 0; sign < 2; sign++) {
                int n = 0;

                for (int i = -100; i <= 100; i++) {
                    int64_t bits = (int64_t)bits_of(seams[s]) + i;

                    if (bits >= 0 && bits <= 0x7f800000)
                        x[n++] = sign ? -float_of((uint32_t)bits)
                                      : float_of((uint32_t)bits);
                }
                check_block(f, x, n);
            }
}

static float value(enum cpu_unary kernel, float x)
{
    float y;

    kernels[n_kernels - 1]->elem->unary[kernel](&y, &x, 1);
    return y;
}

static void special_values_are_exact(void **state)
{
    (void)state;
    assert_true(value(CPU_EXP, 0.0f) == 1.0f);
    assert_true(value(CPU_EXP, -0.0f) == 1.0f);
    assert_true(value(CPU_EXP, INFINITY) == INFINITY);
    assert_true(bits_of(value(CPU_EXP, -INFINITY)) == 0);
    assert_true(value(CPU_LOG, 0.0f) == -INFINITY);
    assert_true(value(CPU_LOG, -0.0f) == -INFINITY);
    assert_true(value(CPU_LOG, INFINITY) == INFINITY);
    assert_true(isnan(value(CPU_LOG, -1.0f)));
    assert_true(isnan(value(CPU_LOG, -INFINITY)));
    assert_true(bits_of(value(CPU_LOG, 1.0f)) == 0);
    assert_true(value(CPU_LOG1P, INFINITY) == INFINITY);
    assert_true(bits_of(value(CPU_LOG1P, 0.0f)) == 0);
    assert_true(bits_of(value(CPU_LOG1P, -0.0f)) == 0x80000000);
    assert_true(value(CPU_LOG1P, -1.0f) == -INFINITY);
    assert_true(isnan(value(CPU_LOG1P, -1.5f)));
    assert_true(value(CPU_TANH, INFINITY) == 1.0f);
    assert_true(value(CPU_TANH, -INFINITY) == -1.0f);
    assert_true(bits_of(value(CPU_TANH, -0.0f)) == 0x80000000);
    assert_true(value(CPU_SIGMOID, INFINITY) == 1.0f);
    assert_true(bits_of(value(CPU_SIGMOID, -INFINITY)) == 0);
    assert_true(value(CPU_SIGMOID, 0.0f) == 0.5f);
    assert_true(value(CPU_ERF, INFINITY) == 1.0f);
    assert_true(value(CPU_ERF, -INFINITY) == -1.0f);
    assert_true(bits_of(value(CPU_ERF, -0.0f)) == 0x80000000);
    for (int f = 0; f < FUNCTIONS; f++)
        assert_true(isnan(value(functions[f].kernel, NAN)));
}

static int setup(void **state)
{
    (void)state;
    kernels[n_kernels++] = &cpu_kernels_scalar;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        kernels[n_kernels++] = &cpu_kernels_avx2;
    if (__builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq"))
        kernels[n_kernels++] = &cpu_kernels_avx512;
#endif
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sampled_floats_are_within_2_ulp_and_equal),
        cmocka_unit_test(floats_around_the_seams_are_within_2_ulp),
        cmocka_unit_test(special_values_are_exact),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
