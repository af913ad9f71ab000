#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <float.h>
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "nn/base/rng.h"

/* The reference numbers of tests/golden/generator.json. */
static json_t *golden(const char *key)
{
    json_error_t e;
    json_t *root = json_load_file("tests/golden/generator.json", 0, &e);
    json_t *v;

    assert_non_null(root);
    v = json_incref(json_object_get(root, key));
    assert_non_null(v);
    json_decref(root);
    return v;
}

static double number_at(const json_t *list, size_t i)
{
    const json_t *v = json_array_get(list, i);

    assert_true(json_is_number(v));
    return json_number_value(v);
}

static void the_generator_is_the_published_mersenne_twister(void **state)
{
    struct rng_mt g;
    uint32_t last = 0;
    int i;

    (void)state;
    rng_mt_seed(&g, 5489);
    for (i = 0; i < 10000; i++)
        last = rng_mt_u32(&g);
    assert_int_equal(last, 4123659995u);
}

static void only_the_low_half_of_a_seed_counts(void **state)
{
    struct rng_mt a, b;

    (void)state;
    rng_mt_seed(&a, 7);
    rng_mt_seed(&b, 0x123456700000007ull);
    assert_memory_equal(&a, &b, sizeof a);
}

static void sixty_four_bits_are_two_draws_the_first_one_high(void **state)
{
    struct rng_mt a, b;
    uint64_t high;

    (void)state;
    rng_mt_seed(&a, 3);
    b = a;
    high = rng_mt_u32(&a);
    assert_true(rng_mt_u64(&b) == (high << 32 | rng_mt_u32(&a)));
}

static void uniform_draws_equal_the_reference(void **state)
{
    json_t *want = golden("rand8");
    struct rng_mt g;
    size_t i;

    (void)state;
    assert_int_equal(json_array_size(want), 8);
    rng_mt_seed(&g, 0);
    for (i = 0; i < json_array_size(want); i++)
        assert_true((double)rng_mt_uniform(&g, 0, 1) == number_at(want, i));
    json_decref(want);
}

static void normals_are_within_1e_6_of_the_reference(void **state)
{
    json_t *want = golden("randn20");
    struct rng_mt g;
    float got[20];
    size_t i;

    (void)state;
    assert_int_equal(json_array_size(want), 20);
    rng_mt_seed(&g, 0);
    rng_mt_normal(&g, got, 20);
    for (i = 0; i < 20; i++)
        assert_true(fabs((double)got[i] - number_at(want, i)) <= 1e-6);
    json_decref(want);
}

static void a_short_fill_of_normals_equals_torch_randn(void **state)
{
    /* torch.manual_seed(0); torch.randn(10), to the four digits printed */
    static const double want[10] = {1.5410,  -0.2934, -2.1788, 0.5684,
                                    -1.0845, -1.3986, 0.4033,  0.8380,
                                    -0.7193, -0.4033};
    struct rng_mt g;
    float got[10];
    int i;

    (void)state;
    rng_mt_seed(&g, 0);
    rng_mt_normal(&g, got, 10);
    for (i = 0; i < 10; i++)
        assert_true(fabs((double)got[i] - want[i]) <= 0.5e-4 + 1e-9);
}

static void the_spare_normal_goes_to_the_next_short_fill(void **state)
{
    struct rng_mt a, b;
    float whole[10], parts[10];

    (void)state;
    rng_mt_seed(&a, 1);
    b = a;
    rng_mt_normal(&a, whole, 10);
    rng_mt_normal(&b, parts, 3);
    rng_mt_normal(&b, parts + 3, 7);
    assert_memory_equal(whole, parts, sizeof whole);
}

/* Walks a parameter: the ends of it and its sum against the reference. */
static void check_parameter(struct rng_mt *g, json_t *want, float bound)
{
    json_t *first = json_object_get(want, "first");
    json_t *last = json_object_get(want, "last");
    json_t *shape = json_object_get(want, "shape");
    size_t n = 1, n_first = json_array_size(first);
    size_t n_last = json_array_size(last), i;
    double sum = 0;

    assert_true(n_first == 8 && n_last == 4);
    for (i = 0; i < json_array_size(shape); i++)
        n *= (size_t)json_integer_value(json_array_get(shape, i));
    for (i = 0; i < n; i++) {
        double v = (double)rng_mt_uniform(g, -bound, bound);

        sum += v;
        if (i < n_first)
            assert_true(v == number_at(first, i));
        if (i >= n - n_last)
            assert_true(v == number_at(last, i - (n - n_last)));
    }
    assert_true(fabs(sum - json_number_value(json_object_get(want, "sum64"))) <
                1e-9);
}

