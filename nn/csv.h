/* The fields of a CSV file (RFC 4180), one after the other, with their place.
 * Lines end in LF or CRLF; blanks around a field do not count. */
#ifndef NN_CSV_H
#define NN_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/err.h"
#include "nn/base/io.h"
#include "nn/base/str.h"

struct nn_csv {
    const char *path; /* borrowed */
    struct io_map map;
    const char *p, *end; /* what is not yet read */
    int64_t line;        /* of p, from 1 */
    struct str unquoted; /* the quoted field last read */
};

struct nn_csv_field {
    const char *text; /* not NUL-terminated; valid until the next read */
    size_t len;
    int64_t line; /* where it begins */
    bool last;    /* of its record */
};

/* Maps path, which must outlive c, and skips a byte order mark. End with
 * nn_csv_close, after a failure too. */
int nn_csv_open(struct nn_csv *c, const char *path, struct err *err);
void nn_csv_close(struct nn_csv *c);

/* Reads a field and the comma or line end behind it. At the end of the file it
 * gives an empty last field: ask c->p == c->end before a record. ERR_CORRUPT
 * names path:line:. */
int nn_csv_read(struct nn_csv *c, struct nn_csv_field *f, struct err *err);

/* Skips lines of nothing but blanks; true if there was one. Only between
 * records. */
bool nn_csv_skip_empty(struct nn_csv *c);

/* The field for a message, short and on one line; written to buf. */
enum { NN_CSV_SHOWN = 40 };
const char *nn_csv_show(char buf[NN_CSV_SHOWN + 4],
                        const struct nn_csv_field *f);

#endif
