/* A trace that is summed up while it is read says what one of which every slice
 * is kept says. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "nn/base/str.h"
#include "pipeline/trace_summary.h"
#include "tests/unit/trace_fixture.h"

enum { EVENTS = 400 };

struct event {
    int ts, dur, tid;
    const char *cat;
    int name, order;
};

static int by_time(const void *a, const void *b)
{
    const struct event *x = a, *y = b;

    return x->ts != y->ts ? x->ts - y->ts : x->order - y->order;
}

/* A number below n; *seed goes on. */
static int below(uint32_t *seed, int n)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (int)((*seed >> 8) % (uint32_t)n);
}

static void draw(struct event *e, uint32_t seed)
{
    static const char *const cats[] = {"cpu_op", "user_annotation",
                                       "cuda_runtime", "kernel", "python"};
    int i;

    for (i = 0; i < EVENTS; i++) {
        e[i].ts = below(&seed, 600);
        e[i].dur = below(&seed, 3) ? below(&seed, 8) : below(&seed, 60);
        e[i].tid = below(&seed, 2);
        e[i].cat = cats[below(&seed, 5)];
        e[i].name = below(&seed, 6);
        e[i].order = i;
    }
    for (i = 0; i < 5; i++) { /* steps, one behind the other */
        e[i].ts = 100 * i;
        e[i].dur = 90;
        e[i].tid = 0;
        e[i].cat = "step";
        e[i].name = i;
    }
    qsort(e, EVENTS, sizeof *e, by_time);
}

static void add_event(struct str *s, const struct event *e)
{
    bool step = strcmp(e->cat, "step") == 0,
         gpu = strcmp(e->cat, "kernel") == 0;

    str_addf(s,
             ",{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s%d\",\"pid\":%d,"
             "\"tid\":%d,\"ts\":%d,\"dur\":%d}",
             step ? "user_annotation" : e->cat, step ? "ProfilerStep#" : e->cat,
             e->name, gpu ? e->tid : 100, e->tid, e->ts, e->dur);
}

/* The summary as JSON; *summed: that it was made while reading. head: what
 * comes before the events. */
static void sum_up(struct str *out, const struct event *e, const char *head,
                   bool *summed)
{
    struct trace_summary s;
    struct str text = {0};
    struct err err = {0};
    size_t i;

    str_addf(&text, "[%s", head);
    for (i = 0; i < EVENTS; i++)
        add_event(&text, &e[i]);
    str_addc(&text, ']');
    assert_false(text.failed);
    put_trace(text.text, text.len);
    if (trace_summary_make(&s, trace_path, &err) != 0)
        fail_msg("%s", err.msg);
    *summed = s.t->sum != NULL;
    trace_summary_json(out, &s);
    trace_summary_free(&s);
    str_free(&text);
}

/* The same slice, of a kind that no table shows, in two events: an end that is
 * told apart is what cannot be summed up. */
static const char whole[] =
    "{\"ph\":\"X\",\"cat\":\"cuda_sync\",\"name\":\"w\","
    "\"pid\":9,\"tid\":9,\"ts\":5,\"dur\":1},{\"ph\":"
    "\"M\"}";
static const char parts[] =
    "{\"ph\":\"B\",\"cat\":\"cuda_sync\",\"name\":\"w\","
    "\"pid\":9,\"tid\":9,\"ts\":5},{\"ph\":\"E\",\"pid\":"
    "9,\"tid\":9,\"ts\":6}";

static void sums_are_those_of_kept_slices(void **state)
{
    struct event e[EVENTS];
    struct str a = {0}, b = {0};
    bool summed;
    uint32_t seed;

    (void)state;
    for (seed = 1; seed <= 40; seed++) {
        draw(e, seed);
        str_clear(&a);
        str_clear(&b);
        sum_up(&a, e, whole, &summed);
        assert_true(summed);
        sum_up(&b, e, parts, &summed);
        assert_false(summed);
        assert_string_equal(a.text, b.text);
    }
    str_free(&a);
    str_free(&b);
}

static void slices_out_of_order_are_all_kept(void **state)
{
    static const char late[] =
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"cpu_op0\",\"pid\":100,"
        "\"tid\":0,\"ts\":900,\"dur\":1}";
    struct event e[EVENTS];
    struct str a = {0};
    bool summed;

    (void)state;
    draw(e, 7);
    sum_up(&a, e, late, &summed);
    assert_false(summed);
    str_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sums_are_those_of_kept_slices,
                                        trace_set_up, trace_tear_down),
        cmocka_unit_test_setup_teardown(slices_out_of_order_are_all_kept,
                                        trace_set_up, trace_tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
