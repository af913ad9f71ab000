#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/chart.h"
#include "tests/unit/svg_fixture.h"

static char *draw_matrix(const struct pl_matrix *m)
{
    struct err err = {0};
    struct str out = {0};

    assert_int_equal(pl_matrix_svg(&out, m, &err), 0);
    expect_well_formed(out.text);
    return out.text;
}

static void matrix_shows_counts_and_accuracies(void **state)
{
    static const int64_t n[] = {98, 2, 0, 30, 70, 0, 0, 0, 0};
    static const char *const labels[] = {"cat", "dog & co", "none"};
    const struct pl_matrix m = {"Confusion", labels, n, 3};
    char *svg = draw_matrix(&m);

    (void)state;
    assert_non_null(strstr(svg, "class=\"dark\">98</text>"));
    assert_non_null(strstr(svg, "text-anchor=\"middle\">30</text>"));
    assert_int_equal(count(svg, "class=\"faint\">0</text>"), 5);
    assert_int_equal(count(svg, ">dog &amp; co</text>"), 2);
    assert_non_null(strstr(svg, ">98.0 %</text>"));
    assert_non_null(strstr(svg, ">70.0 %</text>"));
    assert_non_null(strstr(svg, ">\xe2\x80\x93</text>")); /* no sample */
    assert_non_null(strstr(svg, ">168 of 200 right: 84.0 %</text>"));
    mem_free(svg);
}

static void matrix_of_many_classes_has_no_counts(void **state)
{
    int64_t *n = mem_array(50 * 50, sizeof *n);
    const struct pl_matrix m = {"Many", NULL, n, 50};
    char *svg;
    size_t i;

    (void)state;
    for (i = 0; i < 50; i++)
        n[i * 50 + i] = 1234567;
    svg = draw_matrix(&m);
    assert_null(strstr(svg, ">1234567<"));
    assert_int_equal(count(svg, ">48</text>"), 2);
    mem_free(svg);
    mem_free(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matrix_shows_counts_and_accuracies),
        cmocka_unit_test(matrix_of_many_classes_has_no_counts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
