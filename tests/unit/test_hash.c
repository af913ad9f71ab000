#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/base/mem.h"
#include "pipeline/hash.h"

/* FIPS 180-4's own examples. */
static const char ABC[] =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
static const char NOTHING[] =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
static const char MILLION_A[] =
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

static void known_sums(void **state)
{
    char hex[65];

    (void)state;
    assert_int_equal(pl_hash_bytes(hex, "abc", 3, NULL), 0);
    assert_string_equal(hex, ABC);
    assert_int_equal(pl_hash_bytes(hex, "", 0, NULL), 0);
    assert_string_equal(hex, NOTHING);
}

static void pieces_of_any_size_give_the_same_sum(void **state)
{
    char a[1000], hex[65];
    struct pl_hash *h;
    size_t left = 1000000, n = 1;

    (void)state;
    memset(a, 'a', sizeof a);
    assert_int_equal(pl_hash_new(&h, NULL), 0);
    while (left) {
        n = n * 7 % 1000 + 1;
        if (n > left)
            n = left;
        pl_hash_add(h, a, n);
        left -= n;
    }
    pl_hash_end(h, hex);
    assert_string_equal(hex, MILLION_A);
    assert_int_equal(mem_live(), 0);
}

static void a_file_has_the_sum_and_size_of_its_bytes(void **state)
{
    char path[] = "/tmp/test_hash_XXXXXX", hex[65];
    uint64_t bytes = 0;
    int fd = mkstemp(path), i;

    (void)state;
    for (i = 0; i < 100000; i++)
        assert_int_equal(write(fd, "aaaaaaaaaa", 10), 10);
    close(fd);
    assert_int_equal(pl_hash_file(hex, &bytes, path, NULL), 0);
    assert_string_equal(hex, MILLION_A);
    assert_int_equal(bytes, 1000000);
    unlink(path);
}

static void a_missing_file_and_a_folder_are_errors(void **state)
{
    struct err err = {0};
    char hex[65];

    (void)state;
    assert_int_equal(pl_hash_file(hex, NULL, "/nonexistent/x", &err), ERR_IO);
    assert_string_equal(
        err.msg, "cannot open '/nonexistent/x': No such file or directory");
    assert_string_equal(hex, "");
    err_clear(&err);
    assert_int_equal(pl_hash_file(hex, NULL, "/tmp", &err), ERR_IO);
    assert_string_equal(err.msg, "'/tmp' is not a regular file");
}

static void giving_up_and_no_memory_leak_nothing(void **state)
{
    struct pl_hash *h;
    struct err err = {0};
    char hex[65];
    long n;

    (void)state;
    assert_int_equal(pl_hash_new(&h, NULL), 0);
    pl_hash_free(h);
    pl_hash_free(NULL);
    for (n = 1; n <= 2; n++) {
        mem_fail_after(n);
        err_clear(&err);
        assert_int_equal(pl_hash_file(hex, NULL, "Makefile", &err), ERR_NOMEM);
        mem_fail_after(0);
        assert_int_equal(mem_live(), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_sums),
        cmocka_unit_test(pieces_of_any_size_give_the_same_sum),
        cmocka_unit_test(a_file_has_the_sum_and_size_of_its_bytes),
        cmocka_unit_test(a_missing_file_and_a_folder_are_errors),
        cmocka_unit_test(giving_up_and_no_memory_leak_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
