/* Every NAME.yaml of tests/bad/config, and with --untrusted of
 * tests/bad/untrusted, with the exact errors in NAME.err. A first line
 * "# with: a=b c=d" gives what the command line has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/config.h"

enum { MAX_OVERRIDES = 8 };

/* Cuts the rest of a "# with: " line at its blanks. */
static size_t take_overrides(char *text, const char *out[MAX_OVERRIDES])
{
    size_t n = 0;
    char *word, *rest = NULL;

    if (strncmp(text, "# with: ", 8) != 0)
        return 0;
    text[strcspn(text, "\n")] = '\0';
    for (word = strtok_r(text + 8, " ", &rest); word && n < MAX_OVERRIDES;
         word = strtok_r(NULL, " ", &rest))
        out[n++] = word;
    return n;
}

static bool same_as_wanted(const char *path, const char *want, bool untrusted)
{
    const char *overrides[MAX_OVERRIDES];
    struct pl_config_opts opts = {.overrides = overrides,
                                  .untrusted = untrusted};
    struct arena arena = {0};
    struct pl_diag d = {.arena = &arena};
    struct pl_config *c;
    struct str got = {0};
    char *text;
    size_t len;
    bool same;
    int rc;

    assert_int_equal(io_read_file(&text, &len, path, 1 << 20, NULL), 0);
    opts.n_overrides = take_overrides(text, overrides);
    rc = pl_config_load(&c, path, &opts, &d, NULL);
    pl_diag_print(&d, &got, false);
    same = rc == ERR_CONFIG && got.text && strcmp(got.text, want) == 0;
    if (!same)
        print_error("%s: result %d\n--- wanted\n%s--- got\n%s\n", path, rc,
                    want, got.text ? got.text : "");
    pl_config_free(c);
    arena_free(&arena);
    str_free(&got);
    mem_free(text);
    return same;
}

/* True if the errors of folder/name are those in its .err. */
static bool check(const char *folder, const char *name, bool untrusted)
{
    char path[512], wanted[520], *want;
    size_t len;
    bool same;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)snprintf(wanted, sizeof wanted, "%.*s.err",
                   (int)(strlen(path) - strlen(".yaml")), path);
    if (io_read_file(&want, &len, wanted, 1 << 20, NULL) != 0) {
        print_error("there is no %s\n", wanted);
        return false;
    }
    same = same_as_wanted(path, want, untrusted);
    mem_free(want);
    return same;
}

/* Checks all of folder: at_least that many. */
static void check_all(const char *folder, int at_least, bool untrusted)
{
    DIR *dir = opendir(folder);
    struct dirent *e;
    int n = 0, wrong = 0;

    assert_non_null(dir);
    while ((e = readdir(dir))) {
        const char *dot = strrchr(e->d_name, '.');

        if (!dot || strcmp(dot, ".yaml") != 0)
            continue;
        n++;
        wrong += !check(folder, e->d_name, untrusted);
    }
    (void)closedir(dir);
    assert_int_equal(wrong, 0);
    assert_true(n >= at_least);
    assert_int_equal(mem_live(), 0);
}

static void every_bad_config_gets_its_exact_errors(void **state)
{
    (void)state;
    check_all("tests/bad/config", 140, false);
}

static void every_hostile_config_is_refused_with_a_reason(void **state)
{
    (void)state;
    assert_int_equal(setenv("PIPELINE_CACHE", "/nonexistent/cache", 1), 0);
    check_all("tests/bad/untrusted", 30, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_bad_config_gets_its_exact_errors),
        cmocka_unit_test(every_hostile_config_is_refused_with_a_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
