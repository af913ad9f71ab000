#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/ckpt.h"
#include "tests/unit/ckpt_fixture.h"

static const float w[2] = {1.5f, -2.0f};
static const uint8_t u[3] = {7, 8, 9};
static const int64_t i = -2;
static const struct nn_ckpt_entry small[] = {
    {"w", NN_F32, {2, {2, 1}}, w},
    {"n", NN_U8, {1, {3}}, u},
    {"t", NN_I64, {0, {0}}, &i},
};
static const struct nn_ckpt_meta epoch[] = {{"epoch", "3"}};

/* By hand: length 216, header with five spaces, 8 + 3 + 8 bytes; the CRC is
 * zlib.crc32 of Python over header (crc32 as zeros) and numbers. */
static const char small_bytes[] =
    "\xd8\0\0\0\0\0\0\0"
    "{\"__metadata__\":{\"crc32\":\"d2c6db53\",\"epoch\":\"3\"},"
    "\"w\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]},"
    "\"n\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[8,11]},"
    "\"t\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[11,19]}}     "
    "\x00\x00\xc0\x3f\x00\x00\x00\xc0\x07\x08\x09"
    "\xfe\xff\xff\xff\xff\xff\xff\xff";
enum { SMALL_LEN = sizeof small_bytes - 1 };

static void small_file_has_the_bytes_computed_by_hand(void **state)
{
    struct err err = {0};
    char *text;
    size_t len;

    (void)state;
    assert_int_equal(nn_ckpt_write(path, small, 3, epoch, 1, &err), 0);
    assert_int_equal(io_read_file(&text, &len, path, 1 << 20, &err), 0);
    assert_int_equal(len, SMALL_LEN);
    assert_memory_equal(text, small_bytes, len);
    mem_free(text);
}

static void what_is_written_is_read_back(void **state)
{
    static const double d[2] = {0.1, -1e300};
    static const uint16_t h[3] = {0x3c00, 0x7bff, 1};
    static const int32_t k[2] = {-1, 2147483647};
    static const struct nn_ckpt_entry all[] = {
        {"0.weight", NN_F32, {2, {1, 2}}, w},
        {"f64", NN_F64, {1, {2}}, d},
        {"f16", NN_F16, {1, {3}}, h},
        {"bf16", NN_BF16, {1, {3}}, h},
        {"u8", NN_U8, {1, {3}}, u},
        {"i32", NN_I32, {1, {2}}, k},
        {"i64", NN_I64, {0, {0}}, &i},
        {"none", NN_F32, {2, {0, 4}}, w},
        {"a \"\\\n\xc3\xa9", NN_U8, {6, {1, 1, 1, 1, 1, 1}}, u},
    };
    static const struct nn_ckpt_meta meta[] = {
        {"lr", "0.001"}, {"", ""}, {"text", "tab\t\"quote\" \xe2\x9c\x94"}};
    struct err err = {0};
    struct nn_ckpt *c;
    size_t j;

    (void)state;
    assert_int_equal(nn_ckpt_write(path, all, 9, meta, 3, &err), 0);
    assert_int_equal(nn_ckpt_read(&c, path, &err), 0);
    assert_int_equal(c->n, 9);
    for (j = 0; j < 9; j++) {
        size_t size =
            (size_t)nn_shape_numel(&all[j].shape) * nn_dtype_size(all[j].dtype);

        assert_string_equal(c->entry[j].name, all[j].name);
        assert_int_equal(c->entry[j].dtype, all[j].dtype);
        assert_true(nn_shape_eq(&c->entry[j].shape, &all[j].shape));
        assert_int_equal((uintptr_t)c->entry[j].data % 8, 0);
        assert_memory_equal(c->entry[j].data, all[j].data, size);
    }
    assert_int_equal(c->n_meta, 3);
    for (j = 0; j < 3; j++)
        assert_string_equal(nn_ckpt_meta(c, meta[j].key), meta[j].value);
    assert_null(nn_ckpt_meta(c, "crc32"));
    assert_null(nn_ckpt_find(c, "0.bias"));
    nn_ckpt_free(c);
    nn_ckpt_free(NULL);
}

static void file_without_tensors_is_sound(void **state)
{
    struct err err = {0};

    (void)state;
    assert_int_equal(nn_ckpt_write(path, NULL, 0, NULL, 0, &err), 0);
    assert_int_equal(read_back(&err), 0);
    put_file("{}", "", 0);
    assert_int_equal(read_back(&err), 0);
}

static void every_truncation_is_an_error(void **state)
{
    size_t n;

    (void)state;
    for (n = 0; n < SMALL_LEN; n++) {
        put_bytes(small_bytes, n);
        expect_corrupt("");
    }
}

