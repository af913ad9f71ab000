/* One column of numbers out of a CSV artifact. */
#ifndef PIPELINE_CSV_COLUMN_H
#define PIPELINE_CSV_COLUMN_H

#include <stddef.h>

#include "nn/base/err.h"
#include "nn/base/str.h"

/* The field at *p into out, which begins anew; *p goes behind it and its comma
 * or line end. Returns what ended it: ',', '\n' or '\0'. */
char pl_csv_field(const char **p, struct str *out);

/* The numbers of the column whose name stands in the first line, without empty
 * cells: *out is n of them, the caller's (mem_free). Fields may be in double
 * quotes, in which "" is one. ERR_CORRUPT: no such column, or a cell that is no
 * number; ERR_IO: the file cannot be read. */
int pl_csv_column(double **out, size_t *n, const char *path, const char *column,
                  struct err *err);

#endif
