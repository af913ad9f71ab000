/* What a program leaves: derivation, values, picture, central differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "pipeline/prog_derive.h"
#include "pipeline/prog_diff.h"
#include "pipeline/prog_graph.h"
#include "pipeline/prog_report.h"
#include "program_fixture.h"

static const double two[] = {1.0, 2.0};

static void must_derive(struct fixture *f, const char *want)
{
    struct prog_derivation d;
    struct str s = {0};
    size_t i;

    assert_int_equal(prog_derive(&d, &f->run, prog_main_backward(&f->run),
                                 &f->arena, &f->err),
                     0);
    for (i = 0; i < d.n; i++)
        str_addf(&s, "d%s/d%s = %s\n", d.root, d.step[i].label, d.step[i].text);
    assert_string_equal(s.text, want);
    str_free(&s);
}

static void exam_network(struct fixture *f)
{
    const double zero = 0;

    give(f, "x", two, 2, false);
    give(f, "b", two, 2, true);
    give(f, "w", two, 2, true);
    give(f, "y", &zero, 0, false);
    must_run(f, "z = x * 2 + b\nh = tanh(z)\nyhat = w @ h\n"
                "L = 0.5 * (yhat - y)**2\nbackward(L)\n");
}

static void derivation_is_in_the_names_of_the_program(void **state)
{
    exam_network(*state);
    must_derive(*state, "dL/dL = 1\n"
                        "dL/dyhat = yhat - y\n"
                        "dL/dh = dL/dyhat \u00b7 w\n"
                        "dL/dz = dL/dh \u2299 (1 - h\u00b2)\n"
                        "dL/dw = dL/dyhat \u00b7 h\n"
                        "dL/db = dL/dz\n");
}

static void matrices_transpose_and_broadcasts_sum(void **state)
{
    struct fixture *f = *state;

    give(f, "x", two, 2, true);
    give(f, "s", two, 0, true);
    must_run(f, "A = unsqueeze(x, 1) * 1\nB = unsqueeze(x, 0) * 1\nC = A @ B\n"
                "d = C * s\nL = mean(d)\nbackward(L)\n");
    must_derive(f, "dL/dL = 1\n"
                   "dL/dd = 0.25\n"
                   "dL/dC = dL/dd \u00b7 s\n"
                   "dL/dB = A\u1d40 @ dL/dC\n"
                   "dL/dA = dL/dC @ B\u1d40\n"
                   "dL/ds = sum_to(dL/dd \u2299 C)\n"
                   "dL/dx = reshape(dL/dB) + reshape(dL/dA)\n");
}

static void reused_value_sums_its_gradients(void **state)
{
    struct fixture *f = *state;

    give(f, "x", two, 0, true);
    must_run(f, "y = x**3\nL = y * y + exp(x) / x\nbackward(L)\n");
    must_derive(f,
                "dL/dL = 1\n"
                "dL/dy = 2 \u00b7 y\n"
                "dL/dx = -exp(x) / x / x + exp(x) / x + 3 \u00b7 dL/dy \u00b7 "
                "x\u00b2\n");
}

static void long_formulas_get_steps_of_their_own(void **state)
{
    struct fixture *f = *state;
    struct prog_derivation d;

    give(f, "x", two, 2, true);
    must_run(f,
             "L = sum(softmax(softmax(softmax(softmax(softmax(softmax(softmax"
             "(softmax(x))))))))**2)\nbackward(L)\n");
    assert_int_equal(prog_derive(&d, &f->run, prog_main_backward(&f->run),
                                 &f->arena, &f->err),
                     0);
    assert_true(d.n > 4);
    assert_true(strlen(d.step[d.n - 1].text) < 300);
}

static void add_line(void *user, const char *line)
{
    str_addf(user, "%s\n", line);
}

static void values_keep_the_numbers_they_were_made_with(void **state)
{
    struct fixture *f = *state;
    struct str s = {0};

    give(f, "x", two, 2, true);
    must_run(f, "h = x * 2\nd = detach(h)\nh += 1\nL = sum(h)\n"
                "backward(L)\ng = x.grad\nno_grad: x -= 1\n"
                "backward(sum(x * 3))\n");
    assert_int_equal(prog_derivation_say(&f->run, add_line, &s, &f->err), 0);
    assert_non_null(strstr(s.text, "h = x * 2 = [2, 4]\n"
                                   "d = detach(h) = [2, 4]\n"
                                   "h += 1, now h(2) = [3, 5]\n"));
    assert_non_null(strstr(s.text, "g = x.grad = [2, 2]\n"
                                   "x -= 1 = [0, 1]\n"));
    str_clear(&s);
    assert_int_equal(prog_graph_svg(&s, "changes", &f->run, &f->err), 0);
    assert_non_null(strstr(s.text, "h += 1, now h(2)"));
    assert_non_null(strstr(s.text, "[2, 4]"));
    assert_non_null(strstr(s.text, "[3, 5]"));
    str_free(&s);
}

static struct prog_diff differences(struct fixture *f)
{
    struct prog_diff diff;

    if (prog_diff_check(&diff, &f->p, &f->run, 1e-6, NULL, NULL, &f->err) != 0)
        fail_msg("%s", f->err.msg);
    return diff;
}

static void leaves_without_use_are_not_counted(void **state)
{
    struct fixture *f = *state;
    struct prog_diff d;

    give(f, "x", two, 2, true);
    give(f, "spare", two, 2, true);
    must_run(f, "backward(sum(x * x))\n");
    d = differences(f);
    assert_null(d.not_made);
    assert_int_equal(d.checked, 2);
}

static void differences_agree(void **state)
{
    struct fixture *f = *state;
    struct prog_diff d;

    exam_network(f);
    d = differences(f);
    assert_null(d.not_made);
    assert_int_equal(d.checked, 4);
    assert_true(d.max_error < 1e-8);
}

static void wrong_gradient_is_found(void **state)
{
    struct fixture *f = *state;
    struct prog_diff d;

    exam_network(f);
    f->run.backward[0].share[1].grad[1] *= 1.001;
    d = differences(f);
    assert_true(d.max_error > 1e-4);
    assert_string_equal(d.where, "w");
    f->run.backward[0].share[0].grad[0] = NAN;
    assert_true(isinf(differences(f).max_error));
}

/* Gradients do not flow through them, and neither may a difference. */
static void what_is_cut_off_stays_in_place(void **state)
{
    struct fixture *f = *state;
    struct prog_diff d;

    give(f, "x", two, 2, true);
    must_run(f, "h = x * x\nno_grad: c = h + x\nd = detach(h)\n"
                "L = sum(h * d * c)\nbackward(L)\ng = x.grad\n"
                "no_grad: x -= 0.1 * g\nzero_grad()\n"
                "L2 = sum(x * x * detach(x))\nbackward(L2)\n");
    d = differences(f);
    assert_null(d.not_made);
    assert_int_equal(d.checked, 4);
    assert_true(d.max_error < 1e-8);
}

