#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <string.h>
#include <sys/un.h>

#include "pipeline/fetch_public.h"

static bool is_public(const char *text)
{
    struct sockaddr_storage any;
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};

    memset(&any, 0, sizeof any);
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        memcpy(&any, &v4, sizeof v4);
    else if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1)
        memcpy(&any, &v6, sizeof v6);
    else
        fail_msg("'%s' is no address", text);
    return pl_is_public((const struct sockaddr *)&any);
}

static void what_is_routed_is_public(void **state)
{
    static const char *const text[] = {
        "1.1.1.1",        "9.255.255.255",   "11.0.0.0",       "100.63.0.1",
        "100.128.0.1",    "126.0.0.1",       "128.0.0.1",      "169.253.0.1",
        "172.15.255.255", "172.32.0.0",      "192.167.0.1",    "198.20.0.1",
        "223.255.0.1",    "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:1",
        "2002:101:101::1"};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof text / sizeof *text; i++)
        if (!is_public(text[i]))
            fail_msg("%s is public", text[i]);
}

static void what_lies_inside_is_not(void **state)
{
    static const char *const text[] = {"0.0.0.0",
                                       "10.1.2.3",
                                       "100.64.0.1",
                                       "127.0.0.1",
                                       "127.255.0.1",
                                       "169.254.169.254",
                                       "172.16.0.1",
                                       "172.31.255.255",
                                       "192.0.0.1",
                                       "192.168.1.1",
                                       "198.18.0.1",
                                       "224.0.0.1",
                                       "255.255.255.255",
                                       "::",
                                       "::1",
                                       "fc00::1",
                                       "fd12::1",
                                       "fe80::1",
                                       "ff02::1",
                                       "::ffff:127.0.0.1",
                                       "::ffff:10.0.0.1",
                                       "::127.0.0.1",
                                       "64:ff9b::7f00:1",
                                       "2002:7f00:1::1"};
    struct sockaddr_un other = {.sun_family = AF_UNIX};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof text / sizeof *text; i++)
        if (is_public(text[i]))
            fail_msg("%s is not public", text[i]);
    assert_false(pl_is_public((const struct sockaddr *)&other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_routed_is_public),
        cmocka_unit_test(what_lies_inside_is_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
