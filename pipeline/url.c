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

void pl_url_mask(struct str *out, const char *text)
{
    const char *scheme;

    while ((scheme = strstr(text, "://")) != NULL) {
        const char *rest = scheme + 3;
        size_t secret = userinfo(rest);

        str_addn(out, text, (size_t)(rest - text));
        if (secret)
            str_add(out, "***@");
        text = rest + secret;
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
