#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/expect_file.h"

static char folder[64], other[96];

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/test_expect_file-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(other, sizeof other, "%s/other.bin", folder);
    return 0;
}

static int tear_down(void **state)
{
    char command[96];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command) == 0 && mem_live() == 0 ? 0 : -1;
}

/* n bytes, of which number `odd` is another one; odd >= n: none. */
static void put(const char *name, size_t n, size_t odd)
{
    char *path = io_join(folder, name), *data = mem_alloc(n + 1);

    assert_true(path && data);
    memset(data, 'x', n + 1);
    if (odd < n)
        data[odd] = 'y';
    assert_int_equal(io_write_file(path, data, n, NULL), 0);
    mem_free(data);
    mem_free(path);
}

static void judged(bool holds, const char *want)
{
    const struct pl_expect e = {.file = "own.bin",
                                .relation = PL_REL_SAME_AS,
                                .same_as = other,
                                .same_as_shown = "../other.bin"};
    struct str s = {0};

    str_add(&s, "");
    assert_int_equal(pl_expect_file(&s, &e, folder), holds);
    assert_string_equal(s.text, want);
    str_free(&s);
}

static void equal_bytes_are_the_same(void **state)
{
    static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 200000};
    char want[64];
    size_t i;

    (void)state;
    for (i = 0; i < 6; i++) {
        put("own.bin", sizes[i], sizes[i]);
        put("other.bin", sizes[i], sizes[i]);
        (void)snprintf(want, sizeof want, "the same %zu bytes", sizes[i]);
        judged(true, want);
    }
}

static void the_first_difference_is_told_with_both_sizes(void **state)
{
    static const size_t odd[] = {0, 7, 65535, 65536, 199999};
    char want[96];
    size_t i;

    (void)state;
    put("own.bin", 200000, 200000);
    for (i = 0; i < 5; i++) {
        put("other.bin", 200000, odd[i]);
        (void)snprintf(want, sizeof want,
                       "200000 bytes beside 200000; the first difference is "
                       "at offset %zu",
                       odd[i]);
        judged(false, want);
    }
}

static void a_longer_file_differs_at_the_end_of_the_other(void **state)
{
    (void)state;
    put("own.bin", 65536, 65536);
    put("other.bin", 65540, 65540);
    judged(false, "65536 bytes beside 65540; the first difference is at "
                  "offset 65536");
    put("other.bin", 0, 0);
    judged(false, "65536 bytes beside 0; the first difference is at offset 0");
}

static void what_is_no_file_holds_nothing(void **state)
{
    (void)state;
    judged(false, "own.bin is missing");
    put("own.bin", 3, 3);
    judged(false, "../other.bin is missing");
    assert_int_equal(mkfifo(other, 0600), 0);
    judged(false, "../other.bin is no regular file");
    assert_int_equal(unlink(other), 0);
    assert_int_equal(mkdir(other, 0700), 0);
    judged(false, "../other.bin is no regular file");
}

static void file_is_not_compared_with_itself(void **state)
{
    char *own = io_join(folder, "own.bin");

    (void)state;
    assert_non_null(own);
    put("own.bin", 3, 3);
    assert_int_equal(symlink(own, other), 0);
    judged(false, "../other.bin is the same file: name the one to compare "
                  "with");
    mem_free(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equal_bytes_are_the_same, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            the_first_difference_is_told_with_both_sizes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_longer_file_differs_at_the_end_of_the_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_no_file_holds_nothing, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(file_is_not_compared_with_itself,
                                        set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
