#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nn/base/mem.h"
#include "pipeline/device_settings.h"
#include "pipeline/inputs.h"
#include "pipeline/recipe.h"
#include "pipeline/stage.h"

static int tear_down(void **state)
{
    (void)state;
    return mem_live() == 0 ? 0 : -1;
}

static void cpu_is_strict_and_reads_the_hosts_memory(void **state)
{
    struct nn_backend *be;
    struct err err = {0};
    int n;

    (void)state;
    assert_int_equal(nn_cpu_open(&be, 1, NULL, &err), 0);
    for (n = 0; pl_numerics[n]; n++) {
        const struct nn_backend_config c = {.numerics = (enum nn_numerics)n,
                                            .data = NN_DATA_PINNED};

        assert_int_equal(pl_device_configure(be, &c, &err), 0);
        assert_string_equal(pl_numerics_on(be, n), "strict");
        assert_string_equal(pl_data_path_on(be, n), "host");
    }
    assert_int_equal(n, 3);
    nn_backend_close(be);
}

static int refuse(struct nn_backend *be, const struct nn_backend_config *c,
                  struct err *err)
{
    (void)be;
    return err_set(err, ERR_DEVICE, "numerics %d, data %d", c->numerics,
                   c->data);
}

static void a_device_is_told_and_may_refuse(void **state)
{
    static const struct nn_backend_ops ops = {.configure = refuse};
    const struct nn_backend_config c = {.numerics = NN_NUMERICS_TF32,
                                        .data = NN_DATA_PAGEABLE};
    struct nn_backend be = {.ops = &ops};
    struct err err = {0};

    (void)state;
    assert_int_equal(pl_device_configure(&be, &c, &err), ERR_DEVICE);
    assert_string_equal(err.msg, "numerics 2, data 2");
    assert_string_equal(pl_numerics_on(&be, NN_NUMERICS_FAST), "fast");
    assert_string_equal(pl_data_path_on(&be, NN_DATA_PINNED), "host_pinned");
}

/* What counts for a GPU alone stands in a list of its own. */
static void settings_are_inputs_of_a_gpu_only(void **state)
{
    struct pl_train_with with = {.dataset = "d",
                                 .model = "m",
                                 .numerics = NN_NUMERICS_STRICT,
                                 .data = NN_DATA_PINNED};
    const struct pl_stage s = {
        .id = "s", .kind = &pl_kind_train, .with = &with};
    const struct pl_config c = {.name = "c"};
    struct arena arena = {0};
    struct pl_inputs in = {.arena = &arena}, gpu = {.arena = &arena};
    struct pl_inputs other = {.arena = &arena};
    struct err err = {0};

    (void)state;
    assert_int_equal(pl_inputs_collect(&in, &c, &s, &err), 0);
    assert_null(pl_inputs_get(&in, "with.numerics"));
    assert_null(pl_inputs_get(&in, "with.data"));
    assert_non_null(pl_inputs_get(&in, "with.fusion"));
    pl_inputs_gpu(&gpu, &s);
    assert_int_equal(gpu.n, 2);
    assert_string_equal(pl_inputs_get(&gpu, "with.numerics"), "strict");
    assert_string_equal(pl_inputs_get(&gpu, "with.data"), "host_pinned");
    with.numerics = NN_NUMERICS_FAST;
    pl_inputs_gpu(&other, &s);
    assert_true(pl_inputs_hold(&gpu, &gpu));
    assert_false(pl_inputs_hold(&gpu, &other));
    other.n = 0; /* of the CPU: nothing was noted */
    assert_true(pl_inputs_hold(&other, &gpu));
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(cpu_is_strict_and_reads_the_hosts_memory,
                                  tear_down),
        cmocka_unit_test_teardown(a_device_is_told_and_may_refuse, tear_down),
        cmocka_unit_test_teardown(settings_are_inputs_of_a_gpu_only, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
