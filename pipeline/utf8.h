/* UTF-8, and how wide its characters are on a terminal. */
#ifndef PIPELINE_UTF8_H
#define PIPELINE_UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Decodes the character at s, of which n >= 1 bytes are there. Returns its
 * bytes (1..4), or 0 if they are not UTF-8 (overlong, surrogate, cut). */
size_t utf8_decode(const char *s, size_t n, uint32_t *cp);

/* Columns that a character takes: 0 (combining), 1, or 2 (wide). */
int utf8_width(uint32_t cp);

#endif
