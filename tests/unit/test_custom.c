/* Operators of the user's own on the tape: values and gradients beside those of
 * the built-in ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "nn/gradcheck.h"
#include "tests/unit/custom_tape.h"

static void same(const struct nn_tensor *a, const struct nn_tensor *b)
{
    float v[MOST], w[MOST];
    struct err err = {0};

    assert_true(nn_shape_eq(&a->shape, &b->shape));
    assert_int_equal(nn_tensor_get(a, v, &err), 0);
    assert_int_equal(nn_tensor_get(b, w, &err), 0);
    assert_memory_equal(v, w, (size_t)nn_tensor_numel(a) * sizeof *v);
}

static void linear_gives_what_the_built_in_one_gives(void **state)
{
    struct fixture *f = *state;
    struct linear a = linear_new(f, NN_ROWS), b = linear_new(f, NN_WEIGHT);
    float got[B * OUT], want[B * OUT];
    int i;

    assert_int_equal(nn_tape_custom(f->tape, &f->linear, a.in, &a.y, &f->err),
                     0);
    assert_int_equal(
        nn_tape_apply(f->tape, NN_OP_LINEAR, b.in, 3, NULL, &b.y, &f->err), 0);
    assert_int_equal(nn_tensor_get(a.y, got, &f->err), 0);
    assert_int_equal(nn_tensor_get(b.y, want, &f->err), 0);
    for (i = 0; i < B * OUT; i++) /* b is added last here, first there */
        assert_float_equal(got[i], want[i], 1e-5f);
    assert_int_equal(back(f, a.y, false), 0);
    assert_int_equal(back(f, b.y, false), 0);
    for (i = 0; i < 3; i++)
        same(a.in[i]->grad, b.in[i]->grad);
    linear_drop(&a);
    linear_drop(&b);
}

static void linear_without_bias_has_the_bits_of_the_built_in_one(void **state)
{
    struct fixture *f = *state;
    struct linear a = linear_new(f, NN_ROWS), b = linear_new(f, NN_WEIGHT);

    assert_int_equal(nn_tape_custom(f->tape, &f->thin, a.in, &a.y, &f->err), 0);
    assert_int_equal(
        nn_tape_apply(f->tape, NN_OP_LINEAR, b.in, 2, NULL, &b.y, &f->err), 0);
    same(a.y, b.y);
    linear_drop(&a);
    linear_drop(&b);
}

static void relu_has_the_bits_of_the_built_in_one(void **state)
{
    struct fixture *f = *state;
    struct nn_tensor *a, *b, *ya, *yb;

    a = leaf(f, nn_shape2(B, IN), NN_F32, NN_ROWS);
    rng_mt_seed(&f->gen, 5);
    b = leaf(f, nn_shape2(B, IN), NN_F32, NN_ROWS);
    assert_int_equal(nn_tape_custom(f->tape, &f->relu, &a, &ya, &f->err), 0);
    assert_int_equal(op1(f->tape, NN_OP_RELU, b, &yb, &f->err), 0);
    same(ya, yb);
    assert_int_equal(back(f, ya, false), 0);
    assert_int_equal(back(f, yb, false), 0);
    same(a->grad, b->grad);
    drop(a);
    drop(b);
}

static void cross_entropy_has_the_bits_of_the_built_in_one(void **state)
{
    struct fixture *f = *state;
    union nn_attrs each = {.loss = {.per_sample = true}};
    union nn_attrs sum = {.loss = {.scale = 1.0}};
    struct nn_tensor *a[2], *b[2], *ya, *yb;

    a[0] = leaf(f, nn_shape2(B, OUT), NN_F32, NN_ROWS);
    rng_mt_seed(&f->gen, 5);
    b[0] = leaf(f, nn_shape2(B, OUT), NN_F32, NN_ROWS);
    a[1] = b[1] = labels(f);
    assert_int_equal(nn_tape_custom(f->tape, &f->loss, a, &ya, &f->err), 0);
    f->tape->grad_enabled = false;
    assert_int_equal(
        nn_tape_apply(f->tape, NN_OP_CROSS_ENTROPY, b, 2, &each, &yb, &f->err),
        0);
    same(ya, yb);
    f->tape->grad_enabled = true;
    assert_int_equal(
        nn_tape_apply(f->tape, NN_OP_CROSS_ENTROPY, b, 2, &sum, &yb, &f->err),
        0);
    assert_int_equal(sum_over(f->tape, ya, NN_AXIS_ALL, &ya, &f->err), 0);
    assert_int_equal(nn_tape_backward(f->tape, ya, false, &f->err), 0);
    assert_int_equal(nn_tape_backward(f->tape, yb, false, &f->err), 0);
    same(a[0]->grad, b[0]->grad);
    drop(a[0]);
    drop(b[0]);
    drop(a[1]);
}

