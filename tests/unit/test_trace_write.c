/* The writer of traces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/trace_write.h"
#include "tests/unit/kineto_fixture.h"

static const int64_t begin = INT64_C(1790862261000000007);
static const int32_t tid = 4243;
static char dir[64];

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/test_trace-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[96];

    (void)state;
    (void)snprintf(command, sizeof command, "rm -rf '%s'", dir);
    return system(command) == 0 && mem_live() == 0 ? 0 : -1;
}

static const char *at(const char *name)
{
    static char path[160];

    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return path;
}

static const struct pl_trace_head head = {.begin = INT64_C(1790862261000000007),
                                          .pid = 4242,
                                          .name = "pipeline",
                                          .tid = &tid,
                                          .n_tids = 1};

static struct pl_trace_event note(const char *name, int64_t from, int64_t to)
{
    const struct pl_trace_event e = {.category = "user_annotation",
                                     .name = name,
                                     .number = -1,
                                     .tid = tid,
                                     .begin = begin + from,
                                     .end = begin + to,
                                     .external_id = 1};

    return e;
}

/* A trace of one event. */
static json_t *write_one(const char *file, const struct pl_trace_event *e)
{
    struct pl_trace_writer *w;
    json_t *root;

    (void)unlink(at(file));
    assert_int_equal(pl_trace_create(&w, at(file), &head, NULL), 0);
    assert_int_equal(pl_trace_event(w, e, NULL), 0);
    assert_false(io_exists(at(file)));
    assert_int_equal(pl_trace_commit(w, begin + 5000, NULL), 0);
    root = trace_load(at(file));
    expect_schema(root);
    expect_nested(root);
    return root;
}

static json_t *the_event(json_t *root)
{
    json_t *events = json_object_get(root, "traceEvents");

    return json_array_get(events, json_array_size(events) - 2);
}

static void names_survive_whatever_they_hold(void **state)
{
    static const char *const name[] = {"plain",
                                       "say \"hi\"",
                                       "back\\slash",
                                       "new\nline\ttab\r\b\f",
                                       "\x01\x1f\x7f",
                                       "grün 層 \xf0\x9f\x90\x88",
                                       ""};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof name / sizeof *name; i++) {
        struct pl_trace_event e = note(name[i], 0, 10);
        json_t *root = write_one("t.json", &e);

        assert_string_equal(event_text(the_event(root), "name"), name[i]);
        json_decref(root);
    }
}

static void what_is_not_utf8_is_replaced(void **state)
{
    struct pl_trace_event e = note("a\xff\xc3(b", 0, 10);
    json_t *root = write_one("t.json", &e);

    (void)state;
    assert_string_equal(event_text(the_event(root), "name"),
                        "a\xef\xbf\xbd\xef\xbf\xbd(b");
    json_decref(root);
}

static void times_are_exact_to_the_nanosecond(void **state)
{
    struct pl_trace_event e = note("t", 1, 1234568);
    json_t *root = write_one("t.json", &e);
    char *text;
    size_t len;

    (void)state;
    assert_int_equal(io_read_file(&text, &len, at("t.json"), 1 << 20, NULL), 0);
    assert_non_null(strstr(text, ".008, \"dur\": 1234.567, "));
    assert_int_equal(event_int(root, "baseTimeNanoseconds") +
                         event_ns(the_event(root), "ts"),
                     begin + 1);
    assert_true(event_ns(the_event(root), "ts") < INT64_C(1) << 53);
    mem_free(text);
    json_decref(root);
}

static void rank_is_found_by_the_pattern_of_hta(void **state)
{
    struct pl_trace_event e = note("t", 0, 1);
    char *text;
    size_t len;

    (void)state;
    json_decref(write_one("t.json", &e));
    assert_int_equal(io_read_file(&text, &len, at("t.json"), 1 << 20, NULL), 0);
    assert_non_null(strstr(text, "\"rank\": 0"));
    mem_free(text);
}

static void operators_tell_their_inputs(void **state)
{
    struct nn_tensor a = {.shape = {2, {32, 784}}, .dtype = NN_F32};
    struct nn_tensor b = {.shape = {0, {0}}, .dtype = NN_I64};
    const struct nn_tensor *const in[] = {&a, &b};
    struct pl_trace_event e = note("pipeline::linear", 0, 10);
    json_t *root, *args;
    char *text;

    (void)state;
    e.category = "cpu_op";
    e.input = in;
    e.n_inputs = 2;
    e.layer = "a \"layer\"";
    root = write_one("t.json", &e);
    args = json_object_get(the_event(root), "args");
    text = json_dumps(args, JSON_COMPACT);
    assert_string_equal(
        text, "{\"External id\":1,\"Record function id\":0,\"Ev Idx\":0,"
              "\"Input Dims\":[[32,784],[]],\"Input type\":[\"float\",\"long "
              "int\"],\"Concrete Inputs\":[\"\",\"\"],\"layer\":\"a "
              "\\\"layer\\\"\"}");
    free(text);
    json_decref(root);
}

