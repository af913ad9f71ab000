#include "pipeline/trace_read_number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/num.h"

/* Room to spare in sums of two times. */
static const int64_t time_max = INT64_MAX / 4;

static size_t digits(const char *s)
{
    return strspn(s, "0123456789");
}

bool trace_is_number(const char *s)
{
    size_t n;

    s += *s == '-';
    n = digits(s);
    if (n == 0 || (n > 1 && *s == '0'))
        return false;
    s += n;
    if (*s == '.') {
        n = digits(++s);
        if (n == 0)
            return false;
        s += n;
    }
    if (*s == 'e' || *s == 'E') {
        s++;
        s += *s == '+' || *s == '-';
        n = digits(s);
        if (n == 0)
            return false;
        s += n;
    }
    return *s == '\0';
}

bool trace_parse_int(int64_t *out, const char *text)
{
    const char *digits = text + (*text == '-');
    size_t n = strspn(digits, "0123456789");

    if (n == 0 || n > 18 || digits[n] != '\0')
        return false;
    *out = strtoll(text, NULL, 10);
    return true;
}

bool trace_parse_us(int64_t *ns, const char *text)
{
    bool minus = *text == '-';
    const char *p = text + minus;
    size_t whole = strspn(p, "0123456789"), part = 0, i;
    int64_t v = 0;
    double d;

    if (p[whole] == '.')
        part = strspn(p + whole + 1, "0123456789");
    if (p[whole + (part ? part + 1 : 0)] != '\0' || whole == 0 || whole > 16) {
        if (!num_parse(&d, text, strlen(text)) ||
            fabs(d) * 1000 > (double)time_max)
            return false;
        *ns = llround(d * 1000);
        return true;
    }
    for (i = 0; i < whole; i++)
        v = v * 10 + (p[i] - '0');
    if (v >= time_max / 1000)
        return false;
    p += whole + (part > 0);
    for (i = 0; i < 3; i++)
        v = v * 10 + (i < part ? p[i] - '0' : 0);
    if (part > 3 && p[3] >= '5')
        v++;
    *ns = minus ? -v : v;
    return true;
}
