/* Programs: PyTorch's rules as they show in the language, and hostile texts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "program_fixture.h"

static const double two[] = {1.0, 2.0}, three = 3.0;

static void near(double a, double b)
{
    if (!(fabs(a - b) <= 1e-12 * fmax(1.0, fabs(b))))
        fail_msg("%.17g is not %.17g", a, b);
}

/* ---- the language ---- */

static void operators_bind_as_in_python(void **state)
{
    struct fixture *f = *state;

    must_run(f, "a = -2**2\nb = 2**3**2\nc = 2 + 3 * 4 - 1\n"
                "d = 2 * -3\ne = 2**-1\nf = (1 + 2) * 3 / 2\ng = 8 - 3 - 2\n"
                "h = .5e1 + 1e-1 # a comment\n");
    near(number(f, "a", 0), -4);
    near(number(f, "b", 0), 512);
    near(number(f, "c", 0), 13);
    near(number(f, "d", 0), -6);
    near(number(f, "e", 0), 0.5);
    near(number(f, "f", 0), 4.5);
    near(number(f, "g", 0), 3);
    near(number(f, "h", 0), 5.1);
}

static void expressions_print_with_the_parentheses_they_need(void **state)
{
    static const char *const texts[] = {
        "a - (b - c)",    "a - b - c",     "(-a)**2",      "-a**2",
        "(a + b) * c",    "a / (b * c)",   "2**-a",        "(a**b)**c",
        "a**b**c",        "f(a, b + c).T", "(a @ b)[1:3]", "x[:2] + x[-1]",
        "sum(x, dim=-1)", "-(a + b)",      "a @ (b @ c)",
    };
    struct fixture *f = *state;
    size_t i;

    for (i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct prog_source s;
        struct prog_expr *e;
        struct str out = {0};

        prog_source_text(&s, texts[i]);
        e = prog_parse_expr(&s, &f->arena, &f->d);
        assert_non_null(e);
        prog_expr_add(&out, e);
        assert_string_equal(out.text, texts[i]);
        str_free(&out);
    }
}

static void lines_may_end_inside_of_brackets(void **state)
{
    struct fixture *f = *state;

    must_run(f, "a = (1 +\n     2 # two\n\n  + 3)\n\n  # indented comment\n"
                "no_grad:\n    b = a\n\n    c = b + 1\nd = c");
    near(number(f, "d", 0), 7);
}

static void bare_expressions_are_said(void **state)
{
    struct fixture *f = *state;

    give(f, "x", two, 2, true);
    must_run(f, "x * 2\nshares_storage(x, detach(x))\nis_leaf(x * 2)\n2 * 3\n");
    assert_string_equal(f->said.text, "x * 2 (2,) = [2, 4]\n"
                                      "shares_storage(x, detach(x)) = true\n"
                                      "is_leaf(x * 2) = false\n"
                                      "2 * 3 = 6\n");
}

static void indices_count_from_behind_too(void **state)
{
    struct fixture *f = *state;
    const double v[] = {1, 2, 3, 4, 5};

    give(f, "x", v, 5, false);
    must_run(f, "a = x[-1]\nb = x[1:3]\nc = x[-2:]\nd = x[:-3]\ne = x[7:9]\n");
    near(number(f, "a", 0), 5);
    near(number(f, "b", 1), 3);
    near(number(f, "c", 0), 4);
    near(number(f, "d", 1), 2);
    assert_int_equal(nn_tensor_numel(prog_run_get(&f->run, "e")->t), 0);
}

/* ---- the rules of autograd ---- */

static void exam_network_has_the_golden_numbers(void **state)
{
    struct fixture *f = *state;
    const double x[] = {1, -1}, zero[] = {0, 0}, w0[] = {0.5, -0.5},
                 w1[] = {1, 0};

    give(f, "x", x, 2, false);
    give(f, "w0", w0, 2, true);
    give(f, "w1", w1, 2, true);
    give(f, "b", zero, 2, true);
    give(f, "w", two, 2, true);
    must_run(f, "W = cat(unsqueeze(w0, 0), unsqueeze(w1, 0))\n"
                "z = W @ x + b\nh = tanh(z)\nyhat = w @ h\n"
                "L = 0.5 * (yhat - 0)**2\nbackward(L)\n");
    near(number(f, "L", 0), 2.6101154627368826);
    near(gradient(f, "w", 1), 1.7400769751579217);
    near(gradient(f, "b", 0), 0.9595500126738369);
    near(gradient(f, "w1", 1), -1.9191000253476738);
}

