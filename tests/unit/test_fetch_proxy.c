#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/fetch.h"
#include "tests/unit/fetch_case.h"

/* The server of the other tests is the proxy. who: "" or "user:password@". */
static void use_proxy(const char *variable, const char *who)
{
    char address[96];

    (void)snprintf(address, sizeof address, "http://%s127.0.0.1:%d", who,
                   fetch_port);
    assert_int_equal(setenv(variable, address, 1), 0);
}

static int no_proxies(void **state)
{
    (void)state;
    return unsetenv("http_proxy") | unsetenv("https_proxy") |
           unsetenv("all_proxy") | setenv("no_proxy", "localhost", 1);
}

/* Moves mirror 0 to another host, as which only the proxy answers. */
static void move(struct attempt *a, const char *host)
{
    const char *below = strstr(a->address[0], "/good/");
    char moved[160];

    assert_non_null(below);
    (void)snprintf(moved, sizeof moved, "http://%s%s", host, below);
    memcpy(a->address[0], moved, sizeof moved);
}

static int asked_proxy_for(const char *host)
{
    char name[128], seen[256];

    (void)snprintf(name, sizeof name, "proxy:%s", host);
    return requests(name, seen);
}

static void http_goes_by_http_proxy(void **state)
{
    struct attempt a = AT("good");
    char seen[256];

    (void)state;
    use_proxy("http_proxy", "");
    prepare(&a);
    move(&a, "one.invalid");
    assert_int_equal(fetch(&a), 0);
    check_contents(&a);
    assert_int_equal(asked_proxy_for("one.invalid"), 1);
    assert_int_equal(requests(a.path[0], seen), 1);
    end(&a);
}

static void everything_goes_by_all_proxy(void **state)
{
    struct attempt a = AT("good");

    (void)state;
    use_proxy("all_proxy", "");
    prepare(&a);
    move(&a, "two.invalid");
    assert_int_equal(fetch(&a), 0);
    assert_int_equal(asked_proxy_for("two.invalid"), 1);
    end(&a);
}

static void no_proxy_names_the_exceptions(void **state)
{
    struct attempt a = AT("good");

    (void)state;
    assert_int_equal(setenv("http_proxy", "http://127.0.0.1:1", 1), 0);
    assert_int_equal(setenv("no_proxy", "x.invalid,127.0.0.1", 1), 0);
    prepare(&a);
    assert_int_equal(fetch(&a), 0);
    end(&a);
}

static void https_goes_through_a_tunnel(void **state)
{
    struct attempt a = AT("https:good");
    char cert[128], host[64];

    (void)state;
    in_dir(cert, "cert.pem");
    use_proxy("https_proxy", "");
    a.cacert = cert;
    prepare(&a);
    assert_int_equal(fetch(&a), 0);
    check_contents(&a);
    (void)snprintf(host, sizeof host, "127.0.0.1:%d", fetch_tls_port);
    assert_int_equal(asked_proxy_for(host), 1);
    end(&a);
}

static void a_refused_tunnel_is_a_reason(void **state)
{
    struct attempt a = AT("good");

    (void)state;
    use_proxy("https_proxy", "");
    prepare(&a);
    (void)snprintf(a.address[0], sizeof a.address[0], "https://forbidden/");
    assert_int_equal(fetch(&a), ERR_FETCH);
    assert_non_null(strstr(a.err.msg, ": the proxy answers HTTP 403"));
    assert_int_equal(asked_proxy_for("forbidden:443"), 1); /* not again */
    end(&a);
}

static void a_proxy_may_ask_who_we_are(void **state)
{
    struct attempt a = AT("good");

    (void)state;
    use_proxy("http_proxy", "user:s3cret@");
    prepare(&a);
    move(&a, "locked.invalid");
    assert_int_equal(fetch(&a), 0);
    check_contents(&a);
    end(&a);
}

