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
#include "pipeline/job.h"
#include "pipeline/stage.h"
#include "pipeline/yaml.h"

/* A stage kind that does as it is told and counts how often. */
enum behaviour { OBEY, FAIL, FAIL_ONCE, WAIT_TO_STOP, STOP_SELF };
struct with {
    int64_t value;
};
static const struct pl_field fields[] = {
    {.name = "value",
     .type = PL_T_INT,
     .offset = offsetof(struct with, value),
     .def = "0"},
};
static const struct pl_schema schema = {
    .name = "double",
    .fields = fields,
    .n_fields = sizeof fields / sizeof *fields,
    .size = sizeof(struct with),
};

static enum behaviour behaviour[2];
static int runs[2];
static bool was_fresh, stop;

static int work(struct pl_stage_ctx *ctx, struct err *err)
{
    const struct with *w = ctx->stage->with;
    int i = ctx->stage->id[0] - 'a';
    char text[32];
    int n;

    runs[i]++;
    was_fresh = ctx->fresh;
    if (behaviour[i] == FAIL || (behaviour[i] == FAIL_ONCE && runs[i] == 1))
        return err_set(err, ERR_IO, "told to fail");
    while (behaviour[i] == WAIT_TO_STOP && !pl_stopping(ctx))
        (void)usleep(1000);
    if (behaviour[i] == STOP_SELF)
        stop = true;
    if (pl_stopping(ctx))
        return err_set(err, ERR_INTERRUPTED, "stopped, saved");
    n = snprintf(text, sizeof text, "%lld\n", (long long)w->value);
    pl_metric(ctx, "value", (double)w->value);
    pl_say(ctx, "%s says %lld", ctx->stage->id, (long long)w->value);
    return pl_artifact_write(ctx, "sub/value.txt", text, (size_t)n, err);
}

static const struct pl_stage_kind kind = {
    .name = "double", .with = &schema, .version = 1, .run = work};

/* The job: b needs a. */
static char out[64];
static struct with with[2];
static struct pl_expect expect;
static const char *const b_needs[] = {"a"};
static struct pl_stage stages[2];
static struct pl_config config;
static struct pl_opts opts;
static struct pl_job job;
static struct str told; /* what the run told */
static struct err last_failure;

static void on_begin(void *user, const char *device, const char *recipe)
{
    (void)user;
    str_addf(&told, "[%s|%s]", device, recipe);
}

static void on_step(void *user, const struct pl_step *s)
{
    static const char *const word[] = {"fresh", "run", "may", "skip"};

    (void)user;
    str_addf(&told, "%s %s (%s);", word[s->action], s->stage, s->reason);
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
    assert_true(seconds >= 0);
}

static void on_failed(void *user, const char *stage, const struct err *err)
{
    (void)user;
    last_failure = *err;
    str_addf(&told, "failed %s;", stage);
}

static bool on_stopping(void *user)
{
    (void)user;
    return stop;
}

static const struct pl_ui ui = {NULL,     on_begin,  on_step,
                                on_line,  on_line,   on_progress,
                                on_ended, on_failed, on_stopping};

static struct pl_node *small_root(void)
{
    static const struct pl_file file = {
        .path = "test", .text = "name: t\n", .len = 8};
    struct pl_diag d = {.arena = &config.arena};

    return pl_yaml_parse(&file, 0, &config.arena, &d);
}

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(out, sizeof out, "/tmp/test_run-XXXXXX");
    if (!mkdtemp(out))
        return -1;
    memset(with, 0, sizeof with);
    memset(runs, 0, sizeof runs);
    memset(behaviour, 0, sizeof behaviour);
    memset(&expect, 0, sizeof expect);
    memset(&opts, 0, sizeof opts);
    memset(&job, 0, sizeof job);
    stop = false;
    expect.metric = "value";
    expect.relation = PL_REL_GE;
    expect.bound = 1;
    expect.points = 10;
    stages[0] = (struct pl_stage){.id = "a", .kind = &kind, .with = &with[0]};
    stages[1] = (struct pl_stage){.id = "b",
                                  .kind = &kind,
                                  .with = &with[1],
                                  .needs = b_needs,
                                  .n_needs = 1,
                                  .expect = &expect,
                                  .n_expect = 1};
    config = (struct pl_config){.path = "t.yaml",
                                .name = "t",
                                .stages = stages,
                                .n_stages = 2,
                                .recipe = "value=1"};
    config.root = small_root();
    opts.file = "/nonexistent/t.yaml";
    opts.out = out;
    opts.device = "cpu";
    opts.threads = 1;
    job.opts = &opts;
    job.config = &config;
    return config.root ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[96];

    (void)state;
    arena_free(&job.arena);
    arena_free(&config.arena);
    str_free(&told);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", out);
    return system(command) == 0 && mem_live() == 0 ? 0 : -1;
}

/* Runs the job with the options as they are now; told starts anew. */
static int run(struct pl_result *keep)
{
    struct pl_result res;
    struct err err = {0};
    int rc;

    arena_free(&job.arena);
    assert_int_equal(pl_job_prepare(&job, &err), 0);
    str_clear(&told);
    rc = pl_run(&job, &ui, &res, &err);
    if (keep)
        *keep = res;
    pl_result_free(&res);
    return rc;
}

