#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nn/base/mem.h"
#include "nn/data.h"

static struct nn_data *make(const struct nn_synthetic_opts *opts)
{
    struct nn_data *d;
    struct err err = {0};

    if (nn_data_new_synthetic(&d, opts, &err) != 0)
        fail_msg("%s", err.msg);
    return d;
}

static void blobs_lie_around_a_circle_of_radius_4(void **state)
{
    const struct nn_synthetic_opts opts = {.kind = NN_SYN_BLOBS,
                                           .n = 3000,
                                           .classes = 3,
                                           .features = 4,
                                           .noise = 0.5,
                                           .seed = 1};
    struct nn_data *d = make(&opts);
    const float *x = d->x;
    double sum[3][4] = {{0}}, square = 0;
    int64_t i, j;

    (void)state;
    assert_int_equal(d->n, 3000);
    assert_int_equal(d->sample.ndim, 1);
    assert_int_equal(d->sample.dim[0], 4);
    assert_int_equal(d->classes, 3);
    for (i = 0; i < d->n; i++) {
        assert_int_equal(d->label[i], i % 3);
        for (j = 0; j < 4; j++)
            sum[i % 3][j] += (double)x[i * 4 + j] / 1000;
        square += (double)x[i * 4 + 3] * (double)x[i * 4 + 3] / 3000;
    }
    for (i = 0; i < 3; i++) {
        double a = 2 * acos(-1) * (double)i / 3;

        assert_true(fabs(sum[i][0] - 4 * cos(a)) < 0.06);
        assert_true(fabs(sum[i][1] - 4 * sin(a)) < 0.06);
        assert_true(fabs(sum[i][2]) < 0.06 && fabs(sum[i][3]) < 0.06);
    }
    assert_true(fabs(sqrt(square) - 0.5) < 0.02);
    nn_data_free(d);
}

static void moons_without_noise_are_two_half_circles(void **state)
{
    const struct nn_synthetic_opts opts = {
        .kind = NN_SYN_MOONS, .n = 7, .classes = 2, .features = 2};
    struct nn_data *d = make(&opts);
    const float *x = d->x;
    const double pi = acos(-1);
    int64_t i;

    (void)state;
    for (i = 0; i < 7; i++) { /* 4 samples of label 0, 3 of label 1 */
        int64_t step = i / 2;
        double t = pi * (double)step / (i % 2 ? 2 : 3);
        double a = i % 2 ? 1 - cos(t) : cos(t);
        double b = i % 2 ? 0.5 - sin(t) : sin(t);

        assert_int_equal(d->label[i], i % 2);
        assert_true(fabs((double)x[2 * i] - a) < 1e-6);
        assert_true(fabs((double)x[2 * i + 1] - b) < 1e-6);
    }
    nn_data_free(d);
}

/* FNV-1a of the features; taken once from this program. Other bits on another
 * machine or compiler would break the promise of equal data everywhere. */
static uint64_t hash_of(const struct nn_data *d)
{
    const unsigned char *p = d->x;
    size_t n = (size_t)(d->n * d->sample.dim[0]) * sizeof(float), i;
    uint64_t hash = 14695981039346656037ull;

    for (i = 0; i < n; i++)
        hash = (hash ^ p[i]) * 1099511628211ull;
    return hash;
}

static void the_bits_are_the_same_everywhere(void **state)
{
    struct nn_synthetic_opts opts = {.kind = NN_SYN_BLOBS,
                                     .n = 1001,
                                     .classes = 5,
                                     .features = 3,
                                     .noise = 0.7,
                                     .seed = 42};
    struct nn_data *d = make(&opts);

    (void)state;
    assert_true(hash_of(d) == 0x2607c6a075b96dd9ull);
    nn_data_free(d);
    opts = (struct nn_synthetic_opts){.kind = NN_SYN_MOONS,
                                      .n = 500,
                                      .classes = 2,
                                      .features = 2,
                                      .noise = 0.1,
                                      .seed = 3};
    d = make(&opts);
    assert_true(hash_of(d) == 0x83e6a5345986fd64ull);
    nn_data_free(d);
}

