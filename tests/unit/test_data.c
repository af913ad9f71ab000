#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "nn/base/mem.h"
#include "nn/base/rng.h"
#include "nn/data.h"

static struct nn_data *blobs(int64_t n)
{
    const struct nn_synthetic_opts opts = {
        .kind = NN_SYN_BLOBS, .n = n, .classes = 3, .features = 2, .noise = 1};
    struct nn_data *d;

    assert_int_equal(nn_data_new_synthetic(&d, &opts, NULL), 0);
    return d;
}

static void split(struct nn_data **train, struct nn_data **validation,
                  const struct nn_data *base, int64_t n, uint64_t seed)
{
    struct err err = {0};

    if (nn_data_split(train, validation, base, n, seed, &err) != 0)
        fail_msg("%s", err.msg);
}

static void parts_are_the_ends_of_one_permutation(void **state)
{
    struct nn_data *base = blobs(60), *train, *validation;
    struct rng_mt g;
    int64_t order[60], i;

    (void)state;
    rng_mt_seed(&g, 7);
    rng_mt_permutation(&g, order, 60);
    split(&train, &validation, base, 20, 7);
    assert_int_equal(train->n, 40);
    assert_int_equal(validation->n, 20);
    for (i = 0; i < 40; i++)
        assert_int_equal(nn_data_row(train, i), order[i]);
    for (i = 0; i < 20; i++)
        assert_int_equal(nn_data_row(validation, i), order[40 + i]);
    assert_ptr_equal(train->x, base->x);
    assert_ptr_equal(validation->label, base->label);
    assert_int_equal(train->classes, 3);
    nn_data_free(train);
    nn_data_free(validation);
    nn_data_free(base);
}

static void a_part_can_be_split_again(void **state)
{
    struct nn_data *base = blobs(30), *a, *b, *c, *d;
    bool seen[30] = {false};
    int64_t i;

    (void)state;
    split(&a, &b, base, 10, 0);
    split(&c, &d, a, 5, 1);
    for (i = 0; i < b->n; i++)
        seen[nn_data_row(b, i)] = true;
    for (i = 0; i < c->n; i++) {
        assert_false(seen[nn_data_row(c, i)]);
        seen[nn_data_row(c, i)] = true;
    }
    for (i = 0; i < d->n; i++) {
        assert_false(seen[nn_data_row(d, i)]);
        seen[nn_data_row(d, i)] = true;
    }
    for (i = 0; i < 30; i++)
        assert_true(seen[i]);
    nn_data_free(a); /* c and d keep rows of their own */
    nn_data_free(b);
    assert_in_range(nn_data_row(c, 0), 0, 29);
    nn_data_free(c);
    nn_data_free(d);
    nn_data_free(base);
}

static void an_empty_part_is_an_error(void **state)
{
    static const int64_t bad[] = {0, 10, 11, -1, INT64_MIN, INT64_MAX};
    struct nn_data *base = blobs(10), *a, *b;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err err = {0};

        assert_int_equal(nn_data_split(&a, &b, base, bad[i], 0, &err),
                         ERR_CONFIG);
        assert_null(a);
        assert_null(b);
        if (bad[i] == 10)
            assert_string_equal(err.msg,
                                "a validation split of 10 samples does not "
                                "leave both parts some of the 10 there are");
    }
    nn_data_free(base);
}

static void every_failed_allocation_is_survived(void **state)
{
    struct nn_data *base = blobs(10), *a, *b;
    long live = mem_live(), n;
    int rc = ERR_NOMEM;

    (void)state;
    for (n = 1; rc != 0; n++) {
        mem_fail_after(n);
        rc = nn_data_split(&a, &b, base, 3, 0, NULL);
        mem_fail_after(0);
        if (rc != 0) {
            assert_int_equal(rc, ERR_NOMEM);
            assert_null(a);
            assert_null(b);
            assert_int_equal(mem_live(), live);
        }
    }
    assert_int_equal(n, 7); /* five allocations failed, then success */
    nn_data_free(a);
    nn_data_free(b);
    nn_data_free(NULL);
    assert_int_equal(mem_live(), live);
    nn_data_free(base);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_the_ends_of_one_permutation),
        cmocka_unit_test(a_part_can_be_split_again),
        cmocka_unit_test(an_empty_part_is_an_error),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
