#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/trace_check.h"
#include "tests/unit/trace_fixture.h"

static const char gpu[] = "tests/golden/trace-gpu.json";

static struct trace *checked(const char *path,
                             const struct trace_schedule *schedule)
{
    struct err err = {0};
    struct trace *t;

    if (pl_trace_read(&t, path, &err) != 0 ||
        pl_trace_check(t, schedule, &err) != 0)
        fail_msg("%s", err.msg);
    return t;
}

static void the_samples_break_no_rule(void **state)
{
    struct trace *t = checked(gpu, NULL);
    size_t i;

    (void)state;
    assert_int_equal(pl_trace_broken(t), 0);
    for (i = 0; i < TRACE_RULES; i++)
        if (t->faults.checked[i] == 0)
            fail_msg("%s had nothing to check", trace_rule_text[i].id);
    pl_trace_free(t);
    t = checked("tests/golden/trace-cpu.json", NULL);
    assert_int_equal(pl_trace_broken(t), 0);
    pl_trace_free(t);
}

/* One change of the sample breaks one rule so often and no other. */
static const struct broken {
    enum trace_rule rule;
    unsigned times;
    const char *from, *to;
    const char *says; /* of the first fault */
} broken[] = {
    {RULE_JSON, 1, "\"dur\": 150.000", "\"dur\": 1, \"dur\": 150.000",
     "event 4: the key 'dur' stands twice, again at offset 813"},
    {RULE_TS, 1, "\"ts\": 1000.000", "\"ts\": -0.001",
     "'Record Window End': ts must be a time from 0 on, not -0.001"},
    {RULE_DUR, 1, "\"dur\": 7.000", "\"dur\": -7.000",
     "'pipeline::copy_': dur must be a time from 0 us to 104 days, not -7.000"},
    {RULE_NESTING, 1, "\"ts\": 415.000, \"dur\": 8.000",
     "\"ts\": 415.000, \"dur\": 17.001", "ends 0.001 us behind it"},
    {RULE_GPU_OP, 1, "\"cudaStreamWaitEvent\"", "\"cudaLaunchKernelExC\"",
     "'cudaLaunchKernelExC' with correlation 1003 has 0 GPU operations"},
    {RULE_FLOW, 1, "\"ph\": \"f\"", "\"ph\": \"t\"",
     "the beginning (s) of flow 1001 'ac2g' has no end (f)"},
    {RULE_FLOW, 1, "\"ph\": \"s\"", "\"ph\": \"t\"",
     "the end (f) of flow 1001 'ac2g' has no beginning (s)"},
    {RULE_FLOW, 1, "\"tid\": 13, \"ts\": 407.000, \"cat\"",
     "\"tid\": 13, \"ts\": 411.002, \"cat\"",
     "the end (f) of flow 1001 'ac2g' lies in no slice"},
    {RULE_CAUSALITY, 1, "\"ts\": 416.000, \"dur\": 3.000",
     "\"ts\": 420.001, \"dur\": 2.000", "begins 0.001 us before its launch"},
    {RULE_STREAM_SYNC, 1, "\"ts\": 471.000, \"dur\": 3.000",
     "\"ts\": 471.000, \"dur\": 26.000", "still runs on stream 7"},
    {RULE_WAIT, 1, "corr_id\": 1002", "corr_id\": 1003",
     "the cudaEventRecord that it names is not there"},
    {RULE_WAIT, 1, "corr_id\": 1002", "corr_id\": -1",
     "does not say which cudaEventRecord"},
    {RULE_WAIT, 1, "corr_id\": 1002", "corr_id\": 1010",
     "the cudaEventRecord that it names comes later"},
    {RULE_STEPS, 1, "ProfilerStep#4", "ProfilerStep#5",
     "'ProfilerStep#5' does not follow ProfilerStep#3"},
    {RULE_PHASE_OF, 1, "\"user_annotation\", \"name\": \"clear grad\"",
     "\"python_function\", \"name\": \"clear grad\"",
     "'Memset (Device)' was launched in no phase of ProfilerStep#2"},
    {RULE_KERNELS, 1,
     "\"kernel\", \"name\": \"linear_bwd(float*)\", \"pid\": 0, "
     "\"tid\": 7, \"ts\": 846.000",
     "\"gpu_memset\", \"name\": \"m\", \"pid\": 0, \"tid\": 7, \"ts\": 846.000",
     "has 3 kernels, ProfilerStep#3 has 4"},
};

/* The change breaks other rules as well where it must. */
static const struct broken broken_besides[] = {
    {RULE_LAUNCH, 1,
     "\"cudaEventRecord\", \"pid\": 4242, \"tid\": 4242, "
     "\"ts\": 406.500, \"dur\": 1.000, \"args\": {\"cbid\": 0, "
     "\"correlation\": 1002",
     "\"cuMemcpy_x\", \"pid\": 4242, \"tid\": 4242, \"ts\": 406.500, \"dur\": "
     "1.000, \"args\": {\"cbid\": 0, \"correlation\": 1001",
     "has correlation 1001, which 2 launches have"},
    {RULE_PHASES, 1, "\"ts\": 462.000, \"dur\": 10.000",
     "\"ts\": 460.000, \"dur\": 100.001",
     "takes 150.000 us, its phases 154.001 us"},
    {RULE_STEPS, 1, "\"ts\": 600.000, \"dur\": 150.000",
     "\"ts\": 549.999, \"dur\": 200.001", "begins in ProfilerStep#2"},
    {RULE_PHASE_OF, 1, "\"ts\": 433.000, \"dur\": 5.000",
     "\"ts\": 433.000, \"dur\": 10.000",
     "'linear_bwd(float*)' was launched in several phases of ProfilerStep#2"},
    {RULE_LAUNCH, 1, "\"correlation\": 1001, \"bytes\"", "\"bytes\"",
     "has no correlation"},
};

