#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/mem.h"
#include "tests/unit/fetch_folder.h"

static void the_mirror_asked_for_comes_first(void **state)
{
    struct job j;
    char first[64];

    (void)state;
    begin(&j, "x.csv.gz");
    (void)put_packed("m0", "x.csv.gz");
    (void)put_packed("m1", "x.csv.gz");
    (void)snprintf(first, sizeof first, "%s", j.mirror[1]);
    j.ds.mirrors.n = 1;
    j.opts.mirror = first;
    expect_good(&j);
    assert_non_null(strstr(j.notes.text, first));
    end(&j);
}

static void the_environment_may_name_the_first_mirror(void **state)
{
    struct job j;

    (void)state;
    begin(&j, "x.csv.gz");
    (void)put_packed("m1", "x.csv.gz");
    j.ds.mirrors.n = 1;
    assert_int_equal(setenv("PIPELINE_MIRROR", j.mirror[1], 1), 0);
    expect_good(&j);
    j.opts.mirror = j.mirror[0]; /* the option comes before the variable */
    j.ds.mirrors.n = 0;
    j.opts.cache = at("other", "cache");
    expect_bad(&j, ERR_FETCH, "m0: No such file or directory");
    assert_int_equal(setenv("PIPELINE_MIRROR", "", 1), 0);
    j.opts.mirror = NULL;
    expect_bad(&j, ERR_FETCH, "it has no mirrors");
    assert_int_equal(unsetenv("PIPELINE_MIRROR"), 0);
    end(&j);
}

static void a_first_mirror_that_fails_is_one_of_many(void **state)
{
    struct job j;

    (void)state;
    begin(&j, "x.csv.gz");
    (void)put_packed("m1", "x.csv.gz");
    j.opts.mirror = "/nowhere";
    expect_good(&j);
    assert_non_null(strstr(
        j.notes.text, "d/x.csv.gz: /nowhere: No such file or directory\n"));
    end(&j);
}

static void what_is_no_mirror_is_said_before_the_run(void **state)
{
    struct err err = {0};

    (void)state;
    assert_int_equal(pl_fetch_check(NULL, NULL, &err), 0);
    assert_int_equal(pl_fetch_check("/nowhere", "/dev/null", &err), 0);
    assert_int_equal(pl_fetch_check("http://a/b", NULL, &err), 0);
    assert_int_equal(pl_fetch_check("ftp://me:pw@a/b", NULL, &err), ERR_CONFIG);
    assert_string_equal(err.msg, "--mirror takes a folder or an http(s) "
                                 "address, not 'ftp://***@a/b'");
    err_clear(&err);
    assert_int_equal(pl_fetch_check("", NULL, &err), ERR_CONFIG);
    err_clear(&err);
    assert_int_equal(pl_fetch_check(NULL, "/nowhere", &err), ERR_CONFIG);
    assert_string_equal(err.msg, "--cacert takes a file of certificates, not "
                                 "'/nowhere': No such file or directory");
}

/* Twelve dead addresses: all are named, none is cut off, no password shows. */
static void many_reasons_are_shortened_not_dropped(void **state)
{
    enum { N = 12 };
    char name[N][128], host[64];
    const char *mirrors[N];
    struct job j;
    int i;

    (void)state;
    begin(&j, "x.csv.gz");
    for (i = 0; i < N; i++) {
        (void)snprintf(name[i], sizeof name[i],
                       "http://me:s3cret@h%02d.invalid/a/long/path/that/says/"
                       "nothing/about/what/went/wrong/there",
                       i);
        mirrors[i] = name[i];
    }
    j.ds.mirrors = (struct pl_list){mirrors, N};
    j.opts.offline = true;
    expect_bad(&j, ERR_FETCH, "cannot fetch 'd/x.csv.gz': no mirror gave it");
    for (i = 0; i < N; i++) {
        (void)snprintf(host, sizeof host, "\n  http://h%02d.invalid: not", i);
        assert_non_null(strstr(j.err.msg, host));
    }
    assert_true(strlen(j.err.msg) < 600);
    assert_null(strstr(j.err.msg, "s3cret"));
    assert_null(strstr(j.notes.text, "s3cret"));
    assert_non_null(strstr(j.notes.text, "http://***@h11.invalid/a/long/"));
    end(&j);
}

static void no_memory_is_an_error_at_every_allocation(void **state)
{
    struct job j;
    long n;
    int rc = ERR_NOMEM;

    (void)state;
    begin(&j, "x.csv.gz");
    j.opts.mirror = "http://a.invalid/";
    j.opts.offline = true;
    for (n = 1; rc == ERR_NOMEM; n++) {
        mem_fail_after(n);
        rc = fetch(&j);
        mem_fail_after(0);
        assert_int_equal(j.got.n, 0);
    }
    assert_int_equal(rc, ERR_FETCH);
    assert_true(n > 10);
    end(&j);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_mirror_asked_for_comes_first),
        cmocka_unit_test(the_environment_may_name_the_first_mirror),
        cmocka_unit_test(a_first_mirror_that_fails_is_one_of_many),
        cmocka_unit_test(what_is_no_mirror_is_said_before_the_run),
        cmocka_unit_test(many_reasons_are_shortened_not_dropped),
        cmocka_unit_test(no_memory_is_an_error_at_every_allocation),
    };

    return cmocka_run_group_tests(tests, fetch_set_up, fetch_tear_down);
}