static void retained_graphs_accumulate(void **state)
{
    struct fixture *f = *state;

    give(f, "x", two, 2, true);
    must_run(f, "L = sum(x * x)\nbackward(L, retain_graph=true)\n"
                "once = x.grad * 1\nbackward(L)\n"
                "raises(\"a second time\"): backward(L)\n");
    near(number(f, "once", 1), 4);
    near(gradient(f, "x", 1), 8);
}

static void zero_grad_leaves_what_was_read_alone(void **state)
{
    struct fixture *f = *state;

    give(f, "x", two, 2, true);
    must_run(f, "backward(sum(x * x))\nold = x.grad\nzero_grad(x)\n"
                "backward(sum(3 * x))\n");
    near(number(f, "old", 1), 4);
    near(gradient(f, "x", 1), 3);
}

static void read_gradient_is_the_one_that_grows(void **state)
{
    struct fixture *f = *state;

    give(f, "x", two, 2, true);
    must_run(f, "backward(sum(x * x))\ng = x.grad\nbackward(sum(x * x))\n");
    near(number(f, "g", 1), 8);
}

static void detached_values_share_memory_and_pass_no_gradient(void **state)
{
    struct fixture *f = *state;

    give(f, "x", two, 2, true);
    must_run(f, "h = x * 3\nd = detach(h)\ns = shares_storage(d, h)\n"
                "L = sum(d * x)\nd += 1\nv = h[0]\n"
                "raises(\"changed in place\"): backward(L)\n"
                "backward(sum(detach(h) * x))\n");
    near(number(f, "s", 0), 1);
    near(number(f, "v", 0), 4); /* seen through h */
    near(gradient(f, "x", 1), 7);
}

/* What the in-place operators hand on, beside their plain forms. */
static void changes_in_place_have_gradients(void **state)
{
    struct fixture *f = *state;

    give(f, "x", two, 2, true);
    give(f, "y", two, 2, true);
    must_run(f, "z = x * 2\nz *= y\nz += 1\nz /= y + 1\nz -= x\n"
                "backward(sum(z * z))\nu = x * 2\nu = u * y\nu = u + 1\n"
                "u = u / (y + 1)\nu = u - x\na = x.grad * 1\nb = y.grad * 1\n"
                "zero_grad()\nbackward(sum(u * u))\n");
    near(number(f, "a", 1), gradient(f, "x", 1));
    near(number(f, "b", 1), gradient(f, "y", 1));
    near(number(f, "z", 0), number(f, "u", 0));
}

static void input_without_gradient_gets_one_in_place(void **state)
{
    struct fixture *f = *state;

    give(f, "x", two, 2, false);
    give(f, "w", two, 2, true);
    must_run(f, "x += 3 * w\nbackward(sum(x))\n");
    near(gradient(f, "w", 0), 3);
}

static void views_of_changed_memory_are_not_used(void **state)
{
    struct fixture *f = *state;

    give(f, "x", two, 2, true);
    must_run(f, "h = x * 2\nv = reshape(h, 2, 1)\nh *= 2\n"
                "raises(\"take the view anew\"): L = sum(v)\n"
                "backward(sum(reshape(h, 2, 1)))\n");
    near(gradient(f, "x", 0), 4);
}

/* A backward that fails leaves nothing behind that the next one counts. */
static void failed_backward_does_not_leak_into_the_next(void **state)
{
    struct fixture *f = *state;

    give(f, "x", two, 2, true);
    must_run(f, "a = x * 2\nb = tanh(a)\nc = a + b\nL = sum(c)\nb += 1\n"
                "raises(\"in place\"): backward(L)\nzero_grad()\n"
                "backward(sum(a), retain_graph=true)\n");
    near(gradient(f, "x", 0), 2);
}

static void steps_below_no_grad_keep_the_leaf(void **state)
{
    struct fixture *f = *state;

    give(f, "x", &three, 0, true);
    must_run(f, "backward(x * x)\nno_grad:\n    x -= 0.5 * x.grad\n"
                "leaf = is_leaf(x)\nzero_grad()\nbackward(x * x)\n");
    near(number(f, "leaf", 0), 1);
    near(number(f, "x", 0), 0);
    near(gradient(f, "x", 0), 0);
}

/* ---- hostile texts ---- */

