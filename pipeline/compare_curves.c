/* The show curves of a compare stage: training curves over each other. */
#include <math.h>
#include <string.h>

#include "nn/base/io.h"
#include "pipeline/chart.h"
#include "pipeline/compare.h"
#include "pipeline/compare_text.h"
#include "pipeline/csv_table.h"
#include "pipeline/inputs.h"
#include "pipeline/table_rows.h"
#include "pipeline/train_run.h"

enum { MOST_POINTS = 100 }; /* of a line of training losses */

enum column { STEP, EPOCH, LOSS, VALIDATION, TEST, COLUMNS };
static const char *const columns[COLUMNS] = {
    "step", "epoch", "loss", "validation_accuracy", "test_accuracy"};

/* One stage's curve.csv. */
struct run {
    const struct pl_compare_cell *cell;
    double *v[COLUMNS]; /* n each; NaN: not measured */
    size_t n;
    double steps_per_epoch;
    struct pl_inputs inputs;
    size_t series; /* that it belongs to */
};

/* Runs that differ in their seed alone. */
struct series {
    const char *name;
    size_t runs;
    const struct run *first;
};

struct curves {
    struct pl_stage_ctx *ctx;
    struct arena *arena;
    struct run *run;
    size_t n;
    struct series *series;
    size_t n_series;
};

static int no_memory(struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory comparing curves");
}

/* ---- reading ---- */

static int read_columns(struct run *r, const struct pl_csv *t,
                        struct arena *arena, struct err *err)
{
    size_t k, at;
    int rc = 0;

    for (k = 0; rc == 0 && k < COLUMNS; k++) {
        r->v[k] = arena_array(arena, t->rows + 1, sizeof *r->v[k]);
        if (!r->v[k])
            return no_memory(err);
        rc = pl_csv_find(t, columns[k], &at, err);
        for (r->n = 0; rc == 0 && r->n < t->rows; r->n++)
            rc = pl_csv_number(t, r->n, at, &r->v[k][r->n], err);
    }
    return rc;
}

/* The steps of the first epoch, of which there are as many in each. */
static void find_epoch(struct run *r)
{
    size_t i;

    for (i = 0; i < r->n; i++)
        if (r->v[EPOCH][i] == 1 && r->v[STEP][i] > r->steps_per_epoch)
            r->steps_per_epoch = r->v[STEP][i];
    if (!(r->steps_per_epoch > 0))
        r->steps_per_epoch = 1;
}

static int read_run(struct run *r, struct curves *c,
                    const struct pl_compare_cells *cells, size_t i,
                    struct err *err)
{
    const char *path = pl_compare_path(cells, i, "curve.csv");
    struct pl_csv t;
    int rc;

    if (!path)
        return no_memory(err);
    r->cell = &cells->cell[i];
    if (!io_exists(path))
        return err_set(err, ERR_CONFIG, "'%s' has left no curve.csv",
                       r->cell->id);
    rc = pl_csv_read(&t, path, c->arena, err);
    if (rc == 0)
        rc = read_columns(r, &t, c->arena, err);
    if (rc == 0 && r->n == 0)
        rc = err_set(err, ERR_CONFIG, "the curve of '%s' has no step",
                     r->cell->id);
    if (rc != 0)
        return rc;
    find_epoch(r);
    r->inputs.arena = c->arena;
    return pl_inputs_collect(&r->inputs, r->cell->stage->home, r->cell->stage,
                             err);
}

/* ---- series ---- */

static bool same_but_seed(const struct run *a, const struct run *b)
{
    size_t i;

    if (a->inputs.n != b->inputs.n || a->n != b->n)
        return false;
    for (i = 0; i < a->inputs.n; i++) {
        const struct pl_input *x = &a->inputs.item[i];
        const struct pl_input *y = &b->inputs.item[i];

        if (strcmp(x->key, y->key) != 0 || (strcmp(x->key, "with.seed") != 0 &&
                                            strcmp(x->value, y->value) != 0))
            return false;
    }
    return true;
}

