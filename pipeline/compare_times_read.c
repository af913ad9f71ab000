/* Step times from the files of profile stages. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/compare_times.h"
#include "pipeline/csv_table.h"
#include "pipeline/device_settings.h"
#include "pipeline/metrics.h"
#include "pipeline/profile.h"
#include "pipeline/scalar.h"
#include "pipeline/train_run.h" /* pl_err_at_node */

/* ---- step_times.csv ---- */

/* The row that sums up the timed steps. */
static int find_sum(const struct pl_csv *t, size_t *row, struct err *err)
{
    size_t what, i;
    int rc = pl_csv_find(t, "what", &what, err);

    for (i = 0; rc == 0 && i < t->rows; i++)
        if (strcmp(pl_csv_text(t, i, what), "all timed") == 0) {
            *row = i;
            return 0;
        }
    return rc ? rc
              : err_set(err, ERR_CORRUPT, "%s has no row 'all timed'", t->path);
}

static int number(const struct pl_csv *t, size_t row, const char *column,
                  double *out, struct err *err)
{
    size_t at;
    int rc = pl_csv_find(t, column, &at, err);

    return rc == 0 ? pl_csv_number(t, row, at, out, err) : rc;
}

static int text(const struct pl_csv *t, size_t row, const char *column,
                const char **out, struct err *err)
{
    size_t at;
    int rc = pl_csv_find(t, column, &at, err);

    if (rc == 0)
        *out = pl_csv_text(t, row, at);
    return rc;
}

static int read_step_times(struct pl_timed *p,
                           const struct pl_compare_cells *cells, size_t i,
                           struct err *err)
{
    const struct {
        const char *name;
        double *to;
    } numbers[] = {
        {"median_ms", &p->median_ms},    {"p10_ms", &p->p10_ms},
        {"p90_ms", &p->p90_ms},          {"samples_per_s", &p->samples_per_s},
        {"traced_last_ms", &p->last_ms}, {"traced_ratio", &p->last_ratio},
    };
    const struct {
        const char *name, **to;
    } texts[] = {
        {"flag", &p->flag},     {"method", &p->method},
        {"data", &p->data},     {"execution", &p->execution},
        {"fusion", &p->fusion}, {"numerics", &p->numerics},
        {"device", &p->device},
    };
    const char *path = pl_compare_path(cells, i, "step_times.csv");
    struct pl_csv t;
    size_t k, row = 0;
    int rc;

    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory comparing times");
    rc = pl_csv_read(&t, path, cells->arena, err);
    if (rc == 0)
        rc = find_sum(&t, &row, err);
    for (k = 0; rc == 0 && k < sizeof numbers / sizeof *numbers; k++)
        rc = number(&t, row, numbers[k].name, numbers[k].to, err);
    for (k = 0; rc == 0 && k < sizeof texts / sizeof *texts; k++)
        rc = text(&t, row, texts[k].name, texts[k].to, err);
    if (rc == 0 && !(p->median_ms > 0 && p->p10_ms > 0 && p->p90_ms > 0))
        rc = err_set(err, ERR_CORRUPT, "%s has no times above 0", path);
    return rc;
}

/* ---- metrics.json ---- */

static void take(const struct pl_metrics *m, const char *name, double *out)
{
    const double *v = pl_metrics_get(m, name);

    *out = v ? *v : NAN;
}

static int read_metrics(struct pl_timed *p, double *sms,
                        const struct pl_compare_cells *cells, size_t i,
                        struct err *err)
{
    const char *path = pl_compare_path(cells, i, "metrics.json");
    struct pl_metrics m = {0};
    char name[64], *blank;
    int rc, k;

    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory comparing times");
    rc = pl_metrics_read(&m, path, err);
    if (rc == 0) {
        take(&m, "gpu.busy", &p->busy);
        take(&m, "gpu.kernels", &p->kernels);
        take(&m, "gpu.launches", &p->launches);
        take(&m, "gpu.h2d_bytes", &p->h2d_bytes);
        take(&m, "gpu.h2d_us", &p->h2d_us);
        take(&m, "gpu.sync_wait_us", &p->sync_us);
        take(&m, "gpu.peak_gflops", &p->peak_gflops);
        take(&m, "gpu.sms", sms);
        take(&m, "traced.steps", &p->steps);
    }
    for (k = NN_PHASE_H2D; rc == 0 && k < NN_PHASE_COUNT; k++) {
        (void)snprintf(name, sizeof name, "traced.share.%s",
                       nn_phase_name((enum nn_phase)k));
        blank = strchr(name, ' ');
        if (blank)
            *blank = '_';
        take(&m, name, &p->share[k]);
    }
    pl_metrics_clear(&m);
    return rc;
}

/* ---- kernels.csv and ops.csv ---- */

