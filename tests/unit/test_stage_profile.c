/* A profile stage, on the CPU as it is and as if it had a clock of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/step.h"
#include "pipeline/job.h"
#include "pipeline/metrics.h"
#include "pipeline/profile.h"
#include "pipeline/stage.h"
#include "tests/unit/svg_fixture.h"
#include "tests/unit/kineto_fixture.h"

static const char config[] =
    "version: 1\n"
    "name: p\n"
    "datasets:\n"
    "  blobs: {type: synthetic, kind: blobs, classes: 3, n_train: 100}\n"
    "models: {m: {layers: [{type: linear, out: 3}]}}\n"
    "stages:\n"
    "  step:\n"
    "    uses: profile\n"
    "    with: {dataset: blobs, model: m, batch_size: 32, lr: 0.1,\n"
    "           optimizer: sgd, n_step: 3, warmup: 4, repeat: 70,\n"
    "           numerics: tf32, data: host_pinned}\n";

static char dir[64];
static struct str said;
static struct err failure;

/* A device whose clock is a counter: mark i is noted at 1, 3, 6, 10, ... ms.
 * It keeps how it was told to be, and how many steps went before each mark. */
static struct {
    double now, at[NN_MARKS];
    int marks, steps, most_between, last;
    struct nn_backend_config config;
    int configured;
} device;
static const struct nn_backend_ops *plain_ops;
static struct nn_backend_ops marked_ops;
static struct pl_stage_kind marked_kind;

static int mark(struct nn_backend *be, int i, struct err *err)
{
    (void)be;
    (void)err;
    assert_in_range(i, 0, NN_MARKS - 1);
    if (i > 0) {
        int between = device.steps - device.last;

        if (between > device.most_between)
            device.most_between = between;
    }
    device.last = device.steps;
    device.marks++;
    device.now += 1e-3 * (i + 1);
    device.at[i] = device.now;
    return 0;
}

static int elapsed(struct nn_backend *be, int i, int j, double *seconds,
                   struct err *err)
{
    (void)be;
    (void)err;
    *seconds = device.at[j] - device.at[i];
    return 0;
}

static int configure(struct nn_backend *be, const struct nn_backend_config *c,
                     struct err *err)
{
    (void)be;
    (void)err;
    device.config = *c;
    device.configured++;
    return 0;
}

static int set_scalars(struct nn_backend *be, const struct nn_scalars *s,
                       struct err *err)
{
    device.steps++;
    return plain_ops->set_scalars(be, s, err);
}

static int run_marked(struct pl_stage_ctx *ctx, struct err *err)
{
    int rc;

    plain_ops = ctx->be->ops;
    marked_ops = *plain_ops;
    marked_ops.mark = mark;
    marked_ops.elapsed = elapsed;
    marked_ops.configure = configure;
    marked_ops.set_scalars = set_scalars;
    ctx->be->ops = &marked_ops;
    rc = pl_kind_profile.run(ctx, err);
    ctx->be->ops = plain_ops;
    return rc;
}

static void on_begin(void *user, const char *a, const char *b)
{
    (void)user;
    (void)a;
    (void)b;
}

static void on_step(void *user, const struct pl_step *s)
{
    (void)user;
    (void)s;
}

static void on_line(void *user, const char *line)
{
    (void)user;
    str_addf(&said, "%s\n", line);
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
    failure = *err;
}

static int questions_until_stop;

static bool on_stopping(void *user)
{
    (void)user;
    return questions_until_stop > 0 && --questions_until_stop == 0
               ? (questions_until_stop = 1, true)
               : false;
}

static const struct pl_ui ui = {NULL,     on_begin,  on_step,
                                on_line,  on_line,   on_progress,
                                on_ended, on_failed, on_stopping};

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/test_profile-XXXXXX");
    memset(&device, 0, sizeof device);
    err_clear(&failure);
    questions_until_stop = 0;
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[96];

    (void)state;
    str_free(&said);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command) == 0 && mem_live() == 0 ? 0 : -1;
}

