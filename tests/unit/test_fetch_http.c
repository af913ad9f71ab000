#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/mem.h"
#include "tests/unit/fetch_case.h"

static void a_good_server_is_asked_once(void **state)
{
    (void)state;
    expect_good(AT("good"), 1, "-");
    expect_good(AT("chunked"), 1, "-");
    expect_good(AT("to_good"), 1, "-");
}

static void an_html_page_with_200_is_not_the_file(void **state)
{
    struct attempt unsized = AT("html");
    struct attempt unhashed = AT("html");

    (void)state;
    unsized.no_size = true;
    unhashed.no_size = unhashed.no_sha = true;
    expect_bad(AT("html"), 1, "looks like an HTML page, not the file");
    expect_bad(unsized, 1, "looks like an HTML page, not the file");
    expect_bad(unhashed, 1, "looks like an HTML page, not the file");
}

static void a_client_error_goes_to_the_next_mirror_at_once(void **state)
{
    (void)state;
    expect_bad(AT("status-403"), 1, "HTTP 403");
    expect_bad(AT("status-404"), 1, "HTTP 404");
    expect_bad(AT("status-304"), 1, "HTTP 304");
    expect_bad(AT("status-204"), 1, "HTTP 204");
}

static void a_server_error_is_tried_again(void **state)
{
    (void)state;
    expect_bad(AT("status-408"), 3, "HTTP 408");
    expect_bad(AT("status-429"), 3, "HTTP 429");
    expect_bad(AT("status-500"), 3, "HTTP 500");
    expect_good(AT("flaky-2"), 3, "- - -");
    expect_bad(AT("flaky-3"), 3, "HTTP 503");
}

static void retry_after_is_heeded_up_to_a_minute(void **state)
{
    struct attempt a = AT("busy-1");

    (void)state;
    prepare(&a);
    assert_int_equal(fetch(&a), 0);
    assert_true(a.seconds >= 1);
    assert_non_null(strstr(a.notes.text, "HTTP 429; again in 1 s"));
    end(&a);
    expect_bad(AT("busy-3600"), 1, "HTTP 429 (asks to wait 3600 s)");
}

static void a_refused_connection_is_a_reason(void **state)
{
    (void)state;
    expect_bad(AT("refused:"), 0, "Failed to connect to 127.0.0.1 port 1");
}

/* No wait, no further try: one note, the reason itself. */
static void an_unknown_host_is_left_at_once(void **state)
{
    struct attempt a = AT("good", "good");

    (void)state;
    prepare(&a);
    (void)snprintf(a.address[0], sizeof a.address[0],
                   "http://no-such-host.invalid/x");
    assert_int_equal(fetch(&a), 0);
    check_contents(&a);
    assert_null(strstr(a.notes.text, "; again in "));
    assert_non_null(strstr(a.notes.text, "d/x.gz: http://no-such-host.invalid/"
                                         "x: Could not resolve host: "));
    end(&a);
}

static void a_server_that_says_nothing_times_out(void **state)
{
    struct attempt a = AT("silent");

    (void)state;
    a.retries = 0;
    expect_bad(a, 1, "sends less than 100 bytes a second");
    expect_bad(AT("nothing"), 3, "Empty reply from server");
}

static void a_drip_is_a_stall(void **state)
{
    struct attempt a = AT("drip");

    (void)state;
    a.retries = 0;
    prepare(&a);
    assert_int_equal(fetch(&a), ERR_FETCH);
    assert_non_null(strstr(a.err.msg, "sends less than 100 bytes a second"));
    assert_true(a.seconds < 5);
    end(&a);
}

static void a_truncated_answer_is_not_the_file(void **state)
{
    struct attempt unsized = AT("cut_no_length");
    struct attempt unhashed = AT("cut_no_length");

    (void)state;
    unsized.no_size = true;
    unhashed.no_size = unhashed.no_sha = true;
    expect_bad(AT("cut_no_length"), 3, "ends after ");
    expect_bad(unsized, 1, "has sha256 ");
    expect_bad(unhashed, 1, "'x.gz' is cut short: it ends at offset ");
    expect_bad(AT("cut_chunked"), 3, "transfer closed with ");
}

static void a_wrong_length_is_not_the_file(void **state)
{
    struct attempt shorter = AT("too_short");
    struct attempt longer = AT("too_long");

    (void)state;
    expect_bad(AT("too_short"), 1, " bytes, not ");
    expect_bad(AT("too_long"), 1, " bytes, not ");
    shorter.no_size = longer.no_size = true;
    expect_bad(shorter, 1, "has sha256 ");
    expect_bad(longer, 1, "has sha256 ");
    longer.no_sha = true;
    expect_bad(longer, 1, "behind its last gzip member");
    expect_bad(AT("empty"), 1, "has 0 bytes, not ");
    shorter.mirror[0] = "empty";
    expect_bad(shorter, 1, "is empty");
}

static void redirects_are_limited(void **state)
{
    (void)state;
    expect_bad(AT("loop"), 6, "Maximum (5) redirects followed");
    expect_bad(AT("to_file"), 1, "Protocol \"file\" not supported");
}

