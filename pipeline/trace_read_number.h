/* Numbers as they stand in a trace. */
#ifndef PIPELINE_TRACE_READ_NUMBER_H
#define PIPELINE_TRACE_READ_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

/* By the grammar of JSON. */
bool trace_is_number(const char *text);
/* Microseconds as decimal text in ns: exact to three decimals, further ones
 * rounded. false: none, or more than 73 years. */
bool trace_parse_us(int64_t *ns, const char *text);
/* A whole number of at most 18 digits. */
bool trace_parse_int(int64_t *out, const char *text);

#endif
