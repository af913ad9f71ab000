/* Small tables of texts in aligned columns. */
#ifndef PIPELINE_TABLE_H
#define PIPELINE_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/base/str.h"

enum { TABLE_MAX_COLUMNS = 16 };

/* Cells are borrowed UTF-8 texts; rows lie one after the other. */
struct pl_table {
    const char *const *head; /* columns texts */
    const char *right;       /* one letter a column: 'r' aligns right */
    const char *const *cell; /* rows * columns texts */
    size_t columns, rows;
};

/* Appends the table as plain text, or as Markdown that is aligned too. */
void pl_table_add(struct str *out, const struct pl_table *t, bool markdown);

#endif
