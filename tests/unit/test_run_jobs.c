#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/run_fixture.h"

static int set_up_two(void **state)
{
    int rc = set_up(state);

    opts.jobs = 2;
    stages[1].n_needs = 0;
    return rc;
}

static void stages_that_do_not_need_each_other_run_at_once(void **state)
{
    struct pl_result res;

    (void)state;
    behaviour[0] = behaviour[1] = MEET;
    with[1].value = 1;
    assert_int_equal(run(&res), 0);
    assert_told("run a (first run);run b (first run);");
    assert_string_equal(lines.text, "a says 0\nb says 1\n");
    assert_int_equal(runs[0] + runs[1], 0); /* in processes of their own */
    assert_true(res.points == 10 && res.n_run == 2);
    assert_int_equal(run(&res), 0);
    assert_told("fresh a ();fresh b ();");
}

static void needs_come_first(void **state)
{
    (void)state;
    stages[1].n_needs = 1;
    assert_int_equal(run(NULL), 0);
    with[0].value = 7;
    assert_int_equal(run(NULL), 0);
    assert_told("run a (with.value 0 -> 7);run b (input from a changed);");
    assert_true(io_exists(at(".runs/1/a/stage.json")));
    assert_true(io_exists(at(".runs/1/b/stage.json")));
}

static void kind_that_wants_the_device_runs_here_and_alone(void **state)
{
    (void)state;
    kind.needs_device = true;
    assert_int_equal(run(NULL), 0);
    assert_int_equal(runs[0], 1);
    assert_int_equal(runs[1], 1);
    assert_told("run a (first run);run b (first run);");
}

static void failure_is_told_and_the_other_stage_ends(void **state)
{
    struct pl_result res;

    (void)state;
    behaviour[0] = FAIL;
    assert_int_equal(run(&res), ERR_IO);
    assert_told("run a (first run);failed a;run b (first run);");
    assert_string_equal(last_failure.msg, "told to fail");
    assert_int_equal(res.n_failed, 1);
    assert_true(io_exists(at("b/stage.json")));
    stages[1].n_needs = 1;
    opts.keep_going = true;
    assert_int_equal(run(&res), ERR_IO);
    assert_told("run a (failed last time: resumes);failed a;skip b (needs a);");
}

static void stage_whose_process_dies_fails(void **state)
{
    (void)state;
    behaviour[0] = DIE;
    assert_int_equal(run(NULL), ERR_IO);
    assert_string_equal(last_failure.msg, "its process was ended by signal 9");
    behaviour[0] = OBEY;
    assert_int_equal(run(NULL), 0);
    assert_told("run a (interrupted: resumes);fresh b ();");
}

static void stop_reaches_every_stage(void **state)
{
    struct pl_result res;

    (void)state;
    behaviour[0] = behaviour[1] = WAIT_TO_STOP;
    stop_after = 20;
    assert_int_equal(run(&res), ERR_INTERRUPTED);
    assert_int_equal(res.n_failed, 0);
    assert_told("run a (first run);run b (first run);");
    stop = false;
    behaviour[0] = behaviour[1] = OBEY;
    assert_int_equal(run(NULL), 0);
    assert_told("run a (interrupted: resumes);run b (interrupted: resumes);");
}

static void time_out_ends_one_stage(void **state)
{
    (void)state;
    behaviour[0] = WAIT_TO_STOP;
    stages[0].timeout = 0.05;
    assert_int_equal(run(NULL), ERR_INTERRUPTED);
    assert_told("run a (first run);failed a;run b (first run);");
    assert_string_equal(last_failure.msg, "timed out after 0.05 s");
}

#define TWO(f) cmocka_unit_test_setup_teardown(f, set_up_two, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TWO(stages_that_do_not_need_each_other_run_at_once),
        TWO(needs_come_first),
        TWO(kind_that_wants_the_device_runs_here_and_alone),
        TWO(failure_is_told_and_the_other_stage_ends),
        TWO(stage_whose_process_dies_fails),
        TWO(stop_reaches_every_stage),
        TWO(time_out_ends_one_stage),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
