/* Two traces side by side: what takes how long in each. */
#include <stdlib.h>
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/json_file.h"
#include "pipeline/name_index.h"
#include "pipeline/table.h"
#include "pipeline/trace_summary.h"

/* A name with its time in each: ns a step where both have steps, else all of
 * it; less than 0: not there. */
struct row {
    const char *name;
    double a, b;
};

struct rows {
    struct row *row;
    size_t n;
};

static double self_of(const struct trace_summary *s, const struct trace_stat *x,
                      bool per_step)
{
    return (double)x->self / (per_step ? (double)s->steps.n : 1);
}

static double longer(const struct row *x)
{
    return x->a > x->b ? x->a : x->b;
}

static int by_longer(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    if (longer(x) < longer(y) || longer(x) > longer(y))
        return longer(x) > longer(y) ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool per_step(const struct trace_summary *a,
                     const struct trace_summary *b)
{
    return a->steps.n > 0 && b->steps.n > 0;
}

static bool fill(struct rows *r, struct name_index *names,
                 const struct trace_summary *a, const struct trace_summary *b,
                 enum trace_group g)
{
    bool each = per_step(a, b);
    size_t i, at;

    for (i = 0; i < a->top[g].n; i++) {
        const struct trace_stat *x = &a->top[g].row[i];

        if (!name_index_add(names, x->name))
            return false;
        r->row[r->n].name = x->name;
        r->row[r->n].a = self_of(a, x, each);
        r->row[r->n++].b = -1;
    }
    for (i = 0; i < b->top[g].n; i++) {
        const struct trace_stat *x = &b->top[g].row[i];

        at = name_index_find(names, x->name);
        if (at == NAME_NONE) {
            at = r->n++;
            r->row[at].name = x->name;
            r->row[at].a = -1;
        }
        r->row[at].b = self_of(b, x, each);
    }
    return true;
}

/* r->row is the caller's (mem_free). */
static int make_rows(struct rows *r, const struct trace_summary *a,
                     const struct trace_summary *b, enum trace_group g,
                     struct err *err)
{
    struct name_index names = {0};
    bool ok;

    r->n = 0;
    r->row = mem_array(a->top[g].n + b->top[g].n + 1, sizeof *r->row);
    ok = r->row && fill(r, &names, a, b, g);
    name_index_free(&names);
    if (!ok) {
        mem_free(r->row);
        return err_set(err, ERR_NOMEM, "out of memory comparing traces");
    }
    qsort(r->row, r->n, sizeof *r->row, by_longer);
    return 0;
}

static const char *time_cell(struct trace_summary *s, double ns)
{
    return ns < 0 ? "-" : trace_number(s, ns / 1e3, 3);
}

static const char *ratio_cell(struct trace_summary *s, double a, double b)
{
    return a > 0 && b >= 0 ? trace_printf(s, "%.2f", b / a) : "-";
}

static void row_text(const char **c, struct trace_summary *s, const char *name,
                     double a, double b)
{
    c[0] = trace_shown(s, name);
    c[1] = time_cell(s, a);
    c[2] = time_cell(s, b);
    c[3] = ratio_cell(s, a, b);
}

static void add_table(struct str *out, const char *const *cell, size_t rows,
                      bool each)
{
    const char *const head[] = {"name", each ? "A us/step" : "A us",
                                each ? "B us/step" : "B us", "B/A"};
    struct pl_table t = {.head = head,
                         .right = "lrrr",
                         .cell = cell,
                         .columns = 4,
                         .rows = rows};

    pl_table_add(out, &t, false);
}

static void add_rows(struct str *out, struct trace_summary *a,
                     const struct rows *r, enum trace_group g, bool each)
{
    const char *cell[TRACE_TOP * 4];
    size_t n = r->n < TRACE_TOP ? r->n : TRACE_TOP, i;

    if (n == 0)
        return;
    for (i = 0; i < n; i++)
        row_text(cell + 4 * i, a, r->row[i].name, r->row[i].a, r->row[i].b);
    str_addf(out, "\n%s (self time)\n", trace_group_name[g]);
    add_table(out, cell, n, each);
    if (r->n > n)
        str_addf(out, "and %zu more names\n", r->n - n);
}

static double busy(const struct trace_summary *s)
{
    double sum = 0;
    size_t i;

    for (i = 0; i < s->n_gpus; i++)
        sum += (double)s->gpu[i].busy;
    return s->n_gpus == 0 ? -1 : s->steps.n ? sum / (double)s->steps.n : sum;
}

static void add_whole(struct str *out, struct trace_summary *a,
                      struct trace_summary *b)
{
    bool each = per_step(a, b);
    const char *cell[8];
    size_t rows = 0;

    str_addf(out, "A: %s%s, %zu steps\n", a->t->path,
             a->t->simulated ? " (SIMULATED)" : "", a->steps.n);
    str_addf(out, "B: %s%s, %zu steps\n\n", b->t->path,
             b->t->simulated ? " (SIMULATED)" : "", b->steps.n);
    if (each)
        row_text(cell + 4 * rows++, a, "step", trace_step_mean(a),
                 trace_step_mean(b));
    else
        row_text(cell + 4 * rows++, a, "trace", (double)(a->to - a->from),
                 (double)(b->to - b->from));
    if ((a->n_gpus || b->n_gpus) && each)
        row_text(cell + 4 * rows++, a, "GPU busy", busy(a), busy(b));
    add_table(out, cell, rows, each);
}

int trace_compare_text(struct str *out, struct trace_summary *a,
                       struct trace_summary *b, struct err *err)
{
    size_t g;

    add_whole(out, a, b);
    for (g = 0; g < TRACE_GROUPS; g++) {
        struct rows r;

        if (make_rows(&r, a, b, (enum trace_group)g, err) != 0)
            return ERR_NOMEM;
        add_rows(out, a, &r, (enum trace_group)g, per_step(a, b));
        mem_free(r.row);
    }
    out->failed = out->failed || a->failed;
    return 0;
}

static void add_us(struct str *out, const char *key, double ns)
{
    pl_json_add_text(out, key);
    str_add(out, ": ");
    if (ns < 0)
        str_add(out, "null");
    else
        str_add_double(out, ns / 1e3);
}

static void add_pair(struct str *out, double a, double b)
{
    add_us(out, "a_us", a);
    str_add(out, ", ");
    add_us(out, "b_us", b);
    str_add(out, ", \"ratio\": ");
    if (a > 0 && b >= 0)
        str_add_double(out, b / a);
    else
        str_add(out, "null");
}

int trace_compare_json(struct str *out, struct trace_summary *a,
                       struct trace_summary *b, struct err *err)
{
    static const char *const key[TRACE_GROUPS] = {
        [GROUP_PHASES] = "phases", [GROUP_OPS] = "operators",
        [GROUP_GPU] = "kernels",   [GROUP_CALLS] = "calls",
        [GROUP_OTHER] = "other",
    };
    struct rows r;
    size_t g, i;

    str_add(out, "{\"a\": ");
    pl_json_add_text(out, a->t->path);
    str_add(out, ",\n\"b\": ");
    pl_json_add_text(out, b->t->path);
    str_addf(out, ",\n\"per_step\": %s,\n\"step\": {",
             per_step(a, b) ? "true" : "false");
    add_pair(out, a->steps.n ? trace_step_mean(a) : -1,
             b->steps.n ? trace_step_mean(b) : -1);
    str_add(out, "}");
    for (g = 0; g < TRACE_GROUPS; g++) {
        if (make_rows(&r, a, b, (enum trace_group)g, err) != 0)
            return ERR_NOMEM;
        str_addf(out, ",\n\"%s\": [", key[g]);
        for (i = 0; i < r.n; i++) {
            str_add(out, i ? ",\n  {\"name\": " : "\n  {\"name\": ");
            pl_json_add_text(out, r.row[i].name);
            str_add(out, ", ");
            add_pair(out, r.row[i].a, r.row[i].b);
            str_addc(out, '}');
        }
        str_addc(out, ']');
        mem_free(r.row);
    }
    str_add(out, "}\n");
    return 0;
}