/* "lr=0.1, seed=2" without its seed. */
static void add_without_seed(struct str *out, const char *label)
{
    while (*label) {
        size_t len = strcspn(label, ",");

        if (strncmp(label, "seed=", 5) != 0) {
            str_add(out, out->len ? ", " : "");
            str_addn(out, label, len);
        }
        label += len;
        label += strspn(label, ", ");
    }
}

static int name_series(struct curves *c, struct series *s, struct err *err)
{
    struct str name = {0};

    if (s->runs == 1)
        str_add(&name, s->first->cell->label);
    else
        add_without_seed(&name, s->first->cell->label);
    if (s->runs > 1)
        str_addf(&name, "%s%zu seeds", name.len ? ", " : "", s->runs);
    s->name = name.failed ? NULL : arena_strdup(c->arena, name.text);
    str_free(&name);
    return s->name ? 0 : no_memory(err);
}

static int make_series(struct curves *c, struct err *err)
{
    size_t i, k;
    int rc = 0;

    c->series = arena_array(c->arena, c->n, sizeof *c->series);
    if (!c->series)
        return no_memory(err);
    for (i = 0; i < c->n; i++) {
        for (k = 0; k < c->n_series; k++)
            if (same_but_seed(c->series[k].first, &c->run[i]))
                break;
        if (k == c->n_series)
            c->series[c->n_series++].first = &c->run[i];
        c->series[k].runs++;
        c->run[i].series = k;
    }
    for (k = 0; rc == 0 && k < c->n_series; k++)
        rc = name_series(c, &c->series[k], err);
    return rc;
}

/* ---- figures ---- */

struct spread {
    double mean, sd; /* of a sample; 0 for one */
    size_t n;
};

/* Of the means that the runs of series k have in rows from..to of a column. */
static struct spread spread_of(const struct curves *c, size_t k,
                               enum column column, size_t from, size_t to)
{
    struct spread s = {0};
    double squares = 0;
    size_t i, j, n;

    for (i = 0; i < c->n; i++) {
        const struct run *r = &c->run[i];
        double sum = 0, step;

        for (n = 0, j = from; r->series == k && j < to && j < r->n; j++)
            if (!isnan(r->v[column][j])) {
                sum += r->v[column][j];
                n++;
            }
        if (n == 0)
            continue;
        step = sum / (double)n - s.mean; /* after Welford, 1962 */
        s.n++;
        s.mean += step / (double)s.n;
        squares += step * (sum / (double)n - s.mean);
    }
    s.sd = s.n > 1 ? sqrt(squares / (double)(s.n - 1)) : 0;
    if (s.n == 0)
        s.mean = NAN;
    return s;
}

/* The last row in which any run of a series was measured; n: none was. */
static size_t last_row(const struct curves *c, size_t k, enum column column)
{
    const struct run *r = c->series[k].first;
    size_t i = r->n;

    while (i > 0)
        if (!isnan(r->v[column][--i]))
            return i;
    return r->n;
}

/* At the end: a measured column's last value; of the training loss the mean
 * over the last epoch. */
static struct spread at_end(const struct curves *c, size_t k,
                            enum column column)
{
    const struct run *r = c->series[k].first;
    size_t at = last_row(c, k, column), first = at;

    while (column == LOSS && first > 0 &&
           r->v[EPOCH][first - 1] == r->v[EPOCH][at])
        first--;
    return spread_of(c, k, column, first, at + 1);
}

/* ---- pictures ---- */

struct line {
    double *x, *y, *low, *high;
    size_t n;
};

/* Points of a column: rows of an accuracy, which are few, or means over
 * windows of the training loss. */
