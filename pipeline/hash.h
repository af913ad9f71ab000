/* SHA-256 by libcrypto. */
#ifndef PIPELINE_HASH_H
#define PIPELINE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "nn/base/err.h"

struct pl_hash; /* a hash under way */
int pl_hash_new(struct pl_hash **out, struct err *err);
void pl_hash_add(struct pl_hash *h, const void *data, size_t len);
void pl_hash_end(struct pl_hash *h, char hex[65]); /* frees h */
void pl_hash_free(struct pl_hash *h);              /* gives up; NULL is fine */

int pl_hash_bytes(char hex[65], const void *data, size_t len, struct err *err);
int pl_hash_file(char hex[65], uint64_t *bytes, const char *path,
                 struct err *err);

#endif
