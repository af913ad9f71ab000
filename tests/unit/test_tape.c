/* Autograd's rules, as PyTorch has them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "nn/base/mem.h"
#include "nn/tape.h"
#include "tests/unit/device_fixture.h"

struct fixture {
    struct nn_backend *be;
    struct nn_tape *tape;
    struct err err;
};

static int setup(void **state)
{
    struct fixture *f = mem_zalloc(sizeof *f);

    *state = f;
    if (!f || device_open(&f->be, 1, &f->err) != 0)
        return -1;
    return nn_tape_new(&f->tape, f->be, &f->err);
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    nn_tape_free(f->tape);
    nn_backend_close(f->be);
    mem_free(f);
    return mem_live() == 0 ? 0 : -1;
}

/* A float64 leaf that wants its gradient. */
static struct nn_tensor *leaf(struct fixture *f, const double *v, int64_t n)
{
    struct nn_shape s = n ? nn_shape1(n) : nn_shape0();
    struct nn_tensor *t;

    assert_int_equal(nn_tensor_new(&t, f->be, &s, NN_F64, NN_ROWS,
                                   NN_CAT_PARAMETER, &f->err),
                     0);
    assert_int_equal(nn_tensor_set(t, v, &f->err), 0);
    assert_int_equal(nn_tensor_require_grad(t, &f->err), 0);
    return t;
}

static void drop(struct nn_tensor *t)
{
    nn_tensor_free(t->grad);
    nn_tensor_free(t);
}

static struct nn_tensor *op2(struct fixture *f, enum nn_op_id op,
                             struct nn_tensor *a, struct nn_tensor *b)
{
    struct nn_tensor *in[2] = {a, b}, *out;

    if (nn_tape_apply(f->tape, op, in, b ? 2 : 1, NULL, &out, &f->err) != 0)
        fail_msg("%s", f->err.msg);
    return out;
}

static struct nn_tensor *sum(struct fixture *f, struct nn_tensor *x)
{
    union nn_attrs all = {.reduce = {NN_AXIS_ALL}};
    struct nn_tensor *out;

    assert_int_equal(
        nn_tape_apply(f->tape, NN_OP_SUM, &x, 1, &all, &out, &f->err), 0);
    return out;
}

static double value(struct fixture *f, const struct nn_tensor *t)
{
    double v;

    assert_int_equal(nn_tensor_numel(t), 1);
    assert_int_equal(nn_tensor_get(t, &v, &f->err), 0);
    return v;
}

static void backward(struct fixture *f, struct nn_tensor *t, bool retain)
{
    if (nn_tape_backward(f->tape, t, retain, &f->err) != 0)
        fail_msg("%s", f->err.msg);
}

static void gradient_of_a_square(void **state)
{
    struct fixture *f = *state;
    double v = 3.0;
    struct nn_tensor *x = leaf(f, &v, 0);

    backward(f, op2(f, NN_OP_MUL, x, x), false);
    assert_true(value(f, x->grad) == 6.0);
    drop(x);
}

static void second_backward_is_an_error(void **state)
{
    struct fixture *f = *state;
    double v = 3.0;
    struct nn_tensor *x = leaf(f, &v, 0);
    struct nn_tensor *y = op2(f, NN_OP_MUL, x, x);

    backward(f, y, false);
    assert_int_equal(nn_tape_backward(f->tape, y, false, &f->err), ERR_SHAPE);
    assert_non_null(strstr(f->err.msg, "second time"));
    assert_non_null(strstr(f->err.msg, "retain_graph"));
    assert_true(value(f, x->grad) == 6.0);
    drop(x);
}

static void retained_backward_accumulates(void **state)
{
    struct fixture *f = *state;
    double v = 3.0;
    struct nn_tensor *x = leaf(f, &v, 0);
    struct nn_tensor *y = op2(f, NN_OP_MUL, x, x);

    backward(f, y, true);
    backward(f, y, false);
    assert_true(value(f, x->grad) == 12.0);
    x->grad_ready = false; /* clear grad */
    backward(f, op2(f, NN_OP_MUL, x, x), false);
    assert_true(value(f, x->grad) == 6.0);
    drop(x);
}

static void detach_shares_storage_and_cuts_the_graph(void **state)
{
    struct fixture *f = *state;
    double v = 3.0;
    struct nn_tensor *x = leaf(f, &v, 0), *d, *y;

    y = op2(f, NN_OP_MUL, x, x);
    assert_int_equal(nn_tape_detach(f->tape, y, &d, &f->err), 0);
    assert_ptr_equal(d->st, y->st);
    assert_false(d->requires_grad);
    backward(f, op2(f, NN_OP_MUL, d, x), false); /* 9 x: gradient 9, not 27 */
    assert_true(value(f, x->grad) == 9.0);
    drop(x);
}

