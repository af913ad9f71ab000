#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/dataset.h"
#include "pipeline/fetch.h"

static char dir[] = "/tmp/test_dataset_XXXXXX";

/* What the cache would hold: files in DIR, by role. */
struct stock {
    struct pl_fetched_file file[4];
    struct pl_fetched all;
};

static void stock_add(struct stock *s, const char *role, const void *data,
                      size_t n)
{
    struct pl_fetched_file *f = &s->file[s->all.n];
    char name[80];

    (void)snprintf(name, sizeof name, "%s/%s", dir, role);
    assert_int_equal(io_write_file(name, data, n, NULL), 0);
    (void)snprintf(f->role, sizeof f->role, "%s", role);
    f->path = mem_strdup(name);
    s->all.file = s->file;
    s->all.n++;
}

static void stock_free(struct stock *s)
{
    size_t i;

    for (i = 0; i < s->all.n; i++) {
        (void)unlink(s->file[i].path);
        mem_free(s->file[i].path);
    }
    assert_int_equal(mem_live(), 0);
}

/* n images of h x w, pixel i has the value i & 255; labels go 0 1 2 0 1 2. */
static void add_idx(struct stock *s, const char *set, int n, int h, int w)
{
    unsigned char images[16 + 1000] = {0, 0, 8, 3},
                              labels[8 + 100] = {0, 0, 8, 1};
    char role[32];
    int i;

    images[7] = labels[7] = (unsigned char)n;
    images[11] = (unsigned char)h;
    images[15] = (unsigned char)w;
    for (i = 0; i < n * h * w; i++)
        images[16 + i] = (unsigned char)i;
    for (i = 0; i < n; i++)
        labels[8 + i] = (unsigned char)(i % 3);
    (void)snprintf(role, sizeof role, "%s_images", set);
    stock_add(s, role, images, (size_t)(16 + n * h * w));
    (void)snprintf(role, sizeof role, "%s_labels", set);
    stock_add(s, role, labels, (size_t)(8 + n));
}

static void add_text(struct stock *s, const char *role, const char *text)
{
    stock_add(s, role, text, strlen(text));
}

static const struct pl_dataset IDX = {
    .name = "d", .type = PL_DATA_IDX, .divide = 255};

static void expect_error(const struct pl_dataset *ds, const struct stock *s,
                         int code, const char *msg)
{
    struct pl_sets sets;
    struct err err = {0};

    assert_int_equal(pl_dataset_open(&sets, ds, &s->all, &err), code);
    if (!strstr(err.msg, msg))
        fail_msg("'%s' lacks '%s'", err.msg, msg);
    assert_null(sets.base);
    assert_null(sets.train);
    assert_null(sets.test);
}

static void idx_files_open_as_train_and_test(void **state)
{
    struct stock s = {0};
    struct pl_sets sets;

    (void)state;
    add_idx(&s, "train", 9, 2, 3);
    add_idx(&s, "test", 6, 2, 3);
    assert_int_equal(pl_dataset_open(&sets, &IDX, &s.all, NULL), 0);
    assert_ptr_equal(sets.train, sets.base);
    assert_null(sets.validation);
    assert_int_equal(sets.train->n, 9);
    assert_int_equal(sets.train->classes, 3);
    assert_true(sets.train->divide == 255.0f);
    assert_int_equal(sets.test->n, 6);
    assert_int_equal(sets.test->label[5], 2);
    pl_sets_close(&sets);
    pl_sets_close(&sets); /* closed is closed */
    stock_free(&s);
}

static void without_test_files_there_is_no_test_set(void **state)
{
    struct stock s = {0};
    struct pl_sets sets;

    (void)state;
    add_idx(&s, "train", 9, 2, 3);
    assert_int_equal(pl_dataset_open(&sets, &IDX, &s.all, NULL), 0);
    assert_null(sets.test);
    pl_sets_close(&sets);
    stock_free(&s);
}

static void a_validation_split_takes_from_the_training_set(void **state)
{
    struct pl_dataset ds = IDX;
    struct stock s = {0};
    struct pl_sets sets;
    bool seen[9] = {false};
    int64_t i;

    (void)state;
    ds.split = (struct pl_split){.validation = 4, .seed = 1};
    add_idx(&s, "train", 9, 2, 3);
    assert_int_equal(pl_dataset_open(&sets, &ds, &s.all, NULL), 0);
    assert_int_equal(sets.train->n, 5);
    assert_int_equal(sets.validation->n, 4);
    for (i = 0; i < 9; i++)
        seen[i < 5 ? nn_data_row(sets.train, i)
                   : nn_data_row(sets.validation, i - 5)] = true;
    for (i = 0; i < 9; i++)
        assert_true(seen[i]);
    pl_sets_close(&sets);
    ds.split.validation = 9;
    expect_error(
        &ds, &s, ERR_CONFIG,
        "split.validation must be below the 9 training samples, not 9");
    stock_free(&s);
}

static void missing_files_are_named(void **state)
{
    struct stock s = {0};

    (void)state;
    expect_error(&IDX, &s, ERR_CONFIG,
                 "dataset 'd' has no file 'train_images'");
    add_idx(&s, "train", 9, 2, 3);
    s.all.n = 3;
    (void)snprintf(s.file[2].role, sizeof s.file[2].role, "test_images");
    s.file[2].path = mem_strdup(s.file[0].path);
    expect_error(&IDX, &s, ERR_CONFIG, "dataset 'd' has no file 'test_labels'");
    stock_free(&s);
}

