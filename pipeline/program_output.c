#include "pipeline/program_output.h"

#include <stdio.h>
#include <string.h>

#include "pipeline/chart.h"
#include "pipeline/prog_table.h"
#include "pipeline/table.h"

enum {
    SAID_ROWS = 30,
    MAX_LINES = 12 /* of a plot */
};

/* ---- before the run ---- */

static struct pl_loc place(const struct pl_node *map, const char *key)
{
    const struct pl_node *node = pl_node_get(map, key);

    return node ? node->loc : map->loc;
}

static void check_name(const char *name, struct pl_loc loc,
                       const struct name_index *names, struct pl_diag *d)
{
    if (!name || name_index_find(names, name) != NAME_NONE)
        return;
    pl_diag_error(d, loc, "there is no value '%s' in the program", name);
    if (names->n > 0)
        pl_diag_suggest(d, name, names->name, names->n);
}

static bool one_line(const char *s)
{
    for (; s && *s; s++)
        if ((unsigned char)*s < ' ')
            return false;
    return true;
}

static void check_columns(const struct pl_list *list, size_t most,
                          struct pl_loc loc, const struct name_index *names,
                          struct pl_diag *d)
{
    const struct pl_program_column *c = list->items;
    size_t i;

    if (list->n < 1 || list->n > most)
        pl_diag_error(d, loc, "1 to %zu values are due here, not %zu", most,
                      list->n);
    for (i = 0; i < list->n; i++) {
        if (!c[i].name)
            continue; /* an error that was told */
        check_name(c[i].name, place(c[i].node, "name"), names, d);
        if (!one_line(c[i].as))
            pl_diag_error(d, place(c[i].node, "as"),
                          "a title is one line of text");
    }
}

static void check_plot(const struct pl_program_plot *p,
                       const struct name_index *names, struct pl_diag *d)
{
    if (strcmp(p->name, "graph") == 0)
        pl_diag_error(d, p->node->loc,
                      "a plot cannot be called 'graph': graph.svg is the "
                      "program's graph");
    check_name(p->x, place(p->node, "x"), names, d);
    if (pl_node_get(p->node, "y"))
        check_columns(&p->y, MAX_LINES, place(p->node, "y"), names, d);
}

void pl_program_output_check(const struct pl_autograd_with *with,
                             const struct prog_program *p, struct pl_diag *d)
{
    const struct pl_program_plot *plot = with->plots.items;
    const struct pl_node *table = pl_node_get(with->node, "table");
    struct name_index names;
    size_t i;

    prog_names(p, &names, d);
    if (table && !table->bad && table->kind == PL_SEQ)
        check_columns(&with->table, TABLE_MAX_COLUMNS, table->loc, &names, d);
    for (i = 0; i < with->plots.n; i++)
        check_plot(&plot[i], &names, d);
    name_index_free(&names);
}

/* ---- after the run ---- */

struct output {
    struct pl_stage_ctx *ctx;
    const struct prog_run *run;
    struct arena arena;
};

static void point_at(struct err *err, struct pl_loc loc)
{
    if (loc.file)
        err_at(err, "%s:%d:%d", loc.file->path, loc.line, loc.col);
}

/* c[0 .. list->n), which fit each other and, where c[-1] is told, that. */
static int read_columns(struct output *o, struct prog_column *c,
                        const struct pl_list *list, struct err *err)
{
    const struct pl_program_column *from = list->items;
    size_t i;

    for (i = 0; i < list->n; i++) {
        if (prog_column_read(&c[i], o->run, from[i].name, &o->arena, err) !=
            0) {
            point_at(err, place(from[i].node, "name"));
            return err->code;
        }
        if (from[i].as)
            c[i].title = from[i].as;
    }
    return 0;
}

static int write_text(struct output *o, const char *name, struct str *s, int rc,
                      struct err *err)
{
    if (rc == 0)
        rc = pl_artifact_write(o->ctx, name, s->text, s->len, err);
    str_free(s);
    return rc;
}

static int say_table(struct output *o, const struct prog_column *c, size_t n,
                     int64_t rows, struct err *err)
{
    struct str s = {0};
    char *line, *rest = NULL;
    int rc = prog_table_add(&s, c, n, rows, false, err);

    for (line = rc == 0 ? strtok_r(s.text, "\n", &rest) : NULL; line;
         line = strtok_r(NULL, "\n", &rest))
        pl_say(o->ctx, "%s", line);
    str_free(&s);
    return rc;
}

