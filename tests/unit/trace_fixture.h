/* Traces of the tests: a file of their own for each. */
#ifndef TESTS_UNIT_TRACE_FIXTURE_H
#define TESTS_UNIT_TRACE_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/base/str.h"

static char trace_path[64];

static int trace_set_up(void **state)
{
    int fd;

    (void)state;
    (void)snprintf(trace_path, sizeof trace_path, "/tmp/test_trace-XXXXXX");
    fd = mkstemp(trace_path);
    return fd < 0 ? -1 : close(fd);
}

static int trace_tear_down(void **state)
{
    (void)state;
    (void)unlink(trace_path);
    return mem_live() == 0 ? 0 : -1;
}

static void put_trace(const char *text, size_t len)
{
    assert_int_equal(io_write_file(trace_path, text, len, NULL), 0);
}

/* tests/golden/trace-gpu.json with the first `from` replaced by `to`. */
__attribute__((unused)) static void
put_changed(const char *golden, const char *from, const char *to)
{
    struct str s = {0};
    char *text, *at;
    size_t len;

    assert_int_equal(io_read_file(&text, &len, golden, 1 << 20, NULL), 0);
    at = strstr(text, from);
    if (!at)
        fail_msg("'%s' is not in %s", from, golden);
    str_addn(&s, text, (size_t)(at - text));
    str_add(&s, to);
    str_add(&s, at + strlen(from));
    assert_false(s.failed);
    put_trace(s.text, s.len);
    str_free(&s);
    mem_free(text);
}

#endif