static bool fill_line(const struct curves *c, size_t k, enum column column,
                      double scale, struct line *l)
{
    const struct run *r = c->series[k].first;
    size_t window = column == LOSS ? (r->n - 1) / MOST_POINTS + 1 : 1, i;
    double *all = arena_array(c->arena, 4 * (r->n + 1), sizeof *all);

    if (!all)
        return false;
    *l = (struct line){all, all + r->n + 1, all + 2 * (r->n + 1),
                       all + 3 * (r->n + 1), 0};
    for (i = 0; i < r->n; i += window) {
        size_t to = i + window < r->n ? i + window : r->n;
        struct spread s = spread_of(c, k, column, i, to);

        if (s.n == 0)
            continue;
        l->x[l->n] = r->v[STEP][to - 1] / r->steps_per_epoch;
        l->y[l->n] = scale * s.mean;
        l->low[l->n] = scale * (s.mean - s.sd);
        l->high[l->n] = scale * (s.mean + s.sd);
        if (column != LOSS) /* no run is better than that */
            l->high[l->n] = fmin(l->high[l->n], scale);
        l->n++;
    }
    return true;
}

static int draw(struct curves *c, const char *file, struct pl_chart *chart,
                enum column column, double scale, struct err *err)
{
    struct pl_chart_series *series =
        arena_array(c->arena, c->n_series, sizeof *series);
    struct str svg = {0};
    size_t k;
    int rc;

    if (!series)
        return no_memory(err);
    for (k = 0; k < c->n_series; k++) {
        struct line l;

        if (!fill_line(c, k, column, scale, &l))
            return no_memory(err);
        if (l.n == 0)
            continue;
        series[chart->n++] = (struct pl_chart_series){
            .name = c->series[k].name, .x = l.x, .y = l.y, .n = l.n};
        if (c->series[k].runs > 1) {
            series[chart->n - 1].low = l.low;
            series[chart->n - 1].high = l.high;
        }
    }
    chart->x.label = "epoch";
    chart->series = series;
    rc = chart->n > 0 ? pl_chart_svg(&svg, chart, err) : 0;
    if (rc == 0 && chart->n > 0)
        rc = pl_artifact_write(c->ctx, file, svg.text, svg.len, err);
    str_free(&svg);
    return rc;
}

/* Where any run was measured on a test set that counts, else validation. */
static enum column accuracy_of(const struct curves *c)
{
    size_t k;

    for (k = 0; k < c->n_series; k++)
        if (last_row(c, k, TEST) < c->series[k].first->n)
            return TEST;
    return VALIDATION;
}

static int draw_all(struct curves *c, const char *about, struct err *err)
{
    enum column accuracy = accuracy_of(c);
    const char *set = accuracy == TEST ? "Test" : "Validation";
    const char *bands =
        c->n > c->n_series ? "; bands: ± standard deviation over seeds" : "";
    struct pl_chart chart = {
        .left = {.label = "loss (log scale)", .log = true}};
    int rc;

    chart.title = arena_printf(c->arena, "Training loss: %s%s", about, bands);
    if (!chart.title)
        return no_memory(err);
    rc = draw(c, "curves_loss.svg", &chart, LOSS, 1, err);
    chart = (struct pl_chart){.left = {.label = "accuracy (%)", .most = 100}};
    chart.title =
        arena_printf(c->arena, "%s accuracy: %s%s", set, about, bands);
    if (rc == 0 && !chart.title)
        return no_memory(err);
    return rc == 0 ? draw(c, "curves_accuracy.svg", &chart, accuracy, 100, err)
                   : rc;
}

/* ---- table and metrics ---- */

static void add_spread(struct pl_rows *rows, struct spread s, double scale)
{
    struct str text = {0};

    if (s.n > 0)
        str_addf(&text, "%.4g", scale * s.mean);
    if (s.n > 1)
        str_addf(&text, " ± %.2g", scale * s.sd);
    rows->failed = rows->failed || text.failed;
    pl_rows_add(rows, "%s", text.text ? text.text : "");
    str_free(&text);
}

