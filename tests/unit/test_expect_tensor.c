/* Expectations about tensors among the named values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "nn/base/mem.h"
#include "pipeline/expect_tensor.h"

static int setup(void **state)
{
    static const struct {
        const char *name;
        double v;
    } values[] = {
        {"w.0", 1},     {"w.1", 2},   {"w.grad.0", 1}, {"w.grad.1", 2.5},
        {"m.0", 1},     {"m.1", 2},   {"long.0", 1},   {"long.1", 2},
        {"long.2", 3},  {"A.0.0", 1}, {"A.0.1", 2},    {"row.0.0", 1},
        {"row.1.0", 2}, {"nan.0", 1}, {"nan.1", NAN},  {"w", 7},
    };
    struct pl_metrics *m = mem_zalloc(sizeof *m);
    size_t i;

    *state = m;
    for (i = 0; m && i < sizeof values / sizeof *values; i++)
        pl_metrics_set(m, values[i].name, values[i].v);
    return m && !m->failed ? 0 : -1;
}

static int teardown(void **state)
{
    pl_metrics_clear(*state);
    mem_free(*state);
    return mem_live() == 0 ? 0 : -1;
}

static bool within(const struct pl_expect *e, double a, double b)
{
    return fabs(a - b) <= e->atol + e->rtol * fabs(b);
}

static bool close_to(void **state, const char *value, const char *other,
                     const char *measured)
{
    struct pl_expect e = {.value = value,
                          .other = other,
                          .relation = PL_REL_CLOSE_TO,
                          .atol = 1e-6};
    struct str s = {0};
    bool ok = pl_expect_tensor(&s, &e, *state, within);

    assert_string_equal(s.text, measured);
    str_free(&s);
    return ok;
}

static bool near(void **state, const char *value, const double *bounds,
                 size_t n)
{
    struct pl_expect e = {.value = value,
                          .relation = PL_REL_CLOSE,
                          .bound = n ? bounds[0] : 0,
                          .bounds = bounds,
                          .n_bounds = n > 1 ? n : 0,
                          .atol = 1e-6};
    struct str s = {0};
    bool ok = pl_expect_tensor(&s, &e, *state, within);

    str_free(&s);
    return ok;
}

static void tensors_are_told_from_numbers(void **state)
{
    assert_true(pl_expect_is_tensor(*state, "w"));
    assert_true(pl_expect_is_tensor(*state, "w.grad"));
    assert_true(pl_expect_is_tensor(*state, "A"));
    assert_false(pl_expect_is_tensor(*state, "w.g"));
    assert_false(pl_expect_is_tensor(*state, "lon"));
}

static void equal_tensors_are_close(void **state)
{
    assert_true(close_to(state, "w", "m", "[1, 2]"));
}

static void element_that_differs_is_named(void **state)
{
    assert_false(
        close_to(state, "w", "w.grad", "[1, 2]; element 1: 2 beside 2.5"));
}

static void shapes_must_agree(void **state)
{
    assert_false(close_to(state, "w", "long", "[1, 2]; 2 numbers beside 3"));
    assert_false(
        close_to(state, "A", "row", "[1, 2]; the shape of row is another one"));
    assert_false(close_to(state, "w", "none", "[1, 2]; 2 numbers beside 0"));
}

static void nan_is_close_to_nothing(void **state)
{
    assert_false(close_to(state, "nan", "nan",
                          "[1, null]; element 1: null beside null"));
}

static void lists_bound_element_by_element(void **state)
{
    const double good[] = {1, 2}, bad[] = {2, 1}, many[] = {1, 2, 3};

    assert_true(near(state, "w", good, 2));
    assert_true(near(state, "A", good, 2));
    assert_false(near(state, "w", bad, 2));
    assert_false(near(state, "w", many, 3));
    assert_false(near(state, "w", good, 1));
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(tensors_are_told_from_numbers),
        CASE(equal_tensors_are_close),
        CASE(element_that_differs_is_named),
        CASE(shapes_must_agree),
        CASE(nan_is_close_to_nothing),
        CASE(lists_bound_element_by_element),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