static void what_is_no_http_is_not_read(void **state)
{
    (void)state;
    expect_bad(AT("not_http"), 1, "Received HTTP/0.9 when not allowed");
}

static void an_endless_answer_stops_at_the_cap(void **state)
{
    struct attempt a = AT("endless");
    char cap[64];

    (void)state;
    (void)snprintf(cap, sizeof cap, "sends more than %zu bytes",
                   fetch_packed_len);
    expect_bad(a, 1, cap);
    a.no_size = true;
    expect_bad(a, 1, "sends more than 1000000 bytes");
}

static void https_needs_a_known_certificate(void **state)
{
    struct attempt a = AT("https:good");
    char cert[128];

    (void)state;
    in_dir(cert, "cert.pem");
    expect_bad(a, 0, "SSL certificate problem");
    assert_int_equal(setenv("CURL_CA_BUNDLE", cert, 1), 0);
    expect_good(AT("https:good"), 1, "-");
    assert_int_equal(unsetenv("CURL_CA_BUNDLE"), 0);
    assert_int_equal(setenv("SSL_CERT_FILE", cert, 1), 0);
    expect_good(AT("https:good"), 1, "-");
    expect_bad(AT("https:to_http"), 1, "Protocol \"http\" not supported");
    assert_int_equal(setenv("SSL_CERT_FILE", "/nowhere", 1), 0);
    expect_bad(AT("https:good"), 0, "error setting certificate");
    a.cacert = cert; /* comes before both */
    expect_good(a, 1, "-");
    assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
}

static void every_mirror_and_reason_is_listed(void **state)
{
    struct attempt a = AT("status-403", "html", "refused:");
    char want[1024];

    (void)state;
    a.no_size = true;
    a.retries = 0;
    prepare(&a);
    assert_int_equal(fetch(&a), ERR_FETCH);
    (void)snprintf(want, sizeof want,
                   "cannot fetch 'd/x.gz': no mirror gave it\n"
                   "  %s: HTTP 403\n"
                   "  %s: looks like an HTML page, not the file\n"
                   "  %s: Failed to connect to 127.0.0.1 port 1",
                   a.address[0], a.address[1], a.address[2]);
    assert_ptr_equal(strstr(a.err.msg, want), a.err.msg);
    end(&a);
}

static void a_mirror_that_failed_is_asked_last_for_the_next_file(void **state)
{
    struct attempt a = AT("status-404", "good");
    const char *mirrors[2];
    struct pl_data_file files[2] = {{.role = "train", .path = "x.gz"},
                                    {.role = "test", .path = "y.gz"}};
    struct pl_dataset ds = {
        .name = "d", .files = {files, 2}, .mirrors = {mirrors, 2}};
    struct pl_fetch_opts o = {.cache = a.cache, .retries = 0};
    char seen[256], *y;

    (void)state;
    prepare(&a);
    mirrors[0] = a.address[0];
    mirrors[1] = a.address[1];
    assert_int_equal(pl_fetch_dataset(&a.got, &ds, &o, NULL), 0);
    assert_int_equal(requests(a.path[0], seen), 1);
    y = strrchr(a.path[0], 'x');
    *y = 'y';
    assert_int_equal(requests(a.path[0], seen), 0);
    end(&a);
}

static void offline_asks_nobody(void **state)
{
    struct attempt a = AT("good");
    const char *mirror = a.address[0];
    struct pl_data_file file = {.role = "train", .path = "x.gz"};
    struct pl_dataset ds = {
        .name = "d", .files = {&file, 1}, .mirrors = {&mirror, 1}};
    struct pl_fetch_opts o = {.cache = a.cache, .offline = true};
    char seen[256];

    (void)state;
    prepare(&a);
    assert_int_equal(pl_fetch_dataset(&a.got, &ds, &o, &a.err), ERR_FETCH);
    assert_non_null(strstr(a.err.msg, ": not tried: offline"));
    assert_int_equal(requests(a.path[0], seen), 0);
    end(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_server_is_asked_once),
        cmocka_unit_test(an_html_page_with_200_is_not_the_file),
        cmocka_unit_test(a_client_error_goes_to_the_next_mirror_at_once),
        cmocka_unit_test(a_server_error_is_tried_again),
        cmocka_unit_test(retry_after_is_heeded_up_to_a_minute),
        cmocka_unit_test(a_refused_connection_is_a_reason),
        cmocka_unit_test(an_unknown_host_is_left_at_once),
        cmocka_unit_test(a_server_that_says_nothing_times_out),
        cmocka_unit_test(a_drip_is_a_stall),
        cmocka_unit_test(a_truncated_answer_is_not_the_file),
        cmocka_unit_test(a_wrong_length_is_not_the_file),
        cmocka_unit_test(redirects_are_limited),
        cmocka_unit_test(what_is_no_http_is_not_read),
        cmocka_unit_test(an_endless_answer_stops_at_the_cap),
        cmocka_unit_test(https_needs_a_known_certificate),
        cmocka_unit_test(every_mirror_and_reason_is_listed),
        cmocka_unit_test(a_mirror_that_failed_is_asked_last_for_the_next_file),
        cmocka_unit_test(offline_asks_nobody),
    };

    return cmocka_run_group_tests(tests, fetch_set_up, fetch_tear_down);
}
