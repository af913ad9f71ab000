/* PyTorch's rules of autograd for operators of the user's own. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/unit/custom_tape.h"

static void second_backward_is_an_error(void **state)
{
    struct fixture *f = *state;
    struct linear l = linear_new(f, NN_ROWS);

    assert_int_equal(nn_tape_custom(f->tape, &f->linear, l.in, &l.y, &f->err),
                     0);
    assert_int_equal(back(f, l.y, false), 0);
    assert_int_equal(back(f, l.y, false), ERR_SHAPE);
    assert_non_null(strstr(f->err.msg, "second time"));
    assert_non_null(strstr(f->err.msg, "my_linear"));
    linear_drop(&l);
}

static void retained_graph_adds_up(void **state)
{
    struct fixture *f = *state;
    struct linear l = linear_new(f, NN_ROWS);
    float once[OUT], twice[OUT];
    int i;

    assert_int_equal(nn_tape_custom(f->tape, &f->linear, l.in, &l.y, &f->err),
                     0);
    assert_int_equal(back(f, l.y, true), 0);
    assert_int_equal(nn_tensor_get(l.in[2]->grad, once, &f->err), 0);
    assert_int_equal(f->released, 0);
    assert_int_equal(back(f, l.y, false), 0);
    assert_int_equal(nn_tensor_get(l.in[2]->grad, twice, &f->err), 0);
    for (i = 0; i < OUT; i++)
        assert_true(twice[i] == 2 * once[i] && once[i] != 0);
    assert_int_equal(f->released, 1);
    linear_drop(&l);
}

static void change_in_place(struct fixture *f, struct nn_tensor *t)
{
    struct nn_call fill = {.op = NN_OP_FILL, .n_out = 1, .out = {t}};

    assert_int_equal(nn_tape_call(f->tape, &fill, &f->err), 0);
}

static void change_in_place_after_it_ran_is_an_error(void **state)
{
    static const char *const text[] = {
        "input 0 of my_linear", "input 1 of my_linear", "input 2 of my_linear",
        "the result of my_linear"};
    struct fixture *f = *state;
    int i;

    for (i = 0; i < 4; i++) {
        struct linear l = linear_new(f, NN_ROWS);

        assert_int_equal(
            nn_tape_custom(f->tape, &f->linear, l.in, &l.y, &f->err), 0);
        change_in_place(f, i < 3 ? l.in[i] : l.y);
        assert_int_equal(back(f, l.y, false), ERR_SHAPE);
        assert_non_null(strstr(f->err.msg, text[i]));
        assert_non_null(strstr(f->err.msg, "in place"));
        err_clear(&f->err);
        linear_drop(&l);
    }
}

/* Forgets the gradient of its second input. */
static int forgetful(const struct nn_custom *c, struct nn_tape *tape,
                     void *state, struct nn_tensor *grad,
                     struct nn_tensor **grad_in, struct err *err)
{
    int rc = linear_backward(c, tape, state, grad, grad_in, err);

    grad_in[1] = NULL;
    return rc;
}

/* Gives the gradients of x and W the wrong way round. */
static int confused(const struct nn_custom *c, struct nn_tape *tape,
                    void *state, struct nn_tensor *grad,
                    struct nn_tensor **grad_in, struct err *err)
{
    int rc = linear_backward(c, tape, state, grad, grad_in, err);

    grad_in[0] = grad_in[1];
    return rc;
}

/* Gives float64 gradients of float32 operands. */
static int too_wide(const struct nn_custom *c, struct nn_tape *tape,
                    void *state, struct nn_tensor *grad,
                    struct nn_tensor **grad_in, struct err *err)
{
    union nn_attrs attrs = {.cast = {NN_F64}};
    int rc = linear_backward(c, tape, state, grad, grad_in, err);

    if (rc == 0)
        rc = nn_tape_apply(tape, NN_OP_CAST, &grad_in[2], 1, &attrs,
                           &grad_in[2], err);
    return rc;
}

