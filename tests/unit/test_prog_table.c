/* Vectors of a program side by side. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "pipeline/prog_table.h"
#include "program_fixture.h"

static const double z[] = {-INFINITY, -0.0, 1.0 / 3.0, NAN, 1e300};
enum { ROWS = 5 };

/* The columns called names, which fit. */
static int64_t columns(struct fixture *f, struct prog_column *c,
                       const char *const *names, size_t n)
{
    int64_t rows;
    size_t i;

    for (i = 0; i < n; i++)
        if (prog_column_read(&c[i], &f->run, names[i], &f->arena, &f->err) != 0)
            fail_msg("%s", f->err.msg);
    assert_int_equal(prog_columns_fit(c, n, &rows, &f->err), n);
    return rows;
}

static void tables_are_aligned_and_numbers_repeat(void **state)
{
    static const char *const names[] = {"z", "two", "c", "b"};
    struct fixture *f = *state;
    struct prog_column c[4];
    struct str s = {0};
    int64_t rows;

    give(f, "z", z, ROWS, false);
    must_run(f, "two = 2; b = is_leaf(z); c = cast(z * 2, float32)\n");
    rows = columns(f, c, names, 4);
    c[2].title = "2|z|";
    assert_int_equal(prog_table_add(&s, c, 4, rows, true, &f->err), 0);
    assert_string_equal(s.text, "|         z | two |    2\\|z\\| | b |\n"
                                "|----------:|----:|----------:|--:|\n"
                                "|      -inf |   2 |      -inf | 1 |\n"
                                "|         0 |   2 |         0 | 1 |\n"
                                "| 0.3333333 |   2 | 0.6666667 | 1 |\n"
                                "|       nan |   2 |       nan | 1 |\n"
                                "|    1e+300 |   2 |       inf | 1 |\n");
    str_free(&s);
}

static void text_tables_have_the_title_as_it_is(void **state)
{
    static const char *const names[] = {"z", "two"};
    struct fixture *f = *state;
    struct prog_column c[2];
    struct str s = {0};
    int64_t rows;

    give(f, "z", z, ROWS, false);
    must_run(f, "two = 2\n");
    rows = columns(f, c, names, 2);
    c[0].title = "|z|";
    assert_int_equal(prog_table_add(&s, c, 2, rows, false, &f->err), 0);
    assert_string_equal(s.text, "      |z|  two\n"
                                "     -inf    2\n"
                                "        0    2\n"
                                "0.3333333    2\n"
                                "      nan    2\n"
                                "   1e+300    2\n");
    str_free(&s);
}

static void csv_has_all_digits_and_quotes_titles(void **state)
{
    static const char *const names[] = {"z", "two"};
    struct fixture *f = *state;
    struct prog_column c[2];
    struct str s = {0};
    int64_t rows;

    give(f, "z", z, ROWS, false);
    must_run(f, "two = 2\n");
    rows = columns(f, c, names, 2);
    c[0].title = "f(\"z\", 1)";
    assert_int_equal(prog_table_csv(&s, c, 2, rows, &f->err), 0);
    assert_string_equal(s.text, "\"f(\"\"z\"\", 1)\",two\n"
                                "-inf,2\n-0,2\n0.3333333333333333,2\nnan,2\n"
                                "1.0e+300,2\n");
    str_free(&s);
}

static void columns_of_other_lengths_are_named(void **state)
{
    static const char *const names[] = {"one", "z", "part", "first"};
    struct fixture *f = *state;
    struct prog_column c[4];
    int64_t rows;
    size_t i;

    give(f, "z", z, ROWS, false);
    must_run(f, "one = 1; part = z[1:3]; first = z[:1]\n");
    for (i = 0; i < 4; i++)
        assert_int_equal(
            prog_column_read(&c[i], &f->run, names[i], &f->arena, &f->err), 0);
    assert_int_equal(prog_columns_fit(c, 4, &rows, &f->err), 2);
    assert_string_equal(f->err.msg, "part has 2 numbers, and z beside it 5");
    err_clear(&f->err);
    assert_int_equal(prog_columns_fit(&c[0], 1, &rows, &f->err), 1);
    assert_int_equal(rows, 1);
    c[2] = c[3];
    assert_int_equal(prog_columns_fit(c, 3, &rows, &f->err), 2);
}

static void matrices_and_unknown_names_are_no_columns(void **state)
{
    struct fixture *f = *state;
    struct prog_column c;

    give(f, "z", z, ROWS, false);
    must_run(f, "W = reshape(z, 1, 5)\n");
    assert_int_equal(prog_column_read(&c, &f->run, "W", &f->arena, &f->err),
                     ERR_SHAPE);
    assert_string_equal(f->err.msg,
                        "a column is a vector or a number; W is (1, 5)");
    err_clear(&f->err);
    assert_int_equal(prog_column_read(&c, &f->run, "u", &f->arena, &f->err),
                     ERR_CONFIG);
}

static void every_failed_allocation_is_an_error(void **state)
{
    static const char *const names[] = {"z", "two"};
    struct fixture *f = *state;
    struct prog_column c[2];
    int64_t rows;
    long n;
    int rc = -1;

    give(f, "z", z, ROWS, false);
    must_run(f, "two = 2\n");
    rows = columns(f, c, names, 2);
    for (n = 1; rc != 0; n++) {
        struct str s = {0};

        err_clear(&f->err);
        mem_fail_after(n);
        rc = prog_table_add(&s, c, 2, rows, true, &f->err);
        if (rc == 0)
            rc = prog_table_csv(&s, c, 2, rows, &f->err);
        mem_fail_after(0);
        str_free(&s);
        assert_true(rc == 0 || rc == ERR_NOMEM);
    }
    assert_true(n > 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(tables_are_aligned_and_numbers_repeat),
        TEST(text_tables_have_the_title_as_it_is),
        TEST(csv_has_all_digits_and_quotes_titles),
        TEST(columns_of_other_lengths_are_named),
        TEST(matrices_and_unknown_names_are_no_columns),
        TEST(every_failed_allocation_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
