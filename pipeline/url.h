/* Web addresses: what is one, and what of it may be shown. */
#ifndef PIPELINE_URL_H
#define PIPELINE_URL_H

#include <stdbool.h>

#include "nn/base/str.h"

/* Whether text begins with http:// or https://. */
bool pl_url_is(const char *text);

/* Appends text with "user:password@" in every address of it made "***@", and
 * "?name=value" "?name=***". */
void pl_url_mask(struct str *out, const char *text);

/* Appends scheme, host and port of an address, without user and password; of
 * any other text the whole. */
void pl_url_host(struct str *out, const char *url);

#endif
