#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <zlib.h>

#include "pipeline/trace_read.h"
#include "tests/unit/trace_fixture.h"

/* The message of a file that is none, its path replaced by P. */
static const char *message(char out[800], const char *text, size_t len)
{
    struct err err = {0};
    struct trace *t;
    char *at;

    put_trace(text, len);
    assert_int_equal(pl_trace_read(&t, trace_path, &err), ERR_CORRUPT);
    assert_null(t);
    at = strstr(err.msg, trace_path);
    assert_non_null(at);
    (void)snprintf(out, 800, "%.*sP%s", (int)(at - err.msg), err.msg,
                   at + strlen(trace_path));
    return out;
}

static struct trace *read_text(const char *text)
{
    struct err err = {0};
    struct trace *t;

    put_trace(text, strlen(text));
    if (pl_trace_read(&t, trace_path, &err) != 0)
        fail_msg("%s", err.msg);
    return t;
}

static void what_is_no_json_is_told_with_its_offset(void **state)
{
    static const struct {
        const char *text, *want;
    } bad[] = {
        {"", "'P' is empty, not JSON"},
        {"  ", "'P' is cut short: it ends at offset 2, where a value is due"},
        {"{\"traceEvents\": [", "'P' is cut short: it ends at offset 17, where "
                                "a value or ']' is due"},
        {"{\"traceEvents\": [{\"ph\": \"X",
         "'P' is cut short: it ends at offset 26, where the rest of a text is "
         "due"},
        {"[{\"ph\": \"X\"", "'P' is cut short: it ends at offset 11, where ',' "
                            "or the end of what is open is due"},
        {"[{\"ph\" \"X\"}]",
         "'P' is not JSON at offset 7: expected ':', found '\"'"},
        {"[{\"ts\": NaN}]", "'P' is not JSON at offset 8: 'NaN' is no value"},
        {"[{\"ts\": -Infinity}]",
         "'P' is not JSON at offset 8: '-Infinity' is no number"},
        {"[{\"ts\": 01}]", "'P' is not JSON at offset 8: '01' is no number"},
        {"[{\"ts\": 1.}]", "'P' is not JSON at offset 8: '1.' is no number"},
        {"[{\"ts\": 1e}]", "'P' is not JSON at offset 8: '1e' is no number"},
        {"[{\"ts\": \x01}]", "'P' is not JSON at offset 8: expected a value, "
                             "found the byte 01"},
        {"[{\"a\": \"\xc3(\"}]",
         "'P' is not JSON at offset 9: a text that is not UTF-8"},
        {"[{\"a\": \"\xed\xa0\x80\"}]",
         "'P' is not JSON at offset 9: a text that is not UTF-8"},
        {"[{\"a\": \"\xff\"}]",
         "'P' is not JSON at offset 8: a text that is not UTF-8"},
        {"[{\"a\": \"\n\"}]",
         "'P' is not JSON at offset 8: a control character in a text"},
        {"[{\"a\": \"\\x\"}]", "'P' is not JSON at offset 9: expected an "
                               "escape such as \\n or \\u00e9, found 'x'"},
        {"[{\"a\": \"\\u00g0\"}]", "'P' is not JSON at offset 12: expected "
                                   "four hexadecimal digits, found 'g'"},
        {"[{\"a\": 1,}]",
         "'P' is not JSON at offset 9: expected a key, found '}'"},
        {"[1}", "'P' is no trace: event 0 at offset 1 is not an object"},
        {"[] 1", "'P' is not JSON at offset 3: expected the end of the file, "
                 "found '1'"},
        {"[{}, 7]", "'P' is no trace: event 1 at offset 5 is not an object"},
        {"{\"traceEvents\": 7}",
         "'P' is no trace: traceEvents at offset 16 is not an array"},
        {"{\"a\": 7}", "'P' is no trace: it has no list of events, neither "
                       "traceEvents nor an array"},
        {"<!DOCTYPE html>", "'P' looks like an HTML page, not a trace"},
    };
    char out[800];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_string_equal(message(out, bad[i].text, strlen(bad[i].text)),
                            bad[i].want);
}

static void every_cut_of_a_trace_is_an_error(void **state)
{
    char *text, out[800];
    size_t len, n;

    (void)state;
    assert_int_equal(
        io_read_file(&text, &len, "tests/golden/trace-cpu.json", 1 << 20, NULL),
        0);
    for (n = 0; n + 2 < len; n += 7)
        (void)message(out, text, n);
    mem_free(text);
}

