#include "nn/data.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/arena.h"
#include "nn/base/mem.h"
#include "nn/base/num.h"
#include "nn/csv.h"

enum { MAX_COLUMNS = 1 << 20, SHOWN_NAMES = 8 };
enum { UNUSED = -2, TARGET = -1 }; /* from 0 on: a feature */

struct column {
    const char *name;  /* "" if it has none */
    const char *shown; /* the name as messages give it */
    int use;           /* UNUSED, TARGET or the index of the feature */
};

struct entry {
    const char *name;
    int column;
};

struct table {
    const char *path;
    const struct nn_csv_opts *opts;
    struct nn_csv csv;
    struct arena arena; /* columns and their names */
    struct column *columns;
    struct entry *by_name; /* the columns sorted */
    int n_columns, n_features;
    int64_t n, max_n; /* rows read, rows there is room for */
    float *x;         /* (max_n, n_features) */
    int32_t *label;   /* (max_n), this one or target */
    float *target;
};

static int out_of_memory(const struct table *t, struct err *err)
{
    return err_set(err, ERR_NOMEM, "%s: out of memory", t->path);
}

/* Fields of the record at hand, which is left unread. */
static int count_columns(struct table *t, struct err *err)
{
    struct nn_csv_field f = {0};
    const char *p = t->csv.p;
    int64_t line = t->csv.line;
    int rc;

    for (t->n_columns = 0; !f.last; t->n_columns++) {
        rc = nn_csv_read(&t->csv, &f, err);
        if (rc != 0)
            return rc;
        if (t->n_columns == MAX_COLUMNS)
            return err_set(err, ERR_CORRUPT, "%s:%lld: more than %d columns",
                           t->path, (long long)f.line, MAX_COLUMNS);
    }
    t->csv.p = p;
    t->csv.line = line;
    return 0;
}

static int read_name(struct table *t, struct column *col, struct err *err)
{
    char buf[NN_CSV_SHOWN + 4];
    struct nn_csv_field f;
    size_t i;
    int rc = nn_csv_read(&t->csv, &f, err);

    if (rc != 0)
        return rc;
    while (f.len > 0 && f.text[0] == ' ') {
        f.text++; /* blanks inside quotes */
        f.len--;
    }
    while (f.len > 0 && f.text[f.len - 1] == ' ')
        f.len--;
    for (i = 0; i < f.len; i++)
        if ((unsigned char)f.text[i] < ' ')
            return err_set(err, ERR_CORRUPT,
                           "%s:%lld: byte 0x%02x in the name of column %d is "
                           "not text",
                           t->path, (long long)f.line, (unsigned char)f.text[i],
                           (int)(col - t->columns) + 1);
    col->use = UNUSED;
    col->name = arena_strndup(&t->arena, f.text, f.len);
    col->shown = arena_strdup(&t->arena, nn_csv_show(buf, &f));
    return col->name && col->shown ? 0 : out_of_memory(t, err);
}

/* By name, then by place. */
static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int order = strcmp(x->name, y->name);

    return order ? order : x->column - y->column;
}

static int check_names(const struct table *t, struct err *err)
{
    int i;

    for (i = 0; i < t->n_columns; i++) {
        const struct entry *a = &t->by_name[i];
        const struct entry *b = i > 0 ? a - 1 : NULL;

        if (a->name[0] == '\0' && !t->opts->features)
            return err_set(err, ERR_CORRUPT,
                           "%s:1: column %d has no name: give it one, or list "
                           "the features",
                           t->path, a->column + 1);
        if (b && a->name[0] != '\0' && strcmp(a->name, b->name) == 0)
            return err_set(err, ERR_CORRUPT,
                           "%s:1: columns %d and %d are both named '%s'",
                           t->path, b->column + 1, a->column + 1,
                           t->columns[a->column].shown);
    }
    return 0;
}

