#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/record.h"

static char dir[64];

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/test_record-XXXXXX");
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

static void put(const char *name, const char *text)
{
    struct err err = {0};

    assert_int_equal(io_write_file(at(name), text, strlen(text), &err), 0);
}

/* A record of one output, written and read back. */
static void write_and_read(struct pl_record *back, struct arena *arena)
{
    static struct pl_output o;
    struct pl_record r = {.state = "done",
                          .kind = "train",
                          .error = "",
                          .device = "cpu",
                          .started = "2026-01-31T12:00:00Z",
                          .seconds = 1.5,
                          .output = &o,
                          .n_outputs = 1};
    struct err err = {0};
    const char *why;

    put("curve.csv", "step,loss\n");
    o.name = "curve.csv";
    assert_int_equal(pl_output_measure(&o, dir, &err), 0);
    memset(r.fingerprint, 'a', 64);
    r.inputs.arena = arena;
    pl_inputs_add(&r.inputs, "with.epochs", "5");
    assert_int_equal(pl_record_write(&r, dir, PL_WHOLE_FILE, &err), 0);
    assert_true(pl_record_read(back, dir, PL_WHOLE_FILE, arena, &why));
}

static void record_reads_back(void **state)
{
    struct arena arena = {0};
    struct pl_record r;

    (void)state;
    write_and_read(&r, &arena);
    assert_string_equal(r.state, "done");
    assert_string_equal(r.kind, "train");
    assert_string_equal(r.device, "cpu");
    assert_string_equal(pl_inputs_get(&r.inputs, "with.epochs"), "5");
    assert_int_equal(r.n_outputs, 1);
    assert_int_equal(r.output[0].bytes, 10);
    assert_true(r.seconds == 1.5);
    arena_free(&arena);
}

static void untouched_and_touched_outputs_are_intact(void **state)
{
    struct arena arena = {0};
    struct pl_record r;
    struct str why = {0};

    (void)state;
    write_and_read(&r, &arena);
    assert_true(pl_record_intact(&r, dir, &why));
    put("curve.csv", "step,loss\n"); /* same bytes, new file */
    assert_true(pl_record_intact(&r, dir, &why));
    assert_int_equal(why.len, 0);
    str_free(&why);
    arena_free(&arena);
}

/* The change keeps the size and is made at once, within the same clock tick
 * as the record if need be. */
static void changed_byte_is_found(void **state)
{
    struct arena arena = {0};
    struct pl_record r;
    struct str why = {0};
    FILE *f;

    (void)state;
    write_and_read(&r, &arena);
    f = fopen(at("curve.csv"), "r+");
    assert_non_null(f);
    assert_int_equal(fputc('S', f), 'S');
    assert_int_equal(fclose(f), 0);
    assert_false(pl_record_intact(&r, dir, &why));
    assert_string_equal(why.text, "curve.csv was changed");
    str_free(&why);
    arena_free(&arena);
}

static void changed_byte_with_its_old_time_is_found(void **state)
{
    struct arena arena = {0};
    struct pl_record r;
    struct str why = {0};
    struct stat st;
    struct timespec times[2];

    (void)state;
    write_and_read(&r, &arena);
    r.written_ns += 3600LL * 1000000000; /* long after: the fast path counts */
    assert_int_equal(stat(at("curve.csv"), &st), 0);
    assert_true(pl_record_intact(&r, dir, &why));
    (void)usleep(20000); /* a tick, so that the change time moves on */
    put("curve.csv", "Step,loss\n");
    times[0] = st.st_atim;
    times[1] = st.st_mtim;
    assert_int_equal(utimensat(AT_FDCWD, at("curve.csv"), times, 0), 0);
    assert_false(pl_record_intact(&r, dir, &why));
    str_free(&why);
    arena_free(&arena);
}

static void missing_output_is_found(void **state)
{
    struct arena arena = {0};
    struct pl_record r;
    struct str why = {0};

    (void)state;
    write_and_read(&r, &arena);
    assert_int_equal(unlink(at("curve.csv")), 0);
    assert_false(pl_record_intact(&r, dir, &why));
    assert_string_equal(why.text, "curve.csv is missing");
    str_free(&why);
    arena_free(&arena);
}

static void broken_records_are_none(void **state)
{
    static const char *const bad[] = {
        "",
        "{",
        "[]",
        "{}",
        "{\"fingerprint\": \"abc\"}",
        "{\"fingerprint\": 5, \"outputs\": []}",
        "{\"fingerprint\": "
        "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
        "aaaaaaaaaaaaa\", \"outputs\": {\"a\": {\"sha256\": 3}}}"};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct arena arena = {0};
        struct pl_record r;
        const char *why;

        put(PL_WHOLE_FILE, bad[i]);
        assert_false(pl_record_read(&r, dir, PL_WHOLE_FILE, &arena, &why));
        assert_string_equal(why, "damaged");
        arena_free(&arena);
    }
}

static void missing_record_is_told_from_a_damaged_one(void **state)
{
    struct arena arena = {0};
    struct pl_record r;
    const char *why;

    (void)state;
    assert_false(pl_record_read(&r, dir, PL_WHOLE_FILE, &arena, &why));
    assert_string_equal(why, "missing");
    arena_free(&arena);
}

static void outputs_hash_follows_names_and_contents(void **state)
{
    struct pl_output o = {.name = "a", .sha256 = "1"};
    struct pl_record r = {.output = &o, .n_outputs = 1};
    struct err err = {0};
    char first[65], hex[65];

    (void)state;
    assert_int_equal(pl_record_outputs_hash(first, &r, &err), 0);
    o.mtime_ns = 5;
    assert_int_equal(pl_record_outputs_hash(hex, &r, &err), 0);
    assert_string_equal(hex, first);
    o.name = "b";
    assert_int_equal(pl_record_outputs_hash(hex, &r, &err), 0);
    assert_string_not_equal(hex, first);
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(record_reads_back),
        CASE(untouched_and_touched_outputs_are_intact),
        CASE(changed_byte_is_found),
        CASE(changed_byte_with_its_old_time_is_found),
        CASE(missing_output_is_found),
        CASE(broken_records_are_none),
        CASE(missing_record_is_told_from_a_damaged_one),
        CASE(outputs_hash_follows_names_and_contents),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
