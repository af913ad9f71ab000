#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/base/str.h"
#include "pipeline/gunzip.h"

enum { TEXT_MAX = 300000, PACKED_MAX = 400000 };

static char dir[] = "/tmp/test_gunzip_XXXXXX";
static char path[64]; /* the file under test */
static char text[TEXT_MAX];
static unsigned char packed[PACKED_MAX];

struct sink {
    struct str got;
    int rc; /* returned by every write */
};

static int take(void *user, const void *data, size_t len, struct err *err)
{
    struct sink *s = user;

    str_addn(&s->got, data, len);
    return s->rc ? err_set(err, s->rc, "the sink is full") : 0;
}

/* Numbers as text: compressible, but not to nothing. */
static void fill_text(void)
{
    uint32_t x = 1;
    size_t i;

    for (i = 0; i < sizeof text; i++) {
        x = x * 1664525 + 1013904223;
        text[i] = (char)('0' + (x >> 24) % 10);
    }
}

/* Appends text[from, to) as a member to packed[at...]; returns its end. extra
 * bytes in its header make it longer by just as many. */
static size_t add_long_member(size_t at, size_t from, size_t to, size_t extra)
{
    z_stream z = {0};
    gz_header head = {.extra = (unsigned char *)text, .extra_len = (uInt)extra};

    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, 0), Z_OK);
    if (extra)
        assert_int_equal(deflateSetHeader(&z, &head), Z_OK);
    z.next_in = (unsigned char *)text + from;
    z.avail_in = (uInt)(to - from);
    z.next_out = packed + at;
    z.avail_out = (uInt)(sizeof packed - at);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    at += z.total_out;
    deflateEnd(&z);
    return at;
}

static size_t add_member(size_t at, size_t from, size_t to)
{
    return add_long_member(at, from, to, 0);
}

