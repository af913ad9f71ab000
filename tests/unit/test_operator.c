/* Own operators: what their programs say, and whether they are right. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "nn/custom.h"
#include "operator_fixture.h"

#define LINEAR_FORWARD "forward: \"y = x @ transpose(W) + b\""

/* ---- what is read ---- */

static void operands_are_what_forward_reads(void **state)
{
    struct fixture *f = *state;

    assert_true(read_operator(
        f, "a: {forward: \"z = s * W; y = x * sum(z, 1, keepdim=true) + b\", "
           "backward: \"dx = g; dW = g; ds = g; db = g\", "
           "parameters: {s: {shape: [3, in], init: ones}, W: [2]}}"));
    assert_int_equal(f->o.n_in, 4);
    assert_string_equal(f->o.in[0].name, "x");
    assert_string_equal(f->o.in[1].name, "s");
    assert_string_equal(f->o.in[2].name, "W");
    assert_string_equal(f->o.in[3].grad, "db");
    assert_int_equal(f->o.layer.n_param, 3);
    assert_string_equal(f->o.param[0].name, "s");
    assert_string_equal(f->o.param[1].name, "weight");
    assert_string_equal(f->o.param[2].name, "bias");
    assert_int_equal(f->o.param[0].dim[0], 3);
    assert_int_equal(f->o.param[0].dim[1], NN_DIM_IN);
    assert_int_equal(f->o.param[0].init, NN_INIT_ONES);
    assert_int_equal(f->o.param[1].ndim, 1);
    assert_int_equal(f->o.param[2].dim[0], NN_DIM_OUT);
    assert_true(f->o.flat && f->o.sized);
}

static void an_operator_without_sizes_takes_x_as_it_is(void **state)
{
    struct fixture *f = *state;

    assert_true(read_operator(f, "a: {forward: y = x * s, backward: dx = g; ds "
                                 "= g, parameters: {s: [1]}}"));
    assert_false(f->o.flat || f->o.sized || f->o.loss);
}

static void a_target_makes_a_loss(void **state)
{
    struct fixture *f = *state;

    assert_true(read_operator(
        f, "a: {forward: \"y = sum(t * x, 1)\", backward: dx = x}"));
    assert_true(f->o.loss);
    assert_false(f->o.classes);
    assert_string_equal(f->o.in[0].name, "x");
    assert_string_equal(f->o.in[1].name, "t");
    assert_true(read_operator(f, "a: {forward: \"y = sum(one_hot(t, x) * x, "
                                 "1)\", backward: dx = x}"));
    assert_true(f->o.classes);
    assert_true(f->o.check);
}

/* ---- right ones ---- */

static void right_operators_hold(void **state)
{
    static const char *const texts[] = {
        "a: {" LINEAR_FORWARD ", backward: \"dx = g @ W; dW = transpose(g) @ "
        "x; db = sum(g, 0)\", same_as: linear}",
        "a: {forward: \"y = b + x @ transpose(W)\", backward: \"db = sum(g, "
        "0); dx = g @ W; dW = transpose(g) @ x\", same_as: linear}",
        "a: {forward: \"y = x @ transpose(weight)\", backward: \"dx = g @ "
        "weight; dweight = transpose(g) @ x\", same_as: linear}",
        "a: {forward: y = relu(x), backward: dx = g * step(x), same_as: relu}",
        "a: {forward: y = x * step(x), backward: dx = g * step(x), same_as: "
        "relu}",
        "a: {forward: y = tanh(x), backward: dx = g * (1 - y**2), same_as: "
        "tanh}",
        "a: {forward: \"y = exp(x - logsumexp(x, -1, keepdim=true))\", "
        "backward: \"dx = y * (g - sum(g * y, -1, keepdim=true))\", same_as: "
        "softmax}",
        "a: {forward: y = x, backward: dx = g}",
        "a: {forward: \"y = squeeze(x @ transpose(W), 1)\", backward: \"dx = "
        "unsqueeze(g, 1) @ W; dW = unsqueeze(g, 0) @ x\", parameters: {W: [1, "
        "in]}}",
        "a: {forward: y = x + s * x, backward: \"dx = g + g * s; ds = "
        "reshape(sum(g * x), 1)\", parameters: {s: [1]}}",
        "a: {forward: y = log(x), backward: dx = g / x}",
        "a: {forward: y = abs(x), backward: dx = g * sign(x), same_as: abs}",
        "a: {forward: \"y = -sum(one_hot(t, x) * log_softmax(x), 1)\", "
        "backward: \"dx = unsqueeze(g, 1) * (softmax(x) - one_hot(t, x))\", "
        "same_as: cross_entropy}",
        "a: {forward: \"d = x - t; y = mean(d**2, 1)\", backward: \"dx = 2 * d "
        "* unsqueeze(g, 1) * mean(x * 0 + 1, 1, keepdim=true) / sum(x * 0 + 1, "
        "1, keepdim=true)\", same_as: mse}",
        "a: {forward: \"y = relu(x) - x * t + log1p(exp(-abs(x)))\", backward: "
        "\"dx = (sigmoid(x) - t) * g\", same_as: bce_with_logits}",
        "a: {forward: \"y = max_pool2d(x, 1)\", backward: dx = g}",
    };
    struct fixture *f = *state;
    size_t i;

    for (i = 0; i < sizeof texts / sizeof *texts; i++)
        must_hold(f, texts[i]);
}