static void another_seed_gives_other_numbers(void **state)
{
    struct nn_synthetic_opts opts = {
        .kind = NN_SYN_MOONS, .n = 5, .classes = 2, .features = 2, .noise = 1};
    struct nn_data *a = make(&opts), *b = make(&opts), *c;

    (void)state;
    opts.seed = 1;
    c = make(&opts);
    assert_true(hash_of(a) == hash_of(b));
    assert_true(hash_of(a) != hash_of(c));
    nn_data_free(a);
    nn_data_free(b);
    nn_data_free(c);
}

static void bad_options_are_errors(void **state)
{
    static const struct {
        struct nn_synthetic_opts opts;
        const char *msg;
    } bad[] = {
        {{(enum nn_synthetic)7, 10, 2, 2, 0, 0},
         "7 is no kind of synthetic data"},
        {{NN_SYN_MOONS, 10, 3, 2, 0, 0}, "two moons have 2 classes, not 3"},
        {{NN_SYN_MOONS, 10, 2, 3, 0, 0}, "two moons have 2 features, not 3"},
        {{NN_SYN_BLOBS, 10, 1, 2, 0, 0}, "blobs need 2 classes or more, not 1"},
        {{NN_SYN_BLOBS, 10, 2, 1, 0, 0},
         "blobs need 2 features or more, not 1"},
        {{NN_SYN_BLOBS, 2, 3, 2, 0, 0},
         "2 samples do not give each of 3 classes one"},
        {{NN_SYN_BLOBS, INT64_MAX / 4, 3, 4, 0, 0},
         "2305843009213693951 samples of 4 features are more than memory can "
         "hold"},
        {{NN_SYN_BLOBS, 10, 3, 2, -1, 0},
         "noise must be from 0 to 1e+06, not "
         "-1"},
        {{NN_SYN_BLOBS, 10, 3, 2, INFINITY, 0},
         "noise must be from 0 to 1e+06, not inf"},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct nn_data *d = (struct nn_data *)&d;
        struct err err = {0};

        assert_int_equal(nn_data_new_synthetic(&d, &bad[i].opts, &err),
                         ERR_CONFIG);
        assert_null(d);
        assert_string_equal(err.msg, bad[i].msg);
    }
}

static void expect_same_rows(const char *path, int64_t n, uint64_t seed)
{
    const struct nn_synthetic_opts opts = {.kind = NN_SYN_BLOBS,
                                           .n = n,
                                           .classes = 2,
                                           .features = 2,
                                           .noise = 2,
                                           .seed = seed};
    const struct nn_csv_opts columns = {.target = "label", .classes = 2};
    struct nn_data *made = make(&opts), *read;
    struct err err = {0};

    if (nn_data_open_csv(&read, path, &columns, &err) != 0)
        fail_msg("%s", err.msg);
    assert_int_equal(read->n, n);
    assert_true(nn_shape_eq(&read->sample, &made->sample));
    assert_memory_equal(read->x, made->x, (size_t)n * 2 * sizeof(float));
    assert_memory_equal(read->label, made->label, (size_t)n * sizeof(int32_t));
    nn_data_free(made);
    nn_data_free(read);
}

/* As examples/data/blobs/README.md says. */
static void the_shipped_points_are_what_the_generator_gives(void **state)
{
    (void)state;
    expect_same_rows("examples/data/blobs/train.csv", 400, 7);
    expect_same_rows("examples/data/blobs/test.csv", 200, 8);
}

static void every_failed_allocation_is_survived(void **state)
{
    const struct nn_synthetic_opts opts = {
        .kind = NN_SYN_BLOBS, .n = 10, .classes = 2, .features = 2};
    struct nn_data *d;
    long live = mem_live(), n;
    int rc = ERR_NOMEM;

    (void)state;
    for (n = 1; rc != 0; n++) {
        mem_fail_after(n);
        rc = nn_data_new_synthetic(&d, &opts, NULL);
        mem_fail_after(0);
        if (rc != 0) {
            assert_int_equal(rc, ERR_NOMEM);
            assert_null(d);
            assert_int_equal(mem_live(), live);
        }
    }
    assert_int_equal(n, 5); /* three allocations failed, then success */
    nn_data_free(d);
    assert_int_equal(mem_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blobs_lie_around_a_circle_of_radius_4),
        cmocka_unit_test(moons_without_noise_are_two_half_circles),
        cmocka_unit_test(the_bits_are_the_same_everywhere),
        cmocka_unit_test(another_seed_gives_other_numbers),
        cmocka_unit_test(bad_options_are_errors),
        cmocka_unit_test(the_shipped_points_are_what_the_generator_gives),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
