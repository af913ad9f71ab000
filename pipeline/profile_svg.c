/* A profile's pictures: the last step as tracks, and as one bar. */
#include <string.h>

#include "pipeline/chart_svg.h"
#include "pipeline/profile_gpu.h"
#include "pipeline/profile_track.h"

/* The spans of one kind, in a row. */
static double add_row(struct track *k, enum prof_kind kind, const char *label,
                      const struct prof_span *const *span, size_t n, double y)
{
    int before = k->n_legend;
    size_t i;

    track_row_begin(k, label, y);
    for (i = 0; i < n; i++)
        if (span[i]->kind == kind) {
            const struct track_slice s = track_span(span[i]);

            track_slice(k, &s, y);
        }
    return y + track_row_end(k, before);
}

static double below_title(const struct str *title)
{
    const char *text = title->text ? title->text : "";

    return 14 + svg_title_height(text, TRACK_WIDTH - 40) + TRACK_GAP;
}

static void finish(struct track *k, double y, const struct str *title,
                   bool simulated, struct str *out)
{
    track_frame(out, k->out, y + 16, title->text ? title->text : "", simulated);
}

void pl_traced_track_svg(const struct pl_traced *t, const char *about,
                         bool simulated, struct str *out)
{
    size_t n;
    const struct prof_span *const *span = pl_traced_last(t, &n);
    struct str body = {0}, title = {0};
    struct track k;
    double y;

    track_begin(&k, &body, span[0]->begin, span[0]->end);
    str_addf(&title, "CPU track of ProfilerStep#%lld: %s",
             (long long)span[0]->step, about);
    y = below_title(&title);
    y = add_row(&k, PROF_STEP, "step", span, n, y);
    y = add_row(&k, PROF_PHASE, "phases", span, n, y);
    y = add_row(&k, PROF_OP, "operators", span, n, y);
    y = track_legend(&k, track_axis(&k, y + 4) + 8);
    finish(&k, y, &title, simulated, out);
    str_free(&body);
    str_free(&title);
}

/* ---- one bar ---- */

/* A line under the step's bar: a phase, its time and share. */
static void add_share(struct track *k, const struct prof_span *s, double y)
{
    struct str text = {0};
    int c = track_colour(s->name);

    str_addf(k->out, "<rect class=\"s%d f%d\" fill-opacity=\".22\"", c, c);
    svg_add_attr(k->out, "x", TRACK_LEFT);
    svg_add_attr(k->out, "y", y + 2);
    str_add(k->out, " width=\"12\" height=\"12\"/>\n");
    str_addf(&text, "%s ", s->name);
    pl_add_duration(&text, s->end - s->begin);
    str_addf(&text, ", %.1f %% of the step",
             100 * (double)(s->end - s->begin) / (double)k->length);
    track_text(k, TRACK_LEFT + 20, y + 13, "start", text.text ? text.text : "");
    str_free(&text);
}

void pl_traced_span_svg(const struct pl_traced *t, const char *about,
                        bool simulated, struct str *out)
{
    size_t n, i;
    const struct prof_span *const *span = pl_traced_last(t, &n);
    struct str body = {0}, title = {0};
    struct track k;
    double y;

    track_begin(&k, &body, span[0]->begin, span[0]->end);
    str_addf(&title, "ProfilerStep#%lld takes ", (long long)span[0]->step);
    pl_add_duration(&title, span[0]->end - span[0]->begin);
    str_addf(&title, " with the profiler on: %s", about);
    y = below_title(&title);
    y = add_row(&k, PROF_STEP, "step", span, n, y);
    track_text(&k, TRACK_LEFT - 10, y + 20, "end", "phases");
    for (i = 0; i < n; i++)
        if (span[i]->kind == PROF_PHASE) {
            const struct track_slice s = track_span(span[i]);

            track_bar(&k, &s, y);
        }
    y = track_axis(&k, y + TRACK_BAR + 8) + TRACK_GAP;
    for (i = 0; i < n; i++)
        if (span[i]->kind == PROF_PHASE) {
            add_share(&k, span[i], y);
            y += TRACK_LINE + 2;
        }
    finish(&k, y, &title, simulated, out);
    str_free(&body);
    str_free(&title);
}

/* ---- CPU and GPU ---- */

static bool of_last(const struct pl_traced_gpu *g, const struct pl_traced *t,
                    size_t op)
{
    return g->op[op].step == t->n_steps - 1;
}

/* What the GPU did, phase by phase; on several streams at once in one row. */
static double add_gpu_phases(struct track *k, const struct pl_traced_gpu *g,
                             const struct pl_traced *t, double y)
{
    int before = k->n_legend;
    size_t i;

    track_row_begin(k, "GPU phases", y);
    for (i = 0; i < g->n_phases; i++) {
        const struct pl_gpu_phase *p = &g->phase[i];
        const struct track_slice s = {.begin = p->begin,
                                      .end = p->end,
                                      .name = p->name,
                                      .phase = p->name,
                                      .number = -1};

        if (of_last(g, t, p->first))
            track_slice(k, &s, y);
    }
    return y + track_row_end(k, before);
}

/* One stream; *i: its first work of the step, then that of the next one. */
static double add_stream(struct track *k, const struct pl_traced_gpu *g,
                         const struct pl_traced *t, size_t *i, double y)
{
    const struct pl_gpu_event *first = &g->op[*i];
    int before = k->n_legend;
    struct str label = {0};

    str_addf(&label, "stream %u", (unsigned)first->of->stream);
    track_row_begin(k, label.text ? label.text : "", y);
    str_free(&label);
    for (; *i < g->n_ops && pl_gpu_same_stream(&g->op[*i], first); (*i)++) {
        const struct pl_gpu_event *x = &g->op[*i];
        const struct track_slice s = {.begin = x->begin,
                                      .end = x->end,
                                      .name = x->of->name,
                                      .call = x->call,
                                      .phase = x->phase,
                                      .number = -1};

        if (of_last(g, t, *i))
            track_slice(k, &s, y);
    }
    return y + track_row_end(k, before);
}

int pl_gpu_track_svg(const struct pl_traced_gpu *g, const struct pl_traced *t,
                     const char *about, struct str *out, struct err *err)
{
    size_t n, i;
    const struct prof_span *const *span = pl_traced_last(t, &n);
    struct str body = {0}, title = {0};
    struct pl_gpu_sums sums;
    struct track k;
    double y;
    int rc = pl_gpu_sum_up(g, t, t->n_steps - 1, &sums, err);

    if (rc != 0)
        return rc;
    track_begin(&k, &body, sums.begin, sums.end);
    str_addf(&title, "CPU and GPU tracks of ProfilerStep#%lld: %s",
             (long long)span[0]->step, about);
    y = below_title(&title);
    y = add_row(&k, PROF_STEP, "step", span, n, y);
    y = add_row(&k, PROF_PHASE, "CPU phases", span, n, y);
    y = add_gpu_phases(&k, g, t, y);
    for (i = 0; i < g->n_ops;)
        if (of_last(g, t, i))
            y = add_stream(&k, g, t, &i, y);
        else
            i++;
    y = track_legend(&k, track_axis(&k, y + 4) + 8);
    finish(&k, y, &title, g->trace->device.simulated, out);
    str_free(&body);
    str_free(&title);
    return 0;
}