static void too_deep_and_too_long_are_errors(void **state)
{
    static char text[80000];
    char out[800];

    (void)state;
    memcpy(text, "[{\"a\":", 6);
    memset(text + 6, '[', 600);
    assert_string_equal(message(out, text, 606),
                        "'P' is not JSON at offset 516: nested deeper than "
                        "512");
    memset(text + 6, '7', 200);
    assert_string_equal(message(out, text, 206),
                        "'P' is not JSON at offset 133: a number or word of "
                        "more than 127 characters");
    (void)snprintf(text, sizeof text, "[{\"name\":\"%070000d\"}]", 0);
    assert_string_equal(message(out, text, strlen(text)),
                        "'P' is no trace: event 0 at offset 9 has a text of "
                        "more than 65,536 bytes");
}

static void times_are_exact_to_the_nanosecond(void **state)
{
    static const struct {
        const char *ts;
        int64_t ns;
    } good[] = {
        {"0", 0},
        {"1.5", 1500},
        {"123.456", 123456},
        {"123.4565", 123457},
        {"1759300074000123.456", INT64_C(1759300074000123456)},
        {"\"12.25\"", 12250},
        {"1e3", 1000000},
        {"1.5E-1", 150},
    };
    char text[200];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof good / sizeof *good; i++) {
        struct trace *t;

        (void)snprintf(
            text, sizeof text,
            "[{\"ph\":\"X\",\"name\":\"a\",\"ts\":%s,\"dur\":0.001}]",
            good[i].ts);
        t = read_text(text);
        assert_int_equal(t->n, 1);
        assert_int_equal(t->slice[0].ts, good[i].ns);
        assert_int_equal(t->slice[0].dur, 1);
        pl_trace_free(t);
    }
}

static void an_unusable_time_is_left_out_and_told(void **state)
{
    static const char *const bad[] = {
        "\"ts\":\"x\",\"dur\":1",
        "\"ts\":1e300,\"dur\":1",
        "\"dur\":1",
        "\"ts\":1,\"dur\":-1",
        "\"ts\":1",
        "\"ts\":null,\"dur\":1",
        "\"ts\":1,\"dur\":1e18",
        "\"ts\":{},\"dur\":1",
        "\"ts\":true,\"dur\":1",
    };
    char text[200];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct trace *t;

        (void)snprintf(text, sizeof text, "[{\"ph\":\"X\",%s}]", bad[i]);
        t = read_text(text);
        assert_int_equal(t->n, 0);
        assert_int_equal(t->n_skipped, 1);
        assert_int_equal(t->faults.broken[RULE_TS] + t->faults.broken[RULE_DUR],
                         1);
        pl_trace_free(t);
    }
}

static void chrome_may_leave_the_end_out(void **state)
{
    static const char *const text[] = {
        "[{\"ph\":\"X\",\"ts\":1,\"dur\":1}",
        "[{\"ph\":\"X\",\"ts\":1,\"dur\":1},\n",
        "[{\"ph\":\"X\",\"ts\":1,\"dur\":1},]",
        "{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":1},]}"};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof text / sizeof *text; i++) {
        struct trace *t = read_text(text[i]);

        assert_int_equal(t->n, 1);
        assert_int_equal(t->faults.broken[RULE_JSON], 1);
        pl_trace_free(t);
    }
}

static void a_key_that_stands_twice_is_told_and_the_last_counts(void **state)
{
    struct trace *t = read_text("[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"ts\":2}]");

    (void)state;
    assert_int_equal(t->slice[0].ts, 2000);
    assert_string_equal(t->faults.text[RULE_JSON][0],
                        "event 0: the key 'ts' stands twice, again at offset "
                        "26");
    pl_trace_free(t);
}

static void names_survive_as_they_are(void **state)
{
    struct trace *t = read_text(
        "[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"name\":"
        "\"\\\"q\\\" \\n\\u00fc\xc3\xbc\\ud83d\\ude00\\ud83dx\\u0000\"}]");

    (void)state;
    assert_string_equal(trace_name(t, &t->slice[0]),
                        "\"q\" \n\u00fc\u00fc\U0001f600\ufffdx\ufffd");
    pl_trace_free(t);
}

