/* A trace that was written, read back as a tree of JSON, and what must hold for
 * every one of them. */
#ifndef KINETO_FIXTURE_H
#define KINETO_FIXTURE_H

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* Plain or gzipped; ended by json_decref. */
static inline json_t *trace_load(const char *path)
{
    size_t size = 0, cap = 1 << 16;
    char *text = malloc(cap);
    gzFile f = gzopen(path, "rb"); /* reads plain files too */
    json_error_t e;
    json_t *root;
    int n;

    assert_non_null(f);
    assert_non_null(text);
    while ((n = gzread(f, text + size, (unsigned)(cap - size))) > 0) {
        size += (size_t)n;
        if (size == cap) {
            cap *= 2;
            text = realloc(text, cap);
            assert_non_null(text);
        }
    }
    assert_int_equal(n, 0);
    (void)gzclose(f);
    root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &e);
    if (!root)
        fail_msg("%s:%d: %s", path, e.line, e.text);
    free(text);
    return root;
}

/* "" where there is none. */
static inline const char *event_text(const json_t *event, const char *key)
{
    const char *text = json_string_value(json_object_get(event, key));

    return text ? text : "";
}

static inline int64_t event_int(const json_t *event, const char *key)
{
    return json_integer_value(json_object_get(event, key));
}

/* A time, which is written in microseconds. */
static inline int64_t event_ns(const json_t *event, const char *key)
{
    double us = json_number_value(json_object_get(event, key));

    return (int64_t)(us * 1000 + (us < 0 ? -0.5 : 0.5));
}

static inline size_t count_named(const json_t *root, const char *name)
{
    const json_t *event;
    size_t i, n = 0;

    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
    {
        n += strcmp(event_text(event, "name"), name) == 0;
    }
    return n;
}

static inline void expect_event(const json_t *event)
{
    const char *ph = json_string_value(json_object_get(event, "ph"));

    assert_non_null(ph);
    assert_true(json_is_string(json_object_get(event, "name")));
    assert_true(json_is_number(json_object_get(event, "ts")));
    if (strcmp(ph, "X") != 0)
        return;
    assert_true(json_is_string(json_object_get(event, "cat")));
    assert_true(json_is_integer(json_object_get(event, "pid")));
    assert_true(json_is_integer(json_object_get(event, "tid")));
    assert_true(json_is_object(json_object_get(event, "args")));
    assert_true(json_number_value(json_object_get(event, "dur")) >= 0);
}

/* The keys of the top, and what every event has. */
static inline void expect_schema(const json_t *root)
{
    const json_t *events = json_object_get(root, "traceEvents"), *event;
    size_t i;

    assert_int_equal(json_integer_value(json_object_get(root, "schemaVersion")),
                     1);
    assert_true(json_is_array(json_object_get(root, "deviceProperties")));
    assert_string_equal(
        json_string_value(json_object_get(root, "displayTimeUnit")), "ms");
    assert_true(json_is_integer(json_object_get(root, "baseTimeNanoseconds")));
    assert_true(json_is_string(json_object_get(root, "traceName")));
    assert_true(json_is_array(events));
    json_array_foreach(events, i, event)
    {
        expect_event(event);
    }
}

struct slice {
    int64_t row, begin, end;
};

/* By row, then by begin, the longer one first. */
static inline int slice_order(const void *a, const void *b)
{
    const struct slice *x = a, *y = b;

    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->end == y->end ? 0 : x->end > y->end ? -1 : 1;
}

static inline struct slice *slices_of(const json_t *root, size_t *n)
{
    const json_t *events = json_object_get(root, "traceEvents"), *event;
    struct slice *s = calloc(json_array_size(events) + 1, sizeof *s);
    size_t i;

    assert_non_null(s);
    *n = 0;
    json_array_foreach(events, i, event)
    {
        int64_t begin = event_ns(event, "ts");

        if (strcmp(event_text(event, "ph"), "X") == 0)
            s[(*n)++] = (struct slice){event_int(event, "tid"), begin,
                                       begin + event_ns(event, "dur")};
    }
    qsort(s, *n, sizeof *s, slice_order);
    return s;
}

/* Slices of one row lie inside of each other or apart. */
static inline void expect_nested(const json_t *root)
{
    const int64_t near = 2; /* a double has no finer microseconds so late */
    struct slice *s, open[64];
    int depth = 0;
    size_t n;

    s = slices_of(root, &n);
    for (size_t i = 0; i < n; i++) {
        while (depth > 0 && (open[depth - 1].row != s[i].row ||
                             open[depth - 1].end <= s[i].begin + near))
            depth--;
        if (depth > 0 && s[i].end > open[depth - 1].end + near)
            fail_msg("slice %zu ends after the one that it begins in", i);
        assert_true(depth < 64);
        open[depth++] = s[i];
    }
    free(s);
}

#endif
