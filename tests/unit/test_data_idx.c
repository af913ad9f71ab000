#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/base/mem.h"
#include "nn/data.h"

#define GOOD "tests/bad/data/good"

static char folder[200];
static char images[256], labels[256];

static int make_folder(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    (void)snprintf(folder, sizeof folder, "%s/test_data_idx.XXXXXX",
                   tmp ? tmp : "/tmp");
    if (!mkdtemp(folder))
        return -1;
    (void)snprintf(images, sizeof images, "%s/images", folder);
    (void)snprintf(labels, sizeof labels, "%s/labels", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(images);
    (void)unlink(labels);
    return rmdir(folder);
}

static void write_file(const char *path, const void *data, size_t len)
{
    assert_int_equal(io_write_file(path, data, len, NULL), 0);
}

static void images_and_labels_are_read(void **state)
{
    struct nn_data *d;
    struct err err = {0};
    long live = mem_live();

    (void)state;
    assert_int_equal(
        nn_data_open_idx(&d, GOOD ".images", GOOD ".labels", 10, 255.0f, &err),
        0);
    assert_int_equal(d->n, 2);
    assert_int_equal(d->sample.ndim, 2);
    assert_int_equal(d->sample.dim[0], 2);
    assert_int_equal(d->sample.dim[1], 3);
    assert_int_equal(d->dtype, NN_U8);
    assert_memory_equal(d->x, "abcdefghijkl", 12);
    assert_true(d->divide == 255.0f);
    assert_int_equal(d->label[0], 0);
    assert_int_equal(d->label[1], 2);
    assert_null(d->target);
    assert_int_equal(d->classes, 10);
    assert_int_equal(nn_data_row(d, 1), 1);
    nn_data_free(d);
    assert_int_equal(mem_live(), live);
}

static void classes_0_means_as_many_as_the_labels_need(void **state)
{
    struct nn_data *d;
    struct err err = {0};

    (void)state;
    assert_int_equal(
        nn_data_open_idx(&d, GOOD ".images", GOOD ".labels", 0, 1.0f, &err), 0);
    assert_int_equal(d->classes, 3);
    nn_data_free(d);
}

static void rank_1_images_are_samples_of_one_number(void **state)
{
    struct nn_data *d;
    struct err err = {0};

    (void)state;
    write_file(images, "\0\0\010\001\0\0\0\002\007\010", 10);
    assert_int_equal(
        nn_data_open_idx(&d, images, GOOD ".labels", 0, 1.0f, &err), 0);
    assert_int_equal(d->sample.ndim, 1);
    assert_int_equal(d->sample.dim[0], 1);
    assert_memory_equal(d->x, "\007\010", 2);
    nn_data_free(d);
}

static void rank_6_images_are_read(void **state)
{
    unsigned char file[28 + 12] = {0, 0, 8, 6};
    struct nn_data *d;
    struct err err = {0};
    int i;

    (void)state;
    for (i = 0; i < 6; i++)
        file[4 + 4 * i + 3] = i == 0 ? 2 : i == 5 ? 6 : 1;
    write_file(images, file, sizeof file);
    assert_int_equal(
        nn_data_open_idx(&d, images, GOOD ".labels", 0, 1.0f, &err), 0);
    assert_int_equal(d->n, 2);
    assert_int_equal(d->sample.ndim, 5);
    assert_int_equal(d->sample.dim[4], 6);
    nn_data_free(d);
}

/* Each byte of the headers in turn set to each value, and the file cut at each
 * length: an error or a right answer, never a crash (sanitizers watch). */
static void damaged_files_never_crash(void **state)
{
    static const char good[] = "\0\0\010\003\0\0\0\002\0\0\0\002\0\0\0\003"
                               "abcdefghijkl";
    char file[sizeof good - 1];
    struct nn_data *d;
    long live = mem_live();
    size_t i;
    int v;

    (void)state;
    for (i = 0; i < sizeof file; i++) {
        write_file(images, good, i);
        assert_int_equal(
            nn_data_open_idx(&d, images, GOOD ".labels", 3, 1.0f, NULL),
            ERR_CORRUPT);
        assert_null(d);
    }
    for (i = 0; i < 16; i++) {
        for (v = 0; v < 256; v += i < 4 ? 1 : 15) {
            memcpy(file, good, sizeof file);
            if (file[i] == (char)v)
                continue;
            file[i] = (char)v;
            write_file(images, file, sizeof file);
            assert_int_equal(
                nn_data_open_idx(&d, images, GOOD ".labels", 3, 1.0f, NULL),
                ERR_CORRUPT);
        }
    }
    assert_int_equal(mem_live(), live);
}

static void a_missing_file_is_an_error(void **state)
{
    struct nn_data *d;
    struct err err = {0};

    (void)state;
    assert_int_equal(
        nn_data_open_idx(&d, GOOD ".images", "/nowhere/labels", 0, 1.0f, &err),
        ERR_IO);
    assert_null(d);
    assert_string_equal(
        err.msg, "cannot open '/nowhere/labels': No such file or directory");
}

static void bad_options_are_errors(void **state)
{
    static const float divide[] = {0.0f, -1.0f, INFINITY, NAN};
    struct nn_data *d;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof divide / sizeof *divide; i++)
        assert_int_equal(nn_data_open_idx(&d, GOOD ".images", GOOD ".labels", 0,
                                          divide[i], NULL),
                         ERR_CONFIG);
    assert_int_equal(
        nn_data_open_idx(&d, GOOD ".images", GOOD ".labels", -1, 1.0f, NULL),
        ERR_CONFIG);
    assert_int_equal(nn_data_open_idx(&d, GOOD ".images", GOOD ".labels",
                                      INT64_C(1) << 31, 1.0f, NULL),
                     ERR_CONFIG);
    assert_null(d);
}

static void every_failed_allocation_is_survived(void **state)
{
    struct nn_data *d;
    long live = mem_live(), n;
    int rc = ERR_NOMEM;

    (void)state;
    for (n = 1; rc != 0; n++) {
        struct err err = {0};

        mem_fail_after(n);
        rc =
            nn_data_open_idx(&d, GOOD ".images", GOOD ".labels", 0, 1.0f, &err);
        mem_fail_after(0);
        if (rc != 0) {
            assert_int_equal(rc, ERR_NOMEM);
            assert_null(d);
            assert_int_equal(mem_live(), live);
        }
    }
    assert_true(n > 2);
    nn_data_free(d);
    assert_int_equal(mem_live(), live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(images_and_labels_are_read),
        cmocka_unit_test(classes_0_means_as_many_as_the_labels_need),
        cmocka_unit_test(rank_1_images_are_samples_of_one_number),
        cmocka_unit_test(rank_6_images_are_read),
        cmocka_unit_test(damaged_files_never_crash),
        cmocka_unit_test(a_missing_file_is_an_error),
        cmocka_unit_test(bad_options_are_errors),
        cmocka_unit_test(every_failed_allocation_is_survived),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