static void wrong_gradient_is_an_error(void **state)
{
    static const struct {
        int (*backward)(const struct nn_custom *c, struct nn_tape *tape,
                        void *state, struct nn_tensor *grad,
                        struct nn_tensor **grad_in, struct err *err);
        const char *text;
    } wrong[] = {
        {forgetful, "the backward of my_linear gives no gradient of input 1, "
                    "which requires one"},
        {confused, "the backward of my_linear gives a float32 gradient (5, 6) "
                   "of input 0, which is float32 (7, 6)"},
        {too_wide, "the backward of my_linear gives a float64 gradient (5,) of "
                   "input 2, which is float32 (5,)"},
    };
    struct fixture *f = *state;
    size_t i;

    for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct linear l = linear_new(f, NN_ROWS);

        f->linear.backward = wrong[i].backward;
        assert_int_equal(
            nn_tape_custom(f->tape, &f->linear, l.in, &l.y, &f->err), 0);
        assert_int_equal(back(f, l.y, false), ERR_SHAPE);
        assert_string_equal(f->err.msg, wrong[i].text);
        err_clear(&f->err);
        linear_drop(&l);
    }
    assert_int_equal(f->released, 3);
}

static void state_is_released_once(void **state)
{
    struct fixture *f = *state;
    struct linear l = linear_new(f, NN_ROWS);
    struct nn_tensor *y;

    assert_int_equal(nn_tape_custom(f->tape, &f->linear, l.in, &l.y, &f->err),
                     0);
    assert_int_equal(f->released, 0);
    assert_int_equal(nn_tape_custom(f->tape, &f->linear, l.in, &y, &f->err), 0);
    assert_int_equal(back(f, l.y, false), 0);
    assert_int_equal(f->released, 1); /* with its graph */
    f->tape->grad_enabled = false;
    assert_int_equal(nn_tape_custom(f->tape, &f->linear, l.in, &l.y, &f->err),
                     0);
    assert_int_equal(f->released, 2); /* nobody will ask for it */
    assert_null(l.y->node);
    nn_tape_free(f->tape);
    assert_int_equal(f->released, 3); /* of y, which had no backward */
    f->tape = NULL;
    linear_drop(&l);
}

static void forward_that_fails_releases_its_state(void **state)
{
    struct fixture *f = *state;
    struct linear l = linear_new(f, NN_ROWS);
    struct nn_tensor *in[3] = {l.in[1], l.in[0], l.in[2]}, *y = l.in[0];

    assert_int_equal(nn_tape_custom(f->tape, &f->linear, in, &y, &f->err),
                     ERR_SHAPE);
    assert_null(y);
    assert_int_equal(f->released, 1);
    assert_true(f->tape->grad_enabled);
    linear_drop(&l);
}

/* y = a * b */
static int mul_forward(const struct nn_custom *c, struct nn_tape *tape,
                       struct nn_tensor *const *in, struct nn_tensor **out,
                       void **state, struct err *err)
{
    int rc = kept_new(c, state, in, 2, err);

    return rc == 0 ? op2(tape, NN_OP_MUL, in[0], in[1], out, err) : rc;
}

/* da = g * b; db = g * a */
static int mul_backward(const struct nn_custom *c, struct nn_tape *tape,
                        void *state, struct nn_tensor *grad,
                        struct nn_tensor **grad_in, struct err *err)
{
    struct kept *k = state;
    int rc = op2(tape, NN_OP_MUL, grad, k->t[1], &grad_in[0], err);

    (void)c;
    return rc == 0 ? op2(tape, NN_OP_MUL, grad, k->t[0], &grad_in[1], err) : rc;
}

static void gradients_of_one_tensor_in_two_places_add_up(void **state)
{
    struct fixture *f = *state;
    struct nn_tensor *x = leaf(f, nn_shape1(OUT), NN_F32, NN_ROWS);
    struct nn_tensor *in[2] = {x, x}, *y;
    float v[OUT], g[OUT];
    int i;

    f->relu.n_in = 2;
    f->relu.forward = mul_forward;
    f->relu.backward = mul_backward;
    assert_int_equal(nn_tape_custom(f->tape, &f->relu, in, &y, &f->err), 0);
    in[0] = in[1] = y; /* x ** 4, through a tensor that is no leaf */
    assert_int_equal(nn_tape_custom(f->tape, &f->relu, in, &y, &f->err), 0);
    assert_int_equal(sum_over(f->tape, y, NN_AXIS_ALL, &y, &f->err), 0);
    assert_int_equal(nn_tape_backward(f->tape, y, false, &f->err), 0);
    assert_int_equal(nn_tensor_get(x, v, &f->err), 0);
    assert_int_equal(nn_tensor_get(x->grad, g, &f->err), 0);
    for (i = 0; i < OUT; i++)
        assert_float_equal(g[i], 4 * v[i] * v[i] * v[i], 1e-4f);
    drop(x);
}

