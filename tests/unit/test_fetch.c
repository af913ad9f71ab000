#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "tests/unit/fetch_folder.h"

/* Mirrors that are folders; servers are test_fetch_http's. */

static const char WRONG[] =
    "0000000000000000000000000000000000000000000000000000000000000000";

static void names_that_leave_the_folder_are_refused(void **state)
{
    static const char *const bad[] = {
        "",   "/etc/passwd", "../x", "a/../x", "a//b", "a/",   ".x",  "a/.x",
        "-x", "a/-x",        ".",    "a\\b",   "a\nb", "\x7f", "./x",
    };
    static const char *const good[] = {
        "x", "a/b", "a b", "x..gz", "a-b.c", "\xc3\xbc",
    };
    struct job j;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(pl_fetch_name_ok(good[i]));
    for (i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(pl_fetch_name_ok(bad[i]));
        begin(&j, bad[i]);
        expect_bad(&j, ERR_CONFIG, "is no file name below a mirror");
        end(&j);
    }
}

static void a_gzip_file_is_known_by_its_bytes(void **state)
{
    struct job j;

    (void)state;
    begin(&j, "sub/x.csv"); /* packed, whatever it is called */
    assert_int_equal(io_mkdirs(at("m0", "sub"), NULL), 0);
    (void)put_packed("m0", "sub/x.csv");
    j.file.sha256 = fetch_packed_sha;
    j.file.sha256_unpacked = fetch_text_sha;
    expect_good(&j);
    assert_string_equal(j.got.file[0].packed, fetch_packed_sha);
    assert_string_equal(j.got.file[0].name, "sub/x.csv");
    end(&j);

    begin(&j, "x.gz"); /* not packed */
    put("m0", "x.gz", fetch_text, strlen(fetch_text));
    j.file.sha256 = fetch_text_sha;
    expect_good(&j);
    assert_string_equal(j.got.file[0].packed, fetch_text_sha);
    end(&j);
}

/* m0/x: nothing, a folder, a pipe, or a file of that text. */
static void put_fault(const char *fault)
{
    if (!fault)
        return;
    if (strcmp(fault, "folder") == 0)
        assert_int_equal(mkdir(at("m0", "x"), 0777), 0);
    else if (strcmp(fault, "pipe") == 0)
        assert_int_equal(mkfifo(at("m0", "x"), 0666), 0);
    else
        put("m0", "x", fault, strlen(fault));
}

static void any_fault_of_a_mirror_leads_to_the_next(void **state)
{
    static const struct {
        const char *fault, *reason;
    } cases[] = {
        {NULL, "m0: No such file or directory"},
        {"folder", "m0: not a regular file"},
        {"pipe", "m0: not a regular file"},
        {"", "m0: is empty"},
        {"<html>gone</html>", "m0: looks like an HTML page, not the file"},
        {"a,b\n1,2\n3,5\n", "m0: has sha256 "},
    };
    struct job j;
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(&j, "x");
        put_fault(cases[i].fault);
        j.file.sha256 = fetch_text_sha;
        expect_bad(&j, ERR_FETCH, cases[i].reason);
        assert_non_null(strstr(j.err.msg, "/m1: No such file or directory"));
        assert_int_equal(count("cache/sha256"), 0);
        put("m1", "x", fetch_text, strlen(fetch_text));
        expect_good(&j);
        assert_non_null(strstr(j.notes.text, cases[i].reason));
        end(&j);
    }
}

static void a_wrong_size_is_noticed(void **state)
{
    struct job j;

    (void)state;
    begin(&j, "x");
    put("m0", "x", fetch_text, strlen(fetch_text));
    j.file.size = 11;
    expect_bad(&j, ERR_FETCH, "m0: has 12 bytes, not 11");
    j.file.size = 12;
    expect_good(&j);
    end(&j);
}

static void wrong_contents_lead_to_the_next_mirror(void **state)
{
    unsigned char other[256];
    struct job j;

    (void)state;
    begin(&j, "x");
    put("m0", "x", other, pack(other, sizeof other, "zzz", 3));
    j.file.sha256_unpacked = fetch_text_sha;
    expect_bad(&j, ERR_FETCH, "m0: the contents have sha256 17f165d5a5ba6");
    (void)put_packed("m1", "x");
    expect_good(&j);
    assert_string_equal(j.got.file[0].packed, ""); /* nobody vouches for it */
    end(&j);
}

static void contradicting_hashes_are_no_mirror_s_fault(void **state)
{
    struct job j;

    (void)state;
    begin(&j, "x");
    (void)put_packed("m0", "x");
    (void)put_packed("m1", "x");
    j.file.sha256 = fetch_packed_sha;
    j.file.sha256_unpacked = WRONG;
    expect_bad(&j, ERR_FETCH,
               "'d/x' has the sha256 that is asked for, but: the contents");
    assert_null(strstr(j.err.msg, "/m1"));
    end(&j);
}

