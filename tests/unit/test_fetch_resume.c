#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "nn/base/mem.h"
#include "tests/unit/fetch_case.h"

static void a_stall_is_noticed_and_resumed(void **state)
{
    struct attempt a = AT("stall", "good");
    char seen[256], want[32];

    (void)state;
    a.retries = 0;
    prepare(&a);
    assert_int_equal(fetch(&a), 0);
    check_contents(&a);
    assert_non_null(strstr(a.notes.text, "sends less than 100 bytes a second"));
    (void)requests(a.path[1], seen);
    (void)snprintf(want, sizeof want, "%zu-", fetch_packed_len / 2);
    assert_string_equal(seen, want); /* the second mirror sent the rest */
    end(&a);
}

static void a_lost_connection_is_resumed(void **state)
{
    struct attempt unhashed = AT("cut");
    char ranges[64];

    (void)state;
    unhashed.no_sha = true;
    (void)snprintf(ranges, sizeof ranges, "- %zu-", fetch_packed_len / 2);
    expect_good(AT("cut"), 2, ranges);
    expect_good(unhashed, 2, ranges); /* by its ETag */
    expect_bad(AT("cut_always"), 3, "bytes remaining to read");
}

static void without_range_support_it_starts_over(void **state)
{
    char ranges[64];

    (void)state;
    (void)snprintf(ranges, sizeof ranges, "- %zu-", fetch_packed_len / 2);
    expect_good(AT("no_range"), 2, ranges);
    (void)snprintf(ranges, sizeof ranges, "- %zu- -", fetch_packed_len / 2);
    expect_good(AT("wrong_range"), 3, ranges);
    expect_good(AT("no_such_range"), 3, ranges);
}

static void a_changed_file_is_not_glued_to_the_old_half(void **state)
{
    struct attempt unhashed = AT("new_tag_206");

    (void)state;
    unhashed.no_sha = true;
    expect_good(AT("new_tag"), 2, NULL);
    expect_good(AT("new_tag_206"), 3, NULL);
    expect_good(unhashed, 3, NULL);
}

/* A half from one mirror that does not go with the other's: no mirror's fault
 * until it has sent the whole. */
static void a_bad_half_from_another_mirror_is_thrown_away(void **state)
{
    struct attempt a = AT("new_tag", "good");
    char seen[256];

    (void)state;
    a.retries = 0;
    prepare(&a);
    assert_int_equal(fetch(&a), 0);
    check_contents(&a);
    assert_int_equal(requests(a.path[1], seen), 2);
    end(&a);
}

static void a_stopped_download_goes_on_where_it_stood(void **state)
{
    struct attempt a = AT("slow");
    char seen[256];

    (void)state;
    a.stop_at = 1;
    prepare(&a);
    assert_int_equal(fetch(&a), ERR_INTERRUPTED);
    assert_int_equal(count_files(a.cache, "sha256"), 0);
    assert_int_equal(count_files(a.cache, "partial"), 1);
    a.stop_at = 0;
    assert_int_equal(fetch(&a), 0);
    check_contents(&a);
    assert_int_equal(requests(a.path[0], seen), 2);
    assert_memory_equal(seen, "- ", 2);
    assert_true(strtol(seen + 2, NULL, 10) > 0);
    assert_int_equal(count_files(a.cache, "partial"), 0);
    end(&a);
}

static off_t part_size(const struct attempt *a)
{
    char path[256];
    struct stat st;

    (void)snprintf(path, sizeof path, "%s/partial/%s.part", a->cache,
                   fetch_packed_sha);
    return stat(path, &st) == 0 ? st.st_size : 0;
}

static void a_killed_download_goes_on_where_it_stood(void **state)
{
    const struct timespec nap = {0, 5000000};
    struct attempt a = AT("slow");
    char seen[256];
    pid_t pid;

    (void)state;
    prepare(&a);
    pid = fetch_apart(&a);
    while (part_size(&a) < (off_t)fetch_packed_len / 4)
        (void)nanosleep(&nap, NULL);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(count_files(a.cache, "sha256"), 0);
    assert_int_equal(fetch(&a), 0);
    check_contents(&a);
    assert_int_equal(requests(a.path[0], seen), 2);
    assert_true(strtol(seen + 2, NULL, 10) >= (long)fetch_packed_len / 4);
    assert_int_equal(count_files(a.cache, "partial"), 0);
    end(&a);
}

static void eight_processes_share_one_download(void **state)
{
    struct attempt a = AT("slow");
    char seen[256];
    pid_t pid[8];
    int i, status;

    (void)state;
    a.pinned = true;
    prepare(&a);
    for (i = 0; i < 8; i++)
        pid[i] = fetch_apart(&a);
    for (i = 0; i < 8; i++) {
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(requests(a.path[0], seen), 1);
    assert_int_equal(count_files(a.cache, "sha256"), 2);
    assert_int_equal(count_files(a.cache, "partial"), 0);
    assert_int_equal(fetch(&a), 0);
    check_contents(&a);
    end(&a);
}

static void waiting_for_another_process_can_be_stopped(void **state)
{
    const struct timespec nap = {0, 5000000};
    struct attempt a = AT("slow");
    struct attempt b;
    pid_t pid;

    (void)state;
    prepare(&a);
    b = a;
    pid = fetch_apart(&a);
    while (part_size(&a) == 0)
        (void)nanosleep(&nap, NULL);
    b.stop_waiting = true;
    assert_int_equal(fetch(&b), ERR_INTERRUPTED);
    assert_non_null(strstr(b.notes.text, "waiting for another process"));
    b.stop_waiting = false;
    assert_int_equal(fetch(&b), 0);
    check_contents(&b);
    end(&b);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void every_failed_allocation_is_out_of_memory(void **state)
{
    struct attempt a = AT("good");
    int rc = ERR_NOMEM;
    long i;

    (void)state;
    a.pinned = true;
    for (i = 1; rc != 0; i++) {
        prepare(&a);
        str_addf(&a.notes, "%4000s", "");
        mem_fail_after(i);
        rc = fetch(&a);
        mem_fail_after(0);
        assert_true(rc == 0 || rc == ERR_NOMEM);
        end(&a);
    }
    assert_true(i > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stall_is_noticed_and_resumed),
        cmocka_unit_test(a_lost_connection_is_resumed),
        cmocka_unit_test(without_range_support_it_starts_over),
        cmocka_unit_test(a_changed_file_is_not_glued_to_the_old_half),
        cmocka_unit_test(a_bad_half_from_another_mirror_is_thrown_away),
        cmocka_unit_test(a_stopped_download_goes_on_where_it_stood),
        cmocka_unit_test(a_killed_download_goes_on_where_it_stood),
        cmocka_unit_test(eight_processes_share_one_download),
        cmocka_unit_test(waiting_for_another_process_can_be_stopped),
        cmocka_unit_test(every_failed_allocation_is_out_of_memory),
    };

    return cmocka_run_group_tests(tests, fetch_set_up, fetch_tear_down);
}