/* n events: made-up steps of 9 operators. Returns the seconds that it took. */
static double write_many(const char *file, int n)
{
    struct pl_trace_writer *w;
    clock_t from = clock();
    int i;

    assert_int_equal(pl_trace_create(&w, at(file), &head, NULL), 0);
    for (i = 0; i < n; i++) {
        int64_t t = (int64_t)(i - i % 10) * 1000;
        struct pl_trace_event e =
            i % 10 ? note("pipeline::linear_grad_weight", t + i % 10 * 900,
                          t + i % 10 * 900 + 800)
                   : note("ProfilerStep", t, t + 10000);

        e.external_id = i + 1;
        e.number = i % 10 ? -1 : i / 10;
        e.category = i % 10 ? "cpu_op" : "user_annotation";
        e.layer = i % 10 ? "fc1" : NULL;
        e.phase = i % 10 ? "backward" : NULL;
        assert_int_equal(pl_trace_event(w, &e, NULL), 0);
    }
    assert_int_equal(pl_trace_commit(w, begin + (int64_t)n * 1000, NULL), 0);
    return (double)(clock() - from) / CLOCKS_PER_SEC;
}

static void many_events_are_all_there(void **state)
{
    static const char *const file[] = {"t.json", "t.json.gz"};
    size_t i;

    (void)state;
    for (i = 0; i < 2; i++) {
        json_t *root;

        (void)write_many(file[i], 20000);
        root = trace_load(at(file[i]));
        expect_schema(root);
        expect_nested(root);
        assert_int_equal(json_array_size(json_object_get(root, "traceEvents")),
                         5 + 20000 + 1);
        assert_int_equal(count_named(root, "ProfilerStep#1999"), 1);
        json_decref(root);
    }
}

/* SOAK=1: a million events in under 2 s and 64 MB. */
static void million_events_take_two_seconds_at_most(void **state)
{
    struct rusage before, after;
    double seconds;

    (void)state;
    if (!getenv("SOAK"))
        skip();
    (void)getrusage(RUSAGE_SELF, &before);
    seconds = write_many("t.json", 1000000);
    (void)getrusage(RUSAGE_SELF, &after);
    print_message("a million events: %.2f s, %ld KiB\n", seconds,
                  after.ru_maxrss - before.ru_maxrss);
    assert_true(seconds < 2);
    assert_true(after.ru_maxrss - before.ru_maxrss < 64 * 1024);
}

static void full_disk_is_told_and_leaves_nothing(void **state)
{
    struct rlimit small = {.rlim_cur = 100000}, old;
    struct pl_trace_event e = note("t", 0, 1);
    struct pl_trace_writer *w;
    struct err err = {0};
    int i, rc = 0;

    (void)state;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small.rlim_max = old.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    assert_int_equal(pl_trace_create(&w, at("t.json"), &head, &err), 0);
    for (i = 0; rc == 0 && i < 10000; i++)
        rc = pl_trace_event(w, &e, &err);
    assert_int_equal(rc, ERR_IO);
    assert_non_null(strstr(err.msg, "t.json"));
    pl_trace_abort(w);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(rmdir(dir), 0); /* it is empty */
    assert_int_equal(mkdir(dir, 0700), 0);
}

static void out_of_memory_leaves_nothing(void **state)
{
    struct pl_trace_writer *w;
    struct err err = {0};
    int rc, i = 1;

    (void)state;
    do {
        mem_fail_after(i++);
        rc = pl_trace_create(&w, at("t.json.gz"), &head, &err);
        mem_fail_after(0);
        assert_true(rc == 0 || (rc == ERR_NOMEM && !w && mem_live() == 0));
    } while (rc != 0);
    assert_true(i > 5);
    pl_trace_abort(w);
    pl_trace_abort(NULL);
    assert_int_equal(rmdir(dir), 0);
    assert_int_equal(mkdir(dir, 0700), 0);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(million_events_take_two_seconds_at_most), /* memory's peak first */
        CASE(names_survive_whatever_they_hold),
        CASE(what_is_not_utf8_is_replaced),
        CASE(times_are_exact_to_the_nanosecond),
        CASE(rank_is_found_by_the_pattern_of_hta),
        CASE(operators_tell_their_inputs),
        CASE(many_events_are_all_there),
        CASE(full_disk_is_told_and_leaves_nothing),
        CASE(out_of_memory_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