static const char *at(const char *name)
{
    static char path[200];

    (void)snprintf(path, sizeof path, "%s/t/%s", out, name);
    return path;
}

static void assert_told(const char *want)
{
    const char *steps = strchr(told.text, ']');

    assert_non_null(steps);
    assert_string_equal(steps + 1, want);
}

static void second_run_is_up_to_date(void **state)
{
    struct pl_result res;

    (void)state;
    with[1].value = 1;
    assert_int_equal(run(&res), 0);
    assert_told("run a (first run);run b (first run);");
    assert_int_equal(strncmp(told.text, "[cpu (asked for)|value=1]", 25), 0);
    assert_true(res.points == 10 && res.of == 10);
    assert_int_equal(run(&res), 0);
    assert_told("fresh a ();fresh b ();");
    assert_true(res.points == 10 && res.n_up_to_date == 2);
    assert_int_equal(runs[0], 1);
    assert_int_equal(runs[1], 1);
}

static void artifacts_and_records_are_there(void **state)
{
    static const char *const names[] = {
        "a/sub/value.txt", "a/metrics.json", "a/log.txt",
        "a/stage.json",    "resolved.yaml",  "pipeline.lock.json"};
    struct err err = {0};
    char *text;
    size_t i, len;

    (void)state;
    assert_int_equal(run(NULL), 0);
    for (i = 0; i < sizeof names / sizeof *names; i++)
        assert_true(io_exists(at(names[i])));
    assert_false(io_exists(at("a/unfinished.json")));
    assert_int_equal(io_read_file(&text, &len, at("a/log.txt"), 10000, &err),
                     0);
    assert_int_equal(strncmp(text, "Using device: cpu (asked for)\n", 30), 0);
    assert_non_null(strstr(text, "a says 0\n"));
    mem_free(text);
}

static void changed_key_runs_what_depends_on_it(void **state)
{
    (void)state;
    assert_int_equal(run(NULL), 0);
    with[0].value = 7;
    assert_int_equal(run(NULL), 0);
    assert_told("run a (with.value 0 -> 7);run b (input from a changed);");
    assert_true(io_exists(at(".runs/1/a/stage.json")));
    assert_true(io_exists(at(".runs/1/b/stage.json")));
    assert_true(io_exists(at(".runs/1/resolved.yaml")));
}

static void equal_outputs_cut_the_chain_short(void **state)
{
    (void)state;
    assert_int_equal(run(NULL), 0);
    opts.force.item = b_needs;
    opts.force.n = 1;
    assert_int_equal(run(NULL), 0);
    assert_told("run a (--force);fresh b ();");
}

static void damaged_output_runs_again(void **state)
{
    struct err err = {0};

    (void)state;
    assert_int_equal(run(NULL), 0);
    assert_int_equal(io_write_file(at("a/sub/value.txt"), "1\n", 2, &err), 0);
    assert_int_equal(run(NULL), 0);
    assert_told("run a (sub/value.txt was changed);fresh b ();");
    assert_int_equal(unlink(at("b/metrics.json")), 0);
    assert_int_equal(run(NULL), 0);
    assert_told("fresh a ();run b (metrics.json is missing);");
}

static void failed_stage_skips_what_needs_it(void **state)
{
    struct pl_result res;

    (void)state;
    behaviour[0] = FAIL;
    assert_int_equal(run(&res), ERR_IO);
    assert_told("run a (first run);failed a;");
    opts.keep_going = true;
    assert_int_equal(run(&res), ERR_IO);
    assert_told("run a (failed last time: resumes);failed a;"
                "skip b (needs a);");
    assert_int_equal(res.n_failed_expectations, 1);
    assert_true(res.points == 0 && res.of == 10);
    assert_int_equal(runs[1], 0);
}

static void retry_may_succeed(void **state)
{
    (void)state;
    behaviour[0] = FAIL_ONCE;
    stages[0].retries = 1;
    assert_int_equal(run(NULL), 0);
    assert_int_equal(runs[0], 2);
}

static void time_out_ends_the_stage(void **state)
{
    struct pl_result res;

    (void)state;
    behaviour[0] = WAIT_TO_STOP;
    stages[0].timeout = 0.05;
    assert_int_equal(run(&res), ERR_INTERRUPTED);
    assert_int_equal(res.n_failed, 1);
    assert_string_equal(last_failure.msg, "timed out after 0.05 s");
    stages[0].timeout = 0;
    behaviour[0] = OBEY;
    assert_int_equal(run(NULL), 0);
    assert_told("run a (interrupted: resumes);run b (first run);");
    assert_false(was_fresh && runs[1] == 0);
}

static void interrupted_stage_resumes_in_its_folder(void **state)
{
    struct err err = {0};
    struct pl_result res;

    (void)state;
    behaviour[1] = STOP_SELF;
    assert_int_equal(run(&res), ERR_INTERRUPTED);
    assert_int_equal(res.n_failed, 0);
    assert_int_equal(io_write_file(at("b/half"), "x", 1, &err), 0);
    stop = false;
    behaviour[1] = OBEY;
    assert_int_equal(run(NULL), 0);
    assert_told("fresh a ();run b (interrupted: resumes);");
    assert_false(was_fresh);
    assert_true(io_exists(at("b/half")));
    assert_false(io_exists(at(".runs")));
}

