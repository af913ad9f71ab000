/* Text on its way to a file, gzipped or not, through a buffer: nothing here
 * fails at once, the first failure is kept and told at the end. */
#ifndef PIPELINE_TRACE_TEXT_H
#define PIPELINE_TRACE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "nn/base/err.h"
#include "nn/base/io.h"

struct pl_gzip; /* NULL: plain text */

enum { TRACE_BUFFER = 1 << 16 };

struct pl_trace_text {
    struct io_out io;
    struct pl_gzip *gzip;
    char *buf; /* TRACE_BUFFER */
    size_t fill;
    struct err err; /* the first failure */
};

/* path is replaced by pl_trace_text_close; ".gz" at its end compresses. */
int pl_trace_text_open(struct pl_trace_text *o, const char *path,
                       struct err *err);
int pl_trace_text_close(struct pl_trace_text *o, struct err *err);
void pl_trace_text_abort(struct pl_trace_text *o);
/* 0, or the first failure. */
int pl_trace_text_failed(const struct pl_trace_text *o, struct err *err);

void pl_trace_addn(struct pl_trace_text *o, const char *text, size_t n);
static inline void pl_trace_add(struct pl_trace_text *o, const char *text)
{
    pl_trace_addn(o, text, strlen(text)); /* of a constant: no call */
}
void pl_trace_addc(struct pl_trace_text *o, char c);
void pl_trace_int(struct pl_trace_text *o, int64_t v);
/* As a JSON string, with its quotes; without them. */
void pl_trace_quote(struct pl_trace_text *o, const char *text);
void pl_trace_escape(struct pl_trace_text *o, const char *text);

#endif
