/* Quantiles and flags of made-up times. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "nn/base/mem.h"
#include "pipeline/profile_stats.h"

static void assert_near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-12))
        fail_msg("%.15g, not %.15g", got, want);
}

static struct pl_times sum_up(const double *time, size_t n)
{
    struct pl_times t;
    struct err err = {0};

    assert_int_equal(pl_times_sum_up(&t, time, n, &err), 0);
    assert_int_equal(t.n, n);
    return t;
}

/* numpy.quantile([1, 2, 4, 8], [0, 0.1, 0.5, 0.9, 1]) */
static void quantiles_are_linear_between_neighbours(void **state)
{
    static const double v[] = {1, 2, 4, 8};

    (void)state;
    assert_near(pl_quantile(v, 4, 0), 1);
    assert_near(pl_quantile(v, 4, 0.1), 1.3);
    assert_near(pl_quantile(v, 4, 0.5), 3);
    assert_near(pl_quantile(v, 4, 0.9), 6.8);
    assert_near(pl_quantile(v, 4, 1), 8);
    assert_near(pl_quantile(v, 1, 0.9), 1);
}

static void times_are_summed_up_in_any_order(void **state)
{
    static const double v[] = {5, 1, 4, 2, 3};
    struct pl_times t = sum_up(v, 5);

    (void)state;
    assert_near(t.median, 3);
    assert_near(t.p10, 1.4);
    assert_near(t.p90, 4.6);
    assert_near(t.mean, 3);
}

static void equal_times_carry_no_flag(void **state)
{
    double v[31];
    struct pl_times t;
    size_t i;

    (void)state;
    for (i = 0; i < 31; i++)
        v[i] = 2e-6;
    t = sum_up(v, 31);
    assert_near(t.drift, 0);
    assert_false(t.drifts);
    assert_false(t.noisy);
    assert_string_equal(pl_times_flag(&t), "");
}

/* 5 % are allowed, either way. */
static void drift_over_a_twentieth_is_flagged(void **state)
{
    static const struct {
        double late;
        bool drifts;
    } v[] = {{104, false}, {106, true}, {96, false}, {94, true}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof v / sizeof *v; i++) {
        double time[] = {100, 100, 100, 140, v[i].late, v[i].late, v[i].late};
        struct pl_times t = sum_up(time, 7); /* the middle one is in no half */

        assert_near(t.drift, v[i].late / 100 - 1);
        assert_true(t.drifts == v[i].drifts);
        assert_string_equal(pl_times_flag(&t), v[i].drifts ? "drift" : "");
    }
}

/* One slow step in ten moves p90, one in twenty does not. */
static void noise_is_flagged_by_p90_over_the_median(void **state)
{
    double v[20];
    struct pl_times t;
    size_t i;

    (void)state;
    for (i = 0; i < 20; i++)
        v[i] = i == 3 ? 9 : 1;
    assert_false(sum_up(v, 20).noisy);
    v[13] = v[8] = 9;
    t = sum_up(v, 20);
    assert_near(t.median, 1);
    assert_true(t.noisy);
    assert_false(t.drifts);
    assert_string_equal(pl_times_flag(&t), "noise");
}

static void both_flags_stand_together(void **state)
{
    static const double v[] = {1, 1, 1, 1, 1, 1, 9, 9, 9, 9};
    struct pl_times t = sum_up(v, 10);

    (void)state;
    assert_string_equal(pl_times_flag(&t), "drift+noise");
}

static void one_time_is_its_own_median(void **state)
{
    static const double v[] = {7};
    struct pl_times t = sum_up(v, 1);

    (void)state;
    assert_near(t.median, 7);
    assert_near(t.p90, 7);
    assert_near(t.drift, 0);
}

static void no_memory_is_an_error(void **state)
{
    static const double v[] = {1, 2};
    struct pl_times t;
    struct err err = {0};

    (void)state;
    mem_fail_after(1);
    assert_int_equal(pl_times_sum_up(&t, v, 2, &err), ERR_NOMEM);
    mem_fail_after(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quantiles_are_linear_between_neighbours),
        cmocka_unit_test(times_are_summed_up_in_any_order),
        cmocka_unit_test(equal_times_carry_no_flag),
        cmocka_unit_test(drift_over_a_twentieth_is_flagged),
        cmocka_unit_test(noise_is_flagged_by_p90_over_the_median),
        cmocka_unit_test(both_flags_stand_together),
        cmocka_unit_test(one_time_is_its_own_median),
        cmocka_unit_test(no_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
