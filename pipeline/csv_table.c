#include "pipeline/csv_table.h"

#include <math.h>
#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/base/str.h"
#include "pipeline/csv_column.h"
#include "pipeline/scalar.h"

enum { MAX_BYTES = 64 << 20 };

struct reader {
    struct arena *arena;
    struct str field;
    const char *path;
    const char **cell; /* of all lines */
    size_t n, cap;
    bool nomem;
};

static void keep(struct reader *r)
{
    if (r->n == r->cap) {
        size_t cap = r->cap ? r->cap * 2 : 128;
        const char **more = mem_grow(r->cell, cap, sizeof *more);

        if (!more) {
            r->nomem = true;
            return;
        }
        r->cell = more;
        r->cap = cap;
    }
    r->cell[r->n] = r->field.failed
                        ? NULL
                        : arena_strndup(r->arena, r->field.text, r->field.len);
    r->nomem = r->nomem || !r->cell[r->n];
    r->n++;
}

/* The fields of the line at *p; how many. */
static size_t read_line(struct reader *r, const char **p)
{
    size_t before = r->n;
    char end;

    do {
        end = pl_csv_field(p, &r->field);
        keep(r);
    } while (end == ',' && !r->nomem);
    return r->n - before;
}

static int read_lines(struct reader *r, struct pl_csv *out, const char *text,
                      struct err *err)
{
    size_t line = 2, n;

    out->columns = read_line(r, &text);
    for (; *text && !r->nomem; line++) {
        n = read_line(r, &text);
        if (n != out->columns && !r->nomem)
            return err_set(err, ERR_CORRUPT,
                           "line %zu of %s has %zu fields, its head %zu", line,
                           io_basename(r->path), n, out->columns);
        out->rows++;
    }
    return 0;
}

/* The cells move to the arena, the head first. */
static void hand_over(struct reader *r, struct pl_csv *out)
{
    const char **cell = arena_array(r->arena, r->n, sizeof *cell);

    r->nomem = r->nomem || !cell;
    if (r->nomem)
        return;
    memcpy(cell, r->cell, r->n * sizeof *cell);
    out->head = cell;
    out->cell = cell + out->columns;
}

int pl_csv_read(struct pl_csv *out, const char *path, struct arena *arena,
                struct err *err)
{
    struct reader r = {.arena = arena, .path = path};
    char *text;
    size_t len;
    int rc = io_read_file(&text, &len, path, MAX_BYTES, err);

    memset(out, 0, sizeof *out);
    if (rc != 0)
        return rc;
    out->path = path;
    rc = read_lines(&r, out, text, err);
    if (rc == 0)
        hand_over(&r, out);
    if (rc == 0 && r.nomem)
        rc = err_set(err, ERR_NOMEM, "out of memory reading '%s'", path);
    str_free(&r.field);
    mem_free(r.cell);
    mem_free(text);
    return rc;
}

int pl_csv_find(const struct pl_csv *t, const char *column, size_t *at,
                struct err *err)
{
    for (*at = 0; *at < t->columns; (*at)++)
        if (strcmp(t->head[*at], column) == 0)
            return 0;
    return err_set(err, ERR_CORRUPT, "%s has no column '%s'",
                   io_basename(t->path), column);
}

const char *pl_csv_text(const struct pl_csv *t, size_t row, size_t at)
{
    return t->cell[row * t->columns + at];
}

int pl_csv_number(const struct pl_csv *t, size_t row, size_t at, double *out,
                  struct err *err)
{
    const char *text = pl_csv_text(t, row, at);

    *out = NAN;
    if (text[0] == '\0' ||
        (scalar_double(text, out) == SCALAR_OK && isfinite(*out)))
        return 0;
    return err_set(err, ERR_CORRUPT, "'%.40s' in line %zu of %s is no number",
                   text, row + 2, io_basename(t->path));
}
