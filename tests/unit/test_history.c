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
#include "pipeline/history.h"

static char out[64];

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(out, sizeof out, "/tmp/test_history-XXXXXX");
    return mkdtemp(out) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[96];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", out);
    return system(command) == 0 && mem_live() == 0 ? 0 : -1;
}

static const char *at(const char *name)
{
    static char path[160];

    (void)snprintf(path, sizeof path, "%s/%s", out, name);
    return path;
}

static void put(const char *name, const char *text)
{
    struct err err = {0};
    char *dir = io_dirname(at(name));

    assert_int_equal(io_mkdirs(dir, &err), 0);
    mem_free(dir);
    assert_int_equal(io_write_file(at(name), text, strlen(text), &err), 0);
}

static void old_results_move_aside_with_their_config(void **state)
{
    struct err err = {0};
    int n = 0;

    (void)state;
    put("train/curve.csv", "1");
    put("evaluate/matrix.csv", "2");
    put("resolved.yaml", "name: x\n");
    assert_int_equal(pl_history_move(&n, out, "train", &err), 0);
    assert_int_equal(pl_history_move(&n, out, "evaluate", &err), 0);
    assert_int_equal(n, 1);
    assert_false(io_exists(at("train")));
    assert_true(io_exists(at(".runs/1/train/curve.csv")));
    assert_true(io_exists(at(".runs/1/evaluate/matrix.csv")));
    assert_true(io_exists(at(".runs/1/resolved.yaml")));
    assert_true(io_exists(at("resolved.yaml")));
}

static void nothing_to_move_takes_no_number(void **state)
{
    struct err err = {0};
    int n = 0;

    (void)state;
    assert_int_equal(pl_history_move(&n, out, "train", &err), 0);
    assert_int_equal(n, 0);
    assert_false(io_exists(at(".runs")));
}

static void only_the_last_ten_runs_stay(void **state)
{
    int i, n;

    (void)state;
    for (i = 1; i <= 13; i++) {
        struct err err = {0};

        put("train/curve.csv", "1");
        n = 0;
        assert_int_equal(pl_history_move(&n, out, "train", &err), 0);
        assert_int_equal(n, i);
    }
    assert_false(io_exists(at(".runs/3")));
    assert_true(io_exists(at(".runs/4/train/curve.csv")));
    assert_true(io_exists(at(".runs/13/train/curve.csv")));
}

static void temporaries_of_a_killed_run_go(void **state)
{
    struct err err = {0};

    (void)state;
    put("train/curve.csv", "1");
    put("train/checkpoints/last.safetensors" IO_TEMP_MARK "a1B2c3", "half");
    put("resolved.yaml" IO_TEMP_MARK "abcdef", "half");
    put("train/notes" IO_TEMP_MARK "longer-than-six", "a user's own file");
    assert_int_equal(pl_clear_temps(out, &err), 0);
    assert_true(io_exists(at("train/curve.csv")));
    assert_true(io_exists(at("train/notes" IO_TEMP_MARK "longer-than-six")));
    assert_false(io_exists(
        at("train/checkpoints/last.safetensors" IO_TEMP_MARK "a1B2c3")));
    assert_false(io_exists(at("resolved.yaml" IO_TEMP_MARK "abcdef")));
}

static void clearing_a_missing_folder_is_no_error(void **state)
{
    struct err err = {0};

    (void)state;
    assert_int_equal(pl_clear_temps("/nonexistent/folder", &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            old_results_move_aside_with_their_config, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_to_move_takes_no_number, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(only_the_last_ten_runs_stay, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(temporaries_of_a_killed_run_go, set_up,
                                        tear_down),
        cmocka_unit_test(clearing_a_missing_folder_is_no_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
