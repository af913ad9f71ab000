/* A device's records among a profile's spans. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/gpu_fixture.h"

static void a_launch_and_its_work_are_linked(void **state)
{
    json_t *root, *kernel, *launch;

    (void)state;
    eager_step(1, 0);
    root = written();
    launch = find(root, "cuda_runtime", "cudaLaunchKernel", 0);
    kernel = find(root, "kernel", "gemm<float>", 0);
    assert_int_equal(
        json_integer_value(arg(kernel, "External id")),
        json_integer_value(
            arg(find(root, "cpu_op", "pipeline::linear", 0), "External id")));
    assert_int_equal(json_integer_value(arg(launch, "External id")),
                     json_integer_value(arg(kernel, "External id")));
    assert_string_equal(json_string_value(arg(kernel, "layer")), "fc,1");
    assert_string_equal(json_string_value(arg(kernel, "op")), "linear");
    assert_string_equal(json_string_value(arg(kernel, "role")), "forward");
    assert_int_equal(json_integer_value(arg(kernel, "stream")), 7);
    assert_int_equal(json_integer_value(arg(kernel, "graph id")), 0);
    assert_true(json_real_value(arg(kernel, "blocks per SM")) == 0.5);
    assert_true(json_real_value(arg(kernel, "warps per SM")) == 1.5);
    assert_int_equal(
        json_integer_value(arg(kernel, "est. achieved occupancy %")), 2);
    assert_null(arg(find(root, "gpu_memcpy", NULL, 0), "External id"));
    assert_true(json_real_value(arg(find(root, "gpu_memcpy", NULL, 0),
                                    "memory bandwidth (GB/s)")) == 100.0);
    assert_int_equal(events_of(root, "ac2g"), 8);
    assert_int_equal(json_integer_value(json_object_get(root, "simulated")), 1);
    assert_int_equal(json_integer_value(json_object_get(root, "cupti_version")),
                     130001);
    json_decref(root);
}

static void gpu_phases_enclose_their_work_and_touch_no_other(void **state)
{
    json_t *root, *phase;

    (void)state;
    eager_step(1, 0);
    root = written();
    assert_int_equal(events_of(root, "gpu_user_annotation"), 3);
    phase = find(root, "gpu_user_annotation", "forward", 0);
    assert_int_equal(event_ns(phase, "dur"), 450 - 130 + 2);
    assert_int_equal(
        json_integer_value(arg(phase, "External id")),
        json_integer_value(
            arg(find(root, "user_annotation", "forward", 0), "External id")));
    json_decref(root);
}

static void back_to_back_phases_are_not_widened_into_each_other(void **state)
{
    (void)state;
    eager_step(1, 0);
    w.event[7].begin = t0 + 450; /* adam, where bias ends */
    w.event[1].end = t0 + 130;   /* the copy, where gemm begins */
    json_decref(written());
    assert_int_equal(w.gpu.n_phases, 3);
    assert_true(w.gpu.phase[0].end == t0 + 130);
    assert_true(w.gpu.phase[1].begin == t0 + 130);
    assert_true(w.gpu.phase[1].end == t0 + 450);
    assert_true(w.gpu.phase[2].begin == t0 + 450);
}

static void work_without_length_and_at_one_time_is_kept(void **state)
{
    json_t *root;

    (void)state;
    eager_step(1, 0);
    w.event[3].end = t0 + 130;
    w.event[5].begin = w.event[5].end = t0 + 130;
    w.event[7].begin = w.event[7].end = t0 + 350;
    w.event[1].begin = w.event[1].end = t0 + 130;
    root = written();
    assert_int_equal(events_of(root, "kernel"), 3);
    assert_null(
        arg(find(root, "gpu_memcpy", NULL, 0), "memory bandwidth (GB/s)"));
    json_decref(root);
}

static void clocks_that_differ_break_no_rule(void **state)
{
    json_t *root;

    (void)state;
    eager_step(1, 0);
    w.event[2].begin = t0 + 105; /* before its operator */
    w.event[4].end = t0 + 305;   /* after it */
    w.event[0].begin = t0 + 5;   /* before its phase */
    w.event[8].end = t0 + 1003;  /* after the step */
    w.event[3].begin = t0 + 100; /* before its launch */
    w.event[5].begin = t0 + 390; /* before the end of the last one */
    root = written();
    assert_int_equal(events_of(root, "kernel"), 3);
    assert_true(json_is_number(
        arg(find(root, "kernel", "gemm<float>", 0), "recorded ts")));
    assert_int_equal(
        event_ns(find(root, "kernel", "gemm<float>", 0), "ts"),
        event_ns(find(root, "cuda_runtime", "cudaLaunchKernel", 0), "ts"));
    assert_null(arg(find(root, "kernel", "adam", 0), "recorded ts"));
    json_decref(root);
}

static void a_graph_tells_the_phases_of_its_nodes(void **state)
{
    json_t *root;

    (void)state;
    recorded_step(1, 0);
    recorded_step(2, 1000);
    root = written();
    assert_int_equal(events_of(root, "kernel"), 8);
    assert_int_equal(events_of(root, "ac2g"), 4); /* one flow a launch */
    assert_int_equal(events_of(root, "gpu_user_annotation"), 4);
    assert_null(
        arg(find(root, "gpu_user_annotation", "forward", 0), "External id"));
    assert_null(arg(find(root, "kernel", NULL, 0), "External id"));
    assert_int_equal(
        json_integer_value(arg(find(root, "kernel", "adam", 1), "graph id")),
        3);
    assert_string_equal(
        json_string_value(arg(find(root, "kernel", "adam", 1), "phase")),
        "optimizer");
    json_decref(root);
}

