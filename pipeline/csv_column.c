#include "pipeline/csv_column.h"

#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/scalar.h"

enum { MAX_BYTES = 256 << 20 };

char pl_csv_field(const char **p, struct str *out)
{
    const char *s = *p;
    bool quoted = *s == '"';
    char end;

    str_clear(out);
    str_add(out, "");
    for (s += quoted; *s; s++) {
        if (quoted && s[0] == '"' && s[1] == '"') {
            s++;
        } else if (quoted && *s == '"') {
            quoted = false;
            continue;
        } else if (!quoted && (*s == ',' || *s == '\n' || *s == '\r')) {
            break;
        }
        str_addc(out, *s);
    }
    if (s[0] == '\r' && s[1] == '\n')
        s++;
    end = *s;
    if (end == '\r')
        end = '\n';
    *p = s + (*s != '\0');
    return end;
}

/* The index of column in the first line; *p goes behind the line. -1: it is
 * not there. */
static long find_column(const char **p, const char *column, struct str *field)
{
    long at = -1, i = 0;
    char end;

    do {
        end = pl_csv_field(p, field);
        if (at < 0 && !field->failed && strcmp(field->text, column) == 0)
            at = i;
        i++;
    } while (end == ',');
    return at;
}

struct column {
    double *value;
    size_t n, cap;
};

static int add_number(struct column *c, const char *text, size_t line,
                      const char *path, struct err *err)
{
    size_t cap = c->cap ? c->cap * 2 : 64;
    double v, *more;

    if (scalar_double(text, &v) != SCALAR_OK)
        return err_set(err, ERR_CORRUPT,
                       "'%.40s' in line %zu of %s is no number", text, line,
                       io_basename(path));
    if (c->n == c->cap) {
        more = mem_grow(c->value, cap, sizeof *more);
        if (!more)
            return err_set(err, ERR_NOMEM, "out of memory reading '%s'", path);
        c->value = more;
        c->cap = cap;
    }
    c->value[c->n++] = v;
    return 0;
}

static int read_rows(struct column *c, const char *text, long at,
                     const char *path, struct err *err)
{
    struct str field = {0};
    size_t line = 2;
    int rc = 0;

    for (; rc == 0 && *text; line++) {
        long i = 0;
        char end;

        do {
            end = pl_csv_field(&text, &field);
            if (field.failed)
                rc =
                    err_set(err, ERR_NOMEM, "out of memory reading '%s'", path);
            else if (i == at && field.len > 0)
                rc = add_number(c, field.text, line, path, err);
            i++;
        } while (rc == 0 && end == ',');
    }
    str_free(&field);
    return rc;
}

int pl_csv_column(double **out, size_t *n, const char *path, const char *column,
                  struct err *err)
{
    struct column c = {0};
    struct str field = {0};
    const char *p;
    char *text;
    size_t len;
    long at;
    int rc;

    *out = NULL;
    *n = 0;
    rc = io_read_file(&text, &len, path, MAX_BYTES, err);
    if (rc != 0)
        return rc;
    p = text;
    at = find_column(&p, column, &field);
    if (field.failed)
        rc = err_set(err, ERR_NOMEM, "out of memory reading '%s'", path);
    else if (at < 0)
        rc = err_set(err, ERR_CORRUPT, "%s has no column '%s'",
                     io_basename(path), column);
    else
        rc = read_rows(&c, p, at, path, err);
    str_free(&field);
    mem_free(text);
    if (rc != 0) {
        mem_free(c.value);
        return rc;
    }
    *out = c.value;
    *n = c.n;
    return 0;
}