static int read_header(struct table *t, struct err *err)
{
    int i, rc;

    if (nn_csv_skip_empty(&t->csv) || t->csv.p == t->csv.end)
        return err_set(err, ERR_CORRUPT,
                       "%s:1: the line is empty where the header should be",
                       t->path);
    rc = count_columns(t, err);
    if (rc != 0)
        return rc;
    t->columns =
        arena_array(&t->arena, (size_t)t->n_columns, sizeof *t->columns);
    t->by_name =
        arena_array(&t->arena, (size_t)t->n_columns, sizeof *t->by_name);
    if (!t->columns || !t->by_name)
        return out_of_memory(t, err);
    for (i = 0; rc == 0 && i < t->n_columns; i++) {
        rc = read_name(t, &t->columns[i], err);
        t->by_name[i] = (struct entry){t->columns[i].name, i};
    }
    if (rc != 0)
        return rc;
    qsort(t->by_name, (size_t)t->n_columns, sizeof *t->by_name,
          compare_entries);
    return check_names(t, err);
}

static int no_such_column(const struct table *t, const char *name,
                          struct err *err)
{
    char names[SHOWN_NAMES * (NN_CSV_SHOWN + 8)];
    size_t len = 0;
    int i;

    for (i = 0; i < t->n_columns && i < SHOWN_NAMES; i++)
        len += (size_t)snprintf(names + len, sizeof names - len, "%s'%s'",
                                i > 0 ? ", " : "", t->columns[i].shown);
    return err_set(
        err, ERR_CONFIG, "%s:1: no column is named '%s', the header has %s%s",
        t->path, name, names, t->n_columns > SHOWN_NAMES ? ", ..." : "");
}

