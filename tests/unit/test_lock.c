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
#include <unistd.h>

#include "nn/base/mem.h"
#include "pipeline/lock.h"

static char dir[64];

static int set_up(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof dir, "/tmp/test_lock-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int tear_down(void **state)
{
    char path[96];

    (void)state;
    (void)snprintf(path, sizeof path, "%s/.lock", dir);
    (void)unlink(path);
    return rmdir(dir);
}

/* A process that holds the lock until it is killed. */
static pid_t start_holder(void)
{
    int ready[2];
    char c;
    pid_t pid;

    assert_int_equal(pipe(ready), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct pl_lock l;
        struct err err = {0};

        if (pl_lock_take(&l, dir, &err) != 0 || write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            (void)pause();
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    (void)close(ready[0]);
    (void)close(ready[1]);
    return pid;
}

static void end_holder(pid_t pid)
{
    int status;

    (void)kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
}

static void second_run_is_told_who_holds_the_folder(void **state)
{
    struct pl_lock l;
    struct err err = {0};
    char want[32];
    pid_t pid = start_holder();

    (void)state;
    assert_int_equal(pl_lock_take(&l, dir, &err), ERR_LOCKED);
    (void)snprintf(want, sizeof want, "pid %ld on ", (long)pid);
    assert_non_null(strstr(err.msg, want));
    assert_non_null(strstr(err.msg, " since 20"));
    assert_non_null(strstr(err.msg, dir));
    end_holder(pid);
}

static void lock_of_a_killed_process_is_none(void **state)
{
    struct pl_lock l;
    struct err err = {0};

    (void)state;
    end_holder(start_holder());
    assert_int_equal(pl_lock_take(&l, dir, &err), 0);
    pl_lock_drop(&l);
}

static void looking_at_a_lock_does_not_take_it(void **state)
{
    struct pl_lock l;
    struct err err = {0};
    char text[200];
    pid_t pid;

    (void)state;
    assert_false(pl_lock_held(dir, text));
    pid = start_holder();
    assert_true(pl_lock_held(dir, text));
    assert_non_null(strstr(text, "pid "));
    end_holder(pid);
    assert_false(pl_lock_held(dir, text));
    assert_int_equal(pl_lock_take(&l, dir, &err), 0);
    pl_lock_drop(&l);
}

static void missing_folder_is_an_io_error(void **state)
{
    struct pl_lock l;
    struct err err = {0};

    (void)state;
    assert_int_equal(pl_lock_take(&l, "/nonexistent/folder", &err), ERR_IO);
    assert_int_equal(l.fd, -1);
    pl_lock_drop(&l);
    assert_int_equal(mem_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(second_run_is_told_who_holds_the_folder,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(lock_of_a_killed_process_is_none,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(looking_at_a_lock_does_not_take_it,
                                        set_up, tear_down),
        cmocka_unit_test(missing_folder_is_an_io_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
