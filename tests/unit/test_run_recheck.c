#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/run_fixture.h"

static char file[96];

static void put_file(const char *text)
{
    struct err err = {0};

    (void)snprintf(file, sizeof file, "%s/input", out);
    assert_int_equal(io_write_file(file, text, strlen(text), &err), 0);
}

static void replace_file(int stage)
{
    if (stage == 1)
        put_file("new");
}

static void damage_the_need(int stage)
{
    struct err err = {0};

    if (stage == 1)
        (void)io_write_file(at("a/sub/value.txt"), "9\n", 2, &err);
}

static void file_counts_by_its_content(void **state)
{
    (void)state;
    put_file("old");
    with[0].file = file;
    assert_int_equal(run(NULL), 0);
    put_file("old");
    assert_int_equal(run(NULL), 0);
    assert_told("fresh a ();fresh b ();");
    put_file("new");
    assert_int_equal(run(NULL), 0);
    assert_non_null(strstr(told.text, "run a (with.file sha256 "));
}

static void file_replaced_while_the_stage_runs_is_stale_next_time(void **state)
{
    (void)state;
    put_file("old");
    with[1].file = file;
    meanwhile = replace_file;
    assert_int_equal(run(NULL), 0);
    assert_non_null(strstr(lines.text,
                           "warning: while stage 'b' ran, the file of "
                           "with.file changed; it runs again next time\n"));
    meanwhile = NULL;
    assert_int_equal(run(NULL), 0);
    assert_non_null(strstr(told.text, "fresh a ();run b (with.file sha256 "));
    assert_int_equal(run(NULL), 0);
    assert_told("fresh a ();fresh b ();");
}

static void file_that_changed_back_since_then_is_stale_too(void **state)
{
    (void)state;
    put_file("old");
    with[1].file = file;
    meanwhile = replace_file;
    assert_int_equal(run(NULL), 0);
    meanwhile = NULL;
    put_file("old");
    assert_int_equal(run(NULL), 0);
    assert_told("fresh a ();run b (while it ran, the file of with.file "
                "changed);");
}

static void need_damaged_while_the_stage_runs_makes_both_run(void **state)
{
    (void)state;
    meanwhile = damage_the_need;
    assert_int_equal(run(NULL), 0);
    assert_non_null(strstr(lines.text, "the input from a changed: "
                                       "sub/value.txt was changed"));
    meanwhile = NULL;
    assert_int_equal(run(NULL), 0);
    assert_told("run a (sub/value.txt was changed);"
                "run b (while it ran, the input from a changed: sub/value.txt "
                "was changed);");
}

static void machine_counts_for_a_kind_that_measures(void **state)
{
    (void)state;
    assert_int_equal(run(NULL), 0);
    opts.threads = 2;
    assert_int_equal(run(NULL), 0);
    assert_told("fresh a ();fresh b ();");
    kind.measures = true;
    assert_int_equal(run(NULL), 0);
    assert_non_null(strstr(told.text, "run a (machine.cpu none -> "));
    assert_int_equal(run(NULL), 0);
    assert_told("fresh a ();fresh b ();");
    opts.threads = 1;
    assert_int_equal(run(NULL), 0);
    assert_non_null(strstr(told.text, "run a (machine.threads 2 of "));
}

static void raised_version_of_a_kind_runs_again(void **state)
{
    (void)state;
    assert_int_equal(run(NULL), 0);
    kind.version = 2;
    assert_int_equal(run(NULL), 0);
    assert_told("run a (the program's version 1 -> 2);"
                "run b (the program's version 1 -> 2);");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(file_counts_by_its_content),
        CASE(file_replaced_while_the_stage_runs_is_stale_next_time),
        CASE(file_that_changed_back_since_then_is_stale_too),
        CASE(need_damaged_while_the_stage_runs_makes_both_run),
        CASE(machine_counts_for_a_kind_that_measures),
        CASE(raised_version_of_a_kind_runs_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
