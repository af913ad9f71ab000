#include "pipeline/url.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* What ends an address in running text. */
#define BLANKS " \t\r\n\"'<>"

bool pl_url_is(const char *text)
{
    return strncasecmp(text, "http://", 7) == 0 ||
           strncasecmp(text, "https://", 8) == 0;
}

/* The first of n bytes that is no digit, or n. */
static size_t digits(const char *s, size_t n)
{
    size_t i = 0;

    while (i < n && isdigit((unsigned char)s[i]))
        i++;
    return i;
}

/* How many of n bytes stand before one of stops. */
static size_t span_to(const char *s, size_t n, const char *stops)
{
    size_t i = 0;

    while (i < n && !strchr(stops, s[i]))
        i++;
    return i;
}

/* How many bytes of what follows "://" are a user and a password, with the
 * '@'. A password with a '/' in it is no valid one and is still a secret: what
 * looks like "host:port" there has no digits behind the colon. */
static size_t userinfo(const char *s)
{
    size_t all = strcspn(s, BLANKS), n = strcspn(s, "/?#" BLANKS);
    const char *colon = memchr(s, ':', n);
    const char *at = memrchr(s, '@', n);

    if (!at && colon) {
        size_t port = n - (size_t)(colon + 1 - s);

        if (digits(colon + 1, port) < port)
            at = memrchr(s, '@', all);
    }
    return at ? (size_t)(at + 1 - s) : 0;
}

/* Up to a blank; what a sentence puts behind an address is none of it. */
static size_t address_length(const char *s)
{
    size_t n = strcspn(s, BLANKS);

    while (n > 0 && strchr(":,;.", s[n - 1]))
        n--;
    return n;
}

/* Appends the rest of an address, n bytes, with the values of its query masked:
 * a token may be one. */
static void add_without_values(struct str *out, const char *s, size_t n)
{
    const char *end = s + n, *at = memchr(s, '?', n);

    if (!at) {
        str_addn(out, s, n);
        return;
    }
    while (at < end && *at != '#') {
        size_t name;

        at++; /* the ? or & */
        name = (size_t)(end - at);
        str_addn(out, s, (size_t)(at - s));
        s = at;
        at += span_to(s, name, "=&;#");
        str_addn(out, s, (size_t)(at - s));
        if (at < end && *at == '=') {
            str_add(out, "=***");
            at += span_to(at, (size_t)(end - at), "&;#");
        }
        s = at;
    }
    str_addn(out, s, (size_t)(end - s));
}

void pl_url_mask(struct str *out, const char *text)
{
    const char *scheme;
    size_t n;

    while ((scheme = strstr(text, "://")) != NULL) {
        const char *rest = scheme + 3;
        size_t secret = userinfo(rest);

        str_addn(out, text, (size_t)(rest - text));
        if (secret)
            str_add(out, "***@");
        text = rest + secret;
        n = address_length(text);
        add_without_values(out, text, n);
        text += n;
    }
    str_add(out, text);
}

void pl_url_host(struct str *out, const char *url)
{
    const char *rest = pl_url_is(url) ? strstr(url, "://") + 3 : NULL;

    if (!rest) {
        pl_url_mask(out, url);
        return;
    }
    str_addn(out, url, (size_t)(rest - url));
    rest += userinfo(rest);
    str_addn(out, rest, strcspn(rest, "/?#" BLANKS));
}
