#include "pipeline/prog_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/table.h"

enum { DIGITS = 7 };

static int no_memory(struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory for a table");
}

/* ---- columns ---- */

int prog_column_read(struct prog_column *out, const struct prog_run *r,
                     const char *name, struct arena *arena, struct err *err)
{
    const struct prog_value *v = prog_run_get(r, name);
    char shape[96];

    memset(out, 0, sizeof *out);
    out->title = name;
    out->n = 1;
    out->repeats = true;
    if (!v)
        return err_set(err, ERR_CONFIG, "there is no value '%s'", name);
    if (v->kind != PROG_V_TENSOR) {
        out->v = &v->number;
        return 0;
    }
    if (v->t->shape.ndim > 1)
        return err_set(err, ERR_SHAPE,
                       "a column is a vector or a number; %s is %s", name,
                       nn_shape_text(&v->t->shape, shape, sizeof shape));
    out->repeats = v->t->shape.ndim == 0;
    out->n = nn_tensor_numel(v->t);
    out->v = prog_numbers(v->t, arena, err);
    return out->v ? 0 : ERR_NOMEM;
}

double prog_column_at(const struct prog_column *c, int64_t row)
{
    return c->v[c->repeats ? 0 : row];
}

size_t prog_columns_fit(const struct prog_column *c, size_t n, int64_t *rows,
                        struct err *err)
{
    const struct prog_column *first = NULL;
    size_t i;

    *rows = 1;
    for (i = 0; i < n; i++) {
        if (c[i].repeats)
            continue;
        if (first && c[i].n != first->n) {
            (void)err_set(err, ERR_SHAPE,
                          "%s has %lld numbers, and %s beside it %lld",
                          c[i].title, (long long)c[i].n, first->title,
                          (long long)first->n);
            return i;
        }
        first = first ? first : &c[i];
        *rows = first->n;
    }
    return n;
}

/* ---- tables ---- */

/* A title in Markdown: '|' would end its cell. */
static const char *escaped(const char *title, struct arena *a)
{
    char *out = arena_array(a, 2 * strlen(title) + 1, 1), *p = out;

    for (; out && *title; title++) {
        if (*title == '|' || *title == '\\')
            *p++ = '\\';
        *p++ = *title;
    }
    return out;
}

static const char *number_text(double v, struct arena *a)
{
    if (isnan(v))
        return "nan";
    if (isinf(v))
        return v > 0 ? "inf" : "-inf";
    return arena_printf(a, "%.*g", DIGITS, v + 0.0);
}

static int fill(const char **head, const char **cell,
                const struct prog_column *c, size_t n, int64_t rows,
                bool markdown, struct arena *a)
{
    int64_t i;
    size_t k;

    for (k = 0; k < n; k++) {
        head[k] = markdown ? escaped(c[k].title, a) : c[k].title;
        if (!head[k])
            return ERR_NOMEM;
    }
    for (i = 0; i < rows; i++)
        for (k = 0; k < n; k++) {
            *cell = number_text(prog_column_at(&c[k], i), a);
            if (!*cell++)
                return ERR_NOMEM;
        }
    return 0;
}

int prog_table_add(struct str *out, const struct prog_column *c, size_t n,
                   int64_t rows, bool markdown, struct err *err)
{
    const char *head[TABLE_MAX_COLUMNS];
    char right[TABLE_MAX_COLUMNS];
    struct arena a = {0};
    const char **cell = arena_array(&a, (size_t)rows * n + 1, sizeof *cell);
    struct pl_table t = {head, right, cell, n, (size_t)rows};
    int rc = 0;

    memset(right, 'r', sizeof right);
    if (!cell || fill(head, cell, c, n, rows, markdown, &a) != 0)
        rc = no_memory(err);
    else
        pl_table_add(out, &t, markdown);
    arena_free(&a);
    return rc != 0 ? rc : out->failed ? no_memory(err) : 0;
}

static void csv_title(struct str *out, const char *title)
{
    if (!strpbrk(title, ",\"")) {
        str_add(out, title);
        return;
    }
    str_addc(out, '"');
    for (; *title; title++) {
        if (*title == '"')
            str_addc(out, '"');
        str_addc(out, *title);
    }
    str_addc(out, '"');
}

int prog_table_csv(struct str *out, const struct prog_column *c, size_t n,
                   int64_t rows, struct err *err)
{
    int64_t i;
    size_t k;

    for (k = 0; k < n; k++) {
        str_add(out, k ? "," : "");
        csv_title(out, c[k].title);
    }
    str_addc(out, '\n');
    for (i = 0; i < rows; i++) {
        for (k = 0; k < n; k++) {
            str_add(out, k ? "," : "");
            str_add_double(out, prog_column_at(&c[k], i));
        }
        str_addc(out, '\n');
    }
    return out->failed ? no_memory(err) : 0;
}