static void bytes_after_the_end_are_an_error(void **state)
{
    char longer[SMALL_LEN + 1];

    (void)state;
    memcpy(longer, small_bytes, sizeof longer);
    put_bytes(longer, sizeof longer);
    expect_corrupt("");
}

/* Only in the name "crc32" can a flipped bit go by, and harms nothing there:
 * the file is then one of those that have no CRC. */
static void every_flipped_bit_is_caught(void **state)
{
    const char *name = strstr(small_bytes + 8, "crc32");
    size_t at = (size_t)(name - small_bytes), bit;
    char bytes[SMALL_LEN];

    (void)state;
    for (bit = 0; bit < 8 * SMALL_LEN; bit++) {
        if (bit / 8 >= at && bit / 8 < at + 5)
            continue;
        memcpy(bytes, small_bytes, sizeof bytes);
        bytes[bit / 8] = (char)(bytes[bit / 8] ^ 1 << bit % 8);
        put_bytes(bytes, sizeof bytes);
        expect_corrupt("");
    }
}

static void flipped_number_names_the_crc(void **state)
{
    char bytes[SMALL_LEN];

    (void)state;
    memcpy(bytes, small_bytes, sizeof bytes);
    bytes[SMALL_LEN - 1] ^= 1;
    put_bytes(bytes, sizeof bytes);
    expect_corrupt("does not match its crc32 'd2c6db53'");
}

static void crc_that_another_program_kept_is_an_error(void **state)
{
    (void)state;
    put_file("{\"__metadata__\":{\"epoch\":\"3\",\"crc32\":\"d2c6db53\"}}", "",
             0);
    expect_corrupt("kept __metadata__.crc32");
    put_file("{\"__metadata__\":{\"crc32\":\"\"}}", "", 0);
    expect_corrupt("does not match its crc32 ''");
}

#define T(dtype, shape, begin, end) \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #begin \
    "," #end "]}"

static void file_of_another_program_is_read_in_order_of_its_numbers(void **s)
{
    struct err err = {0};
    struct nn_ckpt *c;

    (void)s;
    put_file("{\"b\":" T("U8", "[7]", 1, 8) ",\"a\":" T("U8", "[]", 0, 1) "} ",
             "12345678", 8);
    assert_int_equal(nn_ckpt_read(&c, path, &err), 0);
    assert_int_equal(c->n_meta, 0);
    assert_string_equal(c->entry[0].name, "a");
    assert_memory_equal(c->entry[0].data, "1", 1);
    assert_memory_equal(nn_ckpt_find(c, "b")->data, "2345678", 7);
    assert_int_equal((uintptr_t)c->entry[1].data % 8, 0);
    nn_ckpt_free(c);
}

static void pickle_is_refused_with_the_reason(void **state)
{
    (void)state;
    put_bytes("PK\3\4\0\0\0\0\0\0archive/data.pkl", 26);
    expect_corrupt("loading one runs the code in it");
    put_bytes("\x80\2}q\0.", 6);
    expect_corrupt("pickle");
    put_bytes("\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.", 15);
    expect_corrupt("pickle");
}

/* Its length, 0x280, looks like the beginning of a pickle. */
static void header_of_640_bytes_is_no_pickle(void **state)
{
    struct err err = {0};
    char header[641];

    (void)state;
    memset(header, ' ', 640);
    memcpy(header, "{}", 2);
    header[640] = '\0';
    put_file(header, "", 0);
    assert_int_equal(read_back(&err), 0);
}

static void missing_file_is_an_io_error(void **state)
{
    struct err err = {0};
    struct nn_ckpt *c;

    (void)state;
    assert_int_equal(nn_ckpt_read(&c, "/nonexistent/a", &err), ERR_IO);
    assert_null(c);
    err_clear(&err);
    assert_int_equal(nn_ckpt_write("/nonexistent/a", small, 3, NULL, 0, &err),
                     ERR_IO);
}

static void expect_not_written(const struct nn_ckpt_entry *e, size_t n,
                               const struct nn_ckpt_meta *meta, int code)
{
    struct err err = {0};

    (void)unlink(path);
    assert_int_equal(nn_ckpt_write(path, e, n, meta, meta ? 1 : 0, &err), code);
    assert_non_null(strstr(err.msg, path));
    assert_false(io_exists(path));
}

