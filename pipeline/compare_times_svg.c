/* times.svg and predicted.svg. */
#include <math.h>
#include <string.h>

#include "pipeline/chart.h"
#include "pipeline/compare_times.h"

/* Numbers of all series, one after the other, and then of the guide. */
struct numbers {
    double *x, *y, *low, *high, *tick;
    size_t n_ticks;
    struct pl_chart_series *series;
};

static int get_room(struct numbers *v, const struct pl_timed_all *all,
                    struct arena *arena)
{
    size_t n = all->n + 2;

    v->x = arena_array(arena, 5 * n, sizeof *v->x);
    v->series = arena_array(arena, all->n_series + 1, sizeof *v->series);
    if (!v->x || !v->series)
        return ERR_NOMEM;
    v->y = v->x + n;
    v->low = v->y + n;
    v->high = v->low + n;
    v->tick = v->high + n;
    return 0;
}

/* Keeps the ticks in order, each once. */
static void add_tick(struct numbers *v, double x)
{
    size_t i = v->n_ticks, k;

    while (i > 0 && v->tick[i - 1] > x)
        i--;
    if (i > 0 && v->tick[i - 1] == x)
        return;
    for (k = v->n_ticks++; k > i; k--)
        v->tick[k] = v->tick[k - 1];
    v->tick[i] = x;
}

static size_t add_series(struct numbers *v, size_t at, size_t i,
                         const struct pl_timed_series *s)
{
    size_t k;

    v->series[i] = (struct pl_chart_series){.name = s->name,
                                            .x = v->x + at,
                                            .y = v->y + at,
                                            .low = v->low + at,
                                            .high = v->high + at,
                                            .n = s->n};
    for (k = 0; k < s->n; k++, at++) {
        v->x[at] = s->at[k]->x;
        v->y[at] = s->at[k]->median_ms;
        v->low[at] = s->at[k]->p10_ms;
        v->high[at] = s->at[k]->p90_ms;
        add_tick(v, v->x[at]);
    }
    return at;
}

/* From the first point of the first series, as steep as the work. */
static void add_guide(struct numbers *v, size_t at, size_t i,
                      const struct pl_timed_series *s)
{
    v->x[at] = s->at[0]->x;
    v->y[at] = s->at[0]->median_ms;
    v->x[at + 1] = s->at[s->n - 1]->x;
    v->y[at + 1] = s->at[0]->median_ms * pl_timed_work_ratio(s);
    v->series[i] = (struct pl_chart_series){.name = "in proportion to the work",
                                            .x = v->x + at,
                                            .y = v->y + at,
                                            .n = 2,
                                            .guide = true};
}

/* With what all profiles have in common; what they differ in stands in the
 * legend. */
static const char *title_of(const struct pl_timed_all *all, struct arena *arena)
{
    const struct pl_timed *t = &all->at[0];
    bool execution = true, data = true, fusion = true;
    size_t i;

    for (i = 1; i < all->n; i++) {
        execution =
            execution && strcmp(t->execution, all->at[i].execution) == 0;
        data = data && strcmp(t->data, all->at[i].data) == 0;
        fusion = fusion && strcmp(t->fusion, all->at[i].fusion) == 0;
    }
    return arena_printf(arena,
                        "Time of a training step over %s: median, p10 to p90; "
                        "%s%s%s%s%s%s%s%s%s",
                        all->x, execution ? t->execution : "",
                        execution ? ", " : "", data ? "data " : "",
                        data ? t->data : "", data ? ", " : "",
                        fusion ? "fusion " : "", fusion ? t->fusion : "",
                        fusion ? ", " : "", t->device);
}

int pl_timed_svg(struct str *out, const struct pl_timed_all *all,
                 struct err *err)
{
    struct arena arena = {0};
    struct numbers v = {0};
    struct pl_chart c = {.left = {.label = "step (ms)", .log = true},
                         .n = all->n_series + 1};
    size_t i, at = 0;
    int rc = get_room(&v, all, &arena);

    for (i = 0; rc == 0 && i < all->n_series; i++)
        at = add_series(&v, at, i, &all->series[i]);
    if (rc == 0) {
        add_guide(&v, at, all->n_series, &all->series[0]);
        c.title = title_of(all, &arena);
        c.x = (struct pl_chart_axis){
            .label = all->x, .log = true, .tick = v.tick, .n_ticks = v.n_ticks};
        c.series = v.series;
        c.watermark = all->simulated ? "SIMULATED" : NULL;
        rc = c.title ? pl_chart_svg(out, &c, err) : ERR_NOMEM;
    }
    arena_free(&arena);
    return rc == ERR_NOMEM
               ? err_set(err, ERR_NOMEM, "out of memory for times.svg")
               : rc;
}

/* ---- predicted.svg ---- */

enum { LINES = 2 * PL_CARDS }; /* eager, recorded */

/* First all eager ones: a card has a colour and dashes, a way its markers. */
static int fill_predicted(struct pl_chart_series *s, const double *x,
                          const struct pl_timed_all *all, struct arena *arena)
{
    size_t n = all->n_predicted, i, k;

    for (i = 0; i < LINES; i++) {
        const struct pl_card *card = &pl_cards[i % PL_CARDS];
        bool recorded = i >= PL_CARDS;
        double *y = arena_array(arena, n, sizeof *y);
        char *name = arena_printf(arena, "%s %s", card->name,
                                  recorded ? "recorded" : "eager");

        if (!y || !name)
            return ERR_NOMEM;
        for (k = 0; k < n; k++)
            y[k] = pl_predict_step(card, &all->predicted[k]->work, recorded).us;
        s[i] = (struct pl_chart_series){.name = name,
                                        .x = x,
                                        .y = y,
                                        .n = n,
                                        .colour = (int)(i % PL_CARDS) + 1};
    }
    return 0;
}

int pl_timed_predicted_svg(struct str *out, const struct pl_timed_all *all,
                           struct err *err)
{
    struct arena arena = {0};
    struct pl_chart_series s[LINES];
    size_t n = all->n_predicted, i;
    double *at = arena_array(&arena, n + 1, sizeof *at);
    struct pl_chart c = {.left = {.label = "predicted step (µs)", .log = true},
                         .series = s,
                         .n = LINES,
                         .watermark = "PREDICTED"};
    int rc = at ? 0 : ERR_NOMEM;

    for (i = 0; rc == 0 && i < n; i++)
        at[i] = all->predicted[i]->x;
    if (rc == 0)
        rc = fill_predicted(s, at, all, &arena);
    c.x = (struct pl_chart_axis){
        .label = all->x, .log = true, .tick = at, .n_ticks = n};
    c.title = arena_printf(
        &arena, "Predicted, not measured: time of a training step over %s",
        all->x);
    if (rc == 0)
        rc = c.title ? pl_chart_svg(out, &c, err) : ERR_NOMEM;
    arena_free(&arena);
    return rc == ERR_NOMEM
               ? err_set(err, ERR_NOMEM, "out of memory for predicted.svg")
               : rc;
}