/* x * y * z of "4x8x1"; NaN: no such text. */
static double product(const char *dims)
{
    double p = 1;
    char *end;

    while (*dims) {
        p *= strtod(dims, &end);
        if (end == dims || (*end && *end != 'x'))
            return NAN;
        dims = end + (*end == 'x');
    }
    return p;
}

/* Blocks of a kernel, the mean over the kernels by their time; and how much of
 * all time is the optimizer's. */
struct kernel_sums {
    double blocks, kernel_us, optimizer_us, us;
};

static int add_kernel(struct kernel_sums *sum, const struct pl_csv *t,
                      size_t row, struct err *err)
{
    const char *grid = "", *phase = "";
    double us = NAN, n;
    int rc = text(t, row, "grid", &grid, err);

    if (rc == 0)
        rc = text(t, row, "phase", &phase, err);
    if (rc == 0)
        rc = number(t, row, "total_us", &us, err);
    if (rc != 0 || !(us > 0))
        return rc;
    sum->us += us;
    if (strcmp(phase, nn_phase_name(NN_PHASE_OPTIMIZER)) == 0)
        sum->optimizer_us += us;
    n = *grid ? product(grid) : NAN;
    if (isfinite(n)) {
        sum->blocks += us * n;
        sum->kernel_us += us;
    }
    return 0;
}

static int read_kernels(struct pl_timed *p,
                        const struct pl_compare_cells *cells, size_t i,
                        struct err *err)
{
    const char *path = pl_compare_path(cells, i, "kernels.csv");
    struct kernel_sums sum = {0};
    struct pl_csv t;
    size_t row;
    int rc;

    p->blocks = p->optimizer = NAN;
    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory comparing times");
    if (!io_exists(path))
        return 0;
    rc = pl_csv_read(&t, path, cells->arena, err);
    for (row = 0; rc == 0 && row < t.rows; row++)
        rc = add_kernel(&sum, &t, row, err);
    if (rc == 0 && sum.kernel_us > 0)
        p->blocks = sum.blocks / sum.kernel_us;
    if (rc == 0 && sum.us > 0)
        p->optimizer = sum.optimizer_us / sum.us;
    return rc;
}

/* The host's time in the operators of a step, by which it gives a device its
 * work. On the CPU that is the work itself, and no figure of its own. */
static int read_host_us(struct pl_timed *p,
                        const struct pl_compare_cells *cells, size_t i,
                        struct err *err)
{
    const char *path = pl_compare_path(cells, i, "ops.csv");
    double sum = 0, us;
    struct pl_csv t;
    size_t row;
    int rc;

    p->host_us = NAN;
    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory comparing times");
    if (isnan(p->busy) || !(p->steps > 0) || !io_exists(path))
        return 0;
    rc = pl_csv_read(&t, path, cells->arena, err);
    for (row = 0; rc == 0 && row < t.rows; row++) {
        rc = number(&t, row, "total_us", &us, err);
        sum += rc == 0 && isfinite(us) ? us : 0;
    }
    if (rc == 0)
        p->host_us = sum / p->steps;
    return rc;
}

/* ---- the step's operators ---- */

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Whether two profiles take the very same step, on whatever device. */
static bool same_step(const struct pl_stage *a, const struct pl_stage *b)
{
    const struct pl_profile_with *p = a->with, *q = b->with;

    return a->home == b->home && same_text(p->dataset, q->dataset) &&
           same_text(p->model, q->model) && p->loss == q->loss &&
           same_text(p->own_loss, q->own_loss) &&
           p->batch_size == q->batch_size && p->fusion == q->fusion &&
           p->data == q->data && p->optimizer.type == q->optimizer.type &&
           p->optimizer.momentum == q->optimizer.momentum;
}

static int copy_work(struct pl_step_work *out, const struct pl_step_work *of,
                     struct err *err)
{
    struct pl_step_op *op = mem_array(of->n + 1, sizeof *op);

    if (!op)
        return err_set(err, ERR_NOMEM, "out of memory comparing times");
    memcpy(op, of->op, of->n * sizeof *op);
    *out = *of;
    out->op = op;
    return 0;
}

static int read_work(struct pl_timed *at, size_t i, struct pl_stage_ctx *ctx,
                     struct err *err)
{
    size_t k;

    for (k = 0; k < i; k++)
        if (same_step(at[k].cell->stage, at[i].cell->stage))
            return copy_work(&at[i].work, &at[k].work, err);
    return pl_step_work_read(&at[i].work, ctx, at[i].cell->stage, err);
}

/* ---- a profile ---- */

/* A number above 0: the axis is logarithmic. */
static bool is_place(const char *text, double *x)
{
    return scalar_double(text, x) == SCALAR_OK && *x > 0;
}

static int read_x(struct pl_timed *p, const char *key, struct err *err)
{
    p->x_text = pl_compare_setting(p->cell->stage, key);
    if (p->x_text && is_place(p->x_text, &p->x))
        return 0;
    return err_set(err, ERR_CONFIG, "x: '%s' of '%s' is no number above 0", key,
                   p->cell->id);
}