static void detached_value_changed_in_place_is_not_compared(void **state)
{
    struct fixture *f = *state;

    give(f, "x", two, 2, true);
    must_run(f, "h = x + 1\nd = detach(h)\nd += 1\nbackward(sum(h + x))\n");
    assert_string_equal(differences(f).not_made,
                        "a detached value was changed in place");
}

static void corners_are_left_out(void **state)
{
    struct fixture *f = *state;
    const double v[] = {0.0, 1.0};
    struct prog_diff d;

    give(f, "x", v, 2, true);
    must_run(f, "backward(sum(relu(x)))\n");
    d = differences(f);
    assert_int_equal(d.kinks, 1);
    assert_int_equal(d.checked, 1);
    assert_true(d.max_error < 1e-8);
}

static void values_are_written_with_all_their_digits(void **state)
{
    struct fixture *f = *state;
    struct str s = {0};

    give(f, "x", two, 2, true);
    must_run(f, "n = 3\nt = is_leaf(x)\nL = sum(x / 3)\nbackward(L)\n");
    assert_int_equal(prog_values_csv(&s, &f->run, &f->err), 0);
    assert_string_equal(s.text,
                        "name,shape,values,grad\n"
                        "x,\"(2,)\",1 2,0.3333333333333333 0.3333333333333333\n"
                        "n,\"()\",3,\n"
                        "t,\"()\",1,\n"
                        "L,\"()\",1,1\n");
    str_free(&s);
}

