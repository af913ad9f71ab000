#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "nn/base/mem.h"
#include "pipeline/name_index.h"

enum { N = 5000 };

struct names {
    char text[N][16];
    struct name_index index;
};

static int setup(void **state)
{
    struct names *s = mem_zalloc(sizeof *s);
    int i;

    *state = s;
    for (i = 0; s && i < N; i++)
        (void)snprintf(s->text[i], sizeof s->text[i], "v%d", i);
    return s ? 0 : -1;
}

static int teardown(void **state)
{
    struct names *s = *state;

    name_index_free(&s->index);
    mem_free(s);
    return mem_live() == 0 ? 0 : -1;
}

static void add(struct names *s, int from, int to)
{
    for (; from < to; from++)
        assert_true(name_index_add(&s->index, s->text[from]));
}

/* Those below n are at their places, the others are not there. */
static void must_hold(const struct names *s, size_t n)
{
    size_t i;

    assert_int_equal(s->index.n, n);
    for (i = 0; i < N; i++)
        assert_int_equal(name_index_find(&s->index, s->text[i]),
                         i < n ? i : NAME_NONE);
}

static void names_are_found_at_their_places(void **state)
{
    struct names *s = *state;

    must_hold(s, 0);
    add(s, 0, 1);
    must_hold(s, 1);
    add(s, 1, N);
    must_hold(s, N);
    assert_int_equal(name_index_find(&s->index, ""), NAME_NONE);
}

static void cut_names_are_gone_and_can_come_again(void **state)
{
    struct names *s = *state;

    add(s, 0, N);
    name_index_cut(&s->index, N);
    must_hold(s, N);
    name_index_cut(&s->index, 100);
    must_hold(s, 100);
    add(s, 100, 3000);
    must_hold(s, 3000);
    name_index_cut(&s->index, 0);
    must_hold(s, 0);
}

static void every_failed_allocation_leaves_it_as_it_was(void **state)
{
    struct names *s = *state;
    long n;

    for (n = 1; s->index.n < 100; n++) {
        size_t before = s->index.n;

        mem_fail_after(n);
        while (s->index.n < 100 &&
               name_index_add(&s->index, s->text[s->index.n]))
            continue;
        mem_fail_after(0);
        assert_true(s->index.n >= before);
        must_hold(s, s->index.n);
    }
    assert_true(n > 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names_are_found_at_their_places),
        TEST(cut_names_are_gone_and_can_come_again),
        TEST(every_failed_allocation_leaves_it_as_it_was),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
