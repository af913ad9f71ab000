#include "pipeline/compare_kernels.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/chart_bars.h"
#include "pipeline/compare_text.h"
#include "pipeline/compare_tracks.h"
#include "pipeline/train_run.h"

struct show {
    struct pl_stage_ctx *ctx;
    const struct pl_compare_cells *cells;
    struct pl_pairs p;
    const char *about; /* "q3, step" */
    const char *back;  /* from the stage's folder to that of all results */
};

static int no_memory(struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory comparing kernels");
}

/* ---- names ---- */

/* "../" for each part of the stage's folder. */
static const char *way_back(struct arena *arena, const char *dir)
{
    struct str s = {0};
    const char *text;

    str_add(&s, "../");
    for (; *dir; dir++)
        str_add(&s, *dir == '/' ? "../" : "");
    text = s.failed ? NULL : arena_strdup(arena, s.text);
    str_free(&s);
    return text;
}

static int name_all(struct show *s, struct err *err)
{
    const struct pl_compare_with *w = s->ctx->stage->with;
    const char *const *from = w->from.items;
    struct arena *arena = s->cells->arena;
    struct str about = {0};
    size_t i;

    str_addf(&about, "%s, ", s->ctx->config->name);
    for (i = 0; i < w->from.n; i++)
        str_addf(&about, "%s%s", i ? ", " : "", from[i]);
    s->about = about.failed ? NULL : arena_strdup(arena, about.text);
    str_free(&about);
    s->back = way_back(arena, s->ctx->stage->dir);
    return s->about && s->back ? 0 : no_memory(err);
}

/* ---- artifacts ---- */

static int write_text(struct show *s, const char *name, struct str *text,
                      struct err *err)
{
    int rc = text->failed
                 ? no_memory(err)
                 : pl_artifact_write(s->ctx, name, text->text, text->len, err);

    str_free(text);
    return rc;
}

/* A series of bars a profile, a group a pair. */
static bool fill_bars(struct show *s, struct pl_bars *c)
{
    struct arena *arena = s->cells->arena;
    struct pl_bar_series *series =
        arena_array(arena, s->p.n_profiles, sizeof *series);
    const char **groups = arena_array(arena, s->p.n + 1, sizeof *groups);
    size_t i, k;

    if (!series || !groups)
        return false;
    for (i = 0; i < s->p.n; i++) {
        struct str label = {0};

        pl_pair_add_label(&label, &s->p.pair[i]);
        groups[i] = label.failed ? NULL : arena_strdup(arena, label.text);
        str_free(&label);
        if (!groups[i])
            return false;
    }
    for (k = 0; k < s->p.n_profiles; k++) {
        double *v = arena_array(arena, s->p.n + 1, sizeof *v);

        if (!v)
            return false;
        for (i = 0; i < s->p.n; i++)
            v[i] = s->p.pair[i].side[k].n ? s->p.pair[i].side[k].us : NAN;
        series[k] = (struct pl_bar_series){s->p.profile[k].cell->label, v};
    }
    *c = (struct pl_bars){.groups = groups,
                          .n_groups = s->p.n,
                          .series = series,
                          .n = s->p.n_profiles};
    return true;
}

static int write_bars(struct show *s, struct err *err)
{
    struct str svg = {0}, title = {0};
    struct pl_bars c;
    int rc;

    if (!fill_bars(s, &c))
        return no_memory(err);
    str_addf(&title, "%s of a step, time by operator: %s; %s",
             s->p.kernels ? "Kernels" : "Operators (CPU)", s->about,
             s->p.profile[0].device);
    c.title = title.failed ? "" : title.text;
    c.axis =
        (struct pl_chart_axis){.label = "us a step (log scale)", .log = true};
    c.watermark = pl_pairs_simulated(&s->p) ? "SIMULATED" : NULL;
    rc = title.failed ? no_memory(err) : pl_bars_svg(&svg, &c, err);
    str_free(&title);
    if (rc == 0)
        return write_text(s, "kernels.svg", &svg, err);
    str_free(&svg);
    return rc;
}

static int write_tracks(struct show *s, struct err *err)
{
    struct str svg = {0};
    int rc =
        pl_tracks_svg(&svg, s->cells, s->about, pl_pairs_simulated(&s->p), err);

    if (rc == 0)
        return write_text(s, "tracks.svg", &svg, err);
    str_free(&svg);
    return rc;
}

/* ---- metrics ---- */

