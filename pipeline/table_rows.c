#include "pipeline/table_rows.h"

#include <stdarg.h>
#include <string.h>

#include "pipeline/number.h"

enum { FIRST_ROOM = 64 };

static void add_text(struct pl_rows *r, const struct str *text)
{
    size_t cap = r->cap ? 2 * r->cap : FIRST_ROOM;
    const char **more;

    if (r->n == r->cap) {
        more = arena_array(r->arena, cap, sizeof *more);
        if (!more) {
            r->failed = true;
            return;
        }
        if (r->n > 0)
            memcpy(more, r->cell, r->n * sizeof *more);
        r->cell = more;
        r->cap = cap;
    }
    r->cell[r->n] = text->failed
                        ? NULL
                        : arena_strdup(r->arena, text->text ? text->text : "");
    if (r->cell[r->n])
        r->n++;
    else
        r->failed = true;
}

void pl_rows_add(struct pl_rows *r, const char *fmt, ...)
{
    struct str text = {0};
    va_list ap;

    va_start(ap, fmt);
    str_addv(&text, fmt, ap);
    va_end(ap);
    add_text(r, &text);
    str_free(&text);
}

void pl_rows_add_number(struct pl_rows *r, double v, int digits)
{
    struct str text = {0};

    pl_add_digits(&text, v, digits);
    add_text(r, &text);
    str_free(&text);
}

void pl_rows_add_setting(struct pl_rows *r, double v)
{
    struct str text = {0};

    pl_add_setting(&text, v);
    add_text(r, &text);
    str_free(&text);
}

void pl_rows_write(struct pl_rows *r, struct str *out, const char *const *head,
                   const char *right)
{
    struct pl_table t = {.head = head, .right = right, .cell = r->cell};

    do
        t.columns++;
    while (t.columns < TABLE_MAX_COLUMNS && head[t.columns]);
    t.rows = r->n / t.columns;
    if (r->failed || r->n % t.columns != 0)
        out->failed = true;
    else
        pl_table_add(out, &t, true);
    r->n = 0;
}
