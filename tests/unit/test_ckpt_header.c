/* Checkpoint headers that lie. */
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

#define T(dtype, shape, begin, end) \
    "{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #begin \
    "," #end "]}"

/* A header for eight bytes of numbers, and what is said of it. */
static const struct {
    const char *header, *what;
} bad_headers[] = {
    {"[]", "does not begin with '{'"},
    {" {}", "does not begin with '{'"},
    {"{", "the header is not sound"},
    {"{}x", "the header is not sound"},
    {"{\"a\":NaN}", "the header is not sound"},
    {"{\"a\":\"\xff\"}", "the header is not sound"},
    {"{\"a\\u0000b\":1}", "the header is not sound"},
    {"{}", "has 8 bytes of numbers, but its header describes 0"},
    {"{\"__metadata__\":[]}", "__metadata__ is not an object"},
    {"{\"__metadata__\":{\"epoch\":3}}", "__metadata__ 'epoch' is not a text"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", "duplicate"},
    {"{\"a\":" T("U8", "[4]", 0, 4) ",\"a\":" T("U8", "[4]", 4, 8) "}",
     "duplicate"},
    {"{\"a\":3}", "tensor 'a' is not described by"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[8]}}", "is not described by"},
    {"{\"a\":{\"dtype\":1,\"shape\":[8],\"data_offsets\":[0,8]}}",
     "is not described by"},
    {"{\"a\":{\"dtype\":\"U8\",\"shape\":[8],\"offsets\":[0,8]}}",
     "tensor 'a' has no 'data_offsets'"},
    {"{\"a\":" T("F8", "[8]", 0, 8) "}", "tensor 'a' has dtype 'F8'"},
    {"{\"a\":" T("U8", "8", 0, 8) "}", "tensor 'a' has no array 'shape'"},
    {"{\"a\":" T("U8", "[8.0]", 0, 8) "}", "is not a whole number"},
    {"{\"a\":" T("U8", "[-8]", 0, 8) "}", "is not a whole number"},
    {"{\"a\":" T("U8", "[\"8\"]", 0, 8) "}", "is not a whole number"},
    {"{\"a\":" T("U8", "[8,1,1,1,1,1,1]", 0, 8) "}", "has 7 dimensions"},
    {"{\"a\":" T("U8", "[9223372036854775808]", 0, 8) "}", "not sound"},
    {"{\"a\":" T("I64", "[4611686018427387904]", 0, 8) "}",
     "more bytes than can be counted"},
    {"{\"a\":" T("U8", "[4294967296,4294967296]", 0, 0) "}",
     "more bytes than can be counted"},
    {"{\"a\":" T("F32", "[8]", 0, 8) "}",
     "tensor 'a' needs 32 bytes by its shape, but its offsets 0 to 8 hold 8"},
    {"{\"a\":" T("U8", "[8]", 8, 0) "}", "tensor 'a' has no 'data_offsets'"},
    {"{\"a\":" T("U8", "[9]", -1, 8) "}", "tensor 'a' has no 'data_offsets'"},
    {"{\"a\":" T("U8", "[8]", 0.0, 8) "}", "tensor 'a' has no 'data_offsets'"},
    {"{\"a\":" T("U8", "[16]", 0, 16) "}", "but its header describes 16"},
    {"{\"a\":" T("U8", "[7]", 1, 8) "}",
     "tensor 'a' begins at offset 1 of the numbers, but the one before it ends "
     "at 0"},
    {"{\"a\":" T("U8", "[4]", 0, 4) ",\"b\":" T("U8", "[3]", 5, 8) "}",
     "tensor 'b' begins at offset 5"},
    {"{\"a\":" T("U8", "[5]", 0, 5) ",\"b\":" T("U8", "[4]", 4, 8) "}",
     "tensor 'b' begins at offset 4"},
};

static void bad_header_is_an_error(void **state)
{
    size_t j;

    (void)state;
    for (j = 0; j < sizeof bad_headers / sizeof *bad_headers; j++) {
        put_file(bad_headers[j].header, "12345678", 8);
        expect_corrupt(bad_headers[j].what);
    }
}

static void error_in_the_header_names_its_offset(void **state)
{
    (void)state;
    put_file("{\"a\":NaN}", "", 0);
    expect_corrupt("at offset 16: the header is not sound: invalid token");
}

static void header_length_beyond_the_file_is_an_error(void **state)
{
    unsigned char bytes[16] = {9,   0,   0,   0,   0,   0,   0,   0,
                               '{', '}', ' ', ' ', ' ', ' ', ' ', ' '};

    (void)state;
    put_bytes(bytes, sizeof bytes);
    expect_corrupt("length 9 does not fit a file of 16 bytes");
    memset(bytes, 0xff, 8);
    put_bytes(bytes, sizeof bytes);
    expect_corrupt("length of 18446744073709551615, more than 100000000");
    memset(bytes, 0, 8);
    put_bytes(bytes, sizeof bytes);
    expect_corrupt("at offset 8");
}

static void deep_nesting_is_an_error(void **state)
{
    enum { DEPTH = 100000 };
    unsigned char *bytes = mem_zalloc(8 + DEPTH);

    (void)state;
    assert_non_null(bytes);
    bytes[0] = DEPTH & 255;
    bytes[1] = DEPTH >> 8 & 255;
    bytes[2] = DEPTH >> 16;
    memset(bytes + 8, '[', DEPTH);
    memcpy(bytes + 8, "{\"a\":", 5);
    put_bytes(bytes, 8 + DEPTH);
    mem_free(bytes);
    expect_corrupt("the header is not sound");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_header_is_an_error),
        cmocka_unit_test(error_in_the_header_names_its_offset),
        cmocka_unit_test(header_length_beyond_the_file_is_an_error),
        cmocka_unit_test(deep_nesting_is_an_error),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
