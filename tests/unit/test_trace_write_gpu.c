/* What is written of a device's records: the trace, tables, the picture. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nn/base/io.h"
#include "tests/unit/gpu_fixture.h"
#include "tests/unit/svg_fixture.h"

static void names_survive_whatever_they_hold(void **state)
{
    static const char name[] = "f<\"a\\b\">(\n)\t\x01 gr\xc3\xbc\xc3\x9f";
    json_t *root;
    struct str csv = {0};
    struct err err = {0};

    (void)state;
    eager_step(1, 0);
    w.event[3].name = name;
    root = written();
    assert_non_null(find(root, "kernel", name, 0));
    assert_int_equal(pl_gpu_kernels_csv(&w.gpu, &w.t, &csv, &err), 0);
    assert_non_null(strstr(csv.text, "\"f<\"\"a\\b\"\">(\n)"));
    str_free(&csv);
    assert_int_equal(pl_gpu_track_svg(&w.gpu, &w.t, "x & y", &csv, &err), 0);
    expect_well_formed(csv.text);
    assert_non_null(strstr(csv.text, ">SIMULATED: no GPU, no time means"));
    assert_non_null(strstr(csv.text, ">stream 7<"));
    str_free(&csv);
    json_decref(root);
}

static void kernels_are_summed_up_by_operator(void **state)
{
    static const char want[] =
        "layer,op,role,phase,kernel,count,total_us,mean_us,min_us,max_us,share,"
        "grid,block,registers,shared_bytes,blocks_per_sm,bytes\n"
        ",,,h2d,Memcpy HtoD (Pageable -> Device),2,0.080,0.040,0.040,0.040,"
        "0.0400,,,,,,4000\n"
        "\"fc,1\",linear,forward,forward,gemm<float>,2,0.640,0.320,0.270,0.370,"
        "0.3200,2x1x1,96x1x1,40,1024,16,\n"
        "\"fc,1\",linear,forward,forward,bias,2,0.100,0.050,0.050,0.050,0.0500,"
        "2x1x1,96x1x1,40,1024,16,\n"
        ",adam,update,optimizer,adam,2,0.480,0.240,0.240,0.240,0.2400,2x1x1,"
        "96x1x1,40,1024,16,\n";
    struct str csv = {0};
    struct err err = {0};

    (void)state;
    eager_step(1, 0);
    eager_step(2, 1000);
    w.event[12].begin = t0 + 1130;
    w.event[12].end = t0 + 1500;
    w.event[14].begin = t0 + 1500;
    w.event[14].end = t0 + 1550;
    w.event[16].begin = t0 + 1550;
    w.event[16].end = t0 + 1790;
    read_all();
    assert_int_equal(pl_gpu_kernels_csv(&w.gpu, &w.t, &csv, &err), 0);
    assert_string_equal(csv.text, want);
    str_free(&csv);
}

static void the_last_step_is_told_row_by_row(void **state)
{
    static const char want[] =
        "track,name,layer,op,role,phase,begin_us,end_us\n"
        "step,ProfilerStep#1,,,,,0.000,1.000\n"
        "phase,h2d,,,,h2d,0.010,0.050\n"
        "phase,replay,,,,replay,0.050,0.100\n"
        "call,cudaGraphLaunch,,,,replay,0.060,0.090\n"
        "stream 7,gemm,\"fc,1\",linear,forward,forward,0.100,0.150\n"
        "stream 7,gemm,\"fc,1\",linear,forward,forward,0.200,0.250\n"
        "stream 7,gemm,\"fc,1\",linear,forward,forward,0.300,0.350\n"
        "stream 7,adam,,adam,update,optimizer,0.400,0.450\n";
    struct str csv = {0};

    (void)state;
    recorded_step(1, 0);
    recorded_step(2, 1000);
    read_all();
    pl_traced_last_csv(&w.t, &w.gpu, &csv);
    assert_string_equal(csv.text, want);
    str_free(&csv);
}

/* Events one by one: P, a thread's; or device and stream. */
static void the_events_of_a_small_trace(void **state)
{
    static const char want[] =
        "\"traceEvents\": [\n"
        "M process_name\nM process_labels\nM process_sort_index\n"
        "M thread_name\nM thread_sort_index\nM process_name\nM process_labels\n"
        "M process_sort_index\nM thread_name\nM thread_sort_index\n"
        "X ProfilerStep#0 P:4243 0.000+1.000\n"
        "X h2d P:4243 0.010+0.040\n"
        "X replay P:4243 0.050+0.050\n"
        "X cudaGraphLaunch P:4243 0.060+0.030\n"
        "s ac2g P:4243 0.060\n"
        "X forward 0:7 0.099+0.252\n"
        "X gemm 0:7 0.100+0.050\n"
        "f ac2g 0:7 0.100\n"
        "X gemm 0:7 0.200+0.050\n"
        "X gemm 0:7 0.300+0.050\n"
        "X optimizer 0:7 0.399+0.052\n"
        "X adam 0:7 0.400+0.050\n"
        "i Record Window End : 1.000\n";
    struct str got = {0};
    json_t *root, *e;
    size_t i;

    (void)state;
    recorded_step(1, 0);
    root = written();
    str_add(&got, "\"traceEvents\": [\n");
    json_array_foreach(json_object_get(root, "traceEvents"), i, e)
    {
        const char *ph = event_text(e, "ph");
        int64_t at = event_ns(e, "ts") % 1000000000;

        str_addf(&got, "%s %s", ph, event_text(e, "name"));
        if (*ph != 'M' && *ph != 'i')
            str_addf(&got,
                     *event_text(e, "cat") && event_int(e, "tid") == TID
                         ? " P:%lld"
                         : " 0:%lld",
                     (long long)event_int(e, "tid"));
        else if (*ph == 'i')
            str_add(&got, " :");
        if (*ph != 'M')
            str_addf(&got, " %lld.%03lld", (long long)(at / 1000),
                     (long long)(at % 1000));
        if (*ph == 'X')
            str_addf(&got, "+%lld.%03lld",
                     (long long)(event_ns(e, "dur") / 1000),
                     (long long)(event_ns(e, "dur") % 1000));
        str_addc(&got, '\n');
    }
    assert_string_equal(got.text, want);
    str_free(&got);
    json_decref(root);
}

