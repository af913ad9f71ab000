/* A profile's pictures: the last step as tracks, and as one bar. */
#include <stdio.h>
#include <string.h>

#include "pipeline/chart_axis.h"
#include "pipeline/chart_svg.h"
#include "pipeline/profile_traced.h"

/* Pixels. */
enum {
    WIDTH = 960,
    LEFT = 96,
    PLOT = 840,
    BAR = 30,
    GAP = 12,
    LINE = 18,
    LEVELS = 4,       /* heights that numbers below short slices stand at */
    MAX_LEGEND = 120, /* slices told by number */
    LEGEND_COLUMNS = 3
};

struct track {
    struct str *out;
    int64_t begin, length; /* ns, length > 0 */
    int n_legend;
    const struct prof_span *legend[MAX_LEGEND];
    double used[LEVELS]; /* right end of what stands at each level */
};

static double x_of(const struct track *k, int64_t t)
{
    return LEFT + PLOT * (double)(t - k->begin) / (double)k->length;
}

static int colour_of(const struct prof_span *s)
{
    const struct nn_call *call = s->arg;
    const char *phase = s->kind == PROF_PHASE ? s->name
                        : s->kind == PROF_OP && call
                            ? nn_phase_name(call->phase)
                            : "";
    int i;

    for (i = NN_PHASE_H2D; i < NN_PHASE_COUNT; i++)
        if (strcmp(phase, nn_phase_name((enum nn_phase)i)) == 0)
            return i - 1;
    return SVG_COLOURS - 1;
}

/* A pale bar with a firm edge: text on it is read in light and dark. */
static void add_bar(struct track *k, const struct prof_span *s, double y)
{
    double x = x_of(k, s->begin), w = x_of(k, s->end) - x;
    int c = colour_of(s);

    str_addf(k->out, "<rect class=\"s%d f%d\" fill-opacity=\".22\"", c, c);
    svg_add_attr(k->out, "x", x);
    svg_add_attr(k->out, "y", y);
    svg_add_attr(k->out, "width", w < 0.5 ? 0.5 : w);
    svg_add_attr(k->out, "height", BAR);
    str_add(k->out, "><title>");
}

static void end_bar(struct track *k, const char *label)
{
    svg_add_escaped(k->out, label, strlen(label));
    str_add(k->out, "</title></rect>\n");
}

static void add_name(struct str *label, const struct prof_span *s)
{
    if (s->kind == PROF_STEP)
        str_addf(label, "%s#%lld", s->name, (long long)s->step);
    else
        pl_add_op_label(label, s);
}

static void add_text(struct track *k, double x, double y, const char *anchor,
                     const char *text)
{
    const struct svg_place at = {.x = x, .y = y, .anchor = anchor};

    svg_add_text(k->out, &at, text);
}

/* The first height where a text that begins at left touches no other one, else
 * the one where it has to move least. */
static int free_level(const struct track *k, double left)
{
    int i, best = 0;

    for (i = 0; i < LEVELS; i++) {
        if (left >= k->used[i])
            return i;
        if (k->used[i] < k->used[best])
            best = i;
    }
    return best;
}

/* The number of a slice too short for its name, below it. */
static void add_number(struct track *k, const struct prof_span *s, double y)
{
    double x = (x_of(k, s->begin) + x_of(k, s->end)) / 2, half;
    char text[16];
    int i;

    if (k->n_legend == MAX_LEGEND)
        return;
    k->legend[k->n_legend++] = s;
    (void)snprintf(text, sizeof text, "%d", k->n_legend);
    half = svg_width(text, strlen(text), SVG_TEXT) / 2 + 1;
    i = free_level(k, x - half);
    if (x - half < k->used[i])
        x = k->used[i] + half;
    k->used[i] = x + half;
    add_text(k, x, y + BAR + 14 + i * 15, "middle", text);
}

/* Name and time if they fit, else the name, else a number. */
static void add_slice(struct track *k, const struct prof_span *s, double y)
{
    double x = x_of(k, s->begin), w = x_of(k, s->end) - x;
    struct str name = {0}, both = {0};

    add_name(&name, s);
    str_addf(&both, "%s ", name.text ? name.text : "");
    pl_add_duration(&both, s->end - s->begin);
    if (name.failed || both.failed)
        k->out->failed = true;
    else {
        add_bar(k, s, y);
        end_bar(k, both.text);
        if (svg_width(both.text, both.len, SVG_TEXT) < w - 6)
            add_text(k, x + w / 2, y + 20, "middle", both.text);
        else if (svg_width(name.text, name.len, SVG_TEXT) < w - 6)
            add_text(k, x + w / 2, y + 20, "middle", name.text);
        else
            add_number(k, s, y);
    }
    str_free(&name);
    str_free(&both);
}

static double add_row(struct track *k, enum prof_kind kind, const char *label,
                      const struct prof_span *const *span, size_t n, double y)
{
    size_t i;
    int level, before = k->n_legend;
    double height = BAR + GAP;

    add_text(k, LEFT - 10, y + 20, "end", label);
    for (level = 0; level < LEVELS; level++)
        k->used[level] = 0;
    for (i = 0; i < n; i++)
        if (span[i]->kind == kind)
            add_slice(k, span[i], y);
    for (level = 0; level < LEVELS && k->n_legend > before; level++)
        if (k->used[level] > 0)
            height = BAR + GAP + 15 * (level + 1);
    return y + height;
}

