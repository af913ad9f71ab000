/* memory.md and memory_compared.csv. */
#include <inttypes.h>
#include <math.h>

#include "pipeline/compare_memory.h"
#include "pipeline/compare_text.h"
#include "pipeline/number.h"
#include "pipeline/profile_traced.h"
#include "pipeline/table_rows.h"

/* In the order of the page's areas, from the bottom up. */
static const enum nn_memory_kind order[] = {
    NN_MEMORY_PARAMETER, NN_MEMORY_BUFFER,     NN_MEMORY_OPTIMIZER,
    NN_MEMORY_GRADIENT,  NN_MEMORY_ACTIVATION, NN_MEMORY_INPUT,
    NN_MEMORY_TEMPORARY,
};
enum { KINDS = sizeof order / sizeof *order };

struct md {
    const struct pl_memories *all;
    struct str *out;
    struct pl_rows rows;
};

/* The bytes that a table is about. */
typedef int64_t figure_fn(const struct pl_memory_figures *f,
                          enum nn_memory_kind k);

static int64_t at_peak(const struct pl_memory_figures *f, enum nn_memory_kind k)
{
    return f->sums.live[k];
}

static int64_t in_steady(const struct pl_memory_figures *f,
                         enum nn_memory_kind k)
{
    return f->steady[k];
}

static int64_t when_over(const struct pl_memory_figures *f,
                         enum nn_memory_kind k)
{
    return f->kept[k];
}

static void add_bytes(struct md *m, int64_t bytes, bool difference)
{
    struct str s = {0};

    str_add(&s, difference && bytes > 0 ? "+" : "");
    pl_add_number(&s, (double)bytes, 0, true);
    pl_rows_add(&m->rows, "%s", s.text ? s.text : "");
    m->rows.failed = m->rows.failed || s.failed;
    str_free(&s);
}

/* A label, which is one line, in a table: what ends a cell is escaped. */
static void add_label(struct md *m, const char *label, const char *before)
{
    struct str s = {0};

    str_add(&s, before);
    for (; *label; label++) {
        str_add(&s, *label == '|' ? "\\" : "");
        str_addc(&s, *label);
    }
    pl_rows_add(&m->rows, "%s", s.text ? s.text : "");
    m->rows.failed = m->rows.failed || s.failed;
    str_free(&s);
}

/* The rows so far, whose first are the heads of columns, as a table. */
static void write_rows(struct md *m, size_t columns)
{
    const char *head[2 * PL_COMPARED_RUNS + 1] = {NULL};
    char right[2 * PL_COMPARED_RUNS + 1] = "";
    size_t i;

    if (m->rows.failed || m->rows.n < columns) {
        m->out->failed = true;
        return;
    }
    for (i = 0; i < columns; i++) {
        head[i] = m->rows.cell[i];
        right[i] = i ? 'r' : 'l';
    }
    m->rows.cell += columns;
    m->rows.n -= columns;
    m->rows.cap -= columns;
    pl_rows_write(&m->rows, m->out, head, right);
}

/* A row a kind, a column a run and, behind the first, its difference. */
static void add_kinds(struct md *m, const char *title, figure_fn *figure)
{
    const struct pl_memories *all = m->all;
    size_t i, k, columns = 2 * all->n;
    int64_t sum;

    str_addf(m->out, "\n### %s\n\n", title);
    pl_rows_add(&m->rows, "bytes");
    for (i = 0; i < all->n; i++)
        add_label(m, all->run[i].label, "");
    for (i = 1; i < all->n; i++)
        add_label(m, all->run[i].label, "difference, ");
    for (k = 0; k < KINDS; k++) {
        pl_rows_add(&m->rows, "%s", nn_memory_kind_name(order[k]));
        for (i = 0; i < all->n; i++)
            add_bytes(m, figure(&all->run[i], order[k]), false);
        for (i = 1; i < all->n; i++)
            add_bytes(m,
                      figure(&all->run[i], order[k]) -
                          figure(&all->run[0], order[k]),
                      true);
    }
    if (figure != in_steady) { /* the most of each kind is at no one time */
        pl_rows_add(&m->rows, "**sum**");
        for (i = 0; i < columns - 1; i++) {
            size_t run = i < all->n ? i : i - all->n + 1;

            for (sum = 0, k = 0; k < KINDS; k++)
                sum += figure(&all->run[run], order[k]) -
                       (i < all->n ? 0 : figure(&all->run[0], order[k]));
            add_bytes(m, sum, i >= all->n);
        }
    }
    write_rows(m, columns);
}

static void add_multiple(struct md *m, const struct pl_memory_figures *f,
                         enum nn_memory_kind k)
{
    struct str s = {0};
    double v = pl_memory_multiple(f, k);

