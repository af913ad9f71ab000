#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "pipeline/scalar.h"

static void whole_numbers_are_read(void **state)
{
    static const struct {
        const char *text;
        int64_t want;
    } good[] = {{"0", 0},
                {"5", 5},
                {"+3", 3},
                {"-7", -7},
                {"-0", 0},
                {"100000", 100000},
                {"9223372036854775807", INT64_MAX},
                {"-9223372036854775808", INT64_MIN}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof good / sizeof *good; i++) {
        int64_t v = 99;

        assert_int_equal(scalar_int(good[i].text, &v), SCALAR_OK);
        assert_true(v == good[i].want);
    }
}

struct fault {
    const char *text;
    enum scalar_fault want;
};

static void what_is_no_whole_number_is_told_why(void **state)
{
    static const struct fault bad[] = {{"", SCALAR_WORD},
                                       {"five", SCALAR_WORD},
                                       {"1:30", SCALAR_WORD},
                                       {"5 ", SCALAR_WORD},
                                       {"--5", SCALAR_WORD},
                                       {"5x", SCALAR_WORD},
                                       {"5.5", SCALAR_WORD},
                                       {"1e", SCALAR_WORD},
                                       {"5.0", SCALAR_WHOLE},
                                       {"1e3", SCALAR_WHOLE},
                                       {"1_000", SCALAR_UNDERSCORE},
                                       {"_1", SCALAR_WORD},
                                       {"0x10", SCALAR_BASE},
                                       {"0o10", SCALAR_BASE},
                                       {"0b1", SCALAR_BASE},
                                       {"010", SCALAR_ZEROS},
                                       {"08", SCALAR_ZEROS},
                                       {"-007", SCALAR_ZEROS},
                                       {".inf", SCALAR_INFINITE},
                                       {"-.INF", SCALAR_INFINITE},
                                       {"nan", SCALAR_INFINITE},
                                       {"9223372036854775808", SCALAR_LARGE},
                                       {"99999999999999999999", SCALAR_LARGE}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        int64_t v;
        enum scalar_fault got = scalar_int(bad[i].text, &v);

        if (got != bad[i].want)
            fail_msg("'%s' gives %d, not %d", bad[i].text, got, bad[i].want);
    }
}

static void a_whole_number_in_disguise_is_known(void **state)
{
    int64_t v = 0;

    (void)state;
    assert_int_equal(scalar_int("1e3", &v), SCALAR_WHOLE);
    assert_int_equal(v, 1000);
}

static void numbers_are_read(void **state)
{
    static const struct {
        const char *text;
        double want;
    } good[] = {{"1e-3", 1e-3}, {"1.e+10", 1e10},  {".5", 0.5}, {"+3", 3},
                {"1E3", 1000},  {"0.1", 0.1},      {"5.", 5},   {"-0.0", -0.0},
                {"0e5", 0},     {"1e-310", 1e-310}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof good / sizeof *good; i++) {
        double v = 99;

        if (scalar_double(good[i].text, &v) != SCALAR_OK)
            fail_msg("'%s' is refused", good[i].text);
        assert_memory_equal(&v, &good[i].want, sizeof v);
    }
}

static void what_is_no_number_is_told_why(void **state)
{
    static const struct fault bad[] = {{"", SCALAR_WORD},
                                       {".", SCALAR_WORD},
                                       {"e5", SCALAR_WORD},
                                       {"1e+", SCALAR_WORD},
                                       {"1.2.3", SCALAR_WORD},
                                       {"0x1p3", SCALAR_BASE},
                                       {"01.5", SCALAR_ZEROS},
                                       {"1_0.5", SCALAR_UNDERSCORE},
                                       {"1e999", SCALAR_LARGE},
                                       {"-1e999", SCALAR_LARGE},
                                       {"1e-999", SCALAR_TINY},
                                       {"inf", SCALAR_INFINITE},
                                       {"infinity", SCALAR_INFINITE}};
    char lengthy[300];
    size_t i;
    double v;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        enum scalar_fault got = scalar_double(bad[i].text, &v);

        if (got != bad[i].want)
            fail_msg("'%s' gives %d, not %d", bad[i].text, got, bad[i].want);
    }
    memset(lengthy, '1', sizeof lengthy);
    lengthy[sizeof lengthy - 1] = '\0';
    assert_int_equal(scalar_double(lengthy, &v), SCALAR_LONG);
}

static void times_and_sizes_take_units(void **state)
{
    double s;
    int64_t b;

    (void)state;
    assert_int_equal(scalar_duration("90", &s), SCALAR_OK);
    assert_true(s == 90);
    assert_int_equal(scalar_duration("1.5m", &s), SCALAR_OK);
    assert_true(s == 90);
    assert_int_equal(scalar_duration("2h", &s), SCALAR_OK);
    assert_true(s == 7200);
    assert_int_equal(scalar_duration("250ms", &s), SCALAR_OK);
    assert_true(s == 0.25);
    assert_int_equal(scalar_duration("2 h", &s), SCALAR_WORD);
    assert_int_equal(scalar_duration("2x", &s), SCALAR_WORD);
    assert_int_equal(scalar_size("4096", &b), SCALAR_OK);
    assert_int_equal(b, 4096);
    assert_int_equal(scalar_size("16KiB", &b), SCALAR_OK);
    assert_int_equal(b, 16384);
    assert_int_equal(scalar_size("4GiB", &b), SCALAR_OK);
    assert_true(b == INT64_C(4) << 30);
    assert_int_equal(scalar_size("12KB", &b), SCALAR_WORD);
    assert_int_equal(scalar_size("9999999999GiB", &b), SCALAR_LARGE);
}

static void numbers_are_written_as_people_do(void **state)
{
    static const struct {
        double v;
        const char *want;
    } row[] = {{100, "100"}, {0.001, "0.001"},
               {-3, "-3"},   {1e-6, "1.0e-06"},
               {0.1, "0.1"}, {4294967295.0, "4294967295"}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof row / sizeof *row; i++) {
        struct str s = {0};

        scalar_add(&s, row[i].v);
        assert_string_equal(s.text, row[i].want);
        str_free(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_numbers_are_read),
        cmocka_unit_test(what_is_no_whole_number_is_told_why),
        cmocka_unit_test(a_whole_number_in_disguise_is_known),
        cmocka_unit_test(numbers_are_read),
        cmocka_unit_test(what_is_no_number_is_told_why),
        cmocka_unit_test(times_and_sizes_take_units),
        cmocka_unit_test(numbers_are_written_as_people_do),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