static void changed_saved_value_is_an_error(void **state)
{
    struct fixture *f = *state;
    double v = 3.0, other = 4.0;
    struct nn_tensor *x = leaf(f, &v, 0);
    struct nn_tensor *y = op2(f, NN_OP_MUL, x, x);

    assert_int_equal(nn_tensor_set(x, &other, &f->err), 0);
    assert_int_equal(nn_tape_backward(f->tape, y, false, &f->err), ERR_SHAPE);
    assert_non_null(strstr(f->err.msg, "in place"));
    drop(x);
}

static void value_that_is_not_saved_may_change(void **state)
{
    struct fixture *f = *state;
    double v = 3.0, other = 4.0;
    struct nn_tensor *x = leaf(f, &v, 0);
    struct nn_tensor *y = op2(f, NN_OP_ADD, x, x);

    assert_int_equal(nn_tensor_set(x, &other, &f->err), 0);
    backward(f, y, false);
    assert_true(value(f, x->grad) == 2.0);
    drop(x);
}

static void shared_gradients_do_not_leak_into_each_other(void **state)
{
    struct fixture *f = *state;
    double v[2] = {1.0, 2.0}, g[2];
    struct nn_tensor *x = leaf(f, v, 2), *y = leaf(f, v, 2);
    struct nn_tensor *a = op2(f, NN_OP_NEG, x, NULL);
    struct nn_tensor *b = op2(f, NN_OP_NEG, y, NULL);
    struct nn_tensor *s = op2(f, NN_OP_ADD, a, b);

    /* s hands one gradient tensor to a and to b; a then gets a second one. */
    s = op2(f, NN_OP_ADD, s, a);
    backward(f, sum(f, s), false);
    assert_int_equal(nn_tensor_get(x->grad, g, &f->err), 0);
    assert_true(g[0] == -2.0 && g[1] == -2.0);
    assert_int_equal(nn_tensor_get(y->grad, g, &f->err), 0);
    assert_true(g[0] == -1.0 && g[1] == -1.0);
    drop(x);
    drop(y);
}

static void broadcast_gradients_are_summed(void **state)
{
    struct fixture *f = *state;
    double v[3] = {1.0, 2.0, 3.0}, one = 5.0, g[3];
    struct nn_tensor *x = leaf(f, v, 3), *b = leaf(f, &one, 0);

    backward(f, sum(f, op2(f, NN_OP_MUL, x, b)), false);
    assert_true(value(f, b->grad) == 6.0);
    assert_int_equal(nn_tensor_get(x->grad, g, &f->err), 0);
    assert_true(g[0] == 5.0 && g[1] == 5.0 && g[2] == 5.0);
    drop(x);
    drop(b);
}

static void no_graph_is_built_when_gradients_are_off(void **state)
{
    struct fixture *f = *state;
    double v = 3.0;
    struct nn_tensor *x = leaf(f, &v, 0), *y;

    f->tape->grad_enabled = false;
    y = op2(f, NN_OP_MUL, x, x);
    assert_int_equal(f->tape->n_node, 0);
    assert_false(y->requires_grad);
    assert_int_equal(nn_tape_backward(f->tape, y, false, &f->err), ERR_SHAPE);
    drop(x);
}

enum { OUT = 33, IN = 5, BATCH = 4 }; /* more than one panel of weights */

/* The gradient of sum((x @ transpose(w))^2) to the rows of w, float32: through
 * LINEAR with a copy of w in the layout of weights, or through MATMUL. */
static void gradient_of_rows(struct fixture *f, bool linear, float *grad)
{
    struct nn_shape shape[2] = {nn_shape2(BATCH, IN), nn_shape2(OUT, IN)};
    union nn_attrs turned = {.matmul = {false, true}};
    struct nn_tensor *own[2], *in[2];
    float v[OUT * IN];
    int i, rc = 0;

    for (i = 0; i < OUT * IN; i++)
        v[i] = (float)((i * 37) % 101) / 64.0f - 0.75f;
    for (i = 0; i < 2; i++) {
        assert_int_equal(nn_tensor_new(&own[i], f->be, &shape[i], NN_F32,
                                       NN_ROWS, NN_CAT_PARAMETER, &f->err),
                         0);
        assert_int_equal(nn_tensor_set(own[i], v, &f->err), 0);
        assert_int_equal(nn_tensor_require_grad(own[i], &f->err), 0);
        in[i] = own[i];
    }
    if (linear)
        rc = nn_tape_weight(f->tape, in[1], &in[1], &f->err);
    assert_int_equal(rc, 0);
    rc = nn_tape_apply(f->tape, linear ? NN_OP_LINEAR : NN_OP_MATMUL, in, 2,
                       linear ? NULL : &turned, &in[0], &f->err);
    assert_int_equal(rc, 0);
    backward(f, sum(f, op2(f, NN_OP_MUL, in[0], in[0])), false);
    assert_int_equal(nn_tensor_get(own[1]->grad, grad, &f->err), 0);
    drop(own[0]);
    drop(own[1]);
}