static char *repeated(struct arena *a, const char *begin, const char *unit,
                      size_t n, const char *end)
{
    struct str s = {0};
    char *text;
    size_t i;

    str_add(&s, begin);
    for (i = 0; i < n; i++)
        str_add(&s, unit);
    str_add(&s, end);
    assert_false(s.failed);
    text = arena_strndup(a, s.text, s.len);
    str_free(&s);
    return text;
}

static void nesting_has_a_limit(void **state)
{
    static const char *const unit[] = {"(",  "-",  "tanh(",     "2**", "x[",
                                       "1+", "-(", "no_grad: ", "@ x"};
    struct fixture *f = *state;
    size_t i;

    for (i = 0; i < sizeof unit / sizeof *unit; i++) {
        assert_true(check(f, repeated(&f->arena, "x = 1\ny = x ", unit[i],
                                      100000, "1")) > 0);
        drop(f);
    }
    assert_true(check(f, repeated(&f->arena, "y = ", "(", 201, "1")) > 0);
    assert_string_equal(f->d.item[0].msg,
                        "an expression nests deeper than 200 levels");
}

static void blocks_nest_up_to_a_limit(void **state)
{
    struct fixture *f = *state;
    struct str s = {0};
    int i;

    for (i = 0; i < 100; i++)
        str_addf(&s, "%*sno_grad:\n", i, "");
    str_addf(&s, "%*sx = 1\n", 100, "");
    assert_true(check(f, s.text) > 0);
    str_free(&s);
}

static void size_has_a_limit(void **state)
{
    struct fixture *f = *state;

    assert_true(check(f, repeated(&f->arena, "", "x = 1\n", 200000, "")) > 0);
    assert_non_null(strstr(f->d.item[0].msg, "at most 1048576 bytes"));
    drop(f);
    assert_true(check(f, repeated(&f->arena, "", "x = 1\n", 170000, "")) > 0);
    assert_string_equal(f->d.item[0].msg,
                        "a program has at most 10000 statements");
}

static void many_numbers_are_refused_before_memory_is_gone(void **state)
{
    struct fixture *f = *state;
    const double v[400] = {0};

    give(f, "x", v, 400, false);
    assert_int_equal(run(f, "a = reshape(x, -1, 1) * x\n"
                            "b = reshape(a, -1, 1) * x\n"),
                     ERR_SHAPE);
    assert_non_null(strstr(f->err.msg, "may hold"));
}

static void every_byte_anywhere_is_no_crash(void **state)
{
    struct fixture *f = *state;
    char text[] = "x = 1\nx = 1\n  \nx = 1";
    size_t i;
    int c;

    for (i = 0; text[i]; i++) {
        char keep = text[i];

        for (c = 1; c < 256; c++) {
            text[i] = (char)c;
            (void)check(f, text);
            drop(f);
        }
        text[i] = keep;
    }
}

static void every_failed_allocation_is_an_error(void **state)
{
    struct fixture *f = *state;
    long n;
    int rc = -1;

    for (n = 1; rc != 0; n++) {
        long live;

        drop(f);
        live = mem_live();
        give(f, "x", two, 2, true);
        mem_fail_after(n);
        rc = run(f, "h = exp(x) + 1\nno_grad: g = h * 2\nh *= 2\n"
                    "L = sum(x * h[0])\nbackward(L)\nzero_grad()\n");
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
        TEST(operators_bind_as_in_python),
        TEST(expressions_print_with_the_parentheses_they_need),
        TEST(lines_may_end_inside_of_brackets),
        TEST(bare_expressions_are_said),
        TEST(indices_count_from_behind_too),
        TEST(exam_network_has_the_golden_numbers),
        TEST(retained_graphs_accumulate),
        TEST(zero_grad_leaves_what_was_read_alone),
        TEST(read_gradient_is_the_one_that_grows),
        TEST(detached_values_share_memory_and_pass_no_gradient),
        TEST(changes_in_place_have_gradients),
        TEST(input_without_gradient_gets_one_in_place),
        TEST(views_of_changed_memory_are_not_used),
        TEST(failed_backward_does_not_leak_into_the_next),
        TEST(steps_below_no_grad_keep_the_leaf),
        TEST(nesting_has_a_limit),
        TEST(blocks_nest_up_to_a_limit),
        TEST(size_has_a_limit),
        TEST(many_numbers_are_refused_before_memory_is_gone),
        TEST(every_byte_anywhere_is_no_crash),
        TEST(every_failed_allocation_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