static void a_test_set_of_another_kind_is_refused(void **state)
{
    static const unsigned char other[] = {0, 0, 8, 1, 0, 0, 0, 1, 3};
    struct stock s = {0};

    (void)state;
    add_idx(&s, "train", 9, 2, 3);
    add_idx(&s, "test", 6, 3, 2);
    expect_error(&IDX, &s, ERR_CORRUPT,
                 "a test sample has shape (3, 2), a training sample (2, 3)");
    stock_free(&s);

    memset(&s, 0, sizeof s);
    add_idx(&s, "train", 9, 2, 3); /* classes 0 1 2 */
    add_idx(&s, "test", 1, 2, 3);
    assert_int_equal(io_write_file(s.file[3].path, other, sizeof other, NULL),
                     0);
    expect_error(&IDX, &s, ERR_CORRUPT, "3");
    stock_free(&s);
}

static void csv_files_open_as_train_and_test(void **state)
{
    struct pl_dataset ds = {
        .name = "d", .type = PL_DATA_CSV, .target = "y", .classes = 2};
    struct stock s = {0};
    struct pl_sets sets;

    (void)state;
    add_text(&s, "train", "a,b,y\n1,2,0\n3,4,1\n5,6,0\n");
    add_text(&s, "test", "a,b,y\r\n7,8,1\r\n");
    assert_int_equal(pl_dataset_open(&sets, &ds, &s.all, NULL), 0);
    assert_int_equal(sets.train->n, 3);
    assert_int_equal(sets.test->n, 1);
    assert_true(((const float *)sets.test->x)[1] == 8.0f);
    assert_int_equal(sets.test->label[0], 1);
    pl_sets_close(&sets);
    stock_free(&s);
}

static void csv_columns_in_another_order_are_no_silent_swap(void **state)
{
    static const char *const features[] = {"a", "b"};
    struct pl_dataset ds = {
        .name = "d", .type = PL_DATA_CSV, .target = "y", .classes = 2};
    struct stock s = {0};
    struct pl_sets sets;

    (void)state;
    add_text(&s, "train", "a,b,y\n1,2,0\n3,4,1\n");
    add_text(&s, "test", "b,a,y\n8,7,1\n");
    expect_error(&ds, &s, ERR_CORRUPT,
                 "have different header lines: name the "
                 "columns under 'features'");
    ds.features = (struct pl_list){(void *)features, 2};
    assert_int_equal(pl_dataset_open(&sets, &ds, &s.all, NULL), 0);
    assert_true(((const float *)sets.test->x)[0] == 7.0f);
    pl_sets_close(&sets);
    stock_free(&s);
}

static void synthetic_test_samples_have_the_next_seed(void **state)
{
    struct pl_dataset ds = {.name = "d",
                            .type = PL_DATA_SYNTHETIC,
                            .synthetic = NN_SYN_MOONS,
                            .n_train = 20,
                            .n_test = 10,
                            .n_features = 2,
                            .noise = 0.1,
                            .seed = 7};
    struct pl_sets a, b;

    (void)state;
    assert_int_equal(pl_dataset_open(&a, &ds, NULL, NULL), 0);
    assert_int_equal(a.train->n, 20);
    assert_int_equal(a.test->n, 10);
    ds.seed = 8;
    ds.n_train = 10;
    ds.n_test = 0;
    assert_int_equal(pl_dataset_open(&b, &ds, NULL, NULL), 0);
    assert_null(b.test);
    assert_memory_equal(a.test->x, b.train->x, 10 * 2 * sizeof(float));
    pl_sets_close(&a);
    pl_sets_close(&b);
    assert_int_equal(mem_live(), 0);
}

static void every_failed_allocation_is_out_of_memory(void **state)
{
    struct pl_dataset ds = IDX;
    struct stock s = {0};
    struct pl_sets sets;
    int rc = ERR_NOMEM;
    long i, live;

    (void)state;
    ds.split.validation = 4;
    add_idx(&s, "train", 9, 2, 3);
    add_idx(&s, "test", 6, 2, 3);
    live = mem_live();
    for (i = 1; rc != 0; i++) {
        mem_fail_after(i);
        rc = pl_dataset_open(&sets, &ds, &s.all, NULL);
        mem_fail_after(0);
        assert_true(rc == 0 || rc == ERR_NOMEM);
        pl_sets_close(&sets);
        assert_int_equal(mem_live(), live);
    }
    assert_true(i > 5);
    stock_free(&s);
}

static int set_up(void **state)
{
    (void)state;
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idx_files_open_as_train_and_test),
        cmocka_unit_test(without_test_files_there_is_no_test_set),
        cmocka_unit_test(a_validation_split_takes_from_the_training_set),
        cmocka_unit_test(missing_files_are_named),
        cmocka_unit_test(a_test_set_of_another_kind_is_refused),
        cmocka_unit_test(csv_files_open_as_train_and_test),
        cmocka_unit_test(csv_columns_in_another_order_are_no_silent_swap),
        cmocka_unit_test(synthetic_test_samples_have_the_next_seed),
        cmocka_unit_test(every_failed_allocation_is_out_of_memory),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
