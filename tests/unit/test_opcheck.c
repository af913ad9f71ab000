/* Every operator form against PyTorch's numbers (tests/golden/operators.json):
 * 1e-12 in float64; and against central differences. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "nn/base/mem.h"
#include "pipeline/opcheck.h"
#include "tests/unit/device_fixture.h"

static const struct pl_opcheck_opts opts = {
    .eps = 1e-6,
    .gradcheck_tolerance = 1e-6,
    .rtol = 1e-12,
    .atol = 1e-12,
    .rtol32 = 1e-5,
    .atol32 = 1e-6,
};

static void golden_operators_hold(void **state)
{
    struct pl_reference ref;
    struct nn_backend *be;
    struct err err = {0};
    size_t i;

    (void)state;
    assert_int_equal(device_open(&be, 1, &err), 0);
    assert_int_equal(
        pl_reference_read(&ref, "tests/golden/operators.json", &err), 0);
    assert_int_equal(ref.n, 21);
    for (i = 0; i < ref.n; i++) {
        struct pl_opcheck o;

        if (pl_opcheck_run(&o, be, &ref.cases[i], &opts, &err) != 0)
            fail_msg("%s: %s", ref.cases[i].title, err.msg);
        assert_true(o.f64.made && o.f32.made);
        if (!pl_opcheck_passed(&o))
            fail_msg("%s: gradcheck %g, float64 %g, float32 %g, forms %g",
                     ref.cases[i].title, o.grad.max_error, o.f64.max_error,
                     o.f32.max_error, o.forms.max_error);
    }
    pl_reference_free(&ref);
    nn_backend_close(be);
    assert_int_equal(mem_live(), 0);
}

/* The check itself can fail: a wrong number is noticed. */
static void changed_reference_fails(void **state)
{
    struct pl_reference ref;
    struct nn_backend *be;
    struct pl_opcheck o;
    struct err err = {0};

    (void)state;
    assert_int_equal(device_open(&be, 1, &err), 0);
    assert_int_equal(
        pl_reference_read(&ref, "tests/golden/operators.json", &err), 0);
    ref.cases[0].in[1].grad[2] += 1e-9;
    assert_int_equal(pl_opcheck_run(&o, be, &ref.cases[0], &opts, &err), 0);
    assert_false(pl_opcheck_passed(&o));
    ref.cases[0].in[1].grad[2] = NAN;
    assert_int_equal(pl_opcheck_run(&o, be, &ref.cases[0], &opts, &err), 0);
    assert_false(pl_opcheck_passed(&o));
    pl_reference_free(&ref);
    nn_backend_close(be);
}

/* Applies tanh forward, but hands the gradient on as if it were relu's. */
static int wrong_backward(void *user, struct nn_tape *tape,
                          struct nn_tensor *const *in, struct nn_tensor **out,
                          struct err *err)
{
    int rc = nn_tape_apply(tape, NN_OP_TANH, in, 1, NULL, out, err);

    (void)user;
    if (rc == 0 && (*out)->node)
        (*out)->node->call.op = NN_OP_SIGMOID;
    return rc;
}

static void gradcheck_finds_a_wrong_backward(void **state)
{
    double v[3] = {0.3, -0.7, 1.1};
    struct nn_gradcheck_result r;
    struct nn_shape s = nn_shape1(3);
    struct nn_backend *be;
    struct nn_tensor *x;
    struct err err = {0};

    (void)state;
    assert_int_equal(device_open(&be, 1, &err), 0);
    assert_int_equal(
        nn_tensor_new(&x, be, &s, NN_F64, NN_ROWS, NN_CAT_INPUT, &err), 0);
    assert_int_equal(nn_tensor_set(x, v, &err), 0);
    assert_int_equal(nn_tensor_require_grad(x, &err), 0);
    assert_int_equal(nn_gradcheck(&r, be,
                                  &(struct nn_gradcheck){&x, 1, wrong_backward,
                                                         NULL, 1e-6, 0},
                                  &err),
                     0);
    assert_int_equal(r.checked, 3);
    assert_true(r.max_error > 0.1);
    nn_tensor_free(x->grad);
    nn_tensor_free(x);
    nn_backend_close(be);
}

static void broken_reference_files_are_errors(void **state)
{
    struct pl_reference ref;
    struct err err = {0};

    (void)state;
    assert_int_equal(
        pl_reference_read(&ref, "tests/golden/generator.json", &err),
        ERR_CORRUPT);
    assert_string_equal(err.msg, "'tests/golden/generator.json' has no "
                                 "cases");
    err_clear(&err);
    assert_int_equal(pl_reference_read(&ref, "tests/golden/none.json", &err),
                     ERR_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_operators_hold),
        cmocka_unit_test(changed_reference_fails),
        cmocka_unit_test(gradcheck_finds_a_wrong_backward),
        cmocka_unit_test(broken_reference_files_are_errors),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
