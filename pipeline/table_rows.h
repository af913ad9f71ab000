/* Cells of a table, one after the other. */
#ifndef PIPELINE_TABLE_ROWS_H
#define PIPELINE_TABLE_ROWS_H

#include "nn/base/arena.h"
#include "pipeline/table.h"

/* Zero-initialise and set arena, which holds everything. */
struct pl_rows {
    struct arena *arena;
    const char **cell;
    size_t n, cap;
    bool failed; /* out of memory: cells are missing */
};

/* The next cell, as printf. */
void pl_rows_add(struct pl_rows *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* The next cell: v with so many significant digits, "1,234" or "0.0123"; "-"
 * if it is not finite. */
void pl_rows_add_number(struct pl_rows *r, double v, int digits);
void pl_rows_add_setting(struct pl_rows *r, double v); /* as pl_add_setting */

/* Appends them as a Markdown table and begins anew. head is NULL-terminated, 1
 * to TABLE_MAX_COLUMNS; right as in struct pl_table. out->failed if cells are
 * missing. */
void pl_rows_write(struct pl_rows *r, struct str *out, const char *const *head,
                   const char *right);

#endif
