#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/hash.h"
#include "pipeline/pipeline.h"

/* A whole run, of a real config, of which every allocation fails in turn. */
static char out[64], file[96];

static const char text[] =
    "version: 1\n"
    "name: t\n"
    "datasets: {blobs: {type: synthetic, n_train: 40, n_test: 20}}\n"
    "models: {line: {layers: [{type: linear, out: 2}]}}\n"
    "stages:\n"
    "  train:\n"
    "    uses: train\n"
    "    with: {dataset: blobs, model: line, batch_size: 20, epochs: 1,\n"
    "           lr: 0.01, optimizer: sgd}\n"
    "    expect: [{metric: test.accuracy, ge: 0}]\n"
    "  evaluate: {uses: evaluate, with: {from: train}}\n";

/* The same with a second stage that goes on from the first. */
static const char resuming[] =
    "version: 1\n"
    "name: t\n"
    "datasets: {blobs: {type: synthetic, n_train: 40, n_test: 20,\n"
    "                   split: {validation: 10}}}\n"
    "models: {line: {layers: [{type: linear, out: 2}]}}\n"
    "defaults:\n"
    "  train: {dataset: blobs, model: line, batch_size: 20, epochs: 1,\n"
    "          lr: 0.01, optimizer: adam, checkpoint: {every_n_epochs: 1}}\n"
    "stages:\n"
    "  train: {uses: train}\n"
    "  more: {uses: train, with: {epochs: 2, resume_from: train}}\n";

static void on_begin(void *user, const char *device, const char *recipe)
{
    (void)user;
    (void)device;
    (void)recipe;
}

static void on_step(void *user, const struct pl_step *s)
{
    (void)user;
    (void)s;
}

static void on_line(void *user, const char *line)
{
    (void)user;
    (void)line;
}

static void on_progress(void *user, const char *stage,
                        const struct pl_progress *p)
{
    (void)user;
    (void)stage;
    (void)p;
}

static void on_ended(void *user, const char *stage, double seconds)
{
    (void)user;
    (void)stage;
    (void)seconds;
}

static void on_failed(void *user, const char *stage, const struct err *err)
{
    (void)user;
    (void)stage;
    assert_int_equal(err->code, ERR_NOMEM);
    assert_true(err->msg[0] != '\0');
}

static bool on_stopping(void *user)
{
    (void)user;
    return false;
}

static const struct pl_ui ui = {NULL,     on_begin,  on_step,
                                on_line,  on_line,   on_progress,
                                on_ended, on_failed, on_stopping};

static int set_up(void **state)
{
    struct err err = {0};

    (void)state;
    (void)snprintf(out, sizeof out, "/tmp/test_run_nomem-XXXXXX");
    if (!mkdtemp(out))
        return -1;
    (void)snprintf(file, sizeof file, "%s/t.yaml", out);
    return io_write_file(file, text, strlen(text), &err);
}

static int set_up_resuming(void **state)
{
    struct err err = {0};
    int rc = set_up(state);

    return rc != 0 ? rc : io_write_file(file, resuming, strlen(resuming), &err);
}

static void forget(void)
{
    char command[96];

    (void)snprintf(command, sizeof command, "rm -rf '%s/t'", out);
    assert_int_equal(system(command), 0);
}

static int tear_down(void **state)
{
    char command[96];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", out);
    return system(command) == 0 && mem_live() == 0 ? 0 : -1;
}

/* Opens and runs; the n-th allocation fails, 0: none. */
static int run(long n, int64_t epochs)
{
    char epochs_text[64];
    const char *const overrides[] = {epochs_text};
    struct pl_opts opts = {.file = file,
                           .out = out,
                           .device = "cpu",
                           .threads = 1,
                           .overrides = {overrides, 1}};
    struct pl_result res = {0};
    struct pl_job *job;
    struct err err = {0};
    int rc;

    (void)snprintf(epochs_text, sizeof epochs_text,
                   "stages.train.with.epochs=%lld", (long long)epochs);
    mem_fail_after(n);
    rc = pl_job_open(&job, &opts, &err);
    if (rc == 0)
        rc = pl_run(job, &ui, &res, &err);
    mem_fail_after(0);
    if (rc != 0) {
        assert_int_equal(err.code, rc);
        assert_true(err.msg[0] != '\0');
    }
    pl_result_free(&res);
    pl_job_free(job);
    assert_int_equal(mem_live(), 0);
    return rc;
}

static void hash_of(char hex[65], const char *name)
{
    char path[160];
    struct err err = {0};
    uint64_t bytes;

    (void)snprintf(path, sizeof path, "%s/t/%s", out, name);
    assert_int_equal(pl_hash_file(hex, &bytes, path, &err), 0);
}

static long step(void)
{
    return getenv("SOAK") ? 1 : 53;
}

/* After a failure the same run completes, and gives the same. */
static void first_run_fails_cleanly_and_completes_later(void **state)
{
    char want[65], got[65];
    long n, failures = 0;
    int rc = -1;

    (void)state;
    assert_int_equal(run(0, 1), 0);
    hash_of(want, "train/checkpoints/resume.safetensors");
    for (n = 1; rc != 0; n += step()) {
        forget();
        rc = run(n, 1);
        if (rc != 0) {
            failures++;
            assert_int_equal(rc, ERR_NOMEM);
            assert_int_equal(run(0, 1), 0);
        }
        hash_of(got, "train/checkpoints/resume.safetensors");
        assert_string_equal(got, want);
    }
    print_message("%ld of %ld allocations failed\n", failures, n);
    assert_true(failures > 5);
}

/* What stood there before stands there still, or in the history. */
static void next_run_that_fails_leaves_what_was_good(void **state)
{
    char want[65], got[65];
    long n;
    int rc = -1;

    (void)state;
    for (n = 1; rc != 0; n += step()) {
        forget();
        assert_int_equal(run(0, 2), 0);
        hash_of(want, "train/checkpoints/resume.safetensors");
        rc = run(n, 1);
        assert_true(rc == 0 || rc == ERR_NOMEM);
        assert_int_equal(run(0, 2), 0);
        hash_of(got, "train/checkpoints/resume.safetensors");
        assert_string_equal(got, want);
    }
}

static void a_resumed_stage_fails_cleanly_and_completes_later(void **state)
{
    char want[65], got[65];
    long n, failures = 0;
    int rc = -1;

    (void)state;
    assert_int_equal(run(0, 1), 0);
    hash_of(want, "more/checkpoints/resume.safetensors");
    for (n = 1; rc != 0; n += step()) {
        forget();
        rc = run(n, 1);
        failures += rc != 0;
        assert_true(rc == 0 || rc == ERR_NOMEM);
        assert_int_equal(run(0, 1), 0);
        hash_of(got, "more/checkpoints/resume.safetensors");
        assert_string_equal(got, want);
    }
    assert_true(failures > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            first_run_fails_cleanly_and_completes_later, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            next_run_that_fails_leaves_what_was_good, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_resumed_stage_fails_cleanly_and_completes_later, set_up_resuming,
            tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