static size_t count(const char *text, const char *word)
{
    size_t n = 0;

    while ((text = strstr(text, word))) {
        n++;
        text += strlen(word);
    }
    return n;
}

static void graph_has_a_box_for_each_value(void **state)
{
    struct fixture *f = *state;
    struct str s = {0};

    exam_network(f);
    assert_int_equal(prog_graph_svg(&s, "a < b", &f->run, &f->err), 0);
    /* x b w y, x*2 z h yhat, yhat-y ()**2 L; then five in the key */
    assert_int_equal(count(s.text, "<rect class=") - 1, 11 + 5);
    assert_non_null(strstr(s.text, "L = 0.5 * (yhat - y)**2"));
    assert_non_null(strstr(s.text, "a &lt; b"));
    str_free(&s);
}

static void graph_of_many_values_is_drawn_in_part(void **state)
{
    struct fixture *f = *state;
    struct str s = {0}, p = {0};
    int i;

    give(f, "x", two, 2, true);
    for (i = 0; i < 300; i++)
        str_add(&p, "x = x * 1.001 + detach(x)\n");
    str_add(&p, "backward(sum(x))\n");
    must_run(f, p.text);
    assert_int_equal(prog_graph_svg(&s, "many", &f->run, &f->err), 0);
    assert_true(count(s.text, "<rect class=") <= PROG_GRAPH_MAX + 6);
    str_free(&s);
    str_free(&p);
}

static void programs_without_backward_have_reports_too(void **state)
{
    struct fixture *f = *state;
    struct prog_diff d;
    struct str s = {0};

    must_run(f, "a = 1 + 2\n");
    d = differences(f);
    assert_string_equal(d.not_made, "no backward was run");
    assert_int_equal(prog_graph_svg(&s, "none", &f->run, &f->err), 0);
    assert_int_equal(prog_derivation_md(&s, "none", &f->run, &d, &f->err), 0);
    assert_int_equal(prog_derivation_say(&f->run, hear, f, &f->err), 0);
    str_free(&s);
}

static void every_failed_allocation_is_an_error(void **state)
{
    struct fixture *f = *state;
    long n, live;
    int rc = -1;

    exam_network(f);
    live = mem_live();
    for (n = 1; rc != 0; n++) {
        struct prog_diff d;
        struct str s = {0};

        err_clear(&f->err);
        mem_fail_after(n);
        rc = prog_diff_check(&d, &f->p, &f->run, 1e-6, NULL, NULL, &f->err);
        if (rc == 0)
            rc = prog_derivation_md(&s, "t", &f->run, &d, &f->err);
        if (rc == 0)
            rc = prog_graph_svg(&s, "t", &f->run, &f->err);
        if (rc == 0)
            rc = prog_values_csv(&s, &f->run, &f->err);
        mem_fail_after(0);
        str_free(&s);
        if (rc != 0 && rc != ERR_NOMEM)
            fail_msg("allocation %ld: %d, %s", n, rc, f->err.msg);
        assert_true(n < 20000);
    }
    /* The run's arena grows; nothing else is left. */
    assert_true(mem_live() >= live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(derivation_is_in_the_names_of_the_program),
        TEST(matrices_transpose_and_broadcasts_sum),
        TEST(reused_value_sums_its_gradients),
        TEST(long_formulas_get_steps_of_their_own),
        TEST(values_keep_the_numbers_they_were_made_with),
        TEST(leaves_without_use_are_not_counted),
        TEST(differences_agree),
        TEST(wrong_gradient_is_found),
        TEST(what_is_cut_off_stays_in_place),
        TEST(detached_value_changed_in_place_is_not_compared),
        TEST(corners_are_left_out),
        TEST(values_are_written_with_all_their_digits),
        TEST(graph_has_a_box_for_each_value),
        TEST(graph_of_many_values_is_drawn_in_part),
        TEST(programs_without_backward_have_reports_too),
        TEST(every_failed_allocation_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