static void begin_and_end_make_a_slice(void **state)
{
    struct trace *t =
        read_text("[{\"ph\":\"B\",\"ts\":1,\"name\":\"a\"},"
                  "{\"ph\":\"B\",\"ts\":2,\"name\":\"b\"},"
                  "{\"ph\":\"E\",\"ts\":4},{\"ph\":\"E\",\"ts\":8},"
                  "{\"ph\":\"E\",\"ts\":9},"
                  "{\"ph\":\"B\",\"ts\":9,\"name\":\"c\"}]");

    (void)state;
    assert_int_equal(t->n, 2);
    assert_int_equal(t->slice[0].dur, 7000);
    assert_int_equal(t->slice[1].dur, 2000);
    assert_int_equal(t->n_unfinished, 1);
    assert_int_equal(t->faults.broken[RULE_NESTING], 1);
    pl_trace_free(t);
}

static void gzip(const void *text, size_t len, size_t keep)
{
    static unsigned char packed[100000];
    z_stream z = {0};

    assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, 0), Z_OK);
    z.next_in = (unsigned char *)(uintptr_t)text;
    z.avail_in = (uInt)len;
    z.next_out = packed;
    z.avail_out = sizeof packed;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    put_trace((const char *)packed, z.total_out - keep);
    assert_int_equal(deflateEnd(&z), Z_OK);
}

static void gzip_is_unpacked_and_damage_is_told(void **state)
{
    struct trace *plain, *packed;
    struct err err = {0};
    char *text;
    size_t len;

    (void)state;
    assert_int_equal(pl_trace_read(&plain, "tests/golden/trace-gpu.json", NULL),
                     0);
    assert_int_equal(
        io_read_file(&text, &len, "tests/golden/trace-gpu.json", 1 << 20, NULL),
        0);
    gzip(text, len, 0);
    assert_int_equal(pl_trace_read(&packed, trace_path, NULL), 0);
    assert_int_equal(packed->n, plain->n);
    assert_memory_equal(packed->slice, plain->slice,
                        plain->n * sizeof *plain->slice);
    pl_trace_free(packed);
    pl_trace_free(plain);
    gzip(text, len, 9);
    mem_free(text);
    assert_int_equal(pl_trace_read(&packed, trace_path, &err), ERR_CORRUPT);
    assert_non_null(strstr(err.msg, "is cut short"));
}

static void every_failed_allocation_is_an_error(void **state)
{
    struct trace *t;
    long n;
    int rc = ERR_NOMEM;

    (void)state;
    for (n = 1; rc != 0; n++) {
        struct err err = {0};
        long live = mem_live();

        mem_fail_after(n);
        rc = pl_trace_read(&t, "tests/golden/trace-gpu.json", &err);
        mem_fail_after(0);
        assert_true(rc == 0 || rc == ERR_NOMEM);
        if (rc == 0)
            pl_trace_free(t);
        assert_int_equal(mem_live(), live);
    }
    assert_true(n > 10);
}

static void a_file_that_is_not_there_is_an_io_error(void **state)
{
    struct err err = {0};
    struct trace *t;

    (void)state;
    assert_int_equal(pl_trace_read(&t, "/nowhere/t.json", &err), ERR_IO);
    assert_string_equal(err.msg, "cannot open '/nowhere/t.json': No such file "
                                 "or directory");
    err_clear(&err);
    assert_int_equal(pl_trace_read(&t, "/", &err), ERR_IO);
}

#define CASE(f) \
    cmocka_unit_test_setup_teardown(f, trace_set_up, trace_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(what_is_no_json_is_told_with_its_offset),
        CASE(every_cut_of_a_trace_is_an_error),
        CASE(too_deep_and_too_long_are_errors),
        CASE(times_are_exact_to_the_nanosecond),
        CASE(an_unusable_time_is_left_out_and_told),
        CASE(chrome_may_leave_the_end_out),
        CASE(a_key_that_stands_twice_is_told_and_the_last_counts),
        CASE(names_survive_as_they_are),
        CASE(begin_and_end_make_a_slice),
        CASE(gzip_is_unpacked_and_damage_is_told),
        CASE(every_failed_allocation_is_an_error),
        CASE(a_file_that_is_not_there_is_an_io_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