static int apply(void *user, struct nn_tape *tape, struct nn_tensor *const *in,
                 struct nn_tensor **out, struct err *err)
{
    return nn_tape_custom(tape, user, in, out, err);
}

static void check_gradients(struct fixture *f, struct nn_custom *c,
                            struct nn_tensor *const *in)
{
    struct nn_gradcheck what = {in, c->n_in, apply, c, 1e-6, 3};
    struct nn_gradcheck_result r;

    assert_int_equal(nn_gradcheck(&r, f->be, &what, &f->err), 0);
    assert_true(r.checked > 0);
    if (r.max_error > 1e-7)
        fail_msg("%s: error %g", c->name, r.max_error);
}

static void gradients_are_those_of_central_differences(void **state)
{
    struct fixture *f = *state;
    struct nn_tensor *in[3];

    in[0] = leaf(f, nn_shape2(B, IN), NN_F64, NN_ROWS);
    in[1] = leaf(f, nn_shape2(OUT, IN), NN_F64, NN_ROWS);
    in[2] = leaf(f, nn_shape1(OUT), NN_F64, NN_ROWS);
    check_gradients(f, &f->linear, in);
    check_gradients(f, &f->relu, in);
    drop(in[0]);
    drop(in[1]);
    drop(in[2]);
    in[0] = leaf(f, nn_shape2(B, OUT), NN_F64, NN_ROWS);
    in[1] = labels(f);
    check_gradients(f, &f->loss, in);
    drop(in[0]);
    drop(in[1]);
}

static void its_calls_are_one_node(void **state)
{
    struct fixture *f = *state;
    struct linear l = linear_new(f, NN_ROWS);
    size_t i;

    f->tape->layer = "fc";
    f->tape->role = NN_ROLE_FORWARD;
    assert_int_equal(nn_tape_custom(f->tape, &f->linear, l.in, &l.y, &f->err),
                     0);
    assert_int_equal(f->tape->n_node, 1);
    assert_int_equal(f->tape->n_call, 2);
    f->tape->layer = "";
    f->tape->role = NN_ROLE_NONE;
    l.in[0]->st->cat = NN_CAT_ACTIVATION;
    assert_int_equal(back(f, l.y, false), 0);
    for (i = 0; i < f->tape->n_call; i++) {
        static const enum nn_role role[] = {
            NN_ROLE_FORWARD,     NN_ROLE_FORWARD,   NN_ROLE_GRAD_INPUT,
            NN_ROLE_GRAD_WEIGHT, NN_ROLE_GRAD_BIAS, NN_ROLE_GRAD_INPUT,
            NN_ROLE_GRAD_WEIGHT, NN_ROLE_GRAD_BIAS};

        assert_true(i < 8); /* the last three move gradients to their leaves */
        assert_int_equal(f->tape->call[i].role, role[i]);
        assert_string_equal(f->tape->call[i].layer, "fc");
        assert_int_not_equal(f->tape->call[i].op, NN_OP_CUSTOM);
    }
    linear_drop(&l);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(linear_gives_what_the_built_in_one_gives),
        CASE(linear_without_bias_has_the_bits_of_the_built_in_one),
        CASE(relu_has_the_bits_of_the_built_in_one),
        CASE(cross_entropy_has_the_bits_of_the_built_in_one),
        CASE(gradients_are_those_of_central_differences),
        CASE(its_calls_are_one_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
