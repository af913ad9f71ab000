#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "nn/sched.h"

static void constant_is_the_base_rate(void **state)
{
    struct nn_sched s = {.base = 0.1};

    (void)state;
    assert_true(nn_sched_lr(&s, 0) == 0.1);
    assert_true(nn_sched_lr(&s, 1000000) == 0.1);
}

static void warmup_begins_above_zero_and_ends_at_the_base(void **state)
{
    struct nn_sched s = {.base = 0.1, .warmup_steps = 4};

    (void)state;
    assert_true(nn_sched_lr(&s, 0) == 0.1 * 0.25);
    assert_true(nn_sched_lr(&s, 1) == 0.1 * 0.5);
    assert_true(nn_sched_lr(&s, 3) == 0.1);
    assert_true(nn_sched_lr(&s, 4) == 0.1);
    s.warmup_steps = 1;
    assert_true(nn_sched_lr(&s, 0) == 0.1);
}

static void step_drops_by_gamma(void **state)
{
    struct nn_sched s = {
        .type = NN_SCHED_STEP, .base = 1.0, .gamma = 0.5, .step_every = 10};

    (void)state;
    assert_true(nn_sched_lr(&s, 9) == 1.0);
    assert_true(nn_sched_lr(&s, 10) == 0.5);
    assert_true(nn_sched_lr(&s, 39) == 0.125);
}

static void cosine_goes_from_base_to_min(void **state)
{
    struct nn_sched s = {.type = NN_SCHED_COSINE,
                         .base = 1.0,
                         .min_lr = 0.1,
                         .total_steps = 101};
    int i;

    (void)state;
    assert_true(nn_sched_lr(&s, 0) == 1.0);
    assert_true(fabs(nn_sched_lr(&s, 50) - 0.55) < 1e-12);
    assert_true(nn_sched_lr(&s, 100) == 0.1);
    assert_true(nn_sched_lr(&s, 5000) == 0.1);
    for (i = 1; i <= 100; i++) {
        double want = 0.1 + 0.9 * 0.5 * (1.0 + cos(3.14159265358979 * i / 100));

        assert_true(nn_sched_lr(&s, i) < nn_sched_lr(&s, i - 1));
        assert_true(fabs(nn_sched_lr(&s, i) - want) < 1e-12);
    }
}

/* No jump where the warm-up meets the cosine. */
static void cosine_begins_where_the_warmup_ends(void **state)
{
    struct nn_sched s = {.type = NN_SCHED_COSINE,
                         .base = 1.0,
                         .warmup_steps = 10,
                         .total_steps = 1000};

    (void)state;
    assert_true(nn_sched_lr(&s, 9) == 1.0);
    assert_true(nn_sched_lr(&s, 10) < 1.0 && nn_sched_lr(&s, 10) > 0.9999);
    s.total_steps = 5; /* shorter than its warm-up: no division by zero */
    assert_true(nn_sched_lr(&s, 4) == 0.5);
    assert_true(nn_sched_lr(&s, 12) == 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_is_the_base_rate),
        cmocka_unit_test(warmup_begins_above_zero_and_ends_at_the_base),
        cmocka_unit_test(step_drops_by_gamma),
        cmocka_unit_test(cosine_goes_from_base_to_min),
        cmocka_unit_test(cosine_begins_where_the_warmup_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
