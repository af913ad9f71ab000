#include "nn/base/str.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/mem.h"

static bool str_reserve(struct str *s, size_t more)
{
    size_t cap = s->cap ? s->cap : 64;
    char *p;

    if (s->failed || more > SIZE_MAX / 2 - s->len - 1) {
        s->failed = true;
        return false;
    }
    while (cap < s->len + more + 1)
        cap *= 2;
    if (cap == s->cap)
        return true;
    p = mem_realloc(s->text, cap);
    if (!p) {
        s->failed = true;
        return false;
    }
    s->text = p;
    s->cap = cap;
    return true;
}

void str_addn(struct str *s, const char *text, size_t n)
{
    if (!str_reserve(s, n))
        return;
    if (n)
        memcpy(s->text + s->len, text, n);
    s->len += n;
    s->text[s->len] = '\0';
}

void str_add(struct str *s, const char *text)
{
    str_addn(s, text, strlen(text));
}

void str_addc(struct str *s, char c)
{
    str_addn(s, &c, 1);
}

void str_addv(struct str *s, const char *fmt, va_list ap)
{
    va_list again;
    int n;

    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    if (n < 0)
        s->failed = true;
    else if (str_reserve(s, (size_t)n)) {
        (void)vsnprintf(s->text + s->len, (size_t)n + 1, fmt, again);
        s->len += (size_t)n;
    }
    va_end(again);
}

void str_addf(struct str *s, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    str_addv(s, fmt, ap);
    va_end(ap);
}

void str_add_xml(struct str *s, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&':
            str_add(s, "&amp;");
            break;
        case '<':
            str_add(s, "&lt;");
            break;
        case '>':
            str_add(s, "&gt;");
            break;
        case '"':
            str_add(s, "&quot;");
            break;
        case '\'':
            str_add(s, "&#39;");
            break;
        default:
            str_addc(s, *text);
        }
    }
}

void str_clear(struct str *s)
{
    s->len = 0;
    s->failed = false;
    if (s->text)
        s->text[0] = '\0';
}

void str_free(struct str *s)
{
    mem_free(s->text);
    memset(s, 0, sizeof *s);
}

/* Adds %e text with the digits of a number, as it is best read: 0.001, 1500,
 * 1.0e-06. An exponent comes with a dot before it: some readers take 1e-06 for
 * a text. */
static void add_number(struct str *s, const char *e_text, double v, int prec)
{
    const char *e = strchr(e_text, 'e');
    int exponent = e ? (int)strtol(e + 1, NULL, 10) : 0;

    if (exponent >= -5 && exponent < 16)
        str_addf(s, "%.*f", prec - 1 > exponent ? prec - 1 - exponent : 0, v);
    else if (prec > 1)
        str_add(s, e_text);
    else
        str_addf(s, "%.1e", v);
}

void str_add_double(struct str *s, double v)
{
    char b[40];
    int prec;

    if (!isfinite(v)) {
        str_add(s, isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
        return;
    }
    for (prec = 1; prec <= 17; prec++) {
        (void)snprintf(b, sizeof b, "%.*e", prec - 1, v);
        if (prec == 17 || strtod(b, NULL) == v)
            break;
    }
    add_number(s, b, v, prec);
}

void str_add_float(struct str *s, float v)
{
    char b[40];
    int prec;

    if (!isfinite(v)) {
        str_add_double(s, (double)v);
        return;
    }
    for (prec = 1; prec <= 9; prec++) {
        (void)snprintf(b, sizeof b, "%.*e", prec - 1, (double)v);
        if (prec == 9 || strtof(b, NULL) == v)
            break;
    }
    add_number(s, b, (double)v, prec);
}
