#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/csv_table.h"

static char path[64];
static struct arena arena;
static struct err err;

static int set_up(void **state)
{
    int fd;

    (void)state;
    (void)strcpy(path, "/tmp/test_csv_table-XXXXXX");
    err_clear(&err);
    fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    arena_free(&arena);
    (void)unlink(path);
    return mem_live() == 0 ? 0 : -1;
}

static int read_text(struct pl_csv *t, const char *text)
{
    assert_int_equal(io_write_file(path, text, strlen(text), NULL), 0);
    return pl_csv_read(t, path, &arena, &err);
}

static void texts_and_numbers_are_found_by_column(void **state)
{
    struct pl_csv t;
    size_t name, us;
    double v;

    (void)state;
    assert_int_equal(
        read_text(&t, "name,us\r\n\"k<a, b>\",1.5\n\"say \"\"x\"\"\",\n"), 0);
    assert_int_equal(t.columns, 2);
    assert_int_equal(t.rows, 2);
    assert_int_equal(pl_csv_find(&t, "name", &name, &err), 0);
    assert_int_equal(pl_csv_find(&t, "us", &us, &err), 0);
    assert_string_equal(pl_csv_text(&t, 0, name), "k<a, b>");
    assert_string_equal(pl_csv_text(&t, 1, name), "say \"x\"");
    assert_int_equal(pl_csv_number(&t, 0, us, &v, &err), 0);
    assert_float_equal(v, 1.5, 0);
    assert_int_equal(pl_csv_number(&t, 1, us, &v, &err), 0);
    assert_true(isnan(v));
}

static void what_is_no_table_is_an_error(void **state)
{
    struct pl_csv t;
    size_t at;
    double v;

    (void)state;
    assert_int_equal(read_text(&t, "a,b\n1,2\n3\n"), ERR_CORRUPT);
    assert_non_null(strstr(err.msg, "line 3 of "));
    assert_non_null(strstr(err.msg, " has 1 fields, its head 2"));
    err_clear(&err);
    assert_int_equal(read_text(&t, "a\nx\ninf\n"), 0);
    assert_int_equal(pl_csv_find(&t, "b", &at, &err), ERR_CORRUPT);
    assert_non_null(strstr(err.msg, "has no column 'b'"));
    err_clear(&err);
    assert_int_equal(pl_csv_number(&t, 0, 0, &v, &err), ERR_CORRUPT);
    assert_non_null(strstr(err.msg, "'x' in line 2 of "));
    assert_int_equal(pl_csv_number(&t, 1, 0, &v, NULL), ERR_CORRUPT);
    err_clear(&err);
    (void)unlink(path);
    assert_int_equal(pl_csv_read(&t, path, &arena, &err), ERR_IO);
}

static void an_empty_file_has_one_nameless_column(void **state)
{
    struct pl_csv t;

    (void)state;
    assert_int_equal(read_text(&t, ""), 0);
    assert_int_equal(t.columns, 1);
    assert_int_equal(t.rows, 0);
    assert_string_equal(t.head[0], "");
}

static void running_out_of_memory_is_an_error(void **state)
{
    struct pl_csv t;
    long n;
    int rc = -1;

    (void)state;
    (void)read_text(&t, "a,b\n1,2\n3,4\n");
    for (n = 1; rc != 0 && n < 100; n++) {
        arena_free(&arena);
        err_clear(&err);
        mem_fail_after(n);
        rc = pl_csv_read(&t, path, &arena, &err);
        mem_fail_after(0);
        if (rc != 0)
            assert_int_equal(rc, ERR_NOMEM);
    }
    assert_int_equal(rc, 0);
    assert_true(n > 3);
    assert_string_equal(pl_csv_text(&t, 1, 1), "4");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(texts_and_numbers_are_found_by_column),
        CASE(what_is_no_table_is_an_error),
        CASE(an_empty_file_has_one_nameless_column),
        CASE(running_out_of_memory_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
