/* Functions of programs that are no operator's own: one_hot, logsumexp, step,
 * sign, isfinite; and `;`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "pipeline/prog_diff.h"
#include "program_fixture.h"

static void near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-12 * fmax(1.0, fabs(b))))
        fail_msg("%.17g is not %.17g", a, b);
}

static void must_be(struct fixture *f, const char *name, const double *want,
                    int64_t n)
{
    int64_t i;

    for (i = 0; i < n; i++) {
        double v = number(f, name, i);

        if (!(v <= want[i] && v >= want[i]) && !(isnan(v) && isnan(want[i])))
            fail_msg("%s[%d] is %.17g, not %.17g", name, (int)i, v, want[i]);
    }
}

static void must_fail(struct fixture *f, const char *text, const char *message)
{
    assert_int_not_equal(run(f, text), 0);
    assert_string_equal(f->err.msg, message);
    assert_null(strstr(f->err.msg, "%"));
    drop(f);
}

/* ---- several statements on a line ---- */

static void semicolons_separate_statements(void **state)
{
    struct fixture *f = *state;

    must_run(f, "a = 1; b = a + 1 ;c = (b\n  + 1); # and no more\nd = c;\n"
                "no_grad: e = d; e = e + 1; g = e\nh = g");
    near(number(f, "c", 0), 3);
    near(number(f, "e", 0), 4);
    near(number(f, "h", 0), 4);
}

static void rest_of_the_line_belongs_to_no_grad(void **state)
{
    const double two[] = {1, 2};
    struct fixture *f = *state;

    give(f, "x", two, 2, true);
    must_run(f, "no_grad: a = x * 2; b = requires_grad(x * 3); x += 1\n"
                "c = requires_grad(x * 3); d = requires_grad(a)\n");
    near(number(f, "b", 0), 0);
    near(number(f, "c", 0), 1);
    near(number(f, "d", 0), 0);
    near(number(f, "x", 0), 2);
}

static void first_error_ends_what_raises_speaks_of(void **state)
{
    struct fixture *f = *state;

    must_run(f, "a = 1; b = 0\nraises(\"requires no gradient\"): a = 5; "
                "backward(a); a = 7\n");
    near(number(f, "a", 0), 5);
}

static void errors_behind_a_semicolon_have_their_place(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(check(f, "a = 1; b = a +; c = 2\nd = 3; e = u\n"), 1);
    assert_string_equal(f->d.item[0].msg, "a value is due, not ';'");
    drop(f);
    assert_int_equal(run(f, "a = 1;  b = a @ 2\n"), ERR_SHAPE);
    assert_int_equal(f->run.where.line, 0);
    assert_int_equal(f->run.where.col, 14);
    drop(f);
    assert_int_equal(check(f, "a = 1; raises(\"x\"): b = 2\n"), 1);
    assert_string_equal(f->d.item[0].msg, "'raises' begins a line");
}

/* ---- one_hot ---- */

static void one_hot_is_as_wide_as_its_second_argument(void **state)
{
    static const double t[] = {2, 0}, x[] = {5, 6, 7},
                        want[] = {0, 0, 1, 1, 0, 0};
    struct fixture *f = *state;
    struct prog_value *v;

    give(f, "t", t, 2, false);
    give(f, "x", x, 3, true);
    must_run(f, "a = one_hot(t, x * 2); b = one_hot(t, 3)\n"
                "c = one_hot(t, cast(x, float32)); d = one_hot(1, 3)\n"
                "e = one_hot(reshape(t, 1, 2), 3)\nr = requires_grad(a)\n");
    must_be(f, "a", want, 6);
    must_be(f, "b", want, 6);
    must_be(f, "c", want, 6);
    must_be(f, "e", want, 6);
    near(number(f, "d", 1), 1);
    near(number(f, "r", 0), 0);
    v = prog_run_get(&f->run, "a");
    assert_int_equal(v->t->shape.dim[0], 2);
    assert_int_equal(v->t->shape.dim[1], 3);
    assert_int_equal(v->t->dtype, NN_F64);
    assert_int_equal(prog_run_get(&f->run, "c")->t->dtype, NN_F32);
    assert_int_equal(prog_run_get(&f->run, "d")->t->shape.ndim, 1);
    assert_int_equal(prog_run_get(&f->run, "e")->t->shape.ndim, 3);
}

