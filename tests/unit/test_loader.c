#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <string.h>

#include "nn/base/mem.h"
#include "nn/loader.h"

static struct nn_loader *loader(const struct nn_data *d, struct rng_mt *g,
                                const struct nn_loader_opts *opts)
{
    struct nn_loader *l;
    struct err err = {0};

    if (nn_loader_new(&l, d, g, opts, &err) != 0)
        fail_msg("%s", err.msg);
    return l;
}

static void batches_equal_the_reference_in_every_epoch(void **state)
{
    const struct nn_data d = {.n = 60000};
    const struct nn_loader_opts opts = {.batch_size = 32, .shuffle = true};
    json_error_t e;
    json_t *root = json_load_file("tests/golden/generator.json", 0, &e);
    json_t *want = json_object_get(root, "dataloader_first_batch_by_epoch");
    struct rng_mt g;
    struct nn_loader *l;
    size_t epoch, i;

    (void)state;
    assert_int_equal(json_array_size(want), 2);
    rng_mt_seed(&g, 0);
    l = loader(&d, &g, &opts);
    for (epoch = 0; epoch < 2; epoch++) {
        const json_t *batch = json_array_get(want, epoch);

        nn_loader_begin_epoch(l);
        assert_int_equal(json_array_size(batch), 32);
        for (i = 0; i < 32; i++)
            assert_int_equal(l->order[i],
                             json_integer_value(json_array_get(batch, i)));
        nn_loader_end_epoch(l);
    }
    nn_loader_free(l);
    json_decref(root);
}

static void
an_epoch_draws_four_words_and_two_for_each_extra_loader(void **state)
{
    const struct nn_data d = {.n = 10};
    const struct nn_loader_opts opts = {
        .batch_size = 3, .shuffle = true, .extra_iters = 2};
    struct rng_mt g, copy;
    struct nn_loader *l;
    int i;

    (void)state;
    rng_mt_seed(&g, 5);
    copy = g;
    l = loader(&d, &g, &opts);
    assert_memory_equal(&g, &copy, sizeof g); /* making it draws nothing */
    nn_loader_begin_epoch(l);
    nn_loader_end_epoch(l);
    for (i = 0; i < 4 + 2 * 2; i++)
        (void)rng_mt_u32(&copy);
    assert_memory_equal(&g, &copy, sizeof g);
    nn_loader_free(l);
}

static void
without_shuffle_the_order_is_the_files_and_one_seed_is_drawn(void **state)
{
    const struct nn_data d = {.n = 5};
    const struct nn_loader_opts opts = {.batch_size = 2};
    struct rng_mt g, copy;
    struct nn_loader *l;
    int64_t i;

    (void)state;
    rng_mt_seed(&g, 5);
    copy = g;
    l = loader(&d, &g, &opts);
    nn_loader_begin_epoch(l);
    nn_loader_end_epoch(l);
    for (i = 0; i < 5; i++)
        assert_int_equal(l->order[i], i);
    (void)rng_mt_u64(&copy);
    assert_memory_equal(&g, &copy, sizeof g);
    nn_loader_free(l);
}

static void the_last_partial_batch_is_kept_unless_dropped(void **state)
{
    const struct nn_data d = {.n = 10};
    struct nn_loader_opts opts = {.batch_size = 4};
    struct rng_mt g;
    struct nn_loader *l;
    int64_t first, count;

    (void)state;
    rng_mt_seed(&g, 0);
    l = loader(&d, &g, &opts);
    assert_int_equal(nn_loader_batches(l), 3);
    nn_loader_batch(l, 1, &first, &count);
    assert_int_equal(first, 4);
    assert_int_equal(count, 4);
    nn_loader_batch(l, 2, &first, &count);
    assert_int_equal(first, 8);
    assert_int_equal(count, 2);
    nn_loader_free(l);
    opts.drop_last = true;
    l = loader(&d, &g, &opts);
    assert_int_equal(nn_loader_batches(l), 2);
    nn_loader_free(l);
}

static void a_batch_larger_than_the_data_is_all_of_it(void **state)
{
    const struct nn_data d = {.n = 10};
    const struct nn_loader_opts opts = {.batch_size = INT64_MAX};
    struct rng_mt g;
    struct nn_loader *l;
    int64_t first, count;

    (void)state;
    rng_mt_seed(&g, 0);
    l = loader(&d, &g, &opts);
    assert_int_equal(nn_loader_batches(l), 1);
    nn_loader_batch(l, 0, &first, &count);
    assert_int_equal(first, 0);
    assert_int_equal(count, 10);
    nn_loader_free(l);
}

