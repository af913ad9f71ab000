/* The last steps of made-up profiles on one scale. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "pipeline/compare_tracks.h"
#include "tests/unit/compare_fixture.h"
#include "tests/unit/svg_fixture.h"

#define HEAD "track,name,layer,op,role,phase,begin_us,end_us\n"
#define STEP(us) "step,ProfilerStep#4,,,,,0," us "\n"

static struct made made;
static struct str out;

static int set_up(void **state)
{
    (void)state;
    make_cells(&made, 2);
    put(&made, 0, "last_step.csv",
        HEAD STEP("100") "phase,forward,,,,forward,0,50\n"
                         "operator,linear,0,linear,forward,forward,0,50\n"
                         "call,cudaLaunchKernel,0,linear,,forward,1,2\n"
                         "stream 7,\"void gemm<1, 2>(int)\",0,linear,forward,"
                         "forward,60,90\n");
    put(&made, 1, "last_step.csv",
        HEAD STEP("400") "phase,backward,,,,backward,0,400\n"
                         "stream 7,\"void gemm<1, 2>(int)\",0,linear,forward,"
                         "forward,100,400\n");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    str_free(&out);
    remove_cells(&made);
    return 0;
}

static void draw(void)
{
    struct err err = {0};

    str_clear(&out);
    if (pl_tracks_svg(&out, &made.cells, "q3, step", false, &err) != 0)
        fail_msg("%s", err.msg);
    expect_well_formed(out.text);
}

static bool has(const char *part)
{
    return strstr(out.text, part) != NULL;
}

/* The width of the bar whose tip that is. */
static double width_of(const char *tip)
{
    const char *p = strstr(out.text, tip), *bar;
    char *end;
    double w;

    assert_non_null(p);
    for (bar = p; strncmp(bar, "width=\"", 7) != 0; bar--)
        assert_true(bar > out.text);
    w = strtod(bar + 7, &end);
    assert_true(end > bar + 7);
    return w;
}

static void all_steps_have_one_scale(void **state)
{
    (void)state;
    draw();
    assert_true(has("GPU track of the last steps, on one scale: q3, step"));
    assert_true(has("batch_size=32: a step of 100 us"));
    assert_true(has("batch_size=1024: a step of 400 us"));
    assert_true(fabs(width_of("ProfilerStep#4 400 us") /
                         width_of("ProfilerStep#4 100 us") -
                     4) < 0.01);
    assert_true(has(">gemm&lt;1, 2&gt; 0</text>"));
}

static void a_gpu_shows_its_streams_and_a_cpu_its_operators(void **state)
{
    (void)state;
    draw();
    assert_int_equal(count(out.text, ">stream 7</text>"), 2);
    assert_false(has(">operators</text>"));
    assert_false(has("cudaLaunchKernel"));
    put(&made, 1, "last_step.csv",
        HEAD STEP("400") "operator,adam,,adam,update,optimizer,10,20\n");
    draw();
    assert_true(has("CPU track of the last steps"));
    assert_false(has("stream 7"));
    assert_int_equal(count(out.text, ">operators</text>"), 2);
    assert_true(has("adam 10 us"));
}

static void what_is_no_step_is_an_error(void **state)
{
    struct err err = {0};
    char path[160];

    (void)state;
    put(&made, 1, "last_step.csv", HEAD "step,x,,,,,5,4\n");
    assert_int_equal(pl_tracks_svg(&out, &made.cells, "", false, &err),
                     ERR_CORRUPT);
    assert_string_equal(err.msg,
                        "line 2 of last_step.csv ends before it begins");
    err_clear(&err);
    (void)snprintf(path, sizeof path, "%s/last_step.csv", made.sub[1]);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(pl_tracks_svg(&out, &made.cells, "", false, &err),
                     ERR_CONFIG);
    assert_string_equal(err.msg, "'batch_size=1024' has left no last_step.csv");
}

static void a_file_without_rows_is_an_empty_picture(void **state)
{
    (void)state;
    put(&made, 0, "last_step.csv", HEAD);
    put(&made, 1, "last_step.csv", HEAD);
    draw();
    assert_true(has("a step of 0 us"));
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(all_steps_have_one_scale),
        CASE(a_gpu_shows_its_streams_and_a_cpu_its_operators),
        CASE(what_is_no_step_is_an_error),
        CASE(a_file_without_rows_is_an_empty_picture),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