static void one_hot_refuses_what_is_no_class(void **state)
{
    static const double t[] = {0, 3, -1}, part[] = {0.5, 0, 0};
    struct fixture *f = *state;

    give(f, "t", t, 3, false);
    must_fail(f, "a = one_hot(t, 3)\n", "label 3 of row 1 is outside 0 to 2");
    give(f, "t", t, 3, false);
    must_fail(f, "a = one_hot(t, 5)\n", "label -1 of row 2 is outside 0 to 4");
    give(f, "t", part, 3, false);
    must_fail(f, "a = one_hot(t, 5)\n", "0.5 is no class or row number");
    must_fail(f, "a = one_hot(0, 2.5)\n",
              "one_hot takes a whole number of classes from 1 to 4096, not "
              "2.5");
    must_fail(f, "a = one_hot(0, 1 / 0)\n",
              "one_hot takes a whole number of classes from 1 to 4096, not "
              "inf");
    give(f, "t", t, 0, false);
    must_fail(f, "a = one_hot(0, t)\n",
              "one_hot is as wide as the last dimension of its second "
              "argument, which has none");
}

/* The usual hand-written gradient of cross-entropy. */
static void one_hot_writes_the_gradient_of_cross_entropy(void **state)
{
    static const double t[] = {2, 0, 1}, x[] = {1, 2, 3, -1, 0, 1, 9, -9, 0};
    struct fixture *f = *state;
    int i;

    give(f, "t", t, 3, false);
    give(f, "v", x, 9, true);
    must_run(f, "z = reshape(v, 3, 3); backward(cross_entropy(z, t))\n"
                "dz = (softmax(z) - one_hot(t, z)) / 3\n");
    for (i = 0; i < 9; i++)
        near(number(f, "dz", i), gradient(f, "v", i));
}

/* ---- marks ---- */

static const double edges[] = {2,   -3,   0,         -0.0,     5e-324,
                               NAN, 1e30, -INFINITY, INFINITY, -5e-324};
enum { N_EDGES = 10 };

static void marks_hold_at_the_edges(void **state)
{
    static const double step[] = {1, 0, 0, 0, 1, NAN, 1, 0, 1, 0};
    static const double sign[] = {1, -1, 0, 0, 1, NAN, 1, -1, 1, -1};
    static const double finite[] = {1, 1, 1, 1, 1, 0, 1, 0, 0, 1};
    struct fixture *f = *state;

    give(f, "x", edges, N_EDGES, true);
    must_run(f, "a = step(x); b = sign(x); c = isfinite(x)\n"
                "r = requires_grad(a + b + c)\nq = isfinite(1 / 0)\n");
    must_be(f, "a", step, N_EDGES);
    must_be(f, "b", sign, N_EDGES);
    must_be(f, "c", finite, N_EDGES);
    near(number(f, "r", 0), 0);
    near(number(f, "q", 0), 0);
}

/* Below 2^-1074 there is nothing in float32: those two are 0 there. */
static void marks_hold_in_float32(void **state)
{
    static const double step[] = {1, 0, 0, 0, 0, NAN, 1, 0, 1, 0};
    static const double sign[] = {1, -1, 0, 0, 0, NAN, 1, -1, 1, 0};
    static const double finite[] = {1, 1, 1, 1, 1, 0, 1, 0, 0, 1};
    struct fixture *f = *state;

    give(f, "x", edges, N_EDGES, false);
    must_run(f, "y = cast(x, float32)\n"
                "a = step(y); b = sign(y); c = isfinite(y)\n");
    must_be(f, "a", step, N_EDGES);
    must_be(f, "b", sign, N_EDGES);
    must_be(f, "c", finite, N_EDGES);
    assert_int_equal(prog_run_get(&f->run, "c")->t->dtype, NN_F32);
}

/* ---- logsumexp ---- */

