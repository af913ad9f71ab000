/* JSON taken piece by piece: what it says is told token by token, and nothing
 * is kept but the token at hand. For files of any size from anywhere. */
#ifndef PIPELINE_TRACE_READ_JSON_H
#define PIPELINE_TRACE_READ_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/err.h"

enum {
    JSON_TEXT_MAX = 1 << 16, /* of a text's bytes as many are kept */
    JSON_DEPTH_MAX = 512
};

enum json_kind {
    JSON_OBJECT, /* its beginning */
    JSON_ARRAY,
    JSON_END, /* of either */
    JSON_KEY,
    JSON_STRING,
    JSON_NUMBER,
    JSON_TRUE,
    JSON_FALSE,
    JSON_NULL
};

struct json_token {
    enum json_kind kind;
    /* KEY, STRING: decoded UTF-8; "\u0000" and lone surrogates are U+FFFD.
     * NUMBER: as it is written. Others: "". NUL-terminated, lent. */
    const char *text;
    size_t len;
    bool cut;        /* the text is longer than JSON_TEXT_MAX */
    uint64_t offset; /* of its first byte */
    size_t depth;    /* containers that it stands in; END: that it leaves */
};

struct json_reader;

/* take gets each token; what it returns other than 0 ends the work and is
 * passed on. path is what messages call the text, lent. NULL: no memory. */
struct json_reader *json_reader_new(const char *path,
                                    int (*take)(void *user,
                                                const struct json_token *t,
                                                struct err *err),
                                    void *user);
void json_reader_free(struct json_reader *r); /* NULL is fine */

/* ERR_CORRUPT names path and offset: no JSON (RFC 8259), no UTF-8, nested
 * deeper than JSON_DEPTH_MAX, a number of more than NUM_MAX_TEXT characters. */
int json_feed(struct json_reader *r, const void *data, size_t len,
              struct err *err);
/* The text ends here. ERR_CORRUPT if it may not. */
int json_end(struct json_reader *r, struct err *err);

/* What was forgiven, as Chrome's and Perfetto's readers do: a comma behind the
 * last element of an array, the missing end of an outermost array. NULL:
 * nothing; *offset is where. */
const char *json_forgiven(const struct json_reader *r, uint64_t *offset);

#endif
