#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "pipeline/host_state.h"

static bool absent_or_positive(double v)
{
    return isnan(v) || v > 0;
}

static void a_cpu_has_no_gpu_facts(void **state)
{
    struct pl_host_state s;
    struct nn_backend *be;
    struct err err = {0};

    (void)state;
    assert_int_equal(nn_cpu_open(&be, 1, NULL, &err), 0);
    pl_host_state(&s, be);
    nn_backend_close(be);
    assert_true(absent_or_positive(s.cpu_mhz));
    assert_true(isnan(s.load) || s.load >= 0);
    assert_true(absent_or_positive(s.ticks));
    assert_true(isnan(s.gpu.sm_mhz) && isnan(s.gpu.power_cap_w) &&
                isnan(s.gpu.celsius));
}

static void steal_is_the_share_of_the_ticks_between(void **state)
{
    struct pl_host_state a = {.steal = 10, .ticks = 1000};
    struct pl_host_state b = {.steal = 15, .ticks = 1200};

    (void)state;
    assert_true(pl_host_steal(&a, &b) == 2.5);
    assert_true(pl_host_steal(&a, &a) == 0); /* no tick between */
    b.ticks = NAN;
    assert_true(isnan(pl_host_steal(&a, &b)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cpu_has_no_gpu_facts),
        cmocka_unit_test(steal_is_the_share_of_the_ticks_between),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