static void launches_of_a_capture_are_left_out(void **state)
{
    json_t *root;

    (void)state;
    recorded_step(1, 0);
    span(PROF_PHASE, nn_traced_prepare, 600, 900, 0);
    event(NN_EVENT_CALL, "cudaStreamBeginCapture", 610, 620, 50);
    event(NN_EVENT_CALL, "cudaLaunchKernel", 630, 640, 51);
    event(NN_EVENT_CALL, "cudaStreamEndCapture", 650, 660, 52);
    root = written();
    assert_int_equal(events_of(root, "cuda_runtime"), 3);
    assert_true(w.gpu.unmatched == 0);
    json_decref(root);
}

static void two_streams_have_rows_and_phases_of_their_own(void **state)
{
    struct pl_gpu_sums s;
    struct err err = {0};
    json_t *root;

    (void)state;
    eager_step(1, 0);
    w.event[1].stream = 13; /* the copy, at the time of gemm */
    w.event[1].begin = t0 + 150;
    w.event[1].end = t0 + 350;
    root = written();
    assert_int_equal(events_of(root, "gpu_user_annotation"), 3);
    assert_non_null(find(root, "", "thread_name", 2));
    assert_int_equal(event_int(find(root, "gpu_memcpy", NULL, 0), "tid"), 13);
    assert_int_equal(pl_gpu_sum_up(&w.gpu, &w.t, 0, &s, &err), 0);
    /* 130 to 450 and 460 to 700: what is done at once counts once */
    assert_true(s.busy == 320 + 240);
    assert_true(s.end - s.begin == 1000);
    assert_true(s.kernels == 3 && s.launches == 4);
    assert_true(s.h2d_bytes == 4000 && s.h2d_ns == 200 && s.wait_ns == 300);
    json_decref(root);
}

static void only_the_traced_steps_are_kept(void **state)
{
    json_t *root;
    size_t i, n;

    (void)state;
    eager_step(1, 0);
    n = w.t.n;
    eager_step(2, 1000); /* whose spans were not recorded */
    w.t.n = n;
    w.t.n_steps = 1;
    event(NN_EVENT_CALL, "cudaLaunchKernel", -60, -40, 60);
    event(NN_EVENT_KERNEL, "early", 20, 30, 60); /* runs in, launched before */
    root = written();
    assert_int_equal(events_of(root, "kernel"), 3);
    assert_int_equal(events_of(root, "cuda_runtime"), 5);
    assert_true(w.gpu.unmatched == 0);
    for (i = 0; i < w.gpu.n_ops; i++)
        assert_true(w.gpu.op[i].step == 0);
    json_decref(root);
}

static void what_lost_its_counterpart_is_counted_and_left_out(void **state)
{
    json_t *root;

    (void)state;
    eager_step(1, 0);
    event(NN_EVENT_KERNEL, "orphan", 800, 900, 77);
    event(NN_EVENT_CALL, "cudaLaunchKernel", 420, 430, 78);
    root = written();
    assert_int_equal(events_of(root, "kernel"), 3);
    assert_true(w.gpu.unmatched == 2);
    json_decref(root);
}

static void no_records_at_all_leave_a_trace_of_the_spans(void **state)
{
    json_t *root;

    (void)state;
    eager_step(1, 0);
    w.trace.n = 0;
    root = written();
    assert_int_equal(events_of(root, "user_annotation"), 5);
    assert_int_equal(
        events_of(root, "cuda_runtime") + events_of(root, "kernel"), 0);
    json_decref(root);
    pl_gpu_clear(&w.gpu);
    memset(&w.t, 0, sizeof w.t); /* nor a step */
    w.t.span = w.at;
    w.t.step = w.step;
    json_decref(written());
}

/* The n-th allocation fails, for each n there is. */
static void without_memory_nothing_is_left(void **state)
{
    long live, n;
    int rc = ERR_NOMEM;

    (void)state;
    eager_step(1, 0);
    live = mem_live();
    for (n = 1; rc != 0 && n < 100; n++) {
        struct err err = {0};

        mem_fail_after(n);
        rc = pl_gpu_read(&w.gpu, &w.t, &w.trace, &err);
        mem_fail_after(0);
        if (rc != 0) {
            assert_int_equal(rc, ERR_NOMEM);
            assert_int_equal(mem_live(), live);
        }
    }
    assert_int_equal(rc, 0);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(a_launch_and_its_work_are_linked),
        CASE(gpu_phases_enclose_their_work_and_touch_no_other),
        CASE(back_to_back_phases_are_not_widened_into_each_other),
        CASE(work_without_length_and_at_one_time_is_kept),
        CASE(clocks_that_differ_break_no_rule),
        CASE(a_graph_tells_the_phases_of_its_nodes),
        CASE(launches_of_a_capture_are_left_out),
        CASE(two_streams_have_rows_and_phases_of_their_own),
        CASE(only_the_traced_steps_are_kept),
        CASE(what_lost_its_counterpart_is_counted_and_left_out),
        CASE(no_records_at_all_leave_a_trace_of_the_spans),
        CASE(without_memory_nothing_is_left),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
