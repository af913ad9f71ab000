/* Numbers from text, strictly and the same in every locale. */
#ifndef NN_BASE_NUM_H
#define NN_BASE_NUM_H

#include <stdbool.h>
#include <stddef.h>

enum { NUM_MAX_TEXT = 127 };

/* The double nearest to text[0 .. len), all of it a decimal number: a sign or
 * none, digits with or without a point, an exponent or none. No blanks, hex,
 * inf or nan. false if it is none, is longer than NUM_MAX_TEXT or not finite;
 * then *out is left as it is. Out of memory counts as false too. */
bool num_parse(double *out, const char *text, size_t len);

#endif