static int identity_forward(const struct nn_custom *c, struct nn_tape *tape,
                            struct nn_tensor *const *in, struct nn_tensor **out,
                            void **state, struct err *err)
{
    struct nn_shape flat = nn_shape1(nn_tensor_numel(in[0]));
    const bool *view = c->user;

    (void)state;
    *out = in[0];
    return *view ? nn_tape_reshape(tape, in[0], &flat, out, err) : 0;
}

static int identity_backward(const struct nn_custom *c, struct nn_tape *tape,
                             void *state, struct nn_tensor *grad,
                             struct nn_tensor **grad_in, struct err *err)
{
    struct nn_shape s = nn_shape2(B, IN);

    (void)c;
    (void)state;
    return nn_tape_reshape(tape, grad, &s, grad_in, err);
}

static void result_never_shares_memory_with_an_input(void **state)
{
    struct fixture *f = *state;
    bool view;
    struct nn_custom c = {"same", 1,    identity_forward, identity_backward,
                          NULL,   &view};
    struct nn_tensor *x = leaf(f, nn_shape2(B, IN), NN_F32, NN_ROWS), *y;
    int i;

    for (i = 0; i < 2; i++) {
        view = i > 0;
        assert_int_equal(nn_tape_custom(f->tape, &c, &x, &y, &f->err), 0);
        assert_ptr_not_equal(y->st, x->st);
        assert_int_equal(y->shape.ndim, view ? 1 : 2);
        assert_null(x->node);
        x->grad_ready = false;
        change_in_place(f, y); /* which leaves x as it was */
        assert_int_equal(back(f, y, false), ERR_SHAPE);
        err_clear(&f->err);
        assert_int_equal(nn_tape_custom(f->tape, &c, &x, &y, &f->err), 0);
        assert_int_equal(back(f, y, false), 0);
        assert_true(x->grad_ready);
    }
    drop(x);
}

/* A step of an own network: two operators, then one of the built-in ones. */
static int run_chain(struct fixture *f, const struct nn_custom *linear,
                     const struct nn_custom *relu, const struct linear *l,
                     struct err *err)
{
    struct nn_tensor *y = NULL;
    struct nn_tape *tape;
    int rc = nn_tape_new(&tape, f->be, err), i;

    for (i = 0; i < 3; i++)
        l->in[i]->grad_ready = false;
    if (rc == 0)
        rc = nn_tape_custom(tape, linear, l->in, &y, err);
    if (rc == 0)
        rc = nn_tape_custom(tape, relu, &y, &y, err);
    if (rc == 0)
        rc = sum_over(tape, y, NN_AXIS_ALL, &y, err);
    if (rc == 0)
        rc = nn_tape_backward(tape, y, false, err);
    if (rc != 0 && rc != ERR_NOMEM)
        fail_msg("%s", err->msg);
    nn_tape_free(tape);
    return rc;
}

static void lack_of_memory_leaks_nothing(void **state)
{
    struct fixture *f = *state;
    struct linear l = linear_new(f, NN_ROWS);
    int rc = run_chain(f, &f->linear, &f->relu, &l, &f->err), n;
    long live = mem_live(); /* the backend has its room by now */

    assert_int_equal(rc, 0);
    for (n = 1, rc = ERR_NOMEM; rc != 0; n++) {
        struct err err = {0};

        mem_fail_after(n);
        rc = run_chain(f, &f->linear, &f->relu, &l, &err);
        mem_fail_after(0);
        assert_int_equal(mem_live(), live);
        assert_true(n < 1000);
    }
    assert_true(n > 10);
    linear_drop(&l);
}

static void number_of_operands_has_a_limit(void **state)
{
    struct fixture *f = *state;
    struct nn_tensor *x = NULL, *y;

    f->relu.n_in = NN_MAX_IN + 1;
    assert_int_equal(nn_tape_custom(f->tape, &f->relu, &x, &y, &f->err),
                     ERR_SHAPE);
    assert_string_equal(f->err.msg, "my_relu takes 1 to 5 tensors, not 6");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(second_backward_is_an_error),
        CASE(retained_graph_adds_up),
        CASE(change_in_place_after_it_ran_is_an_error),
        CASE(wrong_gradient_is_an_error),
        CASE(state_is_released_once),
        CASE(forward_that_fails_releases_its_state),
        CASE(gradients_of_one_tensor_in_two_places_add_up),
        CASE(result_never_shares_memory_with_an_input),
        CASE(lack_of_memory_leaks_nothing),
        CASE(number_of_operands_has_a_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
