/* A whole CSV artifact as texts. */
#ifndef PIPELINE_CSV_TABLE_H
#define PIPELINE_CSV_TABLE_H

#include <stddef.h>

#include "nn/base/arena.h"
#include "nn/base/err.h"

struct pl_csv {
    const char *path;
    const char **head; /* columns names */
    const char **cell; /* rows * columns texts, one row after the other */
    size_t columns, rows;
};

/* Reads path, whose first line names the columns, into arena. Fields may be in
 * double quotes, in which "" is one. ERR_IO: it cannot be read; ERR_CORRUPT: a
 * line has another number of fields; ERR_NOMEM. */
int pl_csv_read(struct pl_csv *out, const char *path, struct arena *arena,
                struct err *err);

/* The place of a column. ERR_CORRUPT: there is none of that name. */
int pl_csv_find(const struct pl_csv *t, const char *column, size_t *at,
                struct err *err);
/* The cell in a row of a column that was found. */
const char *pl_csv_text(const struct pl_csv *t, size_t row, size_t at);
/* The same as a finite number, *out NaN for an empty cell. ERR_CORRUPT: it is
 * none. */
int pl_csv_number(const struct pl_csv *t, size_t row, size_t at, double *out,
                  struct err *err);

#endif
