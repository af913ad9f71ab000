/* Which paths and hosts `pipeline view` answers to. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/view_path.h"

static void takes(const char *url, const char *want, bool want_folder)
{
    struct str rel = {0};
    bool folder;

    assert_true(view_path_parse(&rel, &folder, url));
    assert_string_equal(rel.text ? rel.text : "", want);
    assert_int_equal(folder, want_folder);
    str_free(&rel);
}

static void refuses(const char *url)
{
    struct str rel = {0};
    bool folder;

    if (view_path_parse(&rel, &folder, url))
        fail_msg("'%s' was taken for '%s'", url, rel.text);
    str_free(&rel);
}

static void paths_below_the_root_are_taken(void **state)
{
    (void)state;
    takes("/", "", true);
    takes("/a", "a", false);
    takes("/a/", "a", true);
    takes("/a/b%20c.svg", "a/b c.svg", false);
    takes("/lr%3D0.1,seed=2/x", "lr=0.1,seed=2/x", false);
    takes("/%C3%A4", "\xc3\xa4", false);
    takes("/a..b", "a..b", false);
    takes("/100%25", "100%", false);
}

static void paths_that_could_leave_it_are_refused(void **state)
{
    static const char *const urls[] = {
        "",        "a",         "//",       "//etc/passwd", "/a//b",
        "/..",     "/../a",     "/a/..",    "/a/../b",      "/.",
        "/./a",    "/%2e%2e",   "/%2E%2e/", "/.%2e/a",      "/%2f",
        "/a%2fb",  "/..%2fa",   "/.runs",   "/a/.runs/1",   "/%2eruns",
        "/a%00b",  "/%00",      "/a%0ab",   "/a\nb",        "/%",
        "/%2",     "/%zz",      "/a%7f",    "/a/%2e",       "/a//",
        "/%252e%", "/a/%2e%2e",
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof urls / sizeof *urls; i++)
        refuses(urls[i]);
}

static void escapes_are_undone_once(void **state)
{
    (void)state;
    takes("/a%252e%252e", "a%2e%2e", false);
    takes("/%252e%252e/a", "%2e%2e/a", false);
}

static void other_hosts_are_refused(void **state)
{
    (void)state;
    assert_true(view_host_is_ours("127.0.0.1:9001", 9001));
    assert_true(view_host_is_ours("localhost:9001", 9001));
    assert_true(view_host_is_ours("LocalHost:9001", 9001));
    assert_true(view_host_is_ours("localhost", 80));
    assert_false(view_host_is_ours(NULL, 9001));
    assert_false(view_host_is_ours("", 9001));
    assert_false(view_host_is_ours("localhost", 9001));
    assert_false(view_host_is_ours("localhost:9002", 9001));
    assert_false(view_host_is_ours("localhost:90010", 9001));
    assert_false(view_host_is_ours("127.0.0.1.evil.example:9001", 9001));
    assert_false(view_host_is_ours("evil.example:9001", 9001));
    assert_false(view_host_is_ours("evil.example", 80));
}

static void kinds_and_types_follow_the_name(void **state)
{
    (void)state;
    assert_int_equal(view_kind_of("traces/adam_h=256_bs=32_trace.json"),
                     VIEW_TRACE);
    assert_int_equal(view_kind_of("a_trace.json.gz"), VIEW_TRACE);
    assert_int_equal(view_kind_of("traces/metrics.json"), VIEW_FILE);
    assert_int_equal(view_kind_of("trace.svg"), VIEW_PICTURE);
    assert_int_equal(view_kind_of("memory.html"), VIEW_PAGE);
    assert_int_equal(view_kind_of("ops.csv"), VIEW_TABLE);
    assert_int_equal(view_kind_of("compare.md"), VIEW_REPORT);
    assert_string_equal(view_content_type("a.json.gz"), "application/gzip");
    assert_string_equal(view_content_type("a.json"), "application/json");
    assert_string_equal(view_content_type("a.svg"), "image/svg+xml");
    assert_string_equal(view_content_type("a"), "application/octet-stream");
}

/* Perfetto's router decodes the query once, and takes a value that holds
 * another '=' for none. */
static void the_link_survives_the_router_of_perfetto(void **state)
{
    struct str s = {0};

    (void)state;
    view_add_perfetto(&s, 9001, "lr=0.1/a b&c#d%_trace.json");
    assert_string_equal(s.text,
                        "https://ui.perfetto.dev/#!/?url=http://127.0.0.1:9001/"
                        "lr%3D0.1/a%2520b%2526c%2523d%2525_trace.json");
    str_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_below_the_root_are_taken),
        cmocka_unit_test(paths_that_could_leave_it_are_refused),
        cmocka_unit_test(escapes_are_undone_once),
        cmocka_unit_test(other_hosts_are_refused),
        cmocka_unit_test(kinds_and_types_follow_the_name),
        cmocka_unit_test(the_link_survives_the_router_of_perfetto),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
