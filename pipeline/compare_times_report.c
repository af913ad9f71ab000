/* times.md, times_compared.csv, times.svg and the metrics of the show times. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/compare_times.h"
#include "pipeline/device_settings.h"
#include "pipeline/profile_traced.h"
#include "pipeline/table_rows.h"

static const struct pl_timed *first_of(const struct pl_timed_series *s)
{
    return s->at[0];
}

static double share_of_peak(const struct pl_timed *t)
{
    return pl_timed_gflop_s(t) / t->peak_gflops;
}

/* ---- times.md ---- */

/* Calls fn for each profile, series by series. */
static void each(struct pl_rows *r, const struct pl_timed_all *all,
                 void (*fn)(struct pl_rows *r, const struct pl_timed_series *s,
                            const struct pl_timed *t))
{
    size_t i, k;

    for (i = 0; i < all->n_series; i++)
        for (k = 0; k < all->series[i].n; k++) {
            pl_rows_add(r, "%s", all->series[i].name);
            pl_rows_add_setting(r, all->series[i].at[k]->x);
            fn(r, &all->series[i], all->series[i].at[k]);
        }
}

static void add_times_row(struct pl_rows *r, const struct pl_timed_series *s,
                          const struct pl_timed *t)
{
    const struct pl_timed *a = first_of(s);
    double work =
        a->work.flops > 0 ? t->work.flops / a->work.flops : t->x / a->x;
    double time = t->median_ms / a->median_ms;

    pl_rows_add(r, "%s, %s, %s", t->execution, t->data, t->fusion);
    pl_rows_add_number(r, t->median_ms, 4);
    pl_rows_add_number(r, t->p10_ms, 4);
    pl_rows_add_number(r, t->p90_ms, 4);
    pl_rows_add_number(r, t->last_ms, 4);
    pl_rows_add_number(r, t->last_ratio, 3);
    pl_rows_add_number(r, t->samples_per_s, 4);
    pl_rows_add_number(r, time, 3);
    pl_rows_add_number(r, work, 3);
    pl_rows_add_number(r, time / work, 3);
    pl_rows_add(r, "%s", t->flag);
}

static void add_times(struct pl_rows *r, struct str *out,
                      const struct pl_timed_all *all)
{
    const char *const head[] = {"run",
                                all->x,
                                "execution, data, fusion",
                                "median (ms)",
                                "p10",
                                "p90",
                                "last ProfilerStep (ms)",
                                "of median",
                                "samples/s",
                                "time, times the first's",
                                "work, likewise",
                                "time / work",
                                "flag",
                                NULL};

    str_add(out,
            "## Times\n\nMedian, p10 and p90 are of steps without a recorder, "
            "the last ProfilerStep is the one step\nthat the trace ends with. "
            "Work is that of the products: 2 floating-point operations for "
            "each\nmultiply-add of the linear and convolution layers, forward "
            "and backward.\n\n");
    each(r, all, add_times_row);
    pl_rows_write(r, out, head, "lrlrrrrrrrrrl");
}

static void add_rate(struct pl_rows *r, const struct pl_timed *t)
{
    pl_rows_add_number(r, 1e-9 * t->work.flops, 3);
    pl_rows_add_number(r, pl_timed_gflop_s(t), 3);
}

static void add_phases(struct pl_rows *r, const struct pl_timed *t)
{
    int k;

    for (k = NN_PHASE_H2D; k < NN_PHASE_COUNT; k++)
        pl_rows_add_number(r, 100 * t->share[k], 3);
}

static void add_rate_row(struct pl_rows *r, const struct pl_timed_series *s,
                         const struct pl_timed *t)
{
    (void)s;
    add_rate(r, t);
    add_phases(r, t);
}

static void add_peak_row(struct pl_rows *r, const struct pl_timed_series *s,
                         const struct pl_timed *t)
{
    (void)s;
    add_rate(r, t);
    pl_rows_add_number(r, 100 * share_of_peak(t), 3);
    add_phases(r, t);
}

static bool has_peak(const struct pl_timed_all *all)
{
    size_t i;

    for (i = 0; i < all->n; i++)
        if (!isnan(all->at[i].peak_gflops))
            return true;
    return false;
}

#define PHASES \
    "h2d (%)", "forward (%)", "clear grad (%)", "backward (%)", "optimizer (%)"