static void logsumexp_is_that_and_does_not_overflow(void **state)
{
    static const double x[] = {1, 2, 3, -1, 0, 1}, big[] = {1000, 1000},
                        inf[] = {INFINITY, 1}, none[] = {-INFINITY, -INFINITY},
                        nan[] = {NAN, INFINITY};
    struct fixture *f = *state;

    give(f, "v", x, 6, false);
    give(f, "big", big, 2, false);
    give(f, "inf", inf, 2, false);
    give(f, "none", none, 2, false);
    give(f, "nan", nan, 2, false);
    must_run(f, "x = reshape(v, 2, 3)\na = logsumexp(x, 1)\n"
                "b = log(sum(exp(x), 1))\nc = logsumexp(x, dim=0)\n"
                "d = log(sum(exp(x), 0))\ne = logsumexp(x)\n"
                "g = log(sum(exp(x)))\nh = logsumexp(big); i = logsumexp(inf)\n"
                "j = logsumexp(none); k = logsumexp(nan)\n"
                "l = logsumexp(x, -1, keepdim=true); m = logsumexp(2)\n"
                "o = logsumexp(cast(inf, float32))\n");
    near(number(f, "a", 1), number(f, "b", 1));
    near(number(f, "c", 2), number(f, "d", 2));
    near(number(f, "e", 0), number(f, "g", 0));
    near(number(f, "h", 0), 1000 + log(2));
    near(number(f, "m", 0), 2);
    assert_true(isinf(number(f, "i", 0)) && number(f, "i", 0) > 0);
    assert_true(isinf(number(f, "j", 0)) && number(f, "j", 0) < 0);
    assert_true(isnan(number(f, "k", 0)));
    assert_true(isinf(number(f, "o", 0)));
    assert_int_equal(prog_run_get(&f->run, "l")->t->shape.ndim, 2);
    assert_int_equal(prog_run_get(&f->run, "l")->t->shape.dim[1], 1);
}

/* Against central differences, and against softmax, which it is. */
static void gradient_of_logsumexp_is_softmax(void **state)
{
    static const double x[] = {1, 2, 2, -1, 0, 3};
    static const char *const programs[] = {
        "a = logsumexp(reshape(v, 2, 3), 1); L = sum(a * a)\nbackward(L)\n",
        "a = logsumexp(reshape(v, 2, 3), 0); L = sum(a * a)\nbackward(L)\n",
        ("a = logsumexp(reshape(v, 1, 6), 1, keepdim=true); L = sum(a)\n"
         "s = softmax(v)\nbackward(L)\n"),
        "L = logsumexp(v)\ns = softmax(v)\nbackward(L)\n",
    };
    struct fixture *f = *state;
    struct prog_diff diff;
    size_t i, k;

    for (i = 0; i < 4; i++) {
        give(f, "v", x, 6, true);
        must_run(f, programs[i]);
        assert_int_equal(
            prog_diff_check(&diff, &f->p, &f->run, 1e-6, NULL, NULL, &f->err),
            0);
        assert_null(diff.not_made);
        assert_int_equal(diff.checked, 6);
        assert_true(diff.max_error < 1e-6);
        for (k = 0; i >= 2 && k < 6; k++)
            near(gradient(f, "v", (int64_t)k), number(f, "s", (int64_t)k));
        drop(f);
    }
}

static void logsumexp_of_nothing_is_an_error(void **state)
{
    static const double x[] = {1, 2};
    struct fixture *f = *state;

    give(f, "x", x, 2, false);
    must_fail(f, "a = logsumexp(x[2:])\n", "logsumexp of an empty tensor");
    give(f, "x", x, 2, false);
    must_fail(f, "a = logsumexp(x, 1)\n",
              "logsumexp: there is no dimension 1 in a tensor of 1");
}

static void every_failed_allocation_is_an_error(void **state)
{
    static const double t[] = {1, 0};
    struct fixture *f = *state;
    long n;
    int rc = -1;

    for (n = 1; rc != 0; n++) {
        long live;

        drop(f);
        live = mem_live();
        give(f, "t", t, 2, true);
        mem_fail_after(n);
        rc = run(f, "a = one_hot(t, 3); b = logsumexp(t, 0); c = step(t)\n"
                    "d = isfinite(t) * b * c\nbackward(sum(d) + a[0][0])\n");
        mem_fail_after(0);
        if (rc != 0 && rc != ERR_NOMEM)
            fail_msg("allocation %ld: %d, %s", n, rc, f->err.msg);
        drop(f);
        assert_true(test_live_is(live));
        assert_true(n < 2000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(semicolons_separate_statements),
        TEST(rest_of_the_line_belongs_to_no_grad),
        TEST(first_error_ends_what_raises_speaks_of),
        TEST(errors_behind_a_semicolon_have_their_place),
        TEST(one_hot_is_as_wide_as_its_second_argument),
        TEST(one_hot_refuses_what_is_no_class),
        TEST(one_hot_writes_the_gradient_of_cross_entropy),
        TEST(marks_hold_at_the_edges),
        TEST(marks_hold_in_float32),
        TEST(logsumexp_is_that_and_does_not_overflow),
        TEST(gradient_of_logsumexp_is_softmax),
        TEST(logsumexp_of_nothing_is_an_error),
        TEST(every_failed_allocation_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
