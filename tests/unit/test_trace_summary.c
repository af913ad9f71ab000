#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/pipeline.h"
#include "pipeline/trace_summary.h"
#include "tests/unit/trace_fixture.h"

static const char gpu[] = "tests/golden/trace-gpu.json";
static const char cpu[] = "tests/golden/trace-cpu.json";

static void make(struct trace_summary *s, const char *path)
{
    struct err err = {0};

    if (trace_summary_make(s, path, &err) != 0)
        fail_msg("%s", err.msg);
}

static const struct trace_stat *row(const struct trace_summary *s,
                                    enum trace_group g, const char *name)
{
    size_t i;

    for (i = 0; i < s->top[g].n; i++)
        if (strcmp(s->top[g].row[i].name, name) == 0)
            return &s->top[g].row[i];
    fail_msg("no row '%s'", name);
    return NULL;
}

static void steps_and_phases_are_found(void **state)
{
    struct trace_summary s;

    (void)state;
    make(&s, gpu);
    assert_int_equal(s.steps.n, 3);
    assert_int_equal(s.steps.step[2].number, 4);
    assert_int_equal(s.steps.step[2].n_phases, 5);
    assert_true(trace_step_mean(&s) == 150000);
    assert_int_equal(s.top[GROUP_PHASES].n, 5);
    assert_int_equal(row(&s, GROUP_PHASES, "forward")->total, 60000);
    assert_int_equal(s.top[GROUP_PHASES].self, 450000);
    assert_string_equal(trace_writer(s.t), "pipeline");
    trace_summary_free(&s);
}

static void self_time_leaves_out_what_is_inside(void **state)
{
    struct trace_summary s;

    (void)state;
    make(&s, cpu);
    assert_int_equal(row(&s, GROUP_OPS, "pipeline::linear")->total, 90000);
    assert_int_equal(row(&s, GROUP_OPS, "pipeline::linear")->self, 30000);
    assert_int_equal(row(&s, GROUP_OPS, "pipeline::matmul")->self, 60000);
    assert_string_equal(s.top[GROUP_OPS].row[0].name,
                        "pipeline::linear_backward");
    assert_int_equal(s.n_gpus, 0);
    assert_int_equal(s.t->memory[0].peak_allocated, 131072);
    trace_summary_free(&s);
}

static void streams_that_work_at_once_count_once(void **state)
{
    static const char two[] =
        "[{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"pid\":0,\"tid\":7,"
        "\"ts\":0,\"dur\":4},"
        "{\"ph\":\"X\",\"cat\":\"gpu_memcpy\",\"name\":\"b\",\"pid\":0,\"tid\":"
        "8,\"ts\":2,\"dur\":4},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"pid\":0,\"tid\":7,"
        "\"ts\":8,\"dur\":2},"
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"a\",\"pid\":1,\"tid\":7,"
        "\"ts\":1,\"dur\":1}]";
    struct trace_summary s;

    (void)state;
    put_trace(two, sizeof two - 1);
    make(&s, trace_path);
    assert_int_equal(s.n_gpus, 2);
    assert_int_equal(s.gpu[0].busy, 8000);
    assert_int_equal(s.gpu[1].busy, 1000);
    assert_int_equal(s.to - s.from, 10000);
    trace_summary_free(&s);
}

static void work_outside_of_the_steps_is_not_in_the_window(void **state)
{
    struct trace_summary s;

    (void)state;
    put_changed(gpu, "\"ts\": 871.000, \"dur\": 3.000",
                "\"ts\": 949.000, \"dur\": 3.000");
    make(&s, trace_path);
    assert_int_equal(s.gpu[0].busy, 63000 - 2000);
    trace_summary_free(&s);
}

static void simulated_is_said_first(void **state)
{
    struct str out = {0};

    (void)state;
    put_changed(gpu, "NVIDIA H200", "SIMULATED (no GPU)");
    assert_int_equal(pl_trace_report(&out, trace_path, false, NULL), 0);
    assert_non_null(strstr(out.text, "\nSIMULATED: "));
    str_clear(&out);
    assert_int_equal(pl_trace_report(&out, gpu, false, NULL), 0);
    assert_null(strstr(out.text, "SIMULATED"));
    str_free(&out);
}

static void names_cannot_command_a_terminal(void **state)
{
    struct str out = {0};

    (void)state;
    put_changed(gpu, "adam_1(float*)", "\\u001b]0;x\\u0007\\u009b2J\\n");
    assert_int_equal(pl_trace_report(&out, trace_path, false, NULL), 0);
    assert_non_null(strstr(out.text, "?]0;x??2J?"));
    assert_null(strchr(out.text, '\033'));
    str_free(&out);
}

static void two_traces_are_compared_step_by_step(void **state)
{
    struct str out = {0};

    (void)state;
    assert_int_equal(pl_trace_compare(&out, gpu, cpu, false, NULL), 0);
    assert_non_null(
        strstr(out.text, "backward       20.000     60.000  3.00\n"));
    assert_non_null(
        strstr(out.text, "pipeline::adam                     -     11.125     "
                         "-\n"));
    str_clear(&out);
    assert_int_equal(pl_trace_compare(&out, gpu, cpu, true, NULL), 0);
    assert_non_null(strstr(out.text, "{\"name\": \"pipeline::matmul\", "
                                     "\"a_us\": null, \"b_us\": 20, "
                                     "\"ratio\": null}"));
    str_free(&out);
}

static void durations_beyond_all_sums_do_not_overflow(void **state)
{
    struct str text = {0}, out = {0};
    int i;

    (void)state;
    str_add(&text, "[");
    for (i = 0; i < 2000; i++)
        str_add(&text, "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\","
                       "\"ts\":2e15,\"dur\":9e12},");
    str_add(&text, "{\"ph\":\"M\"}]");
    put_trace(text.text, text.len);
    assert_int_equal(pl_trace_report(&out, trace_path, false, NULL), 0);
    assert_int_equal(pl_trace_report(&out, trace_path, true, NULL), 0);
    str_free(&text);
    str_free(&out);
}

static int report(bool two, struct str *out, struct err *err)
{
    return two ? pl_trace_compare(out, gpu, cpu, false, err)
               : pl_trace_report(out, gpu, false, err);
}

/* Whatever allocation fails, a text that is there is a whole one. */
static void without_memory(bool two)
{
    struct str whole = {0};
    int rc = ERR_NOMEM;
    long n;

    assert_int_equal(report(two, &whole, NULL), 0);
    for (n = 1; rc != 0; n++) {
        struct str out = {0};
        struct err err = {0};

        mem_fail_after(n);
        rc = report(two, &out, &err);
        mem_fail_after(0);
        assert_true(rc == ERR_NOMEM || rc == 0);
        rc = rc == 0 && out.failed ? ERR_NOMEM : rc;
        if (rc == 0)
            assert_string_equal(out.text, whole.text);
        str_free(&out);
    }
    str_free(&whole);
}

static void every_failed_allocation_is_an_error(void **state)
{
    (void)state;
    without_memory(false);
    without_memory(true);
}

#define CASE(f) \
    cmocka_unit_test_setup_teardown(f, trace_set_up, trace_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(steps_and_phases_are_found),
        CASE(self_time_leaves_out_what_is_inside),
        CASE(streams_that_work_at_once_count_once),
        CASE(work_outside_of_the_steps_is_not_in_the_window),
        CASE(simulated_is_said_first),
        CASE(names_cannot_command_a_terminal),
        CASE(two_traces_are_compared_step_by_step),
        CASE(durations_beyond_all_sums_do_not_overflow),
        CASE(every_failed_allocation_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