static void add_rates(struct pl_rows *r, struct str *out,
                      const struct pl_timed_all *all)
{
    const char *const rates[] = {"run",     all->x, "GFLOP a step",
                                 "GFLOP/s", PHASES, NULL};
    const char *const peaks[] = {
        "run", all->x, "GFLOP a step", "GFLOP/s", "% of peak", PHASES, NULL};

    str_add(out, "\n## Rates and phases\n\nGFLOP/s is over the median step. "
                 "The phases are shares of the traced steps");
    str_add(out, all->has_gpu ? ", by the host's clock:\nwhat it gives the "
                                "device in each, not what the device does.\n\n"
                              : ".\n\n");
    each(r, all, has_peak(all) ? add_peak_row : add_rate_row);
    if (has_peak(all))
        pl_rows_write(r, out, peaks, "lrrrrrrrrr");
    else
        pl_rows_write(r, out, rates, "lrrrrrrrr");
}

static void add_device_row(struct pl_rows *r, const struct pl_timed_series *s,
                           const struct pl_timed *t)
{
    (void)s;
    pl_rows_add_number(r, 100 * t->busy, 3);
    pl_rows_add_number(r, t->blocks_per_sm, 3);
    pl_rows_add_setting(r, t->kernels);
    pl_rows_add_setting(r, t->launches);
    pl_rows_add_number(r, t->host_us, 4);
    pl_rows_add_setting(r, t->h2d_bytes);
    pl_rows_add_number(r, t->h2d_us, 4);
    pl_rows_add_number(r, pl_timed_h2d_gb_s(t), 3);
    pl_rows_add_number(r, t->sync_us, 4);
}

static void add_device(struct pl_rows *r, struct str *out,
                       const struct pl_timed_all *all)
{
    const char *const head[] = {"run",           all->x,        "GPU busy (%)",
                                "blocks per SM", "kernels",     "launches",
                                "host (µs)",     "h2d (bytes)", "h2d (µs)",
                                "h2d (GB/s)",    "wait (µs)",   NULL};

    if (!all->has_gpu)
        return;
    str_add(out, "\n## The device in the last traced step\n\n");
    each(r, all, add_device_row);
    pl_rows_write(r, out, head, "lrrrrrrrrrr");
}

/* "eager, data host, fusion none, numerics strict, by clock, on cpu (...)",
 * each such line once. */
static void add_about(struct str *out, const struct pl_timed_all *all)
{
    size_t i, k;

    for (i = 0; i < all->n; i++) {
        const struct pl_timed *t = &all->at[i];

        for (k = 0; k < i; k++)
            if (strcmp(all->at[k].device, t->device) == 0 &&
                strcmp(all->at[k].data, t->data) == 0 &&
                strcmp(all->at[k].execution, t->execution) == 0 &&
                strcmp(all->at[k].fusion, t->fusion) == 0 &&
                strcmp(all->at[k].numerics, t->numerics) == 0)
                break;
        if (k == i)
            str_addf(out,
                     "- %s, data %s, fusion %s, numerics %s, timed by %s, "
                     "on %s\n",
                     t->execution, t->data, t->fusion, t->numerics, t->method,
                     t->device);
    }
}

/* How the last ProfilerStep of each was measured. */
static void add_pictures(struct str *out, const struct pl_timed_all *all)
{
    bool any = false;
    size_t i;

    for (i = 0; i < all->n; i++) {
        const struct pl_timed *t = &all->at[i];

        if (!t->picture)
            continue;
        str_add(out,
                any ? "" : "\n## The last steps, as the traces have them\n");
        any = true;
        str_addf(out, "\n%s:\n\n![%s](<%s>)\n", t->cell->label, t->cell->label,
                 t->picture);
    }
}

static void add_reasons(struct str *out, const struct pl_timed_all *all)
{
    size_t i;

    str_add(out, "\n## What the figures say\n");
    for (i = 0; i < all->n_series; i++) {
        str_addf(out, "\n**%s**\n\n", all->series[i].name);
        pl_timed_reasons(out, &all->series[i], all->x);
        if (i > 0)
            pl_timed_between(out, &all->series[0], &all->series[i], all->x);
    }
}

void pl_timed_md(struct str *out, const struct pl_timed_all *all)
{
    struct arena arena = {0};
    struct pl_rows r = {.arena = &arena};

    str_addf(out, "# Step time over %s\n\n", all->x);
    if (all->simulated)
        str_add(out, "**SIMULATED: no GPU took part, the times mean "
                     "nothing.**\n\n");
    add_about(out, all);
    str_add(out, "\n![step time](times.svg)\n\n");
    add_times(&r, out, all);
    add_rates(&r, out, all);
    add_device(&r, out, all);
    add_reasons(out, all);
    add_pictures(out, all);
    if (all->n_predicted > 0)
        str_add(out, "\nNo CUDA device was measured. What GPUs would take by "
                     "their published numbers is\n**predicted, not "
                     "measured**, in [predicted.md](predicted.md).\n");
    if (all->predicted_drawn)
        str_add(out, "\n![predicted, not measured](predicted.svg)\n");
    arena_free(&arena);
}