static int assign(struct table *t, const char *name, int use, struct err *err)
{
    int low = 0, high = t->n_columns;
    struct column *col;

    while (low < high) {
        int mid = low + (high - low) / 2;

        if (strcmp(t->by_name[mid].name, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    col = low < t->n_columns ? &t->columns[t->by_name[low].column] : NULL;
    if (!col || name[0] == '\0' || strcmp(col->name, name) != 0)
        return no_such_column(t, name, err);
    if (col->use == TARGET)
        return err_set(err, ERR_CONFIG,
                       "%s:1: column '%s' is the target and cannot be a "
                       "feature",
                       t->path, col->shown);
    if (col->use != UNUSED)
        return err_set(err, ERR_CONFIG,
                       "%s:1: column '%s' is listed twice as a feature",
                       t->path, col->shown);
    col->use = use;
    return 0;
}

static int assign_all(struct table *t, struct err *err)
{
    const struct nn_csv_opts *o = t->opts;
    int i, rc;

    rc = assign(t, o->target, TARGET, err);
    for (i = 0; rc == 0 && o->features && i < o->n_features; i++)
        rc = assign(t, o->features[i], t->n_features++, err);
    for (i = 0; rc == 0 && !o->features && i < t->n_columns; i++)
        if (t->columns[i].use == UNUSED)
            t->columns[i].use = t->n_features++;
    if (rc == 0 && t->n_features == 0)
        return err_set(err, ERR_CONFIG,
                       "%s:1: no feature is left beside the target '%s'",
                       t->path, o->target);
    return rc;
}

/* Room for every row that the rest of the file can hold: one a line, and no
 * shorter than its commas and line end. */
static int make_room(struct table *t, struct err *err)
{
    const char *p = t->csv.p, *end = t->csv.end;
    int64_t lines = 1, most = (end - p) / t->n_columns + 1;

    while (p < end && (p = memchr(p, '\n', (size_t)(end - p))) != NULL) {
        lines++;
        p++;
    }
    t->max_n = lines < most ? lines : most;
    t->x =
        mem_grow(NULL, (size_t)t->max_n, (size_t)t->n_features * sizeof *t->x);
    if (t->opts->classes > 0)
        t->label = mem_grow(NULL, (size_t)t->max_n, sizeof *t->label);
    else
        t->target = mem_grow(NULL, (size_t)t->max_n, sizeof *t->target);
    return t->x && (t->label || t->target) ? 0 : out_of_memory(t, err);
}

/* f cannot be stored in col: why, with the place. */
static int bad_field(const struct table *t, const struct column *col,
                     const struct nn_csv_field *f, const char *why,
                     struct err *err)
{
    char buf[NN_CSV_SHOWN + 4];

    if (f->len == 0)
        return err_set(err, ERR_CORRUPT,
                       "%s:%lld: column '%s': the field is empty, a number is "
                       "needed",
                       t->path, (long long)f->line, col->shown);
    return err_set(err, ERR_CORRUPT, "%s:%lld: column '%s': '%s' %s", t->path,
                   (long long)f->line, col->shown, nn_csv_show(buf, f), why);
}

static int store(struct table *t, const struct column *col,
                 const struct nn_csv_field *f, struct err *err)
{
    char buf[NN_CSV_SHOWN + 4];
    double v;

    if (!num_parse(&v, f->text, f->len))
        return bad_field(t, col, f, "is not a finite number", err);
    if (fabs(v) > (double)FLT_MAX)
        return bad_field(t, col, f, "is beyond the range of float32", err);
    if (col->use >= 0) {
        t->x[t->n * t->n_features + col->use] = (float)v;
        return 0;
    }
    if (t->target) {
        t->target[t->n] = (float)v;
        return 0;
    }
    if (!(v >= 0 && v < (double)t->opts->classes && v == floor(v)))
        return err_set(err, ERR_CORRUPT,
                       "%s:%lld: column '%s': %s is not a class index 0..%lld",
                       t->path, (long long)f->line, col->shown,
                       nn_csv_show(buf, f), (long long)(t->opts->classes - 1));
    t->label[t->n] = (int32_t)v;
    return 0;
}

static int read_row(struct table *t, struct err *err)
{
    struct nn_csv_field f = {0};
    int64_t line = t->csv.line, i;
    int rc;

    for (i = 0; !f.last; i++) {
        rc = nn_csv_read(&t->csv, &f, err);
        if (rc != 0)
            return rc;
        if (i >= t->n_columns || t->columns[i].use == UNUSED)
            continue;
        if (f.last && i < t->n_columns - 1)
            continue; /* the number of fields is what is wrong */
        rc = store(t, &t->columns[i], &f, err);
        if (rc != 0)
            return rc;
    }
    if (i != t->n_columns)
        return err_set(err, ERR_CORRUPT,
                       "%s:%lld: %lld field%s, where the header has %d",
                       t->path, (long long)line, (long long)i,
                       i == 1 ? "" : "s", t->n_columns);
    t->n++;
    return 0;
}

static int read_rows(struct table *t, struct err *err)
{
    struct nn_csv *c = &t->csv;
    int rc = make_room(t, err);

    while (rc == 0 && c->p < c->end) {
        int64_t line = c->line;

        if (!nn_csv_skip_empty(c))
            rc = read_row(t, err);
        else if (c->p < c->end)
            rc =
                err_set(err, ERR_CORRUPT, "%s:%lld: an empty line between rows",
                        t->path, (long long)line);
    }
    if (rc == 0 && t->n == 0)
        return err_set(err, ERR_CORRUPT, "%s: no row follows the header",
                       t->path);
    return rc;
}

/* The data set takes over x, label and target. */
static int finish(struct nn_data **out, struct table *t, struct err *err)
{
    struct nn_data *d = mem_zalloc(sizeof *d);

    if (!d)
        return out_of_memory(t, err);
    d->n = t->n;
    d->sample = nn_shape1(t->n_features);
    d->dtype = NN_F32;
    d->x = d->own_x = t->x;
    d->divide = 1.0f;
    d->label = t->label;
    d->target = t->target;
    d->own_y = t->label ? (void *)t->label : (void *)t->target;
    d->target_width = t->target ? 1 : 0;
    d->classes = t->opts->classes;
    t->x = NULL;
    t->label = NULL;
    t->target = NULL;
    *out = d;
    return 0;
}

int nn_data_open_csv(struct nn_data **out, const char *path,
                     const struct nn_csv_opts *opts, struct err *err)
{
    struct table t = {.path = path, .opts = opts};
    int rc;

    *out = NULL;
    if (opts->classes < 0 || opts->classes > INT32_MAX)
        return err_set(err, ERR_CONFIG,
                       "the number of classes must be from 0 (the target is a "
                       "number) to %ld, not %lld",
                       (long)INT32_MAX, (long long)opts->classes);
    rc = nn_csv_open(&t.csv, path, err);
    if (rc == 0)
        rc = read_header(&t, err);
    if (rc == 0)
        rc = assign_all(&t, err);
    if (rc == 0)
        rc = read_rows(&t, err);
    if (rc == 0)
        rc = finish(out, &t, err);
    mem_free(t.x);
    mem_free(t.label);
    mem_free(t.target);
    arena_free(&t.arena);
    nn_csv_close(&t.csv);
    return rc;
}