static void a_dead_or_hostile_proxy_shows_no_password(void **state)
{
    static const char *const proxy[] = {
        "http://user:s3cret@127.0.0.1:1", "http://user:s3cret@nobody.invalid",
        "user:s3cret@127.0.0.1:1", "http://user:s3cret@:x/",
        "http://user:s3/cret@127.0.0.1:1"};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof proxy / sizeof *proxy; i++) {
        struct attempt a = AT("good");

        assert_int_equal(setenv("http_proxy", proxy[i], 1), 0);
        a.retries = 1;
        prepare(&a);
        assert_int_equal(fetch(&a), ERR_FETCH);
        assert_null(strstr(a.err.msg, "s3"));
        assert_null(strstr(a.notes.text, "s3"));
        end(&a);
    }
    {
        struct attempt a = AT("good");

        use_proxy("http_proxy", "user:wr0ng@");
        prepare(&a);
        move(&a, "locked.invalid");
        assert_int_equal(fetch(&a), ERR_FETCH);
        assert_non_null(strstr(a.err.msg, "HTTP 407"));
        assert_null(strstr(a.err.msg, "wr0ng"));
        end(&a);
    }
}

/* Those of the mirror's own address. */
static void a_password_in_an_address_is_sent_and_not_shown(void **state)
{
    static const char *const what[] = {"good", "status-403", "cut_always",
                                       "html", "loop"};
    size_t i;

    (void)state;
    assert_int_equal(setenv("no_proxy", "127.0.0.1", 1), 0);
    for (i = 0; i < sizeof what / sizeof *what; i++) {
        struct attempt a = AT(what[i]);
        char *host, with[160];

        prepare(&a);
        host = strstr(a.address[0], "127");
        assert_non_null(host);
        (void)snprintf(with, sizeof with, "http://me:s3cret@%.100s", host);
        memcpy(a.address[0], with, sizeof with);
        assert_int_equal(fetch(&a), i == 0 ? 0 : ERR_FETCH);
        assert_null(strstr(a.err.msg, "s3cret"));
        assert_null(strstr(a.notes.text, "s3cret"));
        assert_non_null(strstr(a.notes.text, "http://***@127.0.0.1:"));
        end(&a);
    }
}

static void a_strangers_mirror_must_lie_outside(void **state)
{
    struct attempt a = AT("https:good");
    char cert[128], host[64], first[160], seen[256];

    (void)state;
    in_dir(cert, "cert.pem");
    a.cacert = cert;
    a.public_only = true;
    prepare(&a);
    assert_int_equal(fetch(&a), ERR_FETCH);
    assert_non_null(strstr(a.err.msg, ": leads to this machine or a private"));
    assert_null(strstr(a.notes.text, "; again in "));
    assert_int_equal(requests(a.path[0], seen), 0);
    memcpy(first, a.address[0], sizeof first);
    a.first = first; /* the user's own may lie anywhere */
    assert_int_equal(fetch(&a), 0);
    end(&a);

    a = AT("https:good");
    a.cacert = cert;
    a.public_only = true;
    use_proxy("https_proxy", ""); /* it decides, and nothing goes past it */
    assert_int_equal(setenv("no_proxy", "127.0.0.1", 1), 0);
    (void)snprintf(host, sizeof host, "127.0.0.1:%d", fetch_tls_port);
    assert_int_equal(asked_proxy_for(host), 1);
    prepare(&a);
    assert_int_equal(fetch(&a), 0);
    assert_int_equal(asked_proxy_for(host), 2);
    end(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(http_goes_by_http_proxy, no_proxies),
        cmocka_unit_test_setup(everything_goes_by_all_proxy, no_proxies),
        cmocka_unit_test_setup(no_proxy_names_the_exceptions, no_proxies),
        cmocka_unit_test_setup(https_goes_through_a_tunnel, no_proxies),
        cmocka_unit_test_setup(a_refused_tunnel_is_a_reason, no_proxies),
        cmocka_unit_test_setup(a_proxy_may_ask_who_we_are, no_proxies),
        cmocka_unit_test_setup(a_dead_or_hostile_proxy_shows_no_password,
                               no_proxies),
        cmocka_unit_test_setup(a_password_in_an_address_is_sent_and_not_shown,
                               no_proxies),
        cmocka_unit_test_setup(a_strangers_mirror_must_lie_outside, no_proxies),
    };

    return cmocka_run_group_tests(tests, fetch_set_up, fetch_tear_down);
}
