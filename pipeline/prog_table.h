/* Vectors of a finished program side by side. */
#ifndef PIPELINE_PROG_TABLE_H
#define PIPELINE_PROG_TABLE_H

#include "nn/base/str.h"
#include "pipeline/prog_run.h"

enum { PROG_TABLE_MAX_ROWS = 10000 };

struct prog_column {
    const char *title;
    const double *v; /* n numbers; of one that repeats: 1 */
    int64_t n;
    bool repeats; /* a number without dimensions */
};

/* The value called name as a column; memory from arena. ERR_SHAPE: it has more
 * than one dimension; ERR_CONFIG: there is none. */
int prog_column_read(struct prog_column *out, const struct prog_run *r,
                     const char *name, struct arena *arena, struct err *err);
double prog_column_at(const struct prog_column *c, int64_t row);
/* How many rows n > 0 columns have. Returns the number of columns that agree:
 * n, or the index of the first one of another length, with *err set. */
size_t prog_columns_fit(const struct prog_column *c, size_t n, int64_t *rows,
                        struct err *err);

/* Appends rows of n columns, up to TABLE_MAX_COLUMNS: aligned, as text or as
 * Markdown, with 7 digits; as CSV with all of them. What is not finite is inf,
 * -inf or nan. ERR_NOMEM only. */
int prog_table_add(struct str *out, const struct prog_column *c, size_t n,
                   int64_t rows, bool markdown, struct err *err);
int prog_table_csv(struct str *out, const struct prog_column *c, size_t n,
                   int64_t rows, struct err *err);

#endif
