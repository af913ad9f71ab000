#include "pipeline/train_curve.h"

#include <math.h>
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/chart.h"

static const char *const column_names[PL_CURVE_COLUMNS] = {
    "step",      "epoch",           "lr",
    "loss",      "validation_loss", "validation_accuracy",
    "test_loss", "test_accuracy",
};

void pl_curve_free(struct pl_curve *c)
{
    mem_free(c->row);
    memset(c, 0, sizeof *c);
}

static int reserve(struct pl_curve *c, size_t n, struct err *err)
{
    size_t cap = c->cap ? c->cap : 1024;
    void *p;

    if (n <= c->cap)
        return 0;
    while (cap < n)
        cap *= 2;
    p = mem_grow(c->row, cap, sizeof *c->row);
    if (!p)
        return err_set(err, ERR_NOMEM, "out of memory for the loss curve");
    c->row = p;
    c->cap = cap;
    return 0;
}

int pl_curve_add(struct pl_curve *c, int64_t step, int64_t epoch, double lr,
                 double loss, struct err *err)
{
    double *r;
    int rc = reserve(c, c->n + 1, err), i;

    if (rc != 0)
        return rc;
    r = c->row[c->n++];
    for (i = 0; i < PL_CURVE_COLUMNS; i++)
        r[i] = NAN;
    r[PL_CURVE_STEP] = (double)step;
    r[PL_CURVE_EPOCH] = (double)epoch;
    r[PL_CURVE_LR] = lr;
    r[PL_CURVE_LOSS] = loss;
    return 0;
}

int pl_curve_restore(struct pl_curve *c, const double *rows, size_t n,
                     struct err *err)
{
    int rc = reserve(c, n, err);

    if (rc != 0)
        return rc;
    if (n)
        memcpy(c->row, rows, n * sizeof *c->row);
    c->n = n;
    return 0;
}

void pl_curve_csv(const struct pl_curve *c, struct str *out)
{
    size_t i;
    int k;

    for (k = 0; k < PL_CURVE_COLUMNS; k++)
        str_addf(out, "%s%s", k ? "," : "", column_names[k]);
    str_addc(out, '\n');
    for (i = 0; i < c->n; i++) {
        for (k = 0; k < PL_CURVE_COLUMNS; k++) {
            double v = c->row[i][k];

            if (k)
                str_addc(out, ',');
            if (isnan(v))
                continue;
            /* Training losses are float32: their shortest text is shorter. */
            if (k == PL_CURVE_LOSS)
                str_add_float(out, (float)v);
            else
                str_add_double(out, v);
        }
        str_addc(out, '\n');
    }
}

/* Points of one column: x in epochs, y scaled; rows without it left out. */
struct points {
    double *x, *y;
    size_t n;
};

static int points_of(const struct pl_curve *c, int column, double scale,
                     int64_t steps_per_epoch, struct points *p, struct err *err)
{
    size_t i;

    p->n = 0;
    p->x = mem_array(c->n + 1, sizeof *p->x);
    p->y = mem_array(c->n + 1, sizeof *p->y);
    if (!p->x || !p->y)
        return err_set(err, ERR_NOMEM, "out of memory for the loss curve");
    for (i = 0; i < c->n; i++) {
        if (isnan(c->row[i][column]))
            continue;
        p->x[p->n] = c->row[i][PL_CURVE_STEP] / (double)steps_per_epoch;
        p->y[p->n++] = c->row[i][column] * scale;
    }
    return 0;
}

/* Every series that the picture may have, in the order of the legend. */
static const struct {
    int column;
    const char *name;
    double scale;
    bool right;
    size_t smooth;
} shown[] = {
    {PL_CURVE_LOSS, "train loss (mean of 25 steps)", 1.0, false, 25},
    {PL_CURVE_VALIDATION_LOSS, "validation loss", 1.0, false, 0},
    {PL_CURVE_TEST_LOSS, "test loss", 1.0, false, 0},
    {PL_CURVE_VALIDATION_ACCURACY, "validation accuracy", 100.0, true, 0},
    {PL_CURVE_TEST_ACCURACY, "test accuracy", 100.0, true, 0},
};
enum { N_SHOWN = sizeof shown / sizeof *shown };

int pl_curve_svg(const struct pl_curve *c, int64_t steps_per_epoch,
                 const char *title, struct str *out, struct err *err)
{
    struct points p[N_SHOWN] = {{0}};
    struct pl_chart_series series[N_SHOWN] = {{0}};
    struct pl_chart chart = {.title = title, .series = series};
    int rc = 0, i;

    chart.x.label = "epoch";
    chart.x.whole = c->n > 2 * (size_t)steps_per_epoch;
    chart.left.label = "loss (log scale)";
    chart.left.log = true; /* what the last epochs gain stays visible */
    for (i = 0; rc == 0 && i < N_SHOWN; i++) {
        struct pl_chart_series *s = &series[chart.n];

        rc = points_of(c, shown[i].column, shown[i].scale, steps_per_epoch,
                       &p[i], err);
        if (rc != 0 || p[i].n == 0)
            continue;
        s->name = shown[i].name;
        s->x = p[i].x;
        s->y = p[i].y;
        s->n = p[i].n;
        s->right = shown[i].right;
        s->smooth = shown[i].smooth;
        if (s->right) {
            chart.right.label = "accuracy (%)";
            chart.right.most = 100.0;
        }
        chart.n++;
    }
    if (rc == 0)
        rc = pl_chart_svg(out, &chart, err);
    for (i = 0; i < N_SHOWN; i++) {
        mem_free(p[i].x);
        mem_free(p[i].y);
    }
    return rc;
}