    if (v == floor(v))
        pl_add_number(&s, v, 0, true);
    else
        pl_add_digits(&s, v, 6);
    str_add(&s, v > 0 ? " P" : "");
    pl_rows_add(&m->rows, "%s", s.text ? s.text : "");
    m->rows.failed = m->rows.failed || s.failed;
    str_free(&s);
}

static void add_ratios(struct md *m)
{
    static const char *const heads[] = {
        "run",   "optimizer",       "P",    "bytes of P", "gradients",
        "state", "by its formulas", "holds"};
    size_t i;

    str_add(m->out, "\n## Parameters : gradients : optimizer state\n\n");
    for (i = 0; i < sizeof heads / sizeof *heads; i++)
        pl_rows_add(&m->rows, "%s", heads[i]);
    for (i = 0; i < m->all->n; i++) {
        const struct pl_memory_figures *f = &m->all->run[i];

        add_label(m, f->label, "");
        pl_rows_add(&m->rows, "%s", f->optimizer);
        add_bytes(m, f->parameters, false);
        add_bytes(m, f->steady[NN_MEMORY_PARAMETER], false);
        add_multiple(m, f, NN_MEMORY_GRADIENT);
        add_multiple(m, f, NN_MEMORY_OPTIMIZER);
        if (f->blocks < 0)
            pl_rows_add(&m->rows, "unknown");
        else if (f->blocks == 0)
            pl_rows_add(&m->rows, "P : P : 0");
        else
            pl_rows_add(&m->rows, f->blocks == 1 ? "P : P : P" : "P : P : %d P",
                        f->blocks);
        pl_rows_add(&m->rows, "%s",
                    pl_memory_holds(f) ? "yes, to the byte" : "**no**");
    }
    write_rows(m, sizeof heads / sizeof *heads);
}

static void add_peaks(struct md *m)
{
    static const char *const heads[] = {
        "run",   "peak of the run",       "step",
        "phase", "peak of the last step", "live when it is over"};
    size_t i;

    str_add(m->out, "\n## Peaks\n\n");
    for (i = 0; i < sizeof heads / sizeof *heads; i++)
        pl_rows_add(&m->rows, "%s", heads[i]);
    for (i = 0; i < m->all->n; i++) {
        const struct pl_memory_figures *f = &m->all->run[i];
        const struct nn_step_memory *r = f->file.memory;
        const struct nn_memory_event *e =
            r->n_event ? &r->event[f->sums.peak_event] : NULL;

        add_label(m, f->label, "");
        add_bytes(m, f->sums.peak, false);
        if (e && e->step >= 0)
            pl_rows_add(&m->rows, "%d", e->step);
        else
            pl_rows_add(&m->rows, "before");
        pl_rows_add(&m->rows, "%s", e ? nn_phase_name(e->phase) : "");
        add_bytes(m, f->steady_peak, false);
        add_bytes(m, f->sums.last, false);
    }
    write_rows(m, sizeof heads / sizeof *heads);
}

void pl_memories_md(struct str *out, const struct pl_memories *all,
                    struct arena *arena)
{
    struct md m = {.all = all, .out = out, .rows = {.arena = arena}};

    str_addf(out, "# Memory: %s\n\n", all->about);
    if (all->simulated)
        str_add(out, "**" PL_MEMORY_SIMULATED ".**\n\n");
    str_add(out, "Bytes are those of the tensors' numbers in rows, without "
                 "padding and what a backend\nholds in reserve. [memory.html]"
                 "(memory.html) shows every tensor.\n\n"
                 "![memory of each run](memory.svg)\n\n"
                 "## Bytes by category\n");
    add_kinds(&m, "In steady state: the most of each in the last step",
              in_steady);
    add_kinds(&m, "At the peak of the run", at_peak);
    add_kinds(&m, "Between two steps: live when the last one is over",
              when_over);
    add_ratios(&m);
    add_peaks(&m);
    str_add(out, "\n## What the figures say\n\n");
}

void pl_memories_csv(struct str *out, const struct pl_memories *all)
{
    size_t i, k;

    str_add(out, "run,optimizer,category,steady_bytes,peak_bytes,kept_bytes,"
                 "difference_bytes,multiple_of_parameters,tensors\n");
    for (i = 0; i < all->n; i++)
        for (k = 0; k < KINDS; k++) {
            const struct pl_memory_figures *f = &all->run[i];
            double multiple = pl_memory_multiple(f, order[k]);

            pl_traced_csv_text(out, f->label);
            str_addf(out,
                     ",%s,%s,%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",",
                     f->optimizer, nn_memory_kind_name(order[k]),
                     f->steady[order[k]], f->sums.live[order[k]],
                     f->kept[order[k]], pl_memory_difference(all, i, order[k]));
            if (isfinite(multiple))
                str_addf(out, "%.9g", multiple);
            str_addf(out, ",%zu\n", f->life[order[k]].tensors);
        }
}
