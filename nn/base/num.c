#include "nn/base/num.h"

#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A number as its grammar takes it apart: digits * 10^exponent. */
struct decimal {
    bool negative;
    bool whole; /* digits holds all of them */
    uint64_t digits;
    int exponent;
};

enum { MAX_EXPONENT = 10000 }; /* beyond any double, however many digits */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Takes digits from p on; returns where they end. */
static const char *take_digits(struct decimal *d, const char *p,
                               const char *end, bool fraction)
{
    for (; p < end && is_digit(*p); p++) {
        if (d->digits > (UINT64_MAX - 9) / 10) {
            d->whole = false;
            continue;
        }
        d->digits = d->digits * 10 + (uint64_t)(*p - '0');
        d->exponent -= fraction;
    }
    return p;
}

/* p is behind the e. NULL: no exponent is there. */
static const char *take_exponent(struct decimal *d, const char *p,
                                 const char *end)
{
    bool minus = p < end && *p == '-';
    int e = 0;

    if (p < end && (*p == '-' || *p == '+'))
        p++;
    if (p == end || !is_digit(*p))
        return NULL;
    for (; p < end && is_digit(*p); p++)
        if (e < MAX_EXPONENT)
            e = e * 10 + (*p - '0');
    d->exponent += minus ? -e : e;
    return p;
}

static bool take_apart(struct decimal *d, const char *text, size_t len)
{
    const char *p = text, *end = text + len, *start;
    size_t n_digits;

    *d = (struct decimal){.whole = true};
    if (p < end && (*p == '-' || *p == '+'))
        d->negative = *p++ == '-';
    start = p;
    p = take_digits(d, p, end, false);
    n_digits = (size_t)(p - start);
    if (p < end && *p == '.') {
        start = ++p;
        p = take_digits(d, p, end, true);
        n_digits += (size_t)(p - start);
    }
    if (n_digits == 0)
        return false;
    if (p < end && (*p == 'e' || *p == 'E'))
        p = take_exponent(d, p + 1, end);
    return p == end;
}

/* W. Clinger, "How to read floating point numbers accurately", 1990: where
 * digits and power are both exact, one rounded operation is the answer. */
static bool exact(double *out, const struct decimal *d)
{
    static const double power[] = {
        1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    double v = (double)d->digits;

    if (!d->whole || d->digits > 1ull << 53 || d->exponent < -22 ||
        d->exponent > 22)
        return false;
    v = d->exponent < 0 ? v / power[-d->exponent] : v * power[d->exponent];
    *out = d->negative ? -v : v;
    return true;
}

static bool by_library(double *out, const char *text, size_t len)
{
    char buf[NUM_MAX_TEXT + 1];
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    double v;

    if (!c)
        return false;
    memcpy(buf, text, len);
    buf[len] = '\0';
    v = strtod_l(buf, NULL, c);
    freelocale(c);
    if (!isfinite(v))
        return false;
    *out = v;
    return true;
}

bool num_parse(double *out, const char *text, size_t len)
{
    struct decimal d;

    if (len > NUM_MAX_TEXT || !take_apart(&d, text, len))
        return false;
    return exact(out, &d) || by_library(out, text, len);
}
