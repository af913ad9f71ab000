/* Stages that are meant to fail: which failures count, and what a run makes of
 * them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/expect_error.h"
#include "tests/unit/run_fixture.h"

static int code;             /* that the stage fails with; 0: it runs */
static const char *in_stage; /* a file that its message names */

static int fails(struct pl_stage_ctx *ctx, struct err *err)
{
    runs[0]++;
    pl_metric(ctx, "value", 1);
    if (code == 0)
        return 0;
    return err_set(err, code, "cannot use '%s/%s' of 'out/t'", ctx->dir,
                   in_stage);
}

/* A stage that is to fail with text; b needs it. */
static void expect_error(const char *text, int with_code)
{
    expect = (struct pl_expect){.error = text, .points = 2};
    stages[0].expect = &expect;
    stages[0].n_expect = 1;
    stages[1].expect = NULL;
    stages[1].n_expect = 0;
    kind.run = fails;
    code = with_code;
    in_stage = "sub/x.bin";
}

static char *stage_json(void)
{
    char *text;
    size_t len;

    assert_int_equal(
        io_read_file(&text, &len, at("a/stage.json"), 1 << 20, NULL), 0);
    return text;
}

static void the_expected_error_is_an_end_and_is_not_run_again(void **state)
{
    struct pl_result res;
    char *text;

    (void)state;
    expect_error("cannot use 'sub/x.bin'", ERR_CORRUPT);
    stages[0].retries = 3;
    assert_int_equal(run(&res), 0);
    assert_told("run a (first run);skip b (needs a, which failed as "
                "expected);");
    assert_non_null(strstr(lines.text, "stage 'a' failed as expected: cannot "
                                       "use 'sub/x.bin' of 'out/t'\n"));
    assert_true(res.points == 2 && res.of == 2 && res.n_failed == 0);
    assert_int_equal(runs[0], 1);
    text = stage_json();
    assert_non_null(strstr(text, "\"error\": \"cannot use 'sub/x.bin' of "
                                 "'out/t'\""));
    assert_non_null(strstr(text, "\"state\": \"done\""));
    mem_free(text);
    assert_int_equal(run(&res), 0);
    assert_told("fresh a (failed as expected);skip b (needs a, which failed "
                "as expected);");
    assert_true(res.points == 2 && res.n_up_to_date == 1);
    assert_int_equal(runs[0], 1);
}

static void several_at_once_do_the_same(void **state)
{
    (void)state;
    expect_error("cannot use", ERR_CORRUPT);
    opts.jobs = 2;
    assert_int_equal(run(NULL), 0);
    assert_told("run a (first run);skip b (needs a, which failed as "
                "expected);");
}

static void another_error_is_a_failure_that_says_what_was_to_come(void **state)
{
    struct pl_result res;

    (void)state;
    expect_error("out of bounds", ERR_CORRUPT);
    assert_int_equal(run(&res), ERR_CORRUPT);
    assert_string_equal(last_failure.msg,
                        "cannot use 'sub/x.bin' of 'out/t'; a message with "
                        "'out of bounds' was to come");
    assert_true(res.points == 0 && res.n_failed == 1);
    assert_false(io_exists(at("a/stage.json")));
}

static void a_stage_without_the_error_fails_its_expectation(void **state)
{
    struct pl_result res;

    (void)state;
    expect_error("cannot use", 0);
    assert_int_equal(run(&res), 0);
    assert_told("run a (first run);run b (first run);");
    assert_int_equal(res.n_failed_expectations, 1);
    assert_true(res.points == 0 && res.of == 2);
    assert_int_equal(run(&res), 0);
    assert_told("fresh a ();fresh b ();");
    assert_int_equal(res.n_failed_expectations, 1);
}

static void some_failures_are_never_the_expected_one(void **state)
{
    static const int codes[] = {ERR_FETCH, ERR_NOMEM, ERR_INTERRUPTED};
    size_t i;

    (void)state;
    for (i = 0; i < 3; i++) {
        expect_error("cannot use", codes[i]);
        assert_int_equal(run(NULL), codes[i]);
        assert_false(io_exists(at("a/stage.json")));
    }
    assert_true(pl_error_counts(ERR_CONFIG) && pl_error_counts(ERR_NONFINITE));
}

static void a_time_out_is_never_the_expected_one(void **state)
{
    (void)state;
    expect_error("timed out", 0);
    kind.run = work;
    behaviour[0] = WAIT_TO_STOP;
    stages[0].timeout = 0.05;
    assert_int_equal(run(NULL), ERR_INTERRUPTED);
    assert_false(io_exists(at("a/stage.json")));
}

static void what_is_expected_may_change(void **state)
{
    (void)state;
    expect_error("cannot use", ERR_CORRUPT);
    assert_int_equal(run(NULL), 0);
    expect.error = "of 'out/t'"; /* holds of the same message */
    assert_int_equal(run(NULL), 0);
    assert_int_equal(runs[0], 1);
    stages[0].n_expect = 0;
    code = 0;
    assert_int_equal(run(NULL), 0);
    assert_told("run a (it failed, and that is not expected any more);"
                "run b (first run);");
    assert_int_equal(run(NULL), 0);
    assert_told("fresh a ();fresh b ();");
}

static void a_plan_knows_what_will_not_run(void **state)
{
    struct pl_plan *plan;
    struct err err = {0};

    (void)state;
    expect_error("cannot use", ERR_CORRUPT);
    assert_int_equal(pl_job_prepare(&job, &err), 0);
    assert_int_equal(pl_plan_make(&plan, &job, &err), 0);
    assert_int_equal(plan->step[1].action, PL_SKIP);
    assert_string_equal(plan->step[1].reason, "needs a, which is to fail");
    assert_int_equal(pl_plan_work(plan), 1);
    pl_plan_free(plan);
    assert_int_equal(run(NULL), 0);
    assert_int_equal(pl_plan_make(&plan, &job, &err), 0);
    assert_string_equal(plan->step[0].reason, "failed as expected");
    assert_int_equal(plan->step[0].state, PL_STATE_DONE);
    assert_int_equal(pl_plan_work(plan), 0);
    pl_plan_free(plan);
}

static void a_message_does_not_say_where_results_lie(void **state)
{
    static const char *const dirs[] = {"/tmp/out", "/tmp/out/t/a", NULL, "/"};
    struct str s = {0};

    (void)state;
    str_add(&s, "");
    pl_error_text(&s,
                  "/tmp/out/x '/tmp/out/t/a/b.bin' \"/tmp/outside\" "
                  "a/tmp/out/c (/tmp/out/t/ab)",
                  dirs, 4);
    assert_string_equal(s.text, "x 'b.bin' \"/tmp/outside\" a/tmp/out/c "
                                "(t/ab)");
    str_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_expected_error_is_an_end_and_is_not_run_again),
        CASE(several_at_once_do_the_same),
        CASE(another_error_is_a_failure_that_says_what_was_to_come),
        CASE(a_stage_without_the_error_fails_its_expectation),
        CASE(some_failures_are_never_the_expected_one),
        CASE(a_time_out_is_never_the_expected_one),
        CASE(what_is_expected_may_change),
        CASE(a_plan_knows_what_will_not_run),
        cmocka_unit_test(a_message_does_not_say_where_results_lie),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