static void the_text_of_a_launch_and_its_kernel(void **state)
{
    static const char want[] =
        "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": "
        "\"cudaGraphLaunch\", \"pid\": PID, \"tid\": 4243, \"ts\": "
        "TS.060, \"dur\": 0.030, \"args\": {\"cbid\": 211, "
        "\"correlation\": 11, \"phase\": \"replay\"}},\n"
        "{\"ph\": \"s\", \"id\": 11, \"pid\": PID, \"tid\": 4243, "
        "\"ts\": TS.060, \"cat\": \"ac2g\", \"name\": \"ac2g\"},\n"
        "{\"ph\": \"X\", \"cat\": \"gpu_user_annotation\", \"name\": "
        "\"forward\", \"pid\": 0, \"tid\": 7, \"ts\": TS.099, "
        "\"dur\": 0.252, \"args\": {}},\n"
        "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", "
        "\"pid\": 0, \"tid\": 7, \"ts\": TS.100, \"dur\": 0.050, "
        "\"args\": {\"queued\": 0, \"device\": 0, \"context\": 1, "
        "\"stream\": 7, \"correlation\": 11, \"registers per thread\": "
        "40, \"shared memory\": 1024, \"blocks per SM\": 0.500000, "
        "\"warps per SM\": 1.500000, \"est. achieved occupancy %\": 2, "
        "\"grid\": [2, 1, 1], \"block\": [96, 1, 1], \"graph id\": 3, "
        "\"graph node id\": 70, \"layer\": \"fc,1\", \"op\": "
        "\"linear\", \"role\": \"forward\", \"phase\": "
        "\"forward\"}},\n"
        "{\"ph\": \"f\", \"id\": 11, \"pid\": 0, \"tid\": 7, \"ts\": "
        "TS.100, \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": "
        "\"e\"},\n";
    struct str expected = {0};
    const char *at;
    char *text;
    size_t len;

    (void)state;
    recorded_step(1, 0);
    json_decref(written());
    for (at = want; *at; at++)
        if (strncmp(at, "PID", 3) == 0) {
            str_addf(&expected, "%d", (int)getpid());
            at += 2;
        } else if (strncmp(at, "TS.", 3) == 0) {
            str_addf(&expected, "%lld.",
                     (long long)((t0 - pl_trace_base(t0)) / 1000));
            at += 2;
        } else
            str_addc(&expected, *at);
    assert_int_equal(io_read_file(&text, &len, path, 1 << 20, NULL), 0);
    if (!strstr(text, expected.text))
        assert_string_equal(text, expected.text);
    mem_free(text);
    str_free(&expected);
}

/* In a container our number may be that of a GPU's row. */
static void a_process_with_the_number_of_a_gpu_steps_aside(void **state)
{
    const struct pl_trace_stream stream = {3, 7};
    struct pl_trace_head head = {
        .begin = t0, .pid = 3, .name = "p", .stream = &stream, .n_streams = 1};
    struct pl_trace_writer *writer;
    struct err err = {0};
    json_t *root;

    (void)state;
    assert_int_equal(pl_trace_create(&writer, path, &head, &err), 0);
    assert_int_equal(pl_trace_commit(writer, t0, &err), 0);
    root = trace_load(path);
    assert_int_equal(event_int(find(root, "", "process_name", 0), "pid"),
                     1000003);
    assert_int_equal(event_int(find(root, "", "process_name", 1), "pid"), 3);
    json_decref(root);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(names_survive_whatever_they_hold),
        CASE(kernels_are_summed_up_by_operator),
        CASE(the_last_step_is_told_row_by_row),
        CASE(the_events_of_a_small_trace),
        CASE(the_text_of_a_launch_and_its_kernel),
        CASE(a_process_with_the_number_of_a_gpu_steps_aside),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