static const char *at(const char *name)
{
    static char path[160];

    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

/* Runs the config with these overrides. */
static int run(const char *const *overrides, size_t n, bool marked)
{
    struct pl_opts opts = {
        .overrides = {overrides, n}, .out = dir, .device = "cpu", .threads = 1};
    struct pl_result res;
    struct pl_job *job;
    struct err err = {0};
    int rc;

    assert_int_equal(io_write_file(at("p.yaml"), config, strlen(config), &err),
                     0);
    opts.file = at("p.yaml");
    rc = pl_job_open(&job, &opts, &err);
    assert_int_equal(rc, 0);
    marked_kind = pl_kind_profile;
    marked_kind.run = run_marked;
    if (marked)
        job->config->stages[job->config->n_stages - 1].kind = &marked_kind;
    rc = pl_run(job, &ui, &res, &err);
    pl_result_free(&res);
    pl_job_free(job);
    return rc;
}

static double metric(const char *name)
{
    struct pl_metrics m = {0};
    struct err err = {0};
    const double *v;
    double out;

    assert_int_equal(pl_metrics_read(&m, at("p/step/metrics.json"), &err), 0);
    v = pl_metrics_get(&m, name);
    assert_non_null(v);
    out = *v;
    pl_metrics_clear(&m);
    return out;
}

/* The fields of a line outside of quotes. */
static int fields(const char *line)
{
    bool quoted = false;
    int n = 1;

    for (; *line && *line != '\n'; line++) {
        if (*line == '"')
            quoted = !quoted;
        n += *line == ',' && !quoted;
    }
    return n;
}

/* traced: rows of the trace and of its five phases. */
static void check_table(const char *last_row, int traced)
{
    struct err err = {0};
    char *text, *line, *next;
    size_t len;
    int rows = 0, steps = 0, phases = 0, columns;

    assert_int_equal(
        io_read_file(&text, &len, at("p/step/step_times.csv"), 1 << 20, &err),
        0);
    columns = fields(text);
    for (line = text; *line; line = next, rows++) {
        next = strchr(line, '\n') + 1;
        assert_int_equal(fields(line), columns);
        if (rows >= 1 && rows <= 3)
            assert_non_null(strstr(line, "first steps"));
        *strchr(line, '\n') = '\0';
        steps += strstr(line, "ProfilerStep#") != NULL;
        phases += strstr(line, "from traced steps: ") != NULL;
        if (rows == 4) /* 3 steps and a warm-up of 4 are before it */
            assert_memory_equal(line, "7,timed,1,", 10);
        if (*next == '\0')
            assert_non_null(strstr(line, last_row));
    }
    assert_int_equal(steps, traced);
    assert_int_equal(phases, traced ? 5 : 0);
    assert_int_equal(rows, 1 + 3 + 70 + steps + phases + 1);
    mem_free(text);
}

static void cpu_is_timed_by_the_clock(void **state)
{
    (void)state;
    assert_int_equal(run(NULL, 0, false), 0);
    check_table(",clock,32,sgd,recorded,host,all,strict,1,\"cpu (1 thread, ",
                3);
    assert_true(metric("step_ms.p10") > 0);
    assert_true(metric("step_ms.median") >= metric("step_ms.p10"));
    assert_true(metric("step_ms.p90") >= metric("step_ms.median"));
    assert_true(fabs(metric("samples_per_s") * metric("step_ms.median") / 32e3 -
                     1) < 1e-9);
    assert_non_null(strstr(said.text, "batch 32, sgd: a step takes"));
}

/* Blocks of 63 and 7 steps: within each, step i takes i + 2 ms. */
static void device_is_timed_by_its_own_marks(void **state)
{
    double v[70];
    struct pl_times want;
    struct err err = {0};
    int i;

    (void)state;
    for (i = 0; i < 70; i++)
        v[i] = i < 63 ? i + 2 : i - 63 + 2;
    assert_int_equal(run(NULL, 0, true), 0);
    check_table(",events,32,sgd,recorded,host_pinned,all,tf32,1,", 0);
    assert_int_equal(pl_times_sum_up(&want, v, 70, &err), 0);
    assert_true(fabs(metric("step_ms.median") - want.median) < 1e-9);
    assert_true(fabs(metric("step_ms.p90") - want.p90) < 1e-9);
    assert_true(metric("flag.noise") == want.noisy);
    assert_true(metric("flag.drift") == want.drifts);
    assert_int_equal(device.most_between, 1); /* a step between two marks */
    /* three single steps, the warm-up, and 63 and 7 steps */
    assert_int_equal(device.marks, 3 * 2 + 5 + 64 + 8);
    /* each block of the last two is led by a step that is not timed */
    assert_int_equal(device.steps, 3 + 1 + 4 + 1 + 63 + 1 + 7);
}

static void device_is_told_its_settings(void **state)
{
    (void)state;
    assert_int_equal(run(NULL, 0, true), 0);
    assert_int_equal(device.configured, 1);
    assert_int_equal(device.config.numerics, NN_NUMERICS_TF32);
    assert_int_equal(device.config.data, NN_DATA_PINNED);
}

/* The config's steps with other settings, eagerly; what the trace holds. */
static json_t *traced(const char *a, const char *b, const char *file)
{
    const char *const overrides[] = {"stages.step.with.execution=eager",
                                     "stages.step.with.repeat=2",
                                     "stages.step.with.n_step=5", a, b};
    size_t n = 3u + (a != NULL) + (b != NULL);
    char path[96];
    json_t *root;

    assert_int_equal(run(overrides, n, false), 0);
    (void)snprintf(path, sizeof path, "p/step/traces/%s", file);
    root = trace_load(at(path));
    expect_schema(root);
    expect_nested(root);
    return root;
}

static void expect_step(json_t *root, int step, size_t want)
{
    char name[32];

    (void)snprintf(name, sizeof name, "ProfilerStep#%d", step);
    assert_int_equal(count_named(root, name), want);
}

static void each_traced_step_has_its_five_phases_in_order(void **state)
{
    static const char *const phase[] = {"h2d", "forward", "clear grad",
                                        "backward", "optimizer"};
    json_t *root = traced(NULL, NULL, "sgd_h=3_bs=32_trace.json"), *event;
    size_t i, n = 0, operators = 0;

    (void)state;
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
    {
        const char *name = event_text(event, "name");

        operators += strncmp(name, "pipeline::", 10) == 0;
        if (strcmp(event_text(event, "cat"), "user_annotation") == 0 &&
            strncmp(name, "ProfilerStep#", 13) != 0)
            assert_string_equal(name, phase[n++ % 5]);
    }
    assert_int_equal(n, 25);
    assert_true(operators >= 5 * 7);
    for (i = 0; i < 5; i++)
        expect_step(root, (int)i, 1);
    assert_true(metric("traced.steps") == 5 && metric("traced.lost") == 0);
    json_decref(root);
}

static void schedule_chooses_the_steps(void **state)
{
    static const struct {
        const char *schedule;
        const char *want; /* of steps 0 to 4 */
    } cases[] = {
        {"{wait: 1, warmup: 1, active: 2}", "00110"},
        {"{active: 1, wait: 1, repeat: 1}", "01000"},
        {"{skip_first: 4}", "00001"},
        {"{wait: 2, active: 100}", "00111"},
        {"{wait: 5}", "00000"},
        {"{wait: 99999, warmup: 99999, active: 99999}", "00000"},
    };
    static const char *const off[] = {"stages.step.with.trace=false"};
    size_t i, k;

    (void)state;
    assert_int_equal(run(off, 1, false), 0);
    assert_false(io_exists(at("p/step/traces")));
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[96];
        json_t *root;

        (void)snprintf(text, sizeof text, "stages.step.with.schedule=%s",
                       cases[i].schedule);
        root = traced(text, "stages.step.with.file=t.json.gz", "t.json.gz");
        for (k = 0; k < 5; k++)
            expect_step(root, (int)k, cases[i].want[k] == '1');
        json_decref(root);
    }
    assert_false(io_exists(at("p/step/ops.csv"))); /* nothing to sum up */
}

