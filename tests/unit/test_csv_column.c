#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/csv_column.h"

static char path[64];

static int set_up(void **state)
{
    int fd;

    (void)state;
    (void)snprintf(path, sizeof path, "/tmp/test_csv_column-XXXXXX");
    fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(path);
    return mem_live() == 0 ? 0 : -1;
}

/* The column as "1 2 3", or the message of the error. */
static const char *read_column(char out[256], const char *text,
                               const char *column, int want)
{
    struct err err = {0};
    double *v;
    size_t n, i, len = 0;

    assert_int_equal(io_write_file(path, text, strlen(text), NULL), 0);
    assert_int_equal(pl_csv_column(&v, &n, path, column, &err), want);
    out[0] = '\0';
    for (i = 0; i < n; i++)
        len += (size_t)snprintf(out + len, 256 - len, i ? " %g" : "%g", v[i]);
    if (want != 0)
        (void)snprintf(out, 256, "%.250s", err.msg);
    mem_free(v);
    return out;
}

static void a_column_is_read_without_its_empty_cells(void **state)
{
    static const char text[] = "step,loss,test\n1,0.5,\n2,0.25,9e-1\n3,.125,\n";
    char out[256];

    (void)state;
    assert_string_equal(read_column(out, text, "loss", 0), "0.5 0.25 0.125");
    assert_string_equal(read_column(out, text, "test", 0), "0.9");
    assert_string_equal(read_column(out, text, "step", 0), "1 2 3");
    assert_string_equal(read_column(out, "a", "a", 0), "");
}

static void quotes_and_line_ends_are_understood(void **state)
{
    char out[256];

    (void)state;
    assert_string_equal(read_column(out,
                                    "\"a,b\",\"c \"\"d\"\"\"\r\n1,\"2\"\r\n3,4",
                                    "c \"d\"", 0),
                        "2 4");
    assert_string_equal(read_column(out, "a,b\r1,2\r3,4\r", "b", 0), "2 4");
    assert_non_null(strstr(read_column(out, "x\n\"1\n\",2\n", "y", ERR_CORRUPT),
                           " has no column 'y'"));
}

static void what_is_no_number_is_an_error(void **state)
{
    char out[256];

    (void)state;
    assert_non_null(
        strstr(read_column(out, "a,b\n1,2\n3,nan\n", "b", ERR_CORRUPT),
               "'nan' in line 3 of"));
    assert_non_null(
        strstr(read_column(out, "a,b\n1,x\n", "b", ERR_CORRUPT), "'x'"));
    assert_non_null(
        strstr(read_column(out, "", "b", ERR_CORRUPT), "no column 'b'"));
}

static void running_out_of_memory_leaves_nothing(void **state)
{
    static const char text[] = "a\n1\n2\n";
    struct err err = {0};
    double *v = NULL;
    size_t n;
    long i;
    int rc = ERR_NOMEM;

    (void)state;
    assert_int_equal(io_write_file(path, text, strlen(text), NULL), 0);
    for (i = 1; rc != 0 && i < 100; i++) {
        err = (struct err){0};
        mem_fail_after(i);
        rc = pl_csv_column(&v, &n, path, "a", &err);
        mem_fail_after(0);
        assert_true(rc == 0 || rc == ERR_NOMEM);
        assert_true(rc == 0 || mem_live() == 0);
    }
    assert_int_equal(rc, 0);
    assert_int_equal(n, 2);
    mem_free(v);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_column_is_read_without_its_empty_cells),
        TEST(quotes_and_line_ends_are_understood),
        TEST(what_is_no_number_is_an_error),
        TEST(running_out_of_memory_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