static int write_table(struct output *o, const struct pl_list *list,
                       struct err *err)
{
    const struct pl_program_column *from = list->items;
    struct prog_column c[TABLE_MAX_COLUMNS];
    struct str s = {0};
    int64_t rows;
    size_t fit;
    int rc = read_columns(o, c, list, err);

    if (rc != 0)
        return rc;
    fit = prog_columns_fit(c, list->n, &rows, err);
    if (fit == list->n && rows > PROG_TABLE_MAX_ROWS) {
        (void)err_set(err, ERR_SHAPE, "a table has at most %d rows, not %lld",
                      PROG_TABLE_MAX_ROWS, (long long)rows);
        fit = 0;
    }
    if (fit < list->n) {
        point_at(err, place(from[fit].node, "name"));
        return err->code;
    }
    rc = prog_table_add(&s, c, list->n, rows, true, err);
    rc = write_text(o, "table.md", &s, rc, err);
    if (rc == 0) {
        rc = prog_table_csv(&s, c, list->n, rows, err);
        rc = write_text(o, "table.csv", &s, rc, err);
    }
    return rc == 0 && rows <= SAID_ROWS ? say_table(o, c, list->n, rows, err)
                                        : rc;
}

/* The numbers of all rows, of one that repeats too. */
static const double *all_rows(struct output *o, const struct prog_column *c,
                              int64_t rows)
{
    double *v;
    int64_t i;

    if (!c->repeats)
        return c->v;
    v = arena_array(&o->arena, (size_t)rows + 1, sizeof *v);
    for (i = 0; v && i < rows; i++)
        v[i] = c->v[0];
    return v;
}

static int draw(struct output *o, const struct pl_program_plot *p,
                const struct prog_column *c, int64_t rows, struct err *err)
{
    struct pl_chart_series series[MAX_LINES] = {{0}};
    struct pl_chart chart = {.title = p->title ? p->title : p->name,
                             .x = {.label = p->x_label ? p->x_label : p->x},
                             .left = {.label = p->y_label},
                             .series = series,
                             .n = p->y.n,
                             .mark_gaps = true};
    const char *name = arena_printf(&o->arena, "%s.svg", p->name);
    struct str s = {0};
    size_t i;

    for (i = 0; i < p->y.n; i++) {
        series[i].name = c[1 + i].title;
        series[i].x = all_rows(o, &c[0], rows);
        series[i].y = all_rows(o, &c[1 + i], rows);
        series[i].n = (size_t)rows;
        if (!series[i].x || !series[i].y)
            return err_set(err, ERR_NOMEM, "out of memory for a plot");
    }
    if (!name)
        return err_set(err, ERR_NOMEM, "out of memory for a plot");
    return write_text(o, name, &s, pl_chart_svg(&s, &chart, err), err);
}

/* c[0] is x. */
static int write_plot(struct output *o, const struct pl_program_plot *p,
                      struct err *err)
{
    const struct pl_program_column *from = p->y.items;
    struct prog_column c[1 + MAX_LINES];
    int64_t rows;
    size_t fit;
    int rc = prog_column_read(&c[0], o->run, p->x, &o->arena, err);

    if (rc != 0) {
        point_at(err, place(p->node, "x"));
        return rc;
    }
    rc = read_columns(o, &c[1], &p->y, err);
    if (rc != 0)
        return rc;
    fit = prog_columns_fit(c, 1 + p->y.n, &rows, err);
    if (fit <= p->y.n) {
        point_at(err, place(from[fit - 1].node, "name"));
        return err->code;
    }
    return draw(o, p, c, rows, err);
}

int pl_program_output(struct pl_stage_ctx *ctx,
                      const struct pl_autograd_with *with,
                      const struct prog_run *r, struct err *err)
{
    const struct pl_program_plot *plot = with->plots.items;
    struct output o = {.ctx = ctx, .run = r};
    size_t i;
    int rc = with->table.n > 0 ? write_table(&o, &with->table, err) : 0;

    for (i = 0; rc == 0 && i < with->plots.n; i++)
        rc = write_plot(&o, &plot[i], err);
    arena_free(&o.arena);
    return rc;
}