bool pl_compare_times_check(const struct pl_stage *compare,
                            const struct pl_stage *s, struct pl_diag *d)
{
    static const char *const usual[] = {"batch_size", "lr", "seed",
                                        "optimizer.momentum"};
    const struct pl_compare_with *w = compare->with;
    struct pl_loc loc = pl_node_key_loc(w->node, "x", compare->loc);
    const char *text = pl_compare_setting(s, w->x);
    double x;

    if (text && is_place(text, &x))
        return true;
    if (text) {
        pl_diag_error(d, loc,
                      "x: %s of '%s' is '%s'; times stand over a number above "
                      "0",
                      w->x, s->id, text);
    } else {
        pl_diag_error(d, loc, "x: a profile has no setting '%s'", w->x);
        pl_diag_suggest(d, w->x, usual, sizeof usual / sizeof *usual);
    }
    return false;
}

/* What the device's name tells, where the profile itself does not. */
static void look_up_card(struct pl_timed *p, double sms)
{
    const struct pl_card *card = pl_card_find(p->device);

    if (card && isnan(p->peak_gflops))
        p->peak_gflops = card->gflops;
    if (card && isnan(sms))
        sms = card->sms;
    p->blocks_per_sm = p->blocks / sms;
    if (strcmp(p->numerics, "tf32") == 0)
        p->peak_gflops = NAN; /* another unit multiplies */
}

/* The way to the profile's step_span.svg. */
static int find_picture(struct pl_timed *p, const struct pl_stage *compare,
                        const struct pl_compare_cells *cells, size_t i,
                        struct err *err)
{
    const char *path = pl_compare_path(cells, i, "step_span.svg"), *c;
    struct str way = {0};

    p->picture = NULL;
    if (path && (!io_exists(path) || compare->home != p->cell->stage->home))
        return 0;
    str_add(&way, "../");
    for (c = compare->dir; *c; c++)
        if (*c == '/')
            str_add(&way, "../");
    str_addf(&way, "%s/step_span.svg", p->cell->stage->dir);
    if (path && !way.failed)
        p->picture = arena_strdup(cells->arena, way.text);
    str_free(&way);
    return p->picture
               ? 0
               : err_set(err, ERR_NOMEM, "out of memory comparing times");
}

static int read_cell(struct pl_timed *at, size_t i, struct pl_stage_ctx *ctx,
                     const struct pl_compare_cells *cells, struct err *err)
{
    const struct pl_compare_with *w = ctx->stage->with;
    struct pl_timed *p = &at[i];
    double sms = NAN;
    int rc;

    p->cell = &cells->cell[i];
    rc = read_x(p, w->x, err);
    if (rc == 0)
        rc = read_step_times(p, cells, i, err);
    if (rc == 0)
        rc = read_metrics(p, &sms, cells, i, err);
    if (rc == 0)
        rc = read_kernels(p, cells, i, err);
    if (rc == 0)
        rc = read_host_us(p, cells, i, err);
    if (rc == 0)
        rc = read_work(at, i, ctx, err);
    if (rc == 0)
        rc = find_picture(p, ctx->stage, cells, i, err);
    if (rc == 0)
        look_up_card(p, sms);
    return rc;
}

static void note_devices(struct pl_timed_all *all, const struct pl_timed *p)
{
    int k;

    all->simulated = all->simulated || pl_device_is_simulated(p->device);
    all->has_gpu = all->has_gpu || !isnan(p->busy);
    if (strncmp(p->device, "cuda", 4) == 0 &&
        !pl_device_is_simulated(p->device))
        all->measured_cuda = true;
    for (k = NN_PHASE_H2D; k < NN_PHASE_COUNT; k++)
        all->has_phases = all->has_phases || !isnan(p->share[k]);
}

int pl_timed_read(struct pl_timed_all *out, struct pl_stage_ctx *ctx,
                  const struct pl_compare_cells *cells, struct err *err)
{
    const struct pl_compare_with *w = ctx->stage->with;
    size_t i;
    int rc = 0;

    memset(out, 0, sizeof *out);
    out->x = w->x;
    out->at = arena_array(cells->arena, cells->n + 1, sizeof *out->at);
    if (!out->at)
        return err_set(err, ERR_NOMEM, "out of memory comparing times");
    for (i = 0; rc == 0 && i < cells->n; i++) {
        out->n = i + 1;
        rc = read_cell(out->at, i, ctx, cells, err);
        if (rc == 0)
            note_devices(out, &out->at[i]);
    }
    if (rc == 0)
        rc = pl_timed_group(out, cells->arena, err);
    if (rc == ERR_CONFIG && err && !err->at[0])
        pl_err_at_node(err, pl_node_get(w->node, "x"));
    return rc;
}

void pl_timed_clear(struct pl_timed_all *all)
{
    size_t i;

    for (i = 0; i < all->n; i++)
        pl_step_work_free(&all->at[i].work);
    all->n = 0;
}