/* Saves in the middle of epoch 2 and resumes with a new loader and generator:
 * the rest of that epoch and the next are those of the unbroken run. */
static void a_resumed_loader_goes_on_as_if_never_stopped(void **state)
{
    const struct nn_data d = {.n = 100};
    const struct nn_loader_opts opts = {
        .batch_size = 8, .shuffle = true, .extra_iters = 1};
    struct rng_mt g, other, saved;
    struct nn_loader *l, *m;

    (void)state;
    rng_mt_seed(&g, 1);
    rng_mt_seed(&other, 99);
    l = loader(&d, &g, &opts);
    m = loader(&d, &other, &opts);
    nn_loader_begin_epoch(l);
    nn_loader_end_epoch(l);
    assert_memory_equal(nn_loader_state(l), &g, sizeof g);
    nn_loader_begin_epoch(l);
    saved = *nn_loader_state(l);
    assert_memory_not_equal(&saved, &g, sizeof g);

    nn_loader_restore(m, &saved);
    nn_loader_begin_epoch(m);
    assert_memory_equal(m->order, l->order, 100 * sizeof *l->order);
    nn_loader_end_epoch(l);
    nn_loader_end_epoch(m);
    nn_loader_begin_epoch(l);
    nn_loader_begin_epoch(m);
    assert_memory_equal(m->order, l->order, 100 * sizeof *l->order);
    assert_memory_equal(&g, &other, sizeof g);
    nn_loader_free(l);
    nn_loader_free(m);
}

static void bad_options_are_errors(void **state)
{
    static const struct {
        struct nn_loader_opts opts;
        int64_t n;
        const char *msg;
    } bad[] = {
        {{.batch_size = 0}, 10, "batch size must be 1 or more, not 0"},
        {{.batch_size = -1}, 10, "batch size must be 1 or more, not -1"},
        {{.batch_size = 1, .extra_iters = -1},
         10,
         "the extra iterations of an epoch must be 0 or more, not -1"},
        {{.batch_size = 11, .drop_last = true},
         10,
         "10 samples do not fill one batch of 11, and the last partial batch "
         "is dropped"},
        {{.batch_size = 1},
         (INT64_C(1) << 32) + 1,
         "4294967297 samples are more than the 2^32 that can be put in order"},
    };
    struct rng_mt g;
    size_t i;

    (void)state;
    rng_mt_seed(&g, 0);
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct nn_data d = {.n = bad[i].n};
        struct nn_loader *l = (struct nn_loader *)&g;
        struct err err = {0};

        assert_int_equal(nn_loader_new(&l, &d, &g, &bad[i].opts, &err),
                         ERR_CONFIG);
        assert_null(l);
        assert_string_equal(err.msg, bad[i].msg);
    }
}

static void every_failed_allocation_is_survived(void **state)
{
    const struct nn_data d = {.n = 10};
    const struct nn_loader_opts opts = {.batch_size = 3};
    struct rng_mt g;
    struct nn_loader *l;
    long live = mem_live(), n;
    int rc = ERR_NOMEM;

    (void)state;
    rng_mt_seed(&g, 0);
    for (n = 1; rc != 0; n++) {
        struct err err = {0};

        mem_fail_after(n);
        rc = nn_loader_new(&l, &d, &g, &opts, &err);
        mem_fail_after(0);
        if (rc != 0) {
            assert_int_equal(rc, ERR_NOMEM);
            assert_null(l);
            assert_int_equal(mem_live(), live);
        }
    }
    assert_int_equal(n, 4); /* two failures, then success */
    nn_loader_free(l);
    nn_loader_free(NULL);
    assert_int_equal(mem_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_equal_the_reference_in_every_epoch),
        cmocka_unit_test(
            an_epoch_draws_four_words_and_two_for_each_extra_loader),
        cmocka_unit_test(
            without_shuffle_the_order_is_the_files_and_one_seed_is_drawn),
        cmocka_unit_test(the_last_partial_batch_is_kept_unless_dropped),
        cmocka_unit_test(a_batch_larger_than_the_data_is_all_of_it),
        cmocka_unit_test(a_resumed_loader_goes_on_as_if_never_stopped),
        cmocka_unit_test(bad_options_are_errors),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
