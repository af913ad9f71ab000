/* A growing text. A failed append is remembered, so that a long chain of
 * appends needs one check at its end. */
#ifndef NN_BASE_STR_H
#define NN_BASE_STR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Zero-initialise; text is NULL or NUL-terminated. */
struct str {
    char *text;
    size_t len, cap;
    bool failed; /* out of memory happened: the text is incomplete */
};

void str_add(struct str *s, const char *text);
void str_addn(struct str *s, const char *text, size_t n);
void str_addc(struct str *s, char c);
void str_addf(struct str *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void str_addv(struct str *s, const char *fmt, va_list ap);
/* Escapes & < > " ' for XML and HTML. */
void str_add_xml(struct str *s, const char *text);
void str_clear(struct str *s); /* empty, memory kept */
void str_free(struct str *s);

/* The shortest decimal text that reads back as the same double ("0.1", "5",
 * "1.0e-06"), independent of locale; inf, -inf and nan for those. */
void str_add_double(struct str *s, double v);
/* The same for a float, so that 0.1f is "0.1". */
void str_add_float(struct str *s, float v);

#endif