static double add_axis(struct track *k, double y)
{
    const struct pl_chart_axis axis = {.label = "us since the step began"};
    struct pl_scale scale;
    struct str text = {0};
    int i;

    pl_scale_fit(&scale, &axis, 0, (double)k->length / 1e3, 8, false);
    for (i = 0; i < scale.n_ticks; i++) {
        double x = LEFT + PLOT * pl_scale_at(&scale, scale.tick[i]);

        str_add(k->out, "<path class=\"axis\" d=\"M");
        svg_add_xy(k->out, x, y);
        str_add(k->out, "v5\"/>\n");
        str_clear(&text);
        pl_scale_add_tick(&text, &scale, i);
        add_text(k, x, y + 20, "middle", text.text ? text.text : "");
    }
    str_add(k->out, "<path class=\"axis\" d=\"M");
    svg_add_xy(k->out, LEFT, y);
    str_addf(k->out, "h%d\"/>\n", PLOT);
    str_clear(&text);
    pl_scale_add_label(&text, &scale, axis.label);
    add_text(k, LEFT + PLOT / 2.0, y + 40, "middle",
             text.text ? text.text : "");
    str_free(&text);
    return y + 40;
}

static double add_legend(struct track *k, double y)
{
    int rows = (k->n_legend + LEGEND_COLUMNS - 1) / LEGEND_COLUMNS, i;
    double column = (WIDTH - 40) / (double)LEGEND_COLUMNS;
    struct str text = {0};

    for (i = 0; i < k->n_legend; i++) {
        const struct prof_span *s = k->legend[i];
        int right = i / rows;
        const struct svg_place at = {.x = 20 + column * right,
                                     .y = y + LINE * (i % rows + 1),
                                     .anchor = "start",
                                     .width = column - 8};

        str_clear(&text);
        str_addf(&text, "%d  ", i + 1);
        add_name(&text, s);
        str_addc(&text, ' ');
        pl_add_duration(&text, s->end - s->begin);
        svg_add_text(k->out, &at, text.text ? text.text : "");
    }
    str_free(&text);
    return y + LINE * rows;
}

/* The picture stands in a text of its own: its height is known at the end. */
static void frame(struct str *out, const struct str *body, double height,
                  const char *title)
{
    svg_begin(out, WIDTH, height, title,
              "bars from left to right in the order of time");
    (void)svg_add_title(out, title, WIDTH / 2.0, 14, WIDTH - 40);
    if (body->failed)
        out->failed = true;
    else
        str_addn(out, body->text, body->len);
    str_add(out, "</svg>\n");
}

static void begin_track(struct track *k, struct str *body,
                        const struct prof_span *step)
{
    memset(k, 0, sizeof *k);
    k->out = body;
    k->begin = step->begin;
    k->length = step->end > step->begin ? step->end - step->begin : 1;
}

void pl_traced_track_svg(const struct pl_traced *t, const char *about,
                         struct str *out)
{
    size_t n;
    const struct prof_span *const *span = pl_traced_last(t, &n);
    struct str body = {0}, title = {0};
    struct track k;
    double y;

    begin_track(&k, &body, span[0]);
    str_addf(&title, "CPU track of ProfilerStep#%lld: %s",
             (long long)span[0]->step, about);
    y = 14 + svg_title_height(title.text, WIDTH - 40) + GAP;
    y = add_row(&k, PROF_STEP, "step", span, n, y);
    y = add_row(&k, PROF_PHASE, "phases", span, n, y);
    y = add_row(&k, PROF_OP, "operators", span, n, y);
    y = add_legend(&k, add_axis(&k, y + 4) + 8);
    frame(out, &body, y + 16, title.text ? title.text : "");
    str_free(&body);
    str_free(&title);
}

/* A line under the step's bar: a phase, its time and share. */
static void add_share(struct track *k, const struct prof_span *s, double y)
{
    struct str text = {0};
    const struct svg_place name = {
        .x = LEFT + 20, .y = y + 13, .anchor = "start"};
    int c = colour_of(s);

    str_addf(k->out, "<rect class=\"s%d f%d\" fill-opacity=\".22\"", c, c);
    svg_add_attr(k->out, "x", LEFT);
    svg_add_attr(k->out, "y", y + 2);
    str_add(k->out, " width=\"12\" height=\"12\"/>\n");
    str_addf(&text, "%s ", s->name);
    pl_add_duration(&text, s->end - s->begin);
    str_addf(&text, ", %.1f %% of the step",
             100 * (double)(s->end - s->begin) / (double)k->length);
    svg_add_text(k->out, &name, text.text ? text.text : "");
    str_free(&text);
}

void pl_traced_span_svg(const struct pl_traced *t, const char *about,
                        struct str *out)
{
    size_t n, i;
    const struct prof_span *const *span = pl_traced_last(t, &n);
    struct str body = {0}, title = {0};
    struct track k;
    double y;

    begin_track(&k, &body, span[0]);
    str_addf(&title, "ProfilerStep#%lld takes ", (long long)span[0]->step);
    pl_add_duration(&title, span[0]->end - span[0]->begin);
    str_addf(&title, " with the profiler on: %s", about);
    y = 14 + svg_title_height(title.text, WIDTH - 40) + GAP;
    y = add_row(&k, PROF_STEP, "step", span, n, y);
    add_text(&k, LEFT - 10, y + 20, "end", "phases");
    for (i = 0; i < n; i++)
        if (span[i]->kind == PROF_PHASE) {
            add_bar(&k, span[i], y);
            end_bar(&k, span[i]->name);
        }
    y = add_axis(&k, y + BAR + 8) + GAP;
    for (i = 0; i < n; i++)
        if (span[i]->kind == PROF_PHASE) {
            add_share(&k, span[i], y);
            y += LINE + 2;
        }
    frame(out, &body, y + 16, title.text ? title.text : "");
    str_free(&body);
    str_free(&title);
}
