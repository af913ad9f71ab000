/* conv2d, pools and norms in a program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "program_fixture.h"

/* More channels than a panel of weights holds. */
enum { OUT = 35, IN = 2, SIDE = 4, KERNEL = 3, BATCH = 2 };
enum { N_X = BATCH * IN * SIDE * SIDE, N_W = OUT * IN * KERNEL * KERNEL };

/* x, W and b as flat vectors: the program gives them their shapes. */
static void give_numbers(struct fixture *f)
{
    double x[N_X], w[N_W], b[OUT];
    int i;

    for (i = 0; i < N_X; i++)
        x[i] = (i * 29 % 31) / 16.0 - 1.0;
    for (i = 0; i < N_W; i++)
        w[i] = (i * 37 % 101) / 64.0 - 0.75;
    for (i = 0; i < OUT; i++)
        b[i] = i / 8.0 - 2.0;
    give(f, "x_flat", x, N_X, true);
    give(f, "w_flat", w, N_W, true);
    give(f, "b_flat", b, OUT, true);
}

#define SHAPED(type) \
    "x = cast(reshape(x_flat, 2, 2, 4, 4), " type ")\n" \
    "W = cast(reshape(w_flat, 35, 2, 3, 3), " type ")\n" \
    "b = cast(b_flat, " type ")\n"

/* Output (1, o) at row 0, column 1 of a 3 x 3 kernel with padding 1: the row
 * above is padding. */
static double by_hand(struct fixture *f, int64_t o)
{
    double s = number(f, "b_flat", o);
    int64_t c, i, j;

    for (c = 0; c < IN; c++)
        for (i = 1; i < KERNEL; i++)
            for (j = 0; j < KERNEL; j++)
                s += number(f, "w_flat",
                            ((o * IN + c) * KERNEL + i) * KERNEL + j) *
                     number(f, "x_flat", ((IN + c) * SIDE + i - 1) * SIDE + j);
    return s;
}

static void convolution_is_the_sum_over_its_windows(void **state)
{
    struct fixture *f = *state;
    int64_t o;

    give_numbers(f);
    must_run(f, SHAPED("float64") "y = conv2d(x, W, b, padding=1)");
    for (o = 0; o < OUT; o++)
        assert_true(fabs(number(f, "y", (OUT + o) * SIDE * SIDE + 1) -
                         by_hand(f, o)) < 1e-12);
}

/* The numbers of a program's gradients in one type. */
static void gradients(struct fixture *f, const char *program, double *w,
                      double *b)
{
    int i;

    give_numbers(f);
    must_run(f, program);
    for (i = 0; i < N_W; i++)
        w[i] = number(f, "dw", i);
    for (i = 0; i < OUT; i++)
        b[i] = number(f, "db", i);
    drop(f);
}

#define LOSS \
    "y = conv2d(x, W, b, stride=2, padding=1)\n" \
    "backward(sum(tanh(y) * y))\n" \
    "dw = w_flat.grad\n" \
    "db = b_flat.grad\n"

/* In float32 the weight lies otherwise in memory than in float64. */
static void weight_has_its_gradient_in_either_type(void **state)
{
    struct fixture *f = *state;
    double w[2][N_W], b[2][OUT];
    int i;

    gradients(f, SHAPED("float64") LOSS, w[0], b[0]);
    gradients(f, SHAPED("float32") LOSS, w[1], b[1]);
    for (i = 0; i < N_W; i++)
        assert_true(fabs(w[0][i] - w[1][i]) <= 1e-4 * (1 + fabs(w[0][i])));
    for (i = 0; i < OUT; i++)
        assert_true(fabs(b[0][i] - b[1][i]) <= 1e-4 * (1 + fabs(b[0][i])));
    assert_true(fabs(w[0][N_W - 1]) > 0.1);
}

