#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/fetch_cache.h"
#include "tests/unit/fetch_folder.h"

static void the_cache_serves_without_mirrors(void **state)
{
    struct job j;
    int i;

    (void)state;
    for (i = 1; i <= 3; i++) { /* by either hash, and by both */
        begin(&j, "x");
        (void)put_packed("m0", "x");
        j.file.sha256 = fetch_packed_sha;
        j.file.sha256_unpacked = fetch_text_sha;
        expect_good(&j);
        assert_int_equal(unlink(at("m0", "x")), 0);
        j.file.sha256 = i & 1 ? fetch_packed_sha : NULL;
        j.file.sha256_unpacked = i & 2 ? fetch_text_sha : NULL;
        expect_good(&j);
        assert_non_null(strstr(j.notes.text, "d/x: in the cache"));
        end(&j);
    }
}

/* Writes text where the blob of the contents lies. */
static void damage(const char *text)
{
    char blob[100];

    (void)snprintf(blob, sizeof blob, "sha256/%.2s/%s", fetch_text_sha,
                   fetch_text_sha);
    put("cache", blob, text, strlen(text));
}

static void a_damaged_blob_is_thrown_away_and_fetched_again(void **state)
{
    static const char *const texts[] = {"a,b\n1,2\n3,5\n", "a,b\n", ""};
    struct job j;
    size_t i;

    (void)state;
    for (i = 0; i < 3; i++) {
        begin(&j, "x");
        (void)put_packed("m0", "x");
        j.file.sha256_unpacked = fetch_text_sha;
        expect_good(&j);
        damage(texts[i]);
        expect_good(&j);
        assert_non_null(strstr(j.notes.text, "warning: d/x: the copy in the "
                                             "cache was damaged"));
        end(&j);
    }
}

static void a_damaged_blob_is_not_used_when_no_mirror_helps(void **state)
{
    struct job j;

    (void)state;
    begin(&j, "x");
    put("m0", "x", fetch_text, strlen(fetch_text));
    j.file.sha256 = fetch_text_sha;
    expect_good(&j);
    damage("junk");
    assert_int_equal(unlink(at("m0", "x")), 0);
    expect_bad(&j, ERR_FETCH, "no mirror gave it");
    end(&j);
}

static void a_full_disk_is_known_before_it_is_full(void **state)
{
    struct err err = {0};

    (void)state;
    assert_int_equal(pl_cache_room("/tmp", 0, NULL), 0);
    assert_int_equal(pl_cache_room("/tmp", UINT64_MAX / 2, &err), ERR_IO);
    assert_non_null(strstr(err.msg, " MiB are needed"));
}

static void what_killed_processes_left_is_cleared_away(void **state)
{
    static const char *const suffixes[] = {".tmp-Abc123", ".part", ".lock"};
    char name[100];
    struct job j;
    size_t i;

    (void)state;
    begin(&j, "x");
    (void)put_packed("m0", "x");
    j.file.sha256 = fetch_packed_sha;
    assert_int_equal(io_mkdirs(at("cache", "partial"), NULL), 0);
    for (i = 0; i < 3; i++) {
        (void)snprintf(name, sizeof name, "%s%s", fetch_packed_sha,
                       suffixes[i]);
        put("cache/partial", name, "half", 4);
    }
    expect_good(&j); /* and partial/ is empty */
    end(&j);
}

static void a_cache_that_cannot_be_written_is_an_error_of_ours(void **state)
{
    struct job j;

    (void)state;
    begin(&j, "x");
    (void)put_packed("m0", "x");
    put("m1", "file", "", 0);
    (void)snprintf(j.cache, sizeof j.cache, "%s/cache", at("m1", "file"));
    expect_bad(&j, ERR_IO, "cannot make the folder");
    end(&j);
}

static void the_record_reads_back(void **state)
{
    struct pl_fetched back;
    struct job j;

    (void)state;
    begin(&j, "x.gz");
    (void)put_packed("m0", "x.gz");
    j.file.sha256 = fetch_packed_sha;
    expect_good(&j);
    assert_int_equal(pl_fetched_write(&j.got, at("m1", "files.json"), NULL), 0);
    assert_int_equal(
        pl_fetched_read(&back, at("m1", "files.json"), j.cache, NULL), 0);
    assert_int_equal(back.n, 1);
    assert_string_equal(back.file[0].role, "train");
    assert_string_equal(back.file[0].name, "x.gz");
    assert_string_equal(back.file[0].packed, fetch_packed_sha);
    assert_string_equal(back.file[0].sha256, fetch_text_sha);
    assert_string_equal(back.file[0].path, j.got.file[0].path);
    assert_int_equal(back.file[0].bytes, 12);
    pl_fetched_free(&back);
    end(&j);
}

