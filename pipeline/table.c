#include "pipeline/table.h"

#include <stdint.h>
#include <string.h>

#include "pipeline/utf8.h"

static size_t text_width(const char *s)
{
    size_t n = strlen(s), w = 0, len;
    uint32_t cp;

    for (; n > 0; s += len, n -= len) {
        len = utf8_decode(s, n, &cp);
        w += len > 0 ? (size_t)utf8_width(cp) : 1;
        len = len > 0 ? len : 1;
    }
    return w;
}

static void add_many(struct str *out, char c, size_t n)
{
    while (n-- > 0)
        str_addc(out, c);
}

static void add_row(struct str *out, const struct pl_table *t,
                    const char *const *cell, const size_t *width, bool markdown)
{
    size_t i, pad;

    for (i = 0; i < t->columns; i++) {
        bool right = t->right[i] == 'r';
        bool last = i + 1 == t->columns;

        pad = width[i] - text_width(cell[i]);
        str_add(out, markdown ? i ? " | " : "| " : i ? "  " : "");
        add_many(out, ' ', right ? pad : 0);
        str_add(out, cell[i]);
        add_many(out, ' ', right || (last && !markdown) ? 0 : pad);
    }
    str_add(out, markdown ? " |\n" : "\n");
}

static void add_rule(struct str *out, const struct pl_table *t,
                     const size_t *width)
{
    size_t i;

    for (i = 0; i < t->columns; i++) {
        str_add(out, "|-");
        add_many(out, '-', width[i]);
        str_addc(out, t->right[i] == 'r' ? ':' : '-');
    }
    str_add(out, "|\n");
}

void pl_table_add(struct str *out, const struct pl_table *t, bool markdown)
{
    size_t width[TABLE_MAX_COLUMNS] = {0}, i, j, w;

    for (j = 0; j < t->columns; j++) {
        width[j] = text_width(t->head[j]);
        for (i = 0; i < t->rows; i++) {
            w = text_width(t->cell[i * t->columns + j]);
            width[j] = w > width[j] ? w : width[j];
        }
    }
    add_row(out, t, t->head, width, markdown);
    if (markdown)
        add_rule(out, t, width);
    for (i = 0; i < t->rows; i++)
        add_row(out, t, t->cell + i * t->columns, width, markdown);
}
