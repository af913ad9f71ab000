#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/num.h"
#include "nn/base/rng.h"

static void numbers_are_read_to_the_nearest_double(void **state)
{
    static const char *const texts[] = {
        "0",
        "-0",
        "+1",
        "1.",
        ".5",
        "-1.5e3",
        "1E-5",
        "007",
        "1e22",
        "9007199254740993",
        "123456789012345678901234567890",
        "1e-23",
        "0.1",
        "4.9e-324",
        "1.7976931348623157e308",
        "1e-400",
        "0e999999999999",
        "0.49625658988952637",
        "2.2250738585072011e-308",
        "1e23",
        "0.000000000000000000000000000000000000000000000000001e51"};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof texts / sizeof *texts; i++) {
        double want = strtod(texts[i], NULL), got = 77;

        assert_true(num_parse(&got, texts[i], strlen(texts[i])));
        assert_memory_equal(&got, &want, sizeof got);
    }
}

static void random_numbers_agree_with_strtod(void **state)
{
    struct rng_mt g;
    int i;

    (void)state;
    rng_mt_seed(&g, 0);
    for (i = 0; i < 200000; i++) {
        double got = 77, want;
        char text[64];
        int n = snprintf(
            text, sizeof text, "%.*g", 1 + i % 19,
            ldexp((double)rng_mt_u64(&g), (int)(rng_mt_u32(&g) % 200) - 100));

        want = strtod(text, NULL);
        assert_true(num_parse(&got, text, (size_t)n));
        assert_memory_equal(&got, &want, sizeof got);
    }
}

static void what_is_no_decimal_number_is_refused(void **state)
{
    static const char *const texts[] = {
        "",      ".",   "+",   "-.",  "e5",    "1e",     "1e+",
        "1e5.0", "1 ",  " 1",  "1,5", "0x10",  "nan",    "inf",
        "1.2.3", "--1", "1_0", "1f",  "1e999", "-1e400", "1e2147483648"};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof texts / sizeof *texts; i++) {
        double v = 77;

        assert_false(num_parse(&v, texts[i], strlen(texts[i])));
        assert_true(v == 77);
    }
}

static void a_text_of_more_than_127_characters_is_refused(void **state)
{
    char text[129];
    double v = 77;

    (void)state;
    memset(text, '0', sizeof text);
    text[126] = '5';
    assert_true(num_parse(&v, text, 127));
    assert_true(v == 5);
    assert_false(num_parse(&v, text, 128));
}

static void only_len_bytes_are_looked_at(void **state)
{
    double v = 77;

    (void)state;
    assert_true(num_parse(&v, "12345", 2));
    assert_true(v == 12);
}

static void the_locale_does_not_matter(void **state)
{
    static const char *const comma[] = {"de_DE.UTF-8", "fr_FR.UTF-8",
                                        "ru_RU.UTF-8"};
    double v = 77;
    size_t i;

    (void)state;
    for (i = 0; i < 3 && !setlocale(LC_NUMERIC, comma[i]); i++)
        continue;
    assert_true(num_parse(&v, "0.49625658988952637", 19));
    (void)setlocale(LC_NUMERIC, "C");
    assert_true(v == 0.49625658988952637);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_are_read_to_the_nearest_double),
        cmocka_unit_test(random_numbers_agree_with_strtod),
        cmocka_unit_test(what_is_no_decimal_number_is_refused),
        cmocka_unit_test(a_text_of_more_than_127_characters_is_refused),
        cmocka_unit_test(only_len_bytes_are_looked_at),
        cmocka_unit_test(the_locale_does_not_matter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