static void interrupted_stage_of_other_content_begins_anew(void **state)
{
    (void)state;
    behaviour[1] = STOP_SELF;
    assert_int_equal(run(NULL), ERR_INTERRUPTED);
    stop = false;
    behaviour[1] = OBEY;
    with[1].value = 3;
    assert_int_equal(run(NULL), 0);
    assert_told("fresh a ();run b (with.value 0 -> 3);");
    assert_true(was_fresh);
    assert_true(io_exists(at(".runs/1/b/unfinished.json")));
}

static void fresh_does_not_resume(void **state)
{
    (void)state;
    behaviour[1] = STOP_SELF;
    assert_int_equal(run(NULL), ERR_INTERRUPTED);
    stop = false;
    behaviour[1] = OBEY;
    opts.fresh = true;
    assert_int_equal(run(NULL), 0);
    assert_told("fresh a ();run b (interrupted: begins anew (--fresh));");
    assert_true(was_fresh);
}

static void plan_writes_nothing_and_knows_what_may_run(void **state)
{
    struct pl_plan *plan;
    struct err err = {0};

    (void)state;
    assert_int_equal(pl_job_prepare(&job, &err), 0);
    assert_int_equal(pl_plan_make(&plan, &job, &err), 0);
    assert_int_equal(pl_plan_work(plan), 2);
    assert_false(io_exists(job.dir));
    pl_plan_free(plan);
    assert_int_equal(run(NULL), 0);
    with[0].value = 2;
    assert_int_equal(pl_plan_make(&plan, &job, &err), 0);
    assert_int_equal(plan->step[0].action, PL_RUN);
    assert_string_equal(plan->step[0].reason, "with.value 0 -> 2");
    assert_int_equal(plan->step[1].action, PL_MAY_RUN);
    assert_string_equal(plan->step[1].reason, "a runs first");
    pl_plan_free(plan);
}

static void only_takes_what_it_needs_and_from_what_builds_on(void **state)
{
    static const char *const b[] = {"b"}, *const a[] = {"a"},
                             *const typo[] = {"aa"};
    struct err err = {0};

    (void)state;
    opts.only = (struct pl_texts){a, 1};
    assert_int_equal(run(NULL), 0);
    assert_told("run a (first run);");
    opts.only = (struct pl_texts){b, 1};
    assert_int_equal(run(NULL), 0);
    assert_told("fresh a ();run b (first run);");
    opts.only = (struct pl_texts){0};
    opts.from = (struct pl_texts){a, 1};
    assert_int_equal(run(NULL), 0);
    assert_told("fresh a ();fresh b ();");
    opts.from = (struct pl_texts){typo, 1};
    assert_int_equal(pl_job_prepare(&job, &err), ERR_CONFIG);
    assert_non_null(strstr(err.msg, "did you mean 'a'?"));
}

static void wrong_device_is_an_error_before_anything_is_written(void **state)
{
    struct pl_result res;

    (void)state;
    opts.device = "tpu";
    assert_int_equal(run(&res), ERR_CONFIG);
    assert_false(res.began);
    assert_false(io_exists(job.dir));
}

/* jansson's and libcrypto's own memory is not counted; ours must all be. */
static void every_failed_allocation_ends_the_run_cleanly(void **state)
{
    long n, step = 31;
    int rc = -1;

    (void)state;
    for (n = 1; n < 4000 && rc != 0; n += step) {
        struct pl_result res;
        struct err err = {0};
        char command[96];

        (void)snprintf(command, sizeof command, "rm -rf '%s/t'", out);
        assert_int_equal(system(command), 0);
        arena_free(&job.arena);
        assert_int_equal(pl_job_prepare(&job, &err), 0);
        mem_fail_after(n);
        rc = pl_run(&job, &ui, &res, &err);
        mem_fail_after(0);
        pl_result_free(&res);
        if (rc != 0)
            assert_int_equal(rc, ERR_NOMEM);
    }
    assert_int_equal(rc, 0);
    assert_true(n > 3 * step);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(second_run_is_up_to_date),
        CASE(artifacts_and_records_are_there),
        CASE(changed_key_runs_what_depends_on_it),
        CASE(equal_outputs_cut_the_chain_short),
        CASE(damaged_output_runs_again),
        CASE(failed_stage_skips_what_needs_it),
        CASE(retry_may_succeed),
        CASE(time_out_ends_the_stage),
        CASE(interrupted_stage_resumes_in_its_folder),
        CASE(interrupted_stage_of_other_content_begins_anew),
        CASE(fresh_does_not_resume),
        CASE(plan_writes_nothing_and_knows_what_may_run),
        CASE(only_takes_what_it_needs_and_from_what_builds_on),
        CASE(wrong_device_is_an_error_before_anything_is_written),
        CASE(every_failed_allocation_ends_the_run_cleanly),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