static void what_cannot_be_read_back_is_not_written(void **state)
{
    const struct nn_ckpt_entry twice[] = {small[0], small[0]};
    const struct nn_ckpt_entry reserved = {"__metadata__", NN_U8, {1, {3}}, u};
    const struct nn_ckpt_entry latin1 = {"\xe9", NN_U8, {1, {3}}, u};
    const struct nn_ckpt_entry negative = {"x", NN_U8, {1, {-3}}, u};
    const struct nn_ckpt_entry huge = {"x", NN_F64, {1, {INT64_MAX}}, u};
    const struct nn_ckpt_meta crc = {"crc32", "0"};

    (void)state;
    expect_not_written(twice, 2, NULL, ERR_CONFIG);
    expect_not_written(&reserved, 1, NULL, ERR_CONFIG);
    expect_not_written(&latin1, 1, NULL, ERR_CONFIG);
    expect_not_written(&negative, 1, NULL, ERR_SHAPE);
    expect_not_written(&huge, 1, NULL, ERR_SHAPE);
    expect_not_written(small, 3, &crc, ERR_CONFIG);
}

static void need_says_what_differs(void **state)
{
    const struct nn_shape right = nn_shape2(2, 1), wrong = nn_shape1(2);
    const struct nn_ckpt_entry *e;
    struct err err = {0};
    struct nn_ckpt *c;

    (void)state;
    put_bytes(small_bytes, SMALL_LEN);
    assert_int_equal(nn_ckpt_read(&c, path, &err), 0);
    assert_int_equal(nn_ckpt_need(c, path, "w", NN_F32, &right, &e, &err), 0);
    assert_memory_equal(e->data, w, sizeof w);
    assert_int_equal(nn_ckpt_need(c, path, "v", NN_F32, &right, &e, &err),
                     ERR_CORRUPT);
    assert_null(e);
    assert_non_null(strstr(err.msg, "has no tensor 'v'"));
    err_clear(&err);
    assert_int_equal(nn_ckpt_need(c, path, "w", NN_F64, &right, &e, &err),
                     ERR_CORRUPT);
    assert_non_null(strstr(err.msg, "is float32 where float64 is due"));
    err_clear(&err);
    assert_int_equal(nn_ckpt_need(c, path, "w", NN_F32, &wrong, &e, &err),
                     ERR_CORRUPT);
    assert_non_null(strstr(err.msg, "the shape (2, 1) where (2"));
    nn_ckpt_free(c);
}

/* jansson reports some allocations that fail as errors of syntax. */
static void expect_sound_or_no_memory(int rc, const struct err *err)
{
    if (rc != 0 && rc != ERR_NOMEM && !strstr(err->msg, "is not sound"))
        fail_msg("%s", err->msg);
}

static void every_failed_allocation_of_the_writer_is_survived(void **state)
{
    long live = mem_live(), n;
    int rc = ERR_NOMEM;

    (void)state;
    for (n = 1; rc != 0; n++) {
        struct err err = {0};

        (void)unlink(path);
        mem_fail_after(n);
        rc = nn_ckpt_write(path, small, 3, epoch, 1, &err);
        mem_fail_after(0);
        expect_sound_or_no_memory(rc, &err);
        assert_int_equal(mem_live(), live);
        /* The last allocation serves the folder's sync, after the rename. */
        if (rc == 0)
            assert_true(io_exists(path));
        assert_true(n < 1000);
    }
    assert_true(n > 5);
}

static void every_failed_allocation_of_the_reader_is_survived(void **state)
{
    int rc = ERR_NOMEM;
    long n;

    (void)state;
    put_bytes(small_bytes, SMALL_LEN);
    for (n = 1; rc != 0; n++) {
        struct err err = {0};

        mem_fail_after(n);
        rc = read_back(&err);
        mem_fail_after(0);
        expect_sound_or_no_memory(rc, &err);
        assert_true(n < 1000);
    }
    assert_true(n > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_file_has_the_bytes_computed_by_hand),
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(file_without_tensors_is_sound),
        cmocka_unit_test(every_truncation_is_an_error),
        cmocka_unit_test(bytes_after_the_end_are_an_error),
        cmocka_unit_test(every_flipped_bit_is_caught),
        cmocka_unit_test(flipped_number_names_the_crc),
        cmocka_unit_test(crc_that_another_program_kept_is_an_error),
        cmocka_unit_test(
            file_of_another_program_is_read_in_order_of_its_numbers),
        cmocka_unit_test(pickle_is_refused_with_the_reason),
        cmocka_unit_test(header_of_640_bytes_is_no_pickle),
        cmocka_unit_test(missing_file_is_an_io_error),
        cmocka_unit_test(what_cannot_be_read_back_is_not_written),
        cmocka_unit_test(need_says_what_differs),
        cmocka_unit_test(every_failed_allocation_of_the_writer_is_survived),
        cmocka_unit_test(every_failed_allocation_of_the_reader_is_survived),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