static void check_one(const struct broken *b, bool alone)
{
    struct trace *t;
    size_t i;

    put_changed(gpu, b->from, b->to);
    t = checked(trace_path, NULL);
    for (i = 0; i < TRACE_RULES; i++)
        if ((i == b->rule && t->faults.broken[i] != b->times) ||
            (alone && i != b->rule && t->faults.broken[i] != 0))
            fail_msg("'%s': %s is broken %d times: %s", b->to,
                     trace_rule_text[i].id, (int)t->faults.broken[i],
                     t->faults.text[i][0]);
    if (!strstr(t->faults.text[b->rule][0], b->says))
        fail_msg("'%s' does not say '%s'", t->faults.text[b->rule][0], b->says);
    pl_trace_free(t);
}

static void each_rule_notices_what_breaks_it(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < sizeof broken / sizeof *broken; i++)
        check_one(&broken[i], true);
    for (i = 0; i < sizeof broken_besides / sizeof *broken_besides; i++)
        check_one(&broken_besides[i], false);
}

static void a_schedule_says_which_steps_are_due(void **state)
{
    struct trace_schedule s = {
        .schedule = {.wait = 1, .warmup = 1, .active = 3, .repeat = 1},
        .n_steps = 9};
    struct trace *t = checked(gpu, &s);

    (void)state;
    assert_int_equal(pl_trace_broken(t), 0);
    pl_trace_free(t);
    s.schedule.active = 4;
    t = checked(gpu, &s);
    assert_int_equal(t->faults.broken[RULE_STEPS], 1);
    assert_string_equal(t->faults.text[RULE_STEPS][0],
                        "ProfilerStep#5 is missing");
    pl_trace_free(t);
    s.schedule.active = 2;
    t = checked(gpu, &s);
    assert_int_equal(t->faults.broken[RULE_STEPS], 1);
    pl_trace_free(t);
}

/* Steps #n of the CPU's kind, nothing in them. */
static struct trace *steps(const int *number, size_t n)
{
    struct str s = {0};
    struct trace *t;
    size_t i;

    str_add(&s, "[");
    for (i = 0; i < n; i++)
        str_addf(&s,
                 "%s{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":"
                 "\"ProfilerStep#%d\",\"ts\":%zu,\"dur\":1}",
                 i ? "," : "", number[i], i);
    str_add(&s, "]");
    put_trace(s.text, s.len);
    str_free(&s);
    t = checked(trace_path, NULL);
    return t;
}

static void cycles_of_steps_may_have_gaps_of_one_length(void **state)
{
    static const int cycles[] = {2, 3, 7, 8, 12, 13};
    static const int missing[] = {2, 3, 4, 6, 7};
    struct trace *t = steps(cycles, 6);

    (void)state;
    assert_int_equal(pl_trace_broken(t), 0);
    pl_trace_free(t);
    t = steps(missing, 5);
    assert_int_equal(t->faults.broken[RULE_STEPS], 1);
    pl_trace_free(t);
}

static void at_most_twenty_faults_of_a_rule_are_told(void **state)
{
    struct str s = {0}, report = {0};
    uint64_t n;
    int i;

    (void)state;
    str_add(&s, "[");
    for (i = 0; i < 25; i++)
        str_add(&s, "{\"ph\":\"X\",\"name\":\"\\u001b[2J\",\"ts\":1},");
    str_add(&s, "{}]");
    put_trace(s.text, s.len);
    str_free(&s);
    assert_int_equal(
        pl_trace_check_file(&report, &n, trace_path, NULL, false, NULL), 0);
    assert_int_equal(n, 26); /* {} has no ts */
    assert_non_null(strstr(report.text, "    and 5 more\n"));
    assert_null(strchr(report.text, '\033'));
    str_free(&report);
}

static void a_file_that_is_no_json_breaks_a_rule(void **state)
{
    struct str report = {0};
    uint64_t n;

    (void)state;
    put_trace("[{", 2);
    assert_int_equal(
        pl_trace_check_file(&report, &n, trace_path, NULL, false, NULL), 0);
    assert_int_equal(n, 1);
    assert_non_null(strstr(report.text, "is cut short: it ends at offset 2"));
    str_free(&report);
    assert_int_equal(
        pl_trace_check_file(&report, &n, "/nowhere", NULL, false, NULL),
        ERR_IO);
    str_free(&report);
}

static void every_failed_allocation_is_an_error(void **state)
{
    uint64_t broken_rules;
    int rc = ERR_NOMEM;
    long n;

    (void)state;
    for (n = 1; rc != 0; n++) {
        struct str report = {0};
        struct err err = {0};

        mem_fail_after(n);
        rc =
            pl_trace_check_file(&report, &broken_rules, gpu, NULL, false, &err);
        mem_fail_after(0);
        assert_true(rc == ERR_NOMEM || rc == 0);
        rc = rc == 0 && report.failed ? ERR_NOMEM : rc;
        str_free(&report);
        assert_int_equal(mem_live(), 0);
    }
}

#define CASE(f) \
    cmocka_unit_test_setup_teardown(f, trace_set_up, trace_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_samples_break_no_rule),
        CASE(each_rule_notices_what_breaks_it),
        CASE(a_schedule_says_which_steps_are_due),
        CASE(cycles_of_steps_may_have_gaps_of_one_length),
        CASE(at_most_twenty_faults_of_a_rule_are_told),
        CASE(a_file_that_is_no_json_breaks_a_rule),
        CASE(every_failed_allocation_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
