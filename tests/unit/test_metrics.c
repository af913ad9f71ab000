#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/metrics.h"

static char path[64];

static int set_up(void **state)
{
    int fd;

    (void)state;
    (void)snprintf(path, sizeof path, "/tmp/test_metrics-XXXXXX");
    fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

static void assert_file(const char *want)
{
    struct err err = {0};
    char *text;
    size_t len;

    assert_int_equal(io_read_file(&text, &len, path, 100000, &err), 0);
    assert_string_equal(text, want);
    mem_free(text);
}

static void put(const char *text)
{
    struct err err = {0};

    assert_int_equal(io_write_file(path, text, strlen(text), &err), 0);
}

static void metrics_keep_their_order_and_shortest_text(void **state)
{
    struct pl_metrics m = {0};
    struct err err = {0};

    (void)state;
    pl_metrics_set(&m, "test.accuracy", 0.9785);
    pl_metrics_set(&m, "parameters", 203530);
    pl_metrics_set(&m, "lr", 1e-6);
    pl_metrics_set(&m, "test.accuracy", 0.1);
    assert_int_equal(pl_metrics_write(&m, path, &err), 0);
    assert_file("{\n  \"test.accuracy\": 0.1,\n  \"parameters\": 203530,\n"
                "  \"lr\": 1.0e-06\n}\n");
    pl_metrics_clear(&m);
}

static void non_finite_numbers_become_null(void **state)
{
    struct pl_metrics m = {0}, back = {0};
    struct err err = {0};

    (void)state;
    pl_metrics_set(&m, "a", INFINITY);
    pl_metrics_set(&m, "b", NAN);
    assert_int_equal(pl_metrics_write(&m, path, &err), 0);
    assert_file("{\n  \"a\": null,\n  \"b\": null\n}\n");
    assert_int_equal(pl_metrics_read(&back, path, &err), 0);
    assert_true(isnan(*pl_metrics_get(&back, "a")));
    assert_null(pl_metrics_get(&back, "c"));
    pl_metrics_clear(&m);
    pl_metrics_clear(&back);
}

static void no_metrics_are_an_empty_object(void **state)
{
    struct pl_metrics m = {0};
    struct err err = {0};

    (void)state;
    assert_int_equal(pl_metrics_write(&m, path, &err), 0);
    assert_file("{}\n");
}

static void every_number_reads_back_as_itself(void **state)
{
    static const double values[] = {
        0.1, 1.0 / 3, -0.0, 5e-324, 1e300, 2e19, 9007199254740993.0};
    struct pl_metrics m = {0}, back = {0};
    struct err err = {0};
    char name[8];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof values / sizeof *values; i++) {
        (void)snprintf(name, sizeof name, "m%zu", i);
        pl_metrics_set(&m, name, values[i]);
    }
    assert_int_equal(pl_metrics_write(&m, path, &err), 0);
    assert_int_equal(pl_metrics_read(&back, path, &err), 0);
    for (i = 0; i < sizeof values / sizeof *values; i++)
        assert_true(back.item[i].value == values[i]);
    pl_metrics_clear(&m);
    pl_metrics_clear(&back);
}

static void odd_names_are_escaped(void **state)
{
    struct pl_metrics m = {0}, back = {0};
    struct err err = {0};

    (void)state;
    pl_metrics_set(&m, "a\"b\\c\n\xc3\xa9", 1);
    assert_int_equal(pl_metrics_write(&m, path, &err), 0);
    assert_int_equal(pl_metrics_read(&back, path, &err), 0);
    assert_string_equal(back.item[0].name, "a\"b\\c\n\xc3\xa9");
    pl_metrics_clear(&m);
    pl_metrics_clear(&back);
}

static void damaged_files_are_errors(void **state)
{
    static const char *const bad[] = {"",
                                      "{\"a\": 1",
                                      "[1]",
                                      "{\"a\": \"x\"}",
                                      "{\"a\": NaN}",
                                      "{\"a\": 1} x"};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct pl_metrics m = {0};
        struct err err = {0};

        put(bad[i]);
        assert_int_equal(pl_metrics_read(&m, path, &err), ERR_CORRUPT);
        assert_non_null(strstr(err.msg, path));
        pl_metrics_clear(&m);
    }
}

static void every_failed_allocation_is_reported(void **state)
{
    long n;

    (void)state;
    for (n = 1; n < 100; n++) {
        struct pl_metrics m = {0};
        struct err err = {0};
        int rc;

        mem_fail_after(n);
        pl_metrics_set(&m, "a", 1);
        rc = pl_metrics_write(&m, path, &err);
        mem_fail_after(0);
        pl_metrics_clear(&m);
        assert_int_equal(mem_live(), 0);
        if (rc == 0)
            break;
        assert_int_equal(rc, ERR_NOMEM);
    }
    assert_in_range(n, 3, 99);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_keep_their_order_and_shortest_text),
        cmocka_unit_test(non_finite_numbers_become_null),
        cmocka_unit_test(no_metrics_are_an_empty_object),
        cmocka_unit_test(every_number_reads_back_as_itself),
        cmocka_unit_test(odd_names_are_escaped),
        cmocka_unit_test(damaged_files_are_errors),
        cmocka_unit_test(every_failed_allocation_is_reported),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