static void without_hashes_it_says_so_and_records_them(void **state)
{
    struct job j;

    (void)state;
    begin(&j, "x");
    (void)put_packed("m0", "x");
    expect_good(&j);
    assert_non_null(strstr(j.notes.text, "warning: d/x is not verified: no "
                                         "sha256 given (it is "));
    assert_string_equal(j.got.file[0].packed, fetch_packed_sha);
    put("m0", "x", "<!DOCTYPE html>", 15);
    expect_bad(&j, ERR_FETCH, "looks like an HTML page");
    end(&j);
}

static void a_bomb_stops_at_the_cap(void **state)
{
    static char zeros[300000];
    unsigned char packed[1000];
    struct job j;

    (void)state;
    begin(&j, "x");
    put("m0", "x", packed, pack(packed, sizeof packed, zeros, sizeof zeros));
    j.opts.max_bytes = 1000;
    expect_bad(&j, ERR_FETCH, "'x' unpacks to more than 1000 bytes");
    assert_int_equal(count("cache/partial"), 0);
    put("m0", "x", zeros, 1001);
    expect_bad(&j, ERR_FETCH, "has more than 1000 bytes");
    end(&j);
}

static void a_data_set_without_mirrors_is_an_error(void **state)
{
    struct job j;

    (void)state;
    begin(&j, "x");
    j.ds.mirrors.n = 0;
    expect_bad(&j, ERR_FETCH, "cannot fetch 'd/x': it has no mirrors");
    end(&j);
}

static void a_stop_leaves_nothing_half_done(void **state)
{
    struct job j;

    (void)state;
    begin(&j, "x");
    (void)put_packed("m0", "x");
    j.stop = true;
    expect_bad(&j, ERR_INTERRUPTED, "was stopped");
    assert_int_equal(count("cache/sha256"), 0);
    j.stop = false;
    expect_good(&j);
    end(&j);
}

static void every_failed_allocation_is_out_of_memory(void **state)
{
    int rc = ERR_NOMEM;
    struct job j;
    long i;

    (void)state;
    for (i = 1; rc != 0; i++) {
        begin(&j, "x");
        (void)put_packed("m0", "x");
        str_addf(&j.notes, "%4000s", "");
        mem_fail_after(i);
        rc = fetch(&j);
        mem_fail_after(0);
        assert_true(rc == 0 || rc == ERR_NOMEM);
        assert_true(rc == 0 || j.got.n == 0);
        if (rc != 0)
            expect_good(&j);
        end(&j);
    }
    assert_true(i > 20);
}

static void the_shipped_mnist_arrives_whole(void **state)
{
    static const struct pl_data_file files[4] = {
        {.role = "train_images",
         .path = "train-images-idx3-ubyte.gz",
         .sha256 =
             "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f20352"
             "3609"},
        {.role = "train_labels", .path = "train-labels-idx1-ubyte.gz"},
        {.role = "test_images", .path = "t10k-images-idx3-ubyte.gz"},
        {.role = "test_labels", .path = "t10k-labels-idx1-ubyte.gz"},
    };
    static const uint64_t bytes[] = {47040016, 60008, 7840016, 10008};
    const char *mirror = "examples/data/mnist";
    struct job j;
    int i;

    (void)state;
    begin(&j, "x");
    j.ds.files = (struct pl_list){(void *)files, 4};
    j.ds.mirrors = (struct pl_list){&mirror, 1};
    assert_int_equal(fetch(&j), 0);
    assert_int_equal(j.got.n, 4);
    for (i = 0; i < 4; i++)
        assert_int_equal(j.got.file[i].bytes, bytes[i]);
    assert_string_equal(
        j.got.file[0].sha256,
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db");
    end(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_that_leave_the_folder_are_refused),
        cmocka_unit_test(a_gzip_file_is_known_by_its_bytes),
        cmocka_unit_test(any_fault_of_a_mirror_leads_to_the_next),
        cmocka_unit_test(a_wrong_size_is_noticed),
        cmocka_unit_test(wrong_contents_lead_to_the_next_mirror),
        cmocka_unit_test(contradicting_hashes_are_no_mirror_s_fault),
        cmocka_unit_test(without_hashes_it_says_so_and_records_them),
        cmocka_unit_test(a_bomb_stops_at_the_cap),
        cmocka_unit_test(a_data_set_without_mirrors_is_an_error),
        cmocka_unit_test(a_stop_leaves_nothing_half_done),
        cmocka_unit_test(every_failed_allocation_is_out_of_memory),
        cmocka_unit_test(the_shipped_mnist_arrives_whole),
    };

    return cmocka_run_group_tests(tests, fetch_set_up, fetch_tear_down);
}
