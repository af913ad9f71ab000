/* Texts as numbers, strictly: no octal, no `_`, no guesses. */
#ifndef PIPELINE_SCALAR_H
#define PIPELINE_SCALAR_H

#include <stdbool.h>
#include <stdint.h>

#include "nn/base/str.h"

enum scalar_fault {
    SCALAR_OK,
    SCALAR_WORD,       /* no number at all */
    SCALAR_UNDERSCORE, /* 1_000 */
    SCALAR_BASE,       /* 0x10, 0o10, 0b1 */
    SCALAR_ZEROS,      /* 010 */
    SCALAR_WHOLE,      /* 5.0 or 1e3 where a whole number is due */
    SCALAR_INFINITE,   /* .inf, nan */
    SCALAR_LARGE,      /* beyond the type */
    SCALAR_TINY,       /* not 0, but 0 as a double */
    SCALAR_LONG        /* more digits than anybody needs */
};

/* A sign or none, digits. *out is set for SCALAR_OK, and for SCALAR_WHOLE if
 * the number is one after all (1e3). */
enum scalar_fault scalar_int(const char *text, int64_t *out);
/* A sign or none, digits with or without a point, an exponent or none. */
enum scalar_fault scalar_double(const char *text, double *out);

/* "90", "90s", "1.5m", "2h" in seconds; "4096", "16KiB", "4GiB" in bytes. */
enum scalar_fault scalar_duration(const char *text, double *seconds);
enum scalar_fault scalar_size(const char *text, int64_t *bytes);

/* A number as people write it: 100, not 1.0e+02. */
void scalar_add(struct str *out, double v);

#endif
