#include "pipeline/scalar.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "nn/base/num.h"

static const char digits[] = "0123456789";

/* What is wrong with a text that is not of the form of a number. */
static enum scalar_fault blame(const char *text)
{
    static const char *const words[] = {".inf", "inf", "infinity", ".nan",
                                        "nan"};
    const char *p = text + (*text == '-' || *text == '+');
    size_t i;

    for (i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(p, words[i]) == 0)
            return SCALAR_INFINITE;
    if (p[0] == '0' && p[1] && strchr("xXoObB", p[1]))
        return SCALAR_BASE;
    if (*p && strchr(digits, *p) && strchr(p, '_') &&
        strspn(p, "0123456789_.eE+-") == strlen(p))
        return SCALAR_UNDERSCORE;
    return SCALAR_WORD;
}

/* The form of a number: where its digits begin, whether it is whole. */
static enum scalar_fault check_form(const char *text, bool *whole)
{
    const char *p = text + (*text == '-' || *text == '+');
    size_t before = strspn(p, digits), after = 0;
    const char *q = p + before;

    *whole = *q == '\0';
    if (*q == '.') {
        after = strspn(q + 1, digits);
        q += 1 + after;
    }
    if (before + after == 0)
        return blame(text);
    if (*q == 'e' || *q == 'E') {
        q += 1 + (q[1] == '-' || q[1] == '+');
        if (strspn(q, digits) == 0)
            return blame(text);
        q += strspn(q, digits);
    }
    if (*q != '\0')
        return blame(text);
    if (before > 1 && *p == '0')
        return SCALAR_ZEROS;
    return strlen(text) > NUM_MAX_TEXT ? SCALAR_LONG : SCALAR_OK;
}

/* True if any digit before the exponent is not 0. */
static bool has_value(const char *text)
{
    return strpbrk(text, "123456789eE") &&
           !strchr("eE", *strpbrk(text, "123456789eE"));
}

enum scalar_fault scalar_double(const char *text, double *out)
{
    bool whole;
    enum scalar_fault f = check_form(text, &whole);

    if (f != SCALAR_OK)
        return f;
    if (!num_parse(out, text, strlen(text)))
        return SCALAR_LARGE;
    return *out == 0 && has_value(text) ? SCALAR_TINY : SCALAR_OK;
}

enum scalar_fault scalar_int(const char *text, int64_t *out)
{
    bool whole;
    enum scalar_fault f = check_form(text, &whole);
    double v;

    if (f != SCALAR_OK)
        return f;
    if (!whole) {
        f = scalar_double(text, &v);
        if (f != SCALAR_OK || v != floor(v) || fabs(v) > 9e15)
            return SCALAR_WORD;
        *out = (int64_t)v;
        return SCALAR_WHOLE;
    }
    errno = 0;
    *out = strtoll(text, NULL, 10);
    return errno == ERANGE ? SCALAR_LARGE : SCALAR_OK;
}

struct unit {
    const char *suffix;
    double factor;
};

/* Takes a unit from the end of text; buf gets the number before it. */
static bool take_unit(const char *text, const struct unit *units, size_t n,
                      char buf[NUM_MAX_TEXT + 1], double *factor)
{
    size_t len = strcspn(text, "BKMGsmhd"), i;

    if (len > NUM_MAX_TEXT)
        return false;
    memcpy(buf, text, len);
    buf[len] = '\0';
    *factor = 1;
    if (text[len] == '\0')
        return true;
    for (i = 0; i < n; i++) {
        if (strcmp(text + len, units[i].suffix) == 0) {
            *factor = units[i].factor;
            return true;
        }
    }
    return false;
}

enum scalar_fault scalar_duration(const char *text, double *seconds)
{
    static const struct unit units[] = {
        {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"h", 3600}, {"d", 86400}};
    char buf[NUM_MAX_TEXT + 1];
    double factor, v;
    enum scalar_fault f;

    if (!take_unit(text, units, sizeof units / sizeof *units, buf, &factor))
        return SCALAR_WORD;
    f = scalar_double(buf, &v);
    if (f == SCALAR_OK)
        *seconds = v * factor;
    return f;
}

enum scalar_fault scalar_size(const char *text, int64_t *bytes)
{
    static const struct unit units[] = {
        {"B", 1}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}};
    char buf[NUM_MAX_TEXT + 1];
    double factor;
    int64_t v;
    enum scalar_fault f;

    if (!take_unit(text, units, sizeof units / sizeof *units, buf, &factor))
        return SCALAR_WORD;
    f = scalar_int(buf, &v);
    if (f != SCALAR_OK)
        return f;
    if (v > INT64_MAX / (int64_t)factor || v < INT64_MIN / (int64_t)factor)
        return SCALAR_LARGE;
    *bytes = v * (int64_t)factor;
    return SCALAR_OK;
}

void scalar_add(struct str *out, double v)
{
    if (v == floor(v) && fabs(v) < 1e15)
        str_addf(out, "%.0f", v);
    else
        str_add_double(out, v);
}