static int write_table(struct curves *c, const char *about, struct err *err)
{
    static const char *const head[] = {"run",
                                       "n",
                                       "epochs",
                                       "training loss",
                                       "validation accuracy, %",
                                       "test accuracy, %",
                                       NULL};
    struct pl_rows rows = {.arena = c->arena};
    struct str md = {0};
    size_t k;
    int rc;

    str_addf(&md,
             "# Curves compared: %s\n\nAt the end of each run; the training "
             "loss is the mean over the last epoch. Runs that differ in their "
             "seed alone stand together: mean ± standard deviation of n "
             "runs.\n\n",
             about);
    for (k = 0; k < c->n_series; k++) {
        const struct run *r = c->series[k].first;

        pl_rows_add(&rows, "%s", c->series[k].name);
        pl_rows_add(&rows, "%zu", c->series[k].runs);
        pl_rows_add(&rows, "%.0f", r->v[EPOCH][r->n - 1]);
        add_spread(&rows, at_end(c, k, LOSS), 1);
        add_spread(&rows, at_end(c, k, VALIDATION), 100);
        add_spread(&rows, at_end(c, k, TEST), 100);
    }
    pl_rows_write(&rows, &md, head, "lrrrrr");
    str_add(&md, "\n![Training loss](curves_loss.svg)\n");
    if (last_row(c, 0, accuracy_of(c)) < c->series[0].first->n)
        str_add(&md, "\n![Accuracy](curves_accuracy.svg)\n");
    rc = md.failed
             ? no_memory(err)
             : pl_artifact_write(c->ctx, "curves.md", md.text, md.len, err);
    str_free(&md);
    return rc;
}

/* The lowest and highest of the series' ends, and the largest deviation. */
static void give_metrics(const struct curves *c, enum column column,
                         const char *const names[3])
{
    double lo = INFINITY, hi = -INFINITY, sd = -1;
    size_t k;

    for (k = 0; k < c->n_series; k++) {
        struct spread s = at_end(c, k, column);

        if (s.n == 0)
            continue;
        lo = fmin(lo, s.mean);
        hi = fmax(hi, s.mean);
        sd = s.n > 1 ? fmax(sd, s.sd) : sd;
    }
    if (lo > hi)
        return;
    pl_metric(c->ctx, names[0], lo);
    pl_metric(c->ctx, names[1], hi);
    if (sd >= 0)
        pl_metric(c->ctx, names[2], sd);
}

static const char *about_of(struct curves *c)
{
    const struct pl_compare_with *w = c->ctx->stage->with;
    const char *const *from = w->from.items;
    const char *about = c->ctx->config->name;
    size_t i;

    for (i = 0; about && i < w->from.n; i++)
        about = arena_printf(c->arena, "%s, %s", about, from[i]);
    return about;
}

static int report(struct curves *c, struct err *err)
{
    static const char *const names[][3] = {
        {"train.loss.least", "train.loss.most", "train.loss.sd"},
        {"validation.accuracy.least", "validation.accuracy.most",
         "validation.accuracy.sd"},
        {"test.accuracy.least", "test.accuracy.most", "test.accuracy.sd"}};
    const char *about = about_of(c);
    int rc = about ? draw_all(c, about, err) : no_memory(err);

    if (rc == 0)
        rc = write_table(c, about, err);
    if (rc != 0)
        return rc;
    pl_metric(c->ctx, "runs", (double)c->n);
    pl_metric(c->ctx, "series", (double)c->n_series);
    give_metrics(c, LOSS, names[0]);
    give_metrics(c, VALIDATION, names[1]);
    give_metrics(c, TEST, names[2]);
    pl_say(c->ctx, "curves of %zu runs in %zu series", c->n, c->n_series);
    return 0;
}

int pl_compare_curves(struct pl_stage_ctx *ctx,
                      const struct pl_compare_cells *cells, struct err *err)
{
    const struct pl_compare_with *w = ctx->stage->with;
    struct curves c = {.ctx = ctx, .arena = cells->arena, .n = cells->n};
    size_t i;
    int rc = 0;

    c.run = arena_array(c.arena, c.n, sizeof *c.run);
    if (!c.run)
        rc = no_memory(err);
    for (i = 0; rc == 0 && i < c.n; i++)
        rc = read_run(&c.run[i], &c, cells, i, err);
    if (rc == 0)
        rc = make_series(&c, err);
    if (rc == 0)
        rc = report(&c, err);
    if (rc == ERR_CONFIG)
        pl_err_at_node(err, pl_node_get(w->node, "from"));
    return rc;
}