static void every_operand_is_looked_at(void **state)
{
    struct fixture *f = *state;
    int i;

    must_hold(f, "a: {" LINEAR_FORWARD ", backward: \"dx = g @ W; dW = "
                 "transpose(g) @ x; db = sum(g, 0)\"}");
    for (i = 0; i < 3; i++) {
        assert_true(f->r.grad[i].ok);
        assert_true(f->r.grad[i].checked > 20);
        assert_int_equal(f->r.grad[i].kinks, 0);
    }
    assert_int_equal(f->r.cases, 16);
    assert_false(f->r.compared);
}

/* ---- wrong ones ---- */

static void wrong_backwards_are_found(void **state)
{
    static const struct {
        const char *text, *fault;
    } wrong[] = {
        {"a: {forward: y = -x, backward: dx = g}", "dx["},
        {"a: {forward: y = tanh(x), backward: dx = g * (1 - y)}", "dx["},
        {"a: {forward: y = 2 * x, backward: dx = g * 2.00001}", "dx["},
        {"a: {" LINEAR_FORWARD ", backward: \"dx = g @ W; dW = transpose(x) @ "
         "g; db = sum(g, 0)\"}",
         "dW is (4, 2); W is (2, 4)"},
        {"a: {" LINEAR_FORWARD ", backward: \"dx = g @ W; dW = transpose(g) @ "
         "x; db = mean(g, 0)\"}",
         "db["},
        {"a: {" LINEAR_FORWARD ", backward: \"dx = g @ transpose(W); dW = W; "
         "db = b\"}",
         "a.yaml:1:60: @ cannot multiply (3, 2) by (4, 2)"},
        {"a: {forward: y = x + s, backward: \"dx = g; ds = sum(g)\", "
         "parameters: {s: [1]}}",
         "ds is (); s is (1,)"},
        {"a: {forward: y = x * x, backward: dx = g * x + x / 0}", "dx["},
        {"a: {forward: y = x * x, backward: dx = 0}", "dx"},
        {"a: {forward: \"y = softmax(x)\", backward: \"dx = y * (g - sum(g * "
         "y, 1, keepdim=true))\"}",
         "for x of (2, 3, 4)"},
        /* right below 6, where most numbers are */
        {"a: {forward: y = relu(x) - relu(x - 6), backward: dx = g * step(x)}",
         "dx["},
        /* results would hang on the size of a batch */
        {"a: {forward: \"y = x - mean(x, 0)\", backward: \"dx = g - mean(g, "
         "0)\"}",
         "y of one sample hangs on x of another"},
    };
    struct fixture *f = *state;
    size_t i;

    for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *fault;

        test_operator(f, wrong[i].text);
        fault = pl_operator_fault(&f->r, &f->arena);
        assert_false(f->r.grad_ok);
        if (!strstr(fault, wrong[i].fault))
            fail_msg("%s: '%s' does not say '%s'", wrong[i].text, fault,
                     wrong[i].fault);
    }
}