static void linear_weights_equal_the_reference(void **state)
{
    json_t *want = golden("linear_784_256_then_256_10");
    struct rng_mt g;

    (void)state;
    rng_mt_seed(&g, 0);
    check_parameter(&g, json_object_get(want, "0.weight"),
                    (float)(sqrt(3.0) * (sqrt(2.0 / 6) / sqrt(784.0))));
    check_parameter(&g, json_object_get(want, "0.bias"),
                    (float)(1 / sqrt(784.0)));
    check_parameter(&g, json_object_get(want, "2.weight"),
                    (float)(sqrt(3.0) * (sqrt(2.0 / 6) / sqrt(256.0))));
    check_parameter(&g, json_object_get(want, "2.bias"),
                    (float)(1 / sqrt(256.0)));
    json_decref(want);
}

static void permutation_equals_the_reference(void **state)
{
    json_t *want = golden("randperm_60000_first20");
    static int64_t order[60000];
    static unsigned char seen[60000];
    struct rng_mt g;
    size_t i;

    (void)state;
    rng_mt_seed(&g, 0);
    rng_mt_permutation(&g, order, 60000);
    assert_int_equal(json_array_size(want), 20);
    for (i = 0; i < 20; i++)
        assert_true((double)order[i] == number_at(want, i));
    for (i = 0; i < 60000; i++) {
        assert_in_range(order[i], 0, 59999);
        assert_int_equal(seen[order[i]]++, 0);
    }
    json_decref(want);
}

static void permutations_of_none_and_one_draw_nothing(void **state)
{
    struct rng_mt g, before;
    int64_t one = -1;

    (void)state;
    rng_mt_seed(&g, 0);
    before = g;
    rng_mt_permutation(&g, &one, 0);
    assert_int_equal(one, -1);
    rng_mt_permutation(&g, &one, 1);
    assert_int_equal(one, 0);
    assert_memory_equal(&g, &before, sizeof g);
}

static void a_saved_generator_goes_on_where_it_was(void **state)
{
    uint32_t words[RNG_MT_WORDS];
    struct rng_mt a, b;
    struct err err = {0};
    float x[5], y[5];

    (void)state;
    rng_mt_seed(&a, 11);
    rng_mt_normal(&a, x, 5); /* leaves a spare */
    rng_mt_save(&a, words);
    rng_mt_seed(&b, 99);
    assert_int_equal(rng_mt_load(&b, words, &err), 0);
    rng_mt_normal(&a, x, 5);
    rng_mt_normal(&b, y, 5);
    assert_memory_equal(x, y, sizeof x);
    assert_int_equal(rng_mt_u32(&a), rng_mt_u32(&b));
}

static void broken_saved_words_are_an_error(void **state)
{
    uint32_t words[RNG_MT_WORDS];
    struct rng_mt g, before;
    struct err err = {0};

    (void)state;
    rng_mt_seed(&g, 1);
    before = g;
    rng_mt_save(&g, words);
    words[624] = 625;
    assert_int_equal(rng_mt_load(&g, words, &err), ERR_CORRUPT);
    assert_string_equal(err.msg, "the generator's position is 625, at most 624 "
                                 "is right");
    err_clear(&err);
    words[624] = 0;
    words[625] = 2;
    assert_int_equal(rng_mt_load(&g, words, &err), ERR_CORRUPT);
    assert_string_equal(err.msg, "the generator's spare flag is 2, not 0 or 1");
    assert_memory_equal(&g, &before, sizeof g);
}

