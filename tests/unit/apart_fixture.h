/* Cases for a GPU (TEST_DEVICE=cuda) of which each runs in a process of its
 * own: the program starts itself again with a case's name. */
#ifndef APART_FIXTURE_H
#define APART_FIXTURE_H

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/device_fixture.h"

struct apart_case {
    const char *name;
    CMUnitTestFunction run;
    void (*before)(void); /* sets the environment of the process; or NULL */
};
#define APART(name) \
    { \
#name, name, NULL \
    }
#define APART_IN(name, before) \
    { \
#name, name, before \
    }

enum { APART_MOST = 32, APART_SKIPPED = 77 };

/* From within a case. */
static inline void apart_skip(const char *why)
{
    printf("%s\n", why);
    (void)fflush(stdout);
    _exit(APART_SKIPPED);
}

static inline void apart_show(FILE *out)
{
    char line[512];

    rewind(out);
    while (fgets(line, sizeof line, out))
        print_error("    %s", line);
}

static inline void apart_run(void **state)
{
    const struct apart_case *c = *state;
    FILE *out = tmpfile();
    int status = -1;
    pid_t pid;

    assert_non_null(out);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)dup2(fileno(out), STDOUT_FILENO);
        (void)dup2(fileno(out), STDERR_FILENO);
        if (c->before)
            c->before();
        (void)execl("/proc/self/exe", "apart", c->name, (char *)NULL);
        _exit(127);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status != 0)
        apart_show(out);
    (void)fclose(out);
    if (WIFEXITED(status) && WEXITSTATUS(status) == APART_SKIPPED)
        skip();
    assert_int_equal(status, 0);
}

static inline int apart_one(const struct apart_case *c)
{
    const struct CMUnitTest one[] = {{c->name, c->run, NULL, NULL, NULL}};

    return cmocka_run_group_tests(one, NULL, NULL);
}

/* Without a device this is no program of tests: see tests/run.sh. */
static inline int apart_main(int argc, char **argv,
                             const struct apart_case *cases, size_t n)
{
    struct CMUnitTest tests[APART_MOST];
    size_t i;

    if (!test_device()) {
        (void)fprintf(stderr, "%s: TEST_DEVICE=cuda is not set\n", argv[0]);
        return APART_SKIPPED;
    }
    for (i = 0; argc == 2 && i < n; i++)
        if (strcmp(argv[1], cases[i].name) == 0)
            return apart_one(&cases[i]);
    for (i = 0; i < n && i < APART_MOST; i++)
        tests[i] = (struct CMUnitTest){cases[i].name, apart_run, NULL, NULL,
                                       (void *)(uintptr_t)&cases[i]};
    return _cmocka_run_group_tests("tests", tests, i, NULL, NULL);
}

#endif
