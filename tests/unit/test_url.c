#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pipeline/url.h"

static void expect(void (*fn)(struct str *, const char *), const char *text,
                   const char *want)
{
    struct str s = {0};

    fn(&s, text);
    assert_false(s.failed);
    assert_string_equal(s.text, want);
    str_free(&s);
}

static void an_address_begins_with_its_scheme(void **state)
{
    (void)state;
    assert_true(pl_url_is("http://a"));
    assert_true(pl_url_is("HTTPS://a"));
    assert_false(pl_url_is("ftp://a"));
    assert_false(pl_url_is("httpd/x"));
    assert_false(pl_url_is("/http://a"));
    assert_false(pl_url_is(""));
}

static void user_and_password_are_masked(void **state)
{
    (void)state;
    expect(pl_url_mask, "https://me:pw@host/x", "https://***@host/x");
    expect(pl_url_mask, "https://token@host:81", "https://***@host:81");
    expect(pl_url_mask, "http://a:b@c@host/", "http://***@host/");
    expect(pl_url_mask, "http://a:b/c@host/", "http://***@host/");
    expect(pl_url_mask, "http://a:12b?c@host/", "http://***@host/");
    expect(pl_url_mask, "no 'http://a:b@h/x' and http://c:d@i, no",
           "no 'http://***@h/x' and http://***@i, no");
}

static void values_of_a_query_are_masked(void **state)
{
    (void)state;
    expect(pl_url_mask, "https://h/x?token=abc", "https://h/x?token=***");
    expect(pl_url_mask, "https://h/x?a=1&token=b=c&d;e=5#f?g=h",
           "https://h/x?a=***&token=***&d;e=***#f?g=h");
    expect(pl_url_mask, "https://u:p@h?k=v/data.gz", "https://***@h?k=***");
    expect(pl_url_mask, "'https://h/?a=b' and https://h/?c=d, so",
           "'https://h/?a=***' and https://h/?c=***, so");
    expect(pl_url_mask, "https://h/?a=b: HTTP 404",
           "https://h/?a=***: HTTP 404");
    expect(pl_url_mask, "https://h/?a=", "https://h/?a=***");
    expect(pl_url_mask, "https://h/?=v&&x", "https://h/?=***&&x");
    expect(pl_url_mask, "what? a=b", "what? a=b");
}

static void other_text_stays(void **state)
{
    static const char *const text[] = {
        "",
        "http://host/x",
        "http://host/x?",
        "http://host/x?name&other",
        "http://host/x#a=b",
        "http://host:80/pkg@1.2/x",
        "http://host/pkg@1.2/x",
        "http://host/ mail a@b",
        "a folder/with@sign",
        "://",
        "http://[::1]:8080/x",
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof text / sizeof *text; i++)
        expect(pl_url_mask, text[i], text[i]);
}

static void the_host_of_an_address_is_short(void **state)
{
    (void)state;
    expect(pl_url_host, "https://me:pw@host:81/a/b?c", "https://host:81");
    expect(pl_url_host, "http://host", "http://host");
    expect(pl_url_host, "a folder/x", "a folder/x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_begins_with_its_scheme),
        cmocka_unit_test(user_and_password_are_masked),
        cmocka_unit_test(values_of_a_query_are_masked),
        cmocka_unit_test(other_text_stays),
        cmocka_unit_test(the_host_of_an_address_is_short),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