static void pictures_and_sums_are_of_the_traced_steps(void **state)
{
    static const char *const svg[] = {"p/step/cpu_track.svg",
                                      "p/step/step_span.svg"};
    char *text;
    size_t len, i;

    (void)state;
    json_decref(traced(NULL, NULL, "sgd_h=3_bs=32_trace.json"));
    for (i = 0; i < 2; i++) {
        assert_int_equal(io_read_file(&text, &len, at(svg[i]), 1 << 20, NULL),
                         0);
        expect_well_formed(text);
        assert_non_null(strstr(text, "ProfilerStep#4"));
        assert_non_null(strstr(text, "sgd, h=3, bs=32; eager"));
        mem_free(text);
    }
    assert_int_equal(
        io_read_file(&text, &len, at("p/step/ops.csv"), 1 << 20, NULL), 0);
    assert_non_null(strstr(text, "\n0,linear,forward,forward,5,"));
    assert_null(strstr(text, "grad_input")); /* of the first layer: none */
    mem_free(text);
}

static void batch_larger_than_the_set_is_an_error_with_a_place(void **state)
{
    static const char *const large[] = {"stages.step.with.batch_size=101"};

    (void)state;
    assert_int_equal(run(large, 1, false), ERR_CONFIG);
    assert_non_null(strstr(failure.msg, "batch_size 101 is more than the 100"));
    assert_string_equal(failure.at, "command line:1:29");
}

static void divergence_is_told(void **state)
{
    static const char *const wild[] = {"stages.step.with.lr=1e38"};

    (void)state;
    assert_int_equal(run(wild, 1, false), ERR_NONFINITE);
    assert_int_equal(run(wild, 1, true), ERR_NONFINITE);
}

static void stop_while_tracing_leaves_what_there_is(void **state)
{
    static const char *const overrides[] = {"stages.step.with.repeat=2",
                                            "stages.step.with.warmup=0"};
    json_t *root;

    (void)state;
    questions_until_stop = 8; /* 5 steps and 2 of the trace before */
    assert_int_equal(run(overrides, 2, false), ERR_INTERRUPTED);
    assert_false(io_exists(at("p/step/stage.json")));
    root = trace_load(at("p/step/traces/sgd_h=3_bs=32_trace.json"));
    expect_schema(root);
    expect_nested(root);
    expect_step(root, 0, 1);
    expect_step(root, 2, 0);
    json_decref(root);
}

static void stop_is_noticed_between_steps(void **state)
{
    (void)state;
    questions_until_stop = 20;
    assert_int_equal(run(NULL, 0, false), ERR_INTERRUPTED);
    assert_false(io_exists(at("p/step/stage.json")));
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(cpu_is_timed_by_the_clock),
        CASE(device_is_timed_by_its_own_marks),
        CASE(device_is_told_its_settings),
        CASE(each_traced_step_has_its_five_phases_in_order),
        CASE(schedule_chooses_the_steps),
        CASE(pictures_and_sums_are_of_the_traced_steps),
        CASE(stop_while_tracing_leaves_what_there_is),
        CASE(batch_larger_than_the_set_is_an_error_with_a_place),
        CASE(divergence_is_told),
        CASE(stop_is_noticed_between_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