static void a_weight_may_be_used_twice(void **state)
{
    struct fixture *f = *state;
    int i;

    give_numbers(f);
    must_run(
        f, SHAPED("float32") "backward(sum(conv2d(x, W)), retain_graph=true)\n"
                             "once = 2 * w_flat.grad\n"
                             "zero_grad()\n"
                             "backward(sum(conv2d(x, W) + conv2d(x, W)))\n"
                             "twice = w_flat.grad\n");
    for (i = 0; i < N_W; i++)
        assert_true(fabs(number(f, "twice", i) - number(f, "once", i)) < 1e-5);
}

/* By the batch's own mean and variance, with the eps that was said. */
static void batch_norm_takes_the_statistics_of_its_batch(void **state)
{
    const double x[] = {1, 10, 3, 10}, w[] = {2, 1}, b[] = {5, -1};
    struct fixture *f = *state;

    give(f, "x", x, 4, true);
    give(f, "w", w, 2, true);
    give(f, "b", b, 2, true);
    must_run(f, "y = batch_norm(reshape(x, 2, 2), w, b, eps=3)\n"
                "z = batch_norm(reshape(x, 2, 2), w, b)\n"
                "backward(sum(y))\n");
    assert_true(fabs(number(f, "y", 0) - (5 - 2 * 1 / sqrt(1 + 3))) < 1e-12);
    assert_true(fabs(number(f, "y", 1) + 1) < 1e-12);
    assert_true(fabs(number(f, "z", 0) - (5 - 2 / sqrt(1 + 1e-5))) < 1e-12);
}

static void must_fail(struct fixture *f, const char *text, const char *message)
{
    give_numbers(f);
    assert_int_not_equal(run(f, text), 0);
    assert_string_equal(f->err.msg, message);
    drop(f);
}

static void what_does_not_fit_is_named(void **state)
{
    struct fixture *f = *state;

    must_fail(f, SHAPED("float64") "y = conv2d(x, b)",
              "conv2d takes x (B, in, H, W) and a weight (out, in, kh, kw), "
              "not (2, 2, 4, 4) and (35,)");
    must_fail(f, SHAPED("float64") "y = conv2d(x, W, x)",
              "conv2d: a bias of 64 does not fit the weight (35, 2, 3, 3)");
    must_fail(f, SHAPED("float64") "y = conv2d(x, W, stride=0)",
              "conv2d: stride 0 must be 1 or more and padding 0 0 or more");
    must_fail(f, SHAPED("float64") "y = conv2d(x, W, stride=1.5)",
              "conv2d takes whole numbers, not 1.5");
    must_fail(f, SHAPED("float64") "y = batch_norm(x_flat, b, b)",
              "batch_norm takes x (B, C, ...), not 1 dimensions");
    must_fail(f, SHAPED("float64") "y = batch_norm(x, b, b)",
              "batch_norm takes x (B, C, ...) and vectors of C, not "
              "(2, 2, 4, 4) and (35,)");
    must_fail(
        f, SHAPED("float64") "y = conv2d(x, cast(W, float32))",
        "conv2d takes float32 or float64 tensors of one type, not float64 "
        "and float32");
}

static void every_failed_allocation_is_an_error(void **state)
{
    struct fixture *f = *state;
    const char *text =
        SHAPED("float32") "y = batch_norm(conv2d(x, W, b), b, b)\n"
                          "backward(sum(y * y))\n";
    long n, live;
    int rc = -1;

    give_numbers(f);
    must_run(f, text); /* the backend keeps room for its next convolution */
    for (n = 1; rc != 0; n++) {
        drop(f);
        live = mem_live();
        give_numbers(f);
        mem_fail_after(n);
        rc = run(f, text);
        mem_fail_after(0);
        if (rc != 0 && rc != ERR_NOMEM)
            fail_msg("allocation %ld: %d, %s", n, rc, f->err.msg);
        drop(f);
        assert_int_equal(mem_live(), live);
    }
    assert_true(n > 20 && n < 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(convolution_is_the_sum_over_its_windows),
        TEST(weight_has_its_gradient_in_either_type),
        TEST(a_weight_may_be_used_twice),
        TEST(batch_norm_takes_the_statistics_of_its_batch),
        TEST(what_does_not_fit_is_named),
        TEST(every_failed_allocation_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
