#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/run_fixture.h"

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

static void
lock_file_that_is_missing_or_old_is_written_without_a_run(void **state)
{
    struct err err = {0};
    char *text;
    size_t len;

    (void)state;
    assert_int_equal(run(NULL), 0);
    assert_int_equal(
        io_write_file(at("pipeline.lock.json"), "{\"stages\": {}}", 14, &err),
        0);
    assert_int_equal(run(NULL), 0);
    assert_told("fresh a ();fresh b ();");
    assert_int_equal(
        io_read_file(&text, &len, at("pipeline.lock.json"), 100000, &err), 0);
    assert_non_null(strstr(text, "\"with.value\": \"0\""));
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
}

static void
history_keeps_the_config_that_its_results_were_made_from(void **state)
{
    struct err err = {0};
    char *text;
    size_t len;

    (void)state;
    assert_int_equal(run(NULL), 0);
    assert_int_equal(io_write_file(at("resolved.yaml"), "old\n", 4, &err), 0);
    with[0].value = 7;
    assert_int_equal(run(NULL), 0);
    assert_int_equal(
        io_read_file(&text, &len, at(".runs/1/resolved.yaml"), 1000, &err), 0);
    assert_string_equal(text, "old\n");
    mem_free(text);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(second_run_is_up_to_date),
        CASE(artifacts_and_records_are_there),
        CASE(lock_file_that_is_missing_or_old_is_written_without_a_run),
        CASE(changed_key_runs_what_depends_on_it),
        CASE(history_keeps_the_config_that_its_results_were_made_from),
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