/* Writes the first n packed bytes to the file and unpacks it. */
static int unpack(size_t n, uint64_t max, struct sink *s, struct err *err)
{
    struct pl_gunzip g = {
        .path = path, .name = "x.gz", .max = max, .write = take, .user = s};
    uint64_t bytes = 0;
    FILE *f;
    int rc;

    (void)unlink(path); /* a file cut to nothing is written out on closing */
    f = fopen(path, "wb");
    assert_int_equal(fwrite(packed, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    memset(err, 0, sizeof *err);
    str_clear(&s->got);
    rc = pl_gunzip(&g, &bytes, err);
    if (rc == 0)
        assert_int_equal(bytes, s->got.len);
    return rc;
}

static void expect_error(size_t n, const char *msg)
{
    struct sink s = {0};
    struct err err;

    assert_int_equal(unpack(n, UINT64_MAX, &s, &err), ERR_CORRUPT);
    assert_string_equal(err.msg, msg);
    str_free(&s.got);
    assert_int_equal(mem_live(), 0);
}

static void put(const char *bytes, size_t n)
{
    memcpy(packed, bytes, n);
}

static void one_member_unpacks(void **state)
{
    struct sink s = {0};
    struct err err;

    (void)state;
    assert_int_equal(unpack(add_member(0, 0, TEXT_MAX), TEXT_MAX, &s, &err), 0);
    assert_int_equal(s.got.len, TEXT_MAX);
    assert_memory_equal(s.got.text, text, TEXT_MAX);
    str_free(&s.got);
    assert_int_equal(mem_live(), 0);
}

static void empty_contents_unpack(void **state)
{
    struct sink s = {0};
    struct err err;

    (void)state;
    assert_int_equal(unpack(add_member(0, 0, 0), 0, &s, &err), 0);
    assert_int_equal(s.got.len, 0);
    str_free(&s.got);
}

static void members_split_at_every_byte_join(void **state)
{
    struct sink s = {0};
    struct err err;
    size_t i;

    (void)state;
    for (i = 0; i <= 300; i++) {
        size_t n = add_member(add_member(0, 0, i), i, 300);

        assert_int_equal(unpack(n, 300, &s, &err), 0);
        assert_int_equal(s.got.len, 300);
        assert_memory_equal(s.got.text, text, 300);
    }
    str_free(&s.got);
}

/* A member that ends where a read ends: 65536 bytes into the file. */
static void members_that_end_at_a_buffer_s_end_join(void **state)
{
    struct sink s = {0};
    struct err err;
    size_t natural = add_long_member(0, 0, 131000, 1) - 1, n, end;
    int near;

    (void)state;
    assert_true(natural > 1000 && natural < 65500);
    for (near = -3; near <= 3; near++) {
        end = (size_t)(65536 + near);
        assert_int_equal(add_long_member(0, 0, 131000, end - natural), end);
        n = add_member(end, 131000, 132000);
        assert_int_equal(unpack(n, TEXT_MAX, &s, &err), 0);
        assert_int_equal(s.got.len, 132000);
        assert_memory_equal(s.got.text, text, 132000);
    }
    str_free(&s.got);
}

static void a_truncation_anywhere_is_an_error(void **state)
{
    size_t n = add_member(add_member(0, 0, 40), 40, 100), first, i;
    struct sink s = {0};
    struct err err;

    (void)state;
    first = add_member(0, 0, 40);
    for (i = 1; i < n; i++) {
        if (i == first) /* a file of one member */
            continue;
        assert_int_equal(unpack(i, UINT64_MAX, &s, &err), ERR_CORRUPT);
        assert_non_null(strstr(err.msg, "'x.gz' is cut short: it ends at"));
    }
    str_free(&s.got);
}

static void a_truncation_says_where(void **state)
{
    size_t first = add_member(0, 0, 40);
    char msg[200];

    (void)state;
    (void)add_member(first, 40, 100);
    (void)snprintf(msg, sizeof msg,
                   "'x.gz' is cut short: it ends at offset %zu inside the "
                   "gzip member that begins at offset %zu",
                   first + 5, first);
    expect_error(first + 5, msg);
}

static void bytes_behind_the_last_member_are_an_error(void **state)
{
    static const char *const tails[] = {"g", "garbage", "\0\0\0\0", "\x1fx"};
    static const size_t len[] = {1, 7, 4, 2};
    size_t n = add_member(0, 0, 1000), i;
    char msg[200];

    (void)state;
    (void)snprintf(msg, sizeof msg,
                   "'x.gz' has bytes at offset %zu, behind its last gzip "
                   "member, that belong to no member",
                   n);
    for (i = 0; i < 4; i++) {
        memcpy(packed + n, tails[i], len[i]);
        expect_error(n + len[i], msg);
    }
}

static void a_wrong_crc_or_length_is_an_error(void **state)
{
    size_t n = add_member(0, 0, 1000);
    char msg[100];

    (void)state;
    packed[n - 8] ^= 1;
    (void)snprintf(msg, sizeof msg,
                   "'x.gz' is damaged near offset %zu: incorrect data check",
                   n - 4);
    expect_error(n, msg);
    packed[n - 8] ^= 1;
    packed[n - 1] ^= 1;
    (void)snprintf(msg, sizeof msg,
                   "'x.gz' is damaged near offset %zu: incorrect length check",
                   n);
    expect_error(n, msg);
}

/* Some bits mean nothing: the time, the OS, what fills the last byte. */
static void a_flipped_bit_never_gives_other_contents(void **state)
{
    size_t n = add_member(0, 0, 200), i;
    struct sink s = {0};
    struct err err;
    int bit;

    (void)state;
    for (i = 0; i < n; i++)
        for (bit = 0; bit < 8; bit++) {
            packed[i] ^= (unsigned char)(1 << bit);
            if (unpack(n, 1000, &s, &err) == 0) {
                assert_int_equal(s.got.len, 200);
                assert_memory_equal(s.got.text, text, 200);
            }
            packed[i] ^= (unsigned char)(1 << bit);
        }
    str_free(&s.got);
}

static void what_is_not_gzip_is_called_what_it_is(void **state)
{
    (void)state;
    expect_error(0, "'x.gz' is empty, not a gzip file");
    put("\n <!DOCTYPE HTML><html>404</html>", 33);
    expect_error(33, "'x.gz' looks like an HTML page, not a gzip file");
    put("\xef\xbb\xbf<html>", 9);
    expect_error(9, "'x.gz' looks like an HTML page, not a gzip file");
    put("PK\3\4", 4);
    expect_error(4, "'x.gz' is not a gzip file: it starts with the bytes "
                    "50 4b, not 1f 8b");
    put("\x1f\x8b\x08\0\0", 5);
    expect_error(5, "'x.gz' is cut short: it ends at offset 5 inside the gzip "
                    "member that begins at offset 0");
    put("\x1f\x8b\x09\0\0\0\0\0\0\0\0", 11);
    expect_error(11, "'x.gz' is damaged near offset 4: unknown compression "
                     "method");
}

static void a_bomb_stops_at_the_cap(void **state)
{
    struct sink s = {0};
    struct err err;
    size_t n;

    (void)state;
    memset(text, 0, sizeof text);
    n = add_member(0, 0, TEXT_MAX);
    assert_true(n < 1000);
    assert_int_equal(unpack(n, TEXT_MAX - 1, &s, &err), ERR_CORRUPT);
    assert_non_null(
        strstr(err.msg, "'x.gz' unpacks to more than 299999 bytes"));
    assert_true(s.got.len < TEXT_MAX);
    assert_int_equal(unpack(n, TEXT_MAX, &s, &err), 0);
    str_free(&s.got);
    fill_text();
}

static void the_sink_s_error_is_passed_on(void **state)
{
    struct sink s = {.rc = ERR_INTERRUPTED};
    struct err err;

    (void)state;
    assert_int_equal(unpack(add_member(0, 0, 10), 10, &s, &err),
                     ERR_INTERRUPTED);
    assert_string_equal(err.msg, "the sink is full");
    str_free(&s.got);
}

static void a_missing_file_is_an_error(void **state)
{
    struct pl_gunzip g = {.path = "/nonexistent/x.gz", .write = take};
    struct err err = {0};
    uint64_t bytes;

    (void)state;
    assert_int_equal(pl_gunzip(&g, &bytes, &err), ERR_IO);
    assert_string_equal(
        err.msg, "cannot open '/nonexistent/x.gz': No such file or directory");
}

static void every_failed_allocation_is_out_of_memory(void **state)
{
    size_t n = add_member(0, 0, 1000);
    struct sink s = {0};
    struct err err;
    int rc = ERR_NOMEM;
    long i;

    (void)state;
    str_add(&s.got, ""); /* the sink's own memory is not meant */
    str_addn(&s.got, text, 2000);
    for (i = 1; rc != 0; i++) {
        mem_fail_after(i);
        rc = unpack(n, 1000, &s, &err);
        mem_fail_after(0);
        assert_true(rc == 0 || rc == ERR_NOMEM);
        assert_int_equal(mem_live(), 1);
    }
    assert_true(i > 3);
    str_free(&s.got);
}

static int set_up(void **state)
{
    (void)state;
    fill_text();
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(path, sizeof path, "%s/x", dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_member_unpacks),
        cmocka_unit_test(empty_contents_unpack),
        cmocka_unit_test(members_split_at_every_byte_join),
        cmocka_unit_test(members_that_end_at_a_buffer_s_end_join),
        cmocka_unit_test(a_truncation_anywhere_is_an_error),
        cmocka_unit_test(a_truncation_says_where),
        cmocka_unit_test(bytes_behind_the_last_member_are_an_error),
        cmocka_unit_test(a_wrong_crc_or_length_is_an_error),
        cmocka_unit_test(a_flipped_bit_never_gives_other_contents),
        cmocka_unit_test(what_is_not_gzip_is_called_what_it_is),
        cmocka_unit_test(a_bomb_stops_at_the_cap),
        cmocka_unit_test(the_sink_s_error_is_passed_on),
        cmocka_unit_test(a_missing_file_is_an_error),
        cmocka_unit_test(every_failed_allocation_is_out_of_memory),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