static void the_worst_element_is_named_with_both_numbers(void **state)
{
    struct fixture *f = *state;
    const struct pl_operator_grad *g = &f->r.grad[0];

    test_operator(f, "a: {forward: y = 3 * x, backward: dx = g}");
    assert_false(g->ok);
    assert_int_equal(g->off, g->checked);
    assert_true(fabs(g->slope - 3 * g->backward) < 1e-8);
    assert_non_null(strchr(g->element, '['));
}

/* A consistent gradient of something else is not the built-in operator. */
static void another_function_is_not_the_built_in_one(void **state)
{
    struct fixture *f = *state;

    test_operator(f, "a: {forward: y = relu(x) * 1.000001, backward: dx = g * "
                     "step(x) * 1.000001, same_as: relu}");
    assert_true(f->r.grad_ok);
    assert_true(f->r.compared);
    assert_false(f->r.close);
    assert_true(f->r.close_error < 1e-4);
}

/* Logits of (B, 1) against targets of (B): no other shapes fit. */
static void losses_of_two_shapes_are_tried_too(void **state)
{
    struct pl_operator_opts opts = pl_operator_opts();
    struct fixture *f = *state;

    assert_true(read_operator(
        f, "a: {forward: \"y = (squeeze(x, 1) - t)**2\", backward: \"dx = "
           "unsqueeze(2 * g * (squeeze(x, 1) - t), 1)\"}"));
    assert_int_equal(
        pl_operator_test(&f->r, &f->o, f->be, &opts, &f->arena, &f->err), 0);
    assert_true(f->r.grad_ok);
    assert_int_equal(f->r.cases, 4);
}

static void corners_are_left_out(void **state)
{
    struct pl_operator_opts opts = pl_operator_opts();
    struct fixture *f = *state;

    opts.eps = 0.05;
    assert_true(read_operator(
        f, "a: {forward: y = relu(x), backward: dx = g * step(x)}"));
    assert_int_equal(
        pl_operator_test(&f->r, &f->o, f->be, &opts, &f->arena, &f->err), 0);
    assert_true(f->r.grad_ok);
    assert_true(f->r.grad[0].kinks > 0);
}

static void forward_that_fits_nothing_is_an_error(void **state)
{
    static const struct {
        const char *text, *msg;
    } cases[] = {
        {"a: {forward: y = sum(x), backward: dx = g}", "y of a is () for x"},
        {"a: {forward: \"y = sum(x - t)\", backward: dx = g}",
         "one number a sample is due"},
        {"a: {forward: y = x @ x @ x, backward: dx = g}", "@ cannot multiply"},
        {"a: {forward: y = log(-1 - abs(x)), backward: dx = g}",
         "nothing finite"},
        {"a: {forward: \"y = cast(x, float32)\", backward: dx = g}",
         "makes float32 of float64"},
        {"a: {forward: \"z = x * 0; y = 1\", backward: dx = g}", "no tensor"},
    };
    struct pl_operator_opts opts = pl_operator_opts();
    struct fixture *f = *state;
    size_t i;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        err_clear(&f->err);
        assert_true(read_operator(f, cases[i].text));
        assert_int_equal(
            pl_operator_test(&f->r, &f->o, f->be, &opts, &f->arena, &f->err),
            ERR_SHAPE);
        if (!strstr(f->err.msg, cases[i].msg))
            fail_msg("%s: '%s' does not say '%s'", cases[i].text, f->err.msg,
                     cases[i].msg);
    }
}

/* ---- as nn uses it ---- */

/* In float32, on a tape: y and gradients of one node. */
static void it_runs_on_a_tape_like_a_built_in_one(void **state)
{
    static const float x[] = {-1.0F, 2.0F, 3.0F, -4.0F};
    static const float one[] = {1.0F, 1.0F, 1.0F, 1.0F};
    struct nn_shape s = nn_shape2(2, 2);
    struct nn_tensor *in, *y, *g;
    struct fixture *f = *state;
    struct nn_tape *tape;
    float v[4];

    assert_true(read_operator(
        f, "a: {forward: y = relu(x), backward: dx = 2 * g * step(x)}"));
    assert_int_equal(nn_tape_new(&tape, f->be, &f->err), 0);
    assert_int_equal(
        nn_tensor_new(&in, f->be, &s, NN_F32, NN_ROWS, NN_CAT_INPUT, &f->err),
        0);
    assert_int_equal(nn_tensor_set(in, x, &f->err), 0);
    assert_int_equal(nn_tensor_require_grad(in, &f->err), 0);
    assert_int_equal(nn_tape_custom(tape, &f->o.custom, &in, &y, &f->err), 0);
    assert_int_equal(
        nn_tape_tensor(tape, &s, NN_F32, NN_CAT_TEMPORARY, &g, &f->err), 0);
    assert_int_equal(nn_tensor_set(g, one, &f->err), 0);
    assert_int_equal(nn_tape_backward_from(tape, y, g, false, &f->err), 0);
    assert_int_equal(nn_tensor_get(in->grad, v, &f->err), 0);
    assert_true(v[0] == 0.0F && v[1] == 2.0F && v[2] == 2.0F && v[3] == 0.0F);
    nn_tape_free(tape);
    nn_tensor_free(in->grad);
    nn_tensor_free(in);
}