/* No path, no time: the same files give the same bytes anywhere. */
static void the_record_names_no_machine(void **state)
{
    char want[600], *json;
    struct job j;
    size_t len;

    (void)state;
    begin(&j, "x.gz");
    (void)put_packed("m0", "x.gz");
    j.file.sha256 = fetch_packed_sha;
    expect_good(&j);
    assert_int_equal(pl_fetched_write(&j.got, at("m1", "files.json"), NULL), 0);
    assert_int_equal(
        io_read_file(&json, &len, at("m1", "files.json"), 9999, NULL), 0);
    (void)snprintf(want, sizeof want,
                   "{\n  \"files\": [\n    {\n      \"role\": \"train\",\n"
                   "      \"name\": \"x.gz\",\n      \"sha256\": \"%s\",\n"
                   "      \"sha256_unpacked\": \"%s\",\n      \"bytes\": 12\n"
                   "    }\n  ]\n}\n",
                   fetch_packed_sha, fetch_text_sha);
    assert_string_equal(json, want);
    mem_free(json);
    end(&j);
}

static void expect_no_record(struct job *j, int code, const char *part)
{
    struct pl_fetched back;

    err_clear(&j->err);
    assert_int_equal(
        pl_fetched_read(&back, at("m1", "files.json"), j->cache, &j->err),
        code);
    if (!strstr(j->err.msg, part))
        fail_msg("'%s' lacks '%s'", j->err.msg, part);
    assert_int_equal(back.n, 0);
}

static void a_record_that_is_none_is_an_error(void **state)
{
    static const char *const bad[] = {
        "{\"files\": [1]}",
        "{\"files\": [{\"role\": \"train\", \"name\": \"x\"}]}",
        ("{\"files\": [{\"role\": \"train\", \"name\": \"x\", \"sha256\": null,"
         " \"sha256_unpacked\": \"../../../etc/passwd\", \"bytes\": 1}]}"),
    };
    struct job j;
    size_t i;

    (void)state;
    begin(&j, "x");
    expect_no_record(&j, ERR_IO, "files.json");
    put("m1", "files.json", "<html>", 6);
    expect_no_record(&j, ERR_CORRUPT, "files.json' is not a JSON object");
    put("m1", "files.json", "{}", 2);
    expect_no_record(&j, ERR_CORRUPT, "it has no list 'files'");
    for (i = 0; i < 3; i++) {
        put("m1", "files.json", bad[i], strlen(bad[i]));
        expect_no_record(&j, ERR_CORRUPT, "entry 0 is not a map of role,");
    }
    end(&j);
}

static void a_record_of_a_blob_that_is_gone_is_an_error(void **state)
{
    struct job j;

    (void)state;
    begin(&j, "x");
    (void)put_packed("m0", "x");
    expect_good(&j);
    assert_int_equal(pl_fetched_write(&j.got, at("m1", "files.json"), NULL), 0);
    assert_int_equal(truncate(j.got.file[0].path, 11), 0);
    expect_no_record(&j, ERR_FETCH, "has 11 bytes, not 12: fetch it again");
    assert_int_equal(unlink(j.got.file[0].path), 0);
    expect_no_record(&j, ERR_FETCH, "'x' is no longer in the cache");
    end(&j);
}

static void expect_folder(const char *given, const char *want)
{
    char *out;

    assert_int_equal(pl_cache_dir(&out, given, NULL), 0);
    assert_string_equal(out, want);
    mem_free(out);
}

static void the_folder_comes_from_the_environment(void **state)
{
    struct err err = {0};
    char *out;

    (void)state;
    assert_int_equal(setenv("PIPELINE_CACHE", "p", 1), 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", "/x", 1), 0);
    assert_int_equal(setenv("HOME", "/h", 1), 0);
    expect_folder("given", "given");
    expect_folder(NULL, "p");
    assert_int_equal(setenv("PIPELINE_CACHE", "", 1), 0);
    expect_folder(NULL, "/x/pipeline");
    assert_int_equal(setenv("XDG_CACHE_HOME", "relative", 1), 0);
    expect_folder(NULL, "/h/.cache/pipeline");
    assert_int_equal(unsetenv("HOME"), 0);
    assert_int_equal(pl_cache_dir(&out, NULL, &err), ERR_IO);
    assert_null(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cache_serves_without_mirrors),
        cmocka_unit_test(a_damaged_blob_is_thrown_away_and_fetched_again),
        cmocka_unit_test(a_damaged_blob_is_not_used_when_no_mirror_helps),
        cmocka_unit_test(a_full_disk_is_known_before_it_is_full),
        cmocka_unit_test(what_killed_processes_left_is_cleared_away),
        cmocka_unit_test(a_cache_that_cannot_be_written_is_an_error_of_ours),
        cmocka_unit_test(the_record_reads_back),
        cmocka_unit_test(the_record_names_no_machine),
        cmocka_unit_test(a_record_that_is_none_is_an_error),
        cmocka_unit_test(a_record_of_a_blob_that_is_gone_is_an_error),
        cmocka_unit_test(the_folder_comes_from_the_environment),
    };

    return cmocka_run_group_tests(tests, fetch_set_up, fetch_tear_down);
}