static void give_ratio(struct show *s, const char *key, pl_pair_test *test,
                       const void *about)
{
    double a = pl_pairs_sum(&s->p, 0, test, about);
    double b = pl_pairs_sum(&s->p, s->p.n_profiles - 1, test, about);
    char name[160];

    if (!(a > 0) || !(b > 0))
        return;
    (void)snprintf(name, sizeof name, "%s.ratio", key);
    pl_metric(s->ctx, name, b / a);
}

static bool any(const struct pl_kernel_pair *pair, const void *unused)
{
    (void)pair;
    (void)unused;
    return true;
}

static bool is_copy(const struct pl_kernel_pair *pair, const void *unused)
{
    (void)unused;
    return pair->group == PL_PAIR_COPY;
}

/* How many kernels do what the test takes, in the profile that has the
 * fewest. */
static double fewest_kernels(const struct pl_pairs *p, pl_pair_test *test,
                             const void *about)
{
    double fewest = INFINITY, n;
    size_t i, k;

    for (k = 0; k < p->n_profiles; k++) {
        for (n = 0, i = 0; i < p->n; i++)
            if (test(&p->pair[i], about))
                n += (double)p->pair[i].side[k].n;
        fewest = fmin(fewest, n);
    }
    return fewest;
}

static int give_metrics(struct show *s, struct err *err)
{
    struct str key = {0};
    bool failed = false;
    size_t i;

    for (i = 0; i < s->p.n && !failed; i++) {
        str_clear(&key);
        pl_pair_add_key(&key, &s->p.pair[i]);
        failed = key.failed;
        if (!failed)
            give_ratio(s, key.text, pl_pair_has_key, key.text);
    }
    str_free(&key);
    give_ratio(s, "linear.backward", pl_pair_is_linear_backward, NULL);
    give_ratio(s, "copies", is_copy, NULL);
    give_ratio(s, "total", any, NULL);
    pl_metric(s->ctx, "work.ratio", pl_pairs_work(&s->p));
    if (s->p.kernels) {
        pl_metric(s->ctx, "linear.forward.kernels",
                  fewest_kernels(&s->p, pl_pair_has_key, "linear.forward"));
        pl_metric(s->ctx, "linear.backward.kernels",
                  fewest_kernels(&s->p, pl_pair_is_linear_backward, NULL));
    }
    return failed ? no_memory(err) : 0;
}

static void say_result(struct show *s)
{
    const struct pl_profiled *a = &s->p.profile[0];
    const struct pl_profiled *b = &s->p.profile[s->p.n_profiles - 1];
    struct str line = {0};

    str_addf(&line, "%s of a step: ", pl_pairs_what(&s->p));
    pl_add_figure(&line, a->us);
    str_addf(&line, " us with %s, ", a->cell->label);
    pl_add_figure(&line, b->us);
    str_addf(&line, " us with %s: ", b->cell->label);
    pl_add_times(&line, b->us / a->us);
    if (pl_pairs_work(&s->p) != 1) {
        str_add(&line, " as long for ");
        pl_add_times(&line, pl_pairs_work(&s->p));
        str_add(&line, " the samples");
    } else {
        str_add(&line, " as long");
    }
    if (!line.failed)
        pl_say(s->ctx, "%s%s", pl_pairs_simulated(&s->p) ? "SIMULATED: " : "",
               line.text);
    str_free(&line);
}

static int write_all(struct show *s, struct err *err)
{
    struct str csv = {0}, md = {0};
    int rc;

    pl_kernels_csv(&s->p, &csv);
    rc = write_text(s, "kernels_compared.csv", &csv, err);
    if (rc == 0)
        rc = write_bars(s, err);
    if (rc == 0)
        rc = write_tracks(s, err);
    if (rc != 0)
        return rc;
    pl_kernels_md(&s->p, s->about, s->back, s->cells->arena, &md);
    rc = pl_kernels_predict(s->ctx, &s->p, s->cells->arena, &md, err);
    if (rc == 0)
        return write_text(s, "kernels.md", &md, err);
    str_free(&md);
    return rc;
}

int pl_compare_kernels(struct pl_stage_ctx *ctx,
                       const struct pl_compare_cells *cells, struct err *err)
{
    const struct pl_compare_with *w = ctx->stage->with;
    struct show s = {.ctx = ctx, .cells = cells};
    int rc = pl_pairs_read(&s.p, cells, err);

    if (rc == ERR_CONFIG)
        pl_err_at_node(err, pl_node_get(w->node, "from"));
    if (rc == 0)
        rc = name_all(&s, err);
    if (rc == 0)
        rc = write_all(&s, err);
    if (rc == 0)
        rc = give_metrics(&s, err);
    if (rc == 0)
        say_result(&s);
    return rc;
}
