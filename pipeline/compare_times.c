/* The show times of a compare stage. */
#include "pipeline/compare_times.h"

#include <stdlib.h>

static int write_text(struct pl_stage_ctx *ctx, const char *name, struct str *s,
                      struct err *err)
{
    int rc = s->failed ? err_set(err, ERR_NOMEM, "out of memory for %s", name)
                       : pl_artifact_write(ctx, name, s->text, s->len, err);

    str_clear(s);
    return rc;
}

/* ---- what GPUs would take ---- */

static bool same_work(const struct pl_step_work *a,
                      const struct pl_step_work *b)
{
    return a->n == b->n && a->flops == b->flops && a->bytes == b->bytes &&
           a->link_bytes == b->link_bytes && a->launches == b->launches;
}

/* A step that was looked at in another profile before: they differ in how it
 * is run, which the prediction tells apart by itself. */
static bool was_before(const struct pl_timed_all *all, size_t i)
{
    size_t k;

    for (k = 0; k < i; k++)
        if (all->at[k].x == all->at[i].x &&
            same_work(&all->at[k].work, &all->at[i].work))
            return true;
    return false;
}

static int by_x(const void *a, const void *b)
{
    const struct pl_timed *p = *(const struct pl_timed *const *)a;
    const struct pl_timed *q = *(const struct pl_timed *const *)b;

    return (p->x > q->x) - (p->x < q->x);
}

/* Which steps are predicted, where no CUDA device was measured. */
static int choose(struct pl_timed_all *all, struct arena *arena,
                  struct err *err)
{
    size_t i;

    if (all->measured_cuda)
        return 0;
    all->predicted = arena_array(arena, all->n, sizeof *all->predicted);
    if (!all->predicted)
        return err_set(err, ERR_NOMEM, "out of memory for a prediction");
    for (i = 0; i < all->n; i++)
        if (!was_before(all, i))
            all->predicted[all->n_predicted++] = &all->at[i];
    qsort(all->predicted, all->n_predicted, sizeof *all->predicted, by_x);
    all->predicted_drawn = true;
    for (i = 1; i < all->n_predicted; i++)
        if (all->predicted[i]->x == all->predicted[i - 1]->x)
            all->predicted_drawn = false;
    return 0;
}

/* Where no two have the same x, that alone names them. */
static const char *label_of(const struct pl_timed_all *all, size_t i,
                            struct arena *arena)
{
    const struct pl_timed *t = all->predicted[i];

    return all->predicted_drawn
               ? arena_printf(arena, "%s=%s", all->x, t->x_text)
               : t->cell->label;
}

static int predict(struct pl_stage_ctx *ctx, const struct pl_timed_all *all,
                   struct arena *arena, struct err *err)
{
    size_t n = all->n_predicted, i;
    struct pl_predict_cell *cell = arena_array(arena, n + 1, sizeof *cell);
    struct str out = {0};
    int rc = cell ? 0 : ERR_NOMEM;

    for (i = 0; rc == 0 && i < n; i++) {
        cell[i].work = &all->predicted[i]->work;
        cell[i].label = label_of(all, i, arena);
        if (!cell[i].label)
            rc = ERR_NOMEM;
    }
    if (rc != 0)
        return err_set(err, rc, "out of memory for a prediction");
    rc = pl_predict_report(ctx, cell, n, err);
    if (rc != 0 || !all->predicted_drawn)
        return rc;
    rc = pl_timed_predicted_svg(&out, all, err);
    if (rc == 0)
        rc = write_text(ctx, "predicted.svg", &out, err);
    str_free(&out);
    return rc;
}

/* ---- the show ---- */

static int write_files(struct pl_stage_ctx *ctx, const struct pl_timed_all *all,
                       struct err *err)
{
    struct str out = {0};
    int rc;

    pl_timed_md(&out, all);
    rc = write_text(ctx, "times.md", &out, err);
    if (rc == 0) {
        pl_timed_csv(&out, all);
        rc = write_text(ctx, "times_compared.csv", &out, err);
    }
    if (rc == 0)
        rc = pl_timed_svg(&out, all, err);
    if (rc == 0)
        rc = write_text(ctx, "times.svg", &out, err);
    str_free(&out);
    return rc;
}

static void say(struct pl_stage_ctx *ctx, const struct pl_timed_all *all)
{
    size_t i;

    for (i = 0; i < all->n_series; i++) {
        const struct pl_timed_series *s = &all->series[i];
        const struct pl_timed *a = s->at[0], *b = s->at[s->n - 1];

        if (s->n > 1)
            pl_say(ctx,
                   "%s: %s %s to %s: %.4g to %.4g ms, %.3g times for %.3g "
                   "times the work",
                   s->name, all->x, a->x_text, b->x_text, a->median_ms,
                   b->median_ms, pl_timed_step_ratio(s),
                   pl_timed_work_ratio(s));
    }
    if (all->simulated)
        pl_say(ctx, "SIMULATED: no GPU took part, the times mean nothing");
    if (all->n_predicted > 0)
        pl_say(ctx, "no CUDA device was measured: predicted.md has what is "
                    "predicted for some, not measured");
}

int pl_compare_times(struct pl_stage_ctx *ctx,
                     const struct pl_compare_cells *cells, struct err *err)
{
    struct pl_timed_all all;
    int rc = pl_timed_read(&all, ctx, cells, err);

    if (rc == 0)
        rc = choose(&all, cells->arena, err);
    if (rc == 0)
        rc = write_files(ctx, &all, err);
    if (rc == 0 && all.n_predicted > 0)
        rc = predict(ctx, &all, cells->arena, err);
    if (rc == 0) {
        pl_timed_metrics(ctx, &all);
        say(ctx, &all);
    }
    pl_timed_clear(&all);
    return rc;
}
