/* Every NAME.err below tests/bad/data is the exact message for NAME.csv, or
 * for NAME.images and NAME.labels; good.* stands in for one that is not there.
 * Target column y, all other columns features, three classes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/data.h"

#define FOLDER "tests/bad/data"

enum { PATH = 300, N_CASES = 40 };

static bool path_of(char path[PATH], const char *name, const char *ending)
{
    (void)snprintf(path, PATH, "%s/%s%s", FOLDER, name, ending);
    return io_exists(path);
}

static int open_bad(struct nn_data **out, const char *name, struct err *err)
{
    const struct nn_csv_opts opts = {.target = "y", .classes = 3};
    char path[PATH], images[PATH], labels[PATH];
    bool has_images = path_of(images, name, ".images");
    bool has_labels = path_of(labels, name, ".labels");

    if (path_of(path, name, ".csv"))
        return nn_data_open_csv(out, path, &opts, err);
    if (!has_images)
        (void)path_of(images, "good", ".images");
    if (!has_labels)
        (void)path_of(labels, "good", ".labels");
    if (!has_images && !has_labels)
        fail_msg("no data file belongs to %s.err", name);
    return nn_data_open_idx(out, images, labels, 3, 255.0f, err);
}

/* Returns 1 if the case went wrong, having said how. */
static int check_case(const char *name)
{
    char path[PATH], *want;
    struct nn_data *d = (struct nn_data *)&path; /* must become NULL */
    struct err err = {0};
    long live = mem_live();
    size_t len;
    int bad, rc = open_bad(&d, name, &err);

    bad = d != NULL || mem_live() != live ||
          (rc != ERR_CORRUPT && rc != ERR_CONFIG);
    if (bad)
        print_error("%s: rc %d, out %p, %ld blocks leaked\n", name, rc,
                    (void *)d, mem_live() - live);
    (void)path_of(path, name, ".err");
    assert_int_equal(io_read_file(&want, &len, path, 4096, NULL), 0);
    if (len > 0 && want[len - 1] == '\n')
        want[len - 1] = '\0';
    if (strcmp(want, err.msg) != 0) {
        print_error("%s: wanted\n  %s\ngot\n  %s\n", name, want, err.msg);
        bad = 1;
    }
    mem_free(want);
    return bad;
}

static void each_bad_file_gives_its_message(void **state)
{
    DIR *dir = opendir(FOLDER);
    const struct dirent *e;
    int n = 0, failed = 0;

    (void)state;
    assert_non_null(dir);
    while ((e = readdir(dir)) != NULL) {
        char name[256];
        char *dot;

        (void)snprintf(name, sizeof name, "%s", e->d_name);
        dot = strrchr(name, '.');
        if (!dot || strcmp(dot, ".err") != 0)
            continue;
        *dot = '\0';
        n++;
        failed += check_case(name);
    }
    (void)closedir(dir);
    assert_int_equal(failed, 0);
    assert_true(n >= N_CASES);
}

static void each_bad_file_has_a_message(void **state)
{
    DIR *dir = opendir(FOLDER);
    const struct dirent *e;
    int missing = 0;

    (void)state;
    assert_non_null(dir);
    while ((e = readdir(dir)) != NULL) {
        char name[256], path[PATH];
        char *dot;

        (void)snprintf(name, sizeof name, "%s", e->d_name);
        dot = strrchr(name, '.');
        if (!dot || name[0] == '.' || strncmp(name, "good.", 5) == 0 ||
            strcmp(name, "make.sh") == 0)
            continue;
        *dot = '\0';
        if (!path_of(path, name, ".err")) {
            print_error("%s has no message\n", e->d_name);
            missing++;
        }
    }
    (void)closedir(dir);
    assert_int_equal(missing, 0);
}

static void the_good_partners_are_good(void **state)
{
    struct nn_data *d;
    struct err err = {0};

    (void)state;
    assert_int_equal(nn_data_open_idx(&d, FOLDER "/good.images",
                                      FOLDER "/good.labels", 3, 255.0f, &err),
                     0);
    assert_int_equal(d->n, 2);
    nn_data_free(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_bad_file_gives_its_message),
        cmocka_unit_test(each_bad_file_has_a_message),
        cmocka_unit_test(the_good_partners_are_good),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
