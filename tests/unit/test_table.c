#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/number.h"
#include "pipeline/table.h"

static const char *const head[] = {"name", "value"};
static const char *const cells[] = {"a", "1", "caf\xc3\xa9", "1,234,567"};
static const struct pl_table table = {head, "lr", cells, 2, 2};

static void plain_columns_are_aligned(void **state)
{
    struct str out = {0};

    (void)state;
    pl_table_add(&out, &table, false);
    assert_string_equal(out.text, "name      value\n"
                                  "a             1\n"
                                  "caf\xc3\xa9  1,234,567\n");
    str_free(&out);
}

static void markdown_columns_are_aligned_and_say_so(void **state)
{
    struct str out = {0};

    (void)state;
    pl_table_add(&out, &table, true);
    assert_string_equal(out.text, "| name |     value |\n"
                                  "|------|----------:|\n"
                                  "| a    |         1 |\n"
                                  "| caf\xc3\xa9 | 1,234,567 |\n");
    str_free(&out);
}

static const struct {
    double v;
    int decimals;
    bool comma;
    const char *want;
} numbers[] = {
    {0, 0, true, "0"},
    {-0.0, 2, true, "0.00"},
    {-0.004, 2, false, "0.00"},
    {-12.345, 2, false, "-12.35"},
    {999, 0, true, "999"},
    {1000, 0, true, "1,000"},
    {50890, 0, true, "50,890"},
    {1234567.891, 1, true, "1,234,567.9"},
    {1234567, 0, false, "1234567"},
    {198.7890625, 2, true, "198.79"},
    {0.000000001, 9, false, "0.000000001"},
};

static void numbers_are_rounded_and_parted(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct str out = {0};

        pl_add_number(&out, numbers[i].v, numbers[i].decimals,
                      numbers[i].comma);
        assert_string_equal(out.text, numbers[i].want);
        str_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_columns_are_aligned),
        cmocka_unit_test(markdown_columns_are_aligned_and_say_so),
        cmocka_unit_test(numbers_are_rounded_and_parted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