static void its_shape_is_known_before_it_runs(void **state)
{
    struct nn_shape in[3] = {nn_shape2(2, 5), nn_shape2(3, 5), nn_shape1(3)};
    struct fixture *f = *state;
    struct nn_shape y;

    assert_true(read_operator(f, "a: {" LINEAR_FORWARD
                                 ", backward: \"dx = g; dW = g; db = g\"}"));
    assert_int_equal(f->o.layer.shape(&f->o.layer, in, f->o.n_in, &y, &f->err),
                     0);
    assert_int_equal(y.ndim, 2);
    assert_int_equal(y.dim[1], 3);
    in[1] = nn_shape2(3, 4);
    assert_int_equal(f->o.layer.shape(&f->o.layer, in, f->o.n_in, &y, &f->err),
                     ERR_SHAPE);
    assert_string_equal(f->err.at, "a.yaml:1:21");
}

/* What a recorded step could not do again must not be read once. */
static void numbers_are_not_looked_at_while_a_step_is_recorded(void **state)
{
    struct pl_operator_opts opts = pl_operator_opts();
    struct fixture *f = *state;

    assert_true(read_operator(
        f, "a: {forward: \"y = x ** sum(x)\", backward: dx = g}"));
    assert_int_equal(
        pl_operator_test(&f->r, &f->o, f->be, &opts, &f->arena, &f->err),
        ERR_SHAPE);
    err_clear(&f->err);
    assert_true(read_operator(
        f, "a: {forward: \"y = one_hot(x, 3)\", backward: dx = g}"));
    assert_int_equal(
        pl_operator_test(&f->r, &f->o, f->be, &opts, &f->arena, &f->err),
        ERR_SHAPE);
    assert_non_null(strstr(f->err.msg, "target t"));
}

static void running_out_of_memory_is_an_error_each_time(void **state)
{
    static const char text[] =
        "a: {forward: y = relu(x), backward: dx = g * step(x), same_as: relu}";
    struct pl_operator_opts opts = pl_operator_opts();
    struct fixture *f = *state;
    struct arena arena = {0};
    long live;
    long n;
    int rc = 0;

    assert_true(read_operator(f, text));
    live = mem_live();
    for (n = 1; n < 400 || rc != 0; n += n < 400 ? 1 : 997) {
        err_clear(&f->err);
        mem_fail_after(n);
        rc = pl_operator_test(&f->r, &f->o, f->be, &opts, &arena, &f->err);
        mem_fail_after(0);
        arena_free(&arena);
        if (rc != 0)
            assert_int_equal(rc, ERR_NOMEM);
        assert_true(test_live_is(live));
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(operands_are_what_forward_reads),
        CASE(an_operator_without_sizes_takes_x_as_it_is),
        CASE(a_target_makes_a_loss),
        CASE(right_operators_hold),
        CASE(every_operand_is_looked_at),
        CASE(wrong_backwards_are_found),
        CASE(the_worst_element_is_named_with_both_numbers),
        CASE(another_function_is_not_the_built_in_one),
        CASE(losses_of_two_shapes_are_tried_too),
        CASE(corners_are_left_out),
        CASE(forward_that_fits_nothing_is_an_error),
        CASE(it_runs_on_a_tape_like_a_built_in_one),
        CASE(its_shape_is_known_before_it_runs),
        CASE(numbers_are_not_looked_at_while_a_step_is_recorded),
        CASE(running_out_of_memory_is_an_error_each_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
