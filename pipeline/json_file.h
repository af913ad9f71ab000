/* Small JSON files, by jansson. */
#ifndef PIPELINE_JSON_FILE_H
#define PIPELINE_JSON_FILE_H

#include <jansson.h>

#include "nn/base/err.h"
#include "nn/base/str.h"

/* The object in path, the caller's (json_decref). ERR_CORRUPT names the line
 * if it is no JSON object, ERR_IO if it cannot be read. */
int pl_json_read(json_t **out, const char *path, struct err *err);

/* Writes the object atomically, indented, keys in order of insertion. Takes
 * over the reference; NULL, from an allocation that failed, is ERR_NOMEM. */
int pl_json_write(json_t *root, const char *path, struct err *err);

/* The text in quotes, escaped. */
void pl_json_add_text(struct str *s, const char *text);

/* The text or number of a key, or the second value if it has none. */
const char *pl_json_text(const json_t *object, const char *key,
                         const char *otherwise);
double pl_json_number(const json_t *object, const char *key, double otherwise);

#endif