static void weights_copied_from_rows_hand_their_gradient_back(void **state)
{
    struct fixture *f = *state;
    float a[OUT * IN], b[OUT * IN];

    gradient_of_rows(f, true, a);
    gradient_of_rows(f, false, b);
    assert_memory_equal(a, b, sizeof a);
    assert_true(a[0] > 0 || a[0] < 0);
}

static void backward_of_a_vector_is_an_error(void **state)
{
    struct fixture *f = *state;
    double v[2] = {1.0, 2.0};
    struct nn_tensor *x = leaf(f, v, 2);
    struct nn_tensor *y = op2(f, NN_OP_NEG, x, NULL);

    assert_int_equal(nn_tape_backward(f->tape, y, false, &f->err), ERR_SHAPE);
    assert_non_null(strstr(f->err.msg, "(2,)"));
    drop(x);
}

static void shapes_that_do_not_fit_are_named(void **state)
{
    struct fixture *f = *state;
    double v[3] = {1.0, 2.0, 3.0};
    struct nn_tensor *x = leaf(f, v, 3), *y = leaf(f, v, 2), *out;
    struct nn_tensor *in[2] = {x, y};

    assert_int_equal(
        nn_tape_apply(f->tape, NN_OP_ADD, in, 2, NULL, &out, &f->err),
        ERR_SHAPE);
    assert_string_equal(f->err.msg, "add cannot broadcast (3,) with (2,)");
    assert_null(out);
    drop(x);
    drop(y);
}

/* As deep as a recursive walk would not go; under a sanitizer, which takes ten
 * times the memory, less deep. */
#if defined(__SANITIZE_ADDRESS__)
enum { CHAIN = 100000 };
#else
enum { CHAIN = 1000000 };
#endif

static void long_chain_neither_overflows_nor_leaks(void **state)
{
    struct fixture *f = *state;
    double v = 1.0;
    struct nn_tensor *x = leaf(f, &v, 0), *y = x;
    int i, n = test_device() ? CHAIN / 100 : CHAIN;

    for (i = 0; i < n; i++)
        y = op2(f, NN_OP_NEG, y, NULL);
    backward(f, y, false);
    assert_true(value(f, x->grad) == 1.0);
    drop(x);
}

static void every_failed_allocation_is_an_error(void **state)
{
    struct fixture *f = *state;
    double v = 3.0;
    struct nn_tensor *x = leaf(f, &v, 0), *in[2] = {x, x}, *y;
    long n;
    int rc = -1;

    for (n = 1; rc != 0; n++) {
        struct nn_tape *tape;

        err_clear(&f->err);
        mem_fail_after(n);
        rc = nn_tape_new(&tape, f->be, &f->err);
        if (rc == 0) {
            rc = nn_tape_apply(tape, NN_OP_MUL, in, 2, NULL, &y, &f->err);
            if (rc == 0)
                rc = nn_tape_backward(tape, y, false, &f->err);
        }
        mem_fail_after(0);
        nn_tape_free(tape);
        if (rc != 0)
            assert_int_equal(rc, ERR_NOMEM);
        assert_true(n < 200);
    }
    drop(x);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(gradient_of_a_square),
        CASE(second_backward_is_an_error),
        CASE(retained_backward_accumulates),
        CASE(detach_shares_storage_and_cuts_the_graph),
        CASE(changed_saved_value_is_an_error),
        CASE(value_that_is_not_saved_may_change),
        CASE(shared_gradients_do_not_leak_into_each_other),
        CASE(broadcast_gradients_are_summed),
        CASE(no_graph_is_built_when_gradients_are_off),
        CASE(weights_copied_from_rows_hand_their_gradient_back),
        CASE(backward_of_a_vector_is_an_error),
        CASE(shapes_that_do_not_fit_are_named),
        CASE(long_chain_neither_overflows_nor_leaks),
        CASE(every_failed_allocation_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
