#include "nn/csv.h"

#include <string.h>

#include "nn/data_file.h"

int nn_csv_open(struct nn_csv *c, const char *path, struct err *err)
{
    int rc;

    *c = (struct nn_csv){.path = path, .line = 1};
    rc = nn_data_file_open(&c->map, path, err);
    if (rc != 0)
        return rc;
    c->p = (const char *)c->map.data;
    c->end = c->p + c->map.len;
    if (c->map.len >= 3 && memcmp(c->p, "\xef\xbb\xbf", 3) == 0)
        c->p += 3;
    return 0;
}

void nn_csv_close(struct nn_csv *c)
{
    io_map_close(&c->map);
    str_free(&c->unquoted);
}

static bool is_blank(char b)
{
    return b == ' ' || b == '\t' || b == '\r';
}

static bool at_end_of_field(const struct nn_csv *c)
{
    return c->p == c->end || *c->p == ',' || *c->p == '\n';
}

static int read_plain(struct nn_csv *c, struct nn_csv_field *f, struct err *err)
{
    size_t i;

    f->text = c->p;
    while (!at_end_of_field(c))
        c->p++;
    f->len = (size_t)(c->p - f->text);
    while (f->len > 0 && is_blank(f->text[f->len - 1]))
        f->len--;
    for (i = 0; i < f->len; i++) {
        unsigned char b = (unsigned char)f->text[i];

        if (b == '"')
            return err_set(err, ERR_CORRUPT,
                           "%s:%lld: a quote inside a field that does not "
                           "begin with one",
                           c->path, (long long)f->line);
        if (b < ' ' && b != '\t')
            return err_set(err, ERR_CORRUPT,
                           "%s:%lld: byte 0x%02x inside a field is not text",
                           c->path, (long long)f->line, b);
    }
    return 0;
}

/* c->p is behind the opening quote. */
static int read_quoted(struct nn_csv *c, struct nn_csv_field *f,
                       struct err *err)
{
    str_clear(&c->unquoted);
    str_add(&c->unquoted, "");
    for (;;) {
        if (c->p == c->end)
            return err_set(err, ERR_CORRUPT,
                           "%s:%lld: the quote that opens here is not closed",
                           c->path, (long long)f->line);
        if (*c->p == '"') {
            c->p++;
            if (c->p == c->end || *c->p != '"')
                break;
        }
        if (*c->p == '\n')
            c->line++;
        str_addc(&c->unquoted, *c->p++);
    }
    if (c->unquoted.failed)
        return err_set(err, ERR_NOMEM, "%s: out of memory", c->path);
    f->text = c->unquoted.text;
    f->len = c->unquoted.len;
    while (c->p < c->end && is_blank(*c->p))
        c->p++;
    if (!at_end_of_field(c))
        return err_set(err, ERR_CORRUPT, "%s:%lld: text after a closing quote",
                       c->path, (long long)c->line);
    return 0;
}

int nn_csv_read(struct nn_csv *c, struct nn_csv_field *f, struct err *err)
{
    int rc;

    while (c->p < c->end && is_blank(*c->p))
        c->p++;
    f->line = c->line;
    if (c->p < c->end && *c->p == '"') {
        c->p++;
        rc = read_quoted(c, f, err);
    } else {
        rc = read_plain(c, f, err);
    }
    if (rc != 0)
        return rc;
    f->last = c->p == c->end || *c->p == '\n';
    if (c->p < c->end && *c->p++ == '\n')
        c->line++;
    return 0;
}

bool nn_csv_skip_empty(struct nn_csv *c)
{
    bool any = false;

    for (;;) {
        const char *q = c->p;

        while (q < c->end && is_blank(*q))
            q++;
        if (q < c->end && *q != '\n')
            return any;
        any = any || c->p < c->end;
        if (q == c->end) {
            c->p = q;
            return any;
        }
        c->p = q + 1;
        c->line++;
    }
}

const char *nn_csv_show(char buf[NN_CSV_SHOWN + 4],
                        const struct nn_csv_field *f)
{
    size_t n = f->len, i;

    if (n > NN_CSV_SHOWN) {
        n = NN_CSV_SHOWN;
        while (n > 0 && ((unsigned char)f->text[n] & 0xc0) == 0x80)
            n--; /* never half a UTF-8 character */
    }
    memcpy(buf, f->text, n);
    for (i = 0; i < n; i++)
        if ((unsigned char)buf[i] < ' ')
            buf[i] = '?';
    memcpy(buf + n, n < f->len ? "..." : "", n < f->len ? 4 : 1);
    return buf;
}