static void philox_equals_the_published_vectors(void **state)
{
    /* kat_vectors of Random123 1.14: counter, key, result */
    static const uint32_t kat[3][10] = {
        {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
        {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff,
         0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd},
        {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0,
         0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}};
    uint32_t out[4];
    int i;

    (void)state;
    for (i = 0; i < 3; i++) {
        rng_philox(out, kat[i] + 4, kat[i]);
        assert_memory_equal(out, kat[i] + 6, sizeof out);
    }
}

static void a_philox_word_becomes_a_uniform_below_one(void **state)
{
    (void)state;
    assert_true(rng_philox_uniform(0) == 0.0f);
    assert_true(rng_philox_uniform(0x80000000u) == 0.5f);
    assert_true(rng_philox_uniform(0xffffffffu) == 1.0f - 0x1p-24f);
}

/* Distance in units of the last place of want. */
static double ulps(double got, double want)
{
    double next = nextafter(fabs(want), INFINITY) - fabs(want);

    return fabs(got - want) / next;
}

static double wide(struct rng_mt *g, int low, int high)
{
    double m = 1 + (double)rng_mt_uniform(g, 0, 1) +
               0x1p-24 * (double)rng_mt_uniform(g, 0, 1);
    int e = low + (int)(rng_mt_u32(g) % (uint32_t)(high - low));

    return ldexp(m, e);
}

static void sin_and_cos_are_within_2_ulp_up_to_2_to_the_30(void **state)
{
    const double half_pi = 0x1.921fb54442d18p+0;
    struct rng_mt g;
    double worst = 0;
    int i;

    (void)state;
    rng_mt_seed(&g, 0);
    for (i = 0; i < 1000000; i++) {
        double x = wide(&g, -60, 30);

        if (i % 3 == 0)
            x = (double)(i - 500000) * half_pi; /* near a zero of one */
        else if (i % 3 == 1)
            x = (double)rng_mt_uniform(&g, -8, 8);
        worst = fmax(worst, ulps(rng_sin(x), sin(x)));
        worst = fmax(worst, ulps(rng_cos(x), cos(x)));
        worst = fmax(worst, ulps(rng_sin(-x), -sin(x)));
    }
    print_message("# sin, cos: at most %.2f ulp from libm\n", worst);
    assert_true(worst <= 2);
}

static void log_is_within_2_ulp_on_all_normal_numbers(void **state)
{
    struct rng_mt g;
    double worst = 0;
    int i;

    (void)state;
    rng_mt_seed(&g, 0);
    for (i = 0; i < 1000000; i++) {
        double x = wide(&g, -1022, 1023);

        if (i % 3 == 0)
            x = 1 + (double)rng_mt_uniform(&g, -0.5f, 1);
        else if (i % 3 == 1)
            x = 1 + ldexp((double)rng_mt_uniform(&g, -1, 1), -i % 50);
        worst = fmax(worst, ulps(rng_log(x), log(x)));
    }
    print_message("# log: at most %.2f ulp from libm\n", worst);
    assert_true(worst <= 2);
    assert_true(rng_log(1) == 0);
    assert_true(ulps(rng_log(DBL_MIN), log(DBL_MIN)) <= 2);
    assert_true(ulps(rng_log(DBL_MAX), log(DBL_MAX)) <= 2);
}

static void functions_outside_their_domain_give_nan(void **state)
{
    static const double log_bad[] = {0, -1, DBL_MIN / 2, INFINITY, NAN};
    static const double angle_bad[] = {0x1p31, -0x1p31, INFINITY, NAN};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof log_bad / sizeof *log_bad; i++)
        assert_true(isnan(rng_log(log_bad[i])));
    for (i = 0; i < sizeof angle_bad / sizeof *angle_bad; i++) {
        assert_true(isnan(rng_sin(angle_bad[i])));
        assert_true(isnan(rng_cos(angle_bad[i])));
    }
}

/* Taken once from this program: any other bits on another machine, compiler
 * or flag would break the promise of equal data everywhere. */
static void the_functions_have_the_same_bits_everywhere(void **state)
{
    struct rng_mt g;
    uint64_t hash = 14695981039346656037ull;
    int i;

    (void)state;
    rng_mt_seed(&g, 0);
    for (i = 0; i < 100000; i++) {
        double x = wide(&g, -40, 30);
        double v[3] = {rng_sin(x), rng_cos(x), rng_log(x)};
        uint64_t bits[3];
        int j;

        memcpy(bits, v, sizeof bits);
        for (j = 0; j < 3; j++)
            hash = (hash ^ bits[j]) * 1099511628211ull;
    }
    assert_true(hash == 0x224fdc78ea417589ull);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_generator_is_the_published_mersenne_twister),
        cmocka_unit_test(only_the_low_half_of_a_seed_counts),
        cmocka_unit_test(sixty_four_bits_are_two_draws_the_first_one_high),
        cmocka_unit_test(uniform_draws_equal_the_reference),
        cmocka_unit_test(normals_are_within_1e_6_of_the_reference),
        cmocka_unit_test(a_short_fill_of_normals_equals_torch_randn),
        cmocka_unit_test(the_spare_normal_goes_to_the_next_short_fill),
        cmocka_unit_test(linear_weights_equal_the_reference),
        cmocka_unit_test(permutation_equals_the_reference),
        cmocka_unit_test(permutations_of_none_and_one_draw_nothing),
        cmocka_unit_test(a_saved_generator_goes_on_where_it_was),
        cmocka_unit_test(broken_saved_words_are_an_error),
        cmocka_unit_test(philox_equals_the_published_vectors),
        cmocka_unit_test(a_philox_word_becomes_a_uniform_below_one),
        cmocka_unit_test(sin_and_cos_are_within_2_ulp_up_to_2_to_the_30),
        cmocka_unit_test(log_is_within_2_ulp_on_all_normal_numbers),
        cmocka_unit_test(functions_outside_their_domain_give_nan),
        cmocka_unit_test(the_functions_have_the_same_bits_everywhere),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