/* ---- times_compared.csv ---- */

static void add_cell(struct str *out, double v)
{
    str_addc(out, ',');
    if (isfinite(v))
        str_addf(out, "%.9g", v);
}

static void add_text(struct str *out, const char *text)
{
    str_addc(out, ',');
    pl_traced_csv_text(out, text);
}

static void add_csv_row(struct str *out, const struct pl_timed_series *s,
                        const struct pl_timed *t)
{
    const double figures[] = {t->median_ms,
                              t->p10_ms,
                              t->p90_ms,
                              t->last_ms,
                              t->last_ratio,
                              t->samples_per_s,
                              t->median_ms / first_of(s)->median_ms,
                              t->work.flops / first_of(s)->work.flops,
                              t->work.flops,
                              pl_timed_gflop_s(t),
                              share_of_peak(t),
                              t->share[NN_PHASE_H2D],
                              t->share[NN_PHASE_FORWARD],
                              t->share[NN_PHASE_CLEAR_GRAD],
                              t->share[NN_PHASE_BACKWARD],
                              t->share[NN_PHASE_OPTIMIZER],
                              t->busy,
                              t->blocks_per_sm,
                              t->kernels,
                              t->launches,
                              t->host_us,
                              t->h2d_bytes,
                              t->h2d_us,
                              pl_timed_h2d_gb_s(t),
                              t->sync_us};
    const char *const texts[] = {t->flag,   t->method,   t->execution, t->data,
                                 t->fusion, t->numerics, t->device};
    size_t i;

    pl_traced_csv_text(out, s->name);
    add_text(out, t->cell->label);
    add_cell(out, t->x);
    for (i = 0; i < sizeof figures / sizeof *figures; i++)
        add_cell(out, figures[i]);
    for (i = 0; i < sizeof texts / sizeof *texts; i++)
        add_text(out, texts[i]);
    str_addc(out, '\n');
}

void pl_timed_csv(struct str *out, const struct pl_timed_all *all)
{
    size_t i, k;

    str_add(out, "run,cell,");
    pl_traced_csv_text(out, all->x);
    str_add(out, ",median_ms,p10_ms,p90_ms,traced_last_ms,traced_ratio,"
                 "samples_per_s,step_ratio,work_ratio,flops,gflop_s,"
                 "share_of_peak,share_h2d,share_forward,share_clear_grad,"
                 "share_backward,share_optimizer,gpu_busy,blocks_per_sm,"
                 "kernels,launches,host_us,h2d_bytes,h2d_us,h2d_gb_s,"
                 "sync_wait_us,flag,method,execution,data,fusion,numerics,"
                 "device\n");
    for (i = 0; i < all->n_series; i++)
        for (k = 0; k < all->series[i].n; k++)
            add_csv_row(out, &all->series[i], all->series[i].at[k]);
}

/* ---- metrics ---- */

static void give(struct pl_stage_ctx *ctx, const struct pl_timed_series *s,
                 const char *name, const char *x, double v)
{
    char full[200];

    (void)snprintf(full, sizeof full, "%s%s%s%s%s", s->key,
                   s->key[0] ? "." : "", name, x ? "." : "", x ? x : "");
    if (!isnan(v))
        pl_metric(ctx, full, v);
}

void pl_timed_metrics(struct pl_stage_ctx *ctx, const struct pl_timed_all *all)
{
    double knee;
    size_t i, k;

    for (i = 0; i < all->n_series; i++) {
        const struct pl_timed_series *s = &all->series[i];
        double time = pl_timed_step_ratio(s), work = pl_timed_work_ratio(s);

        give(ctx, s, "step_ratio", NULL, time);
        give(ctx, s, "last_ratio", NULL,
             s->at[s->n - 1]->last_ms / first_of(s)->last_ms);
        give(ctx, s, "work_ratio", NULL, work);
        give(ctx, s, "share_of_work", NULL, time / work);
        (void)pl_timed_knee(s, &knee);
        give(ctx, s, "knee", NULL, knee);
        for (k = 0; k < s->n; k++) {
            const struct pl_timed *t = s->at[k];

            give(ctx, s, "step_ms", t->x_text, t->median_ms);
            give(ctx, s, "last_ms", t->x_text, t->last_ms);
            give(ctx, s, "gflop_s", t->x_text, pl_timed_gflop_s(t));
            give(ctx, s, "busy", t->x_text, t->busy);
        }
    }
}
