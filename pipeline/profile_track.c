#include "pipeline/profile_track.h"

#include <stdio.h>
#include <string.h>

#include "pipeline/chart_axis.h"
#include "pipeline/chart_svg.h"

enum { LEGEND_COLUMNS = 3 };

static double x_of(const struct track *k, int64_t t)
{
    return TRACK_LEFT + TRACK_PLOT * (double)(t - k->begin) / (double)k->length;
}

int track_colour(const char *phase)
{
    int i;

    for (i = NN_PHASE_H2D; i < NN_PHASE_COUNT; i++)
        if (strcmp(phase, nn_phase_name((enum nn_phase)i)) == 0)
            return i - 1;
    return SVG_COLOURS - 1;
}

/* A pale bar with a firm edge: text on it is read in light and dark. */
static void open_bar(struct track *k, const struct track_slice *s, double y)
{
    double x = x_of(k, s->begin), w = x_of(k, s->end) - x;
    int c = track_colour(s->phase);

    str_addf(k->out, "<rect class=\"s%d f%d\" fill-opacity=\".22\"", c, c);
    svg_add_attr(k->out, "x", x);
    svg_add_attr(k->out, "y", y);
    svg_add_attr(k->out, "width", w < 0.5 ? 0.5 : w);
    svg_add_attr(k->out, "height", TRACK_BAR);
    str_add(k->out, "><title>");
}

static void close_bar(struct track *k, const char *label)
{
    svg_add_escaped(k->out, label, strlen(label));
    str_add(k->out, "</title></rect>\n");
}

void track_bar(struct track *k, const struct track_slice *s, double y)
{
    open_bar(k, s, y);
    close_bar(k, s->name);
}

static void add_name(struct str *label, const struct track_slice *s)
{
    str_add(label, s->name);
    if (s->number >= 0)
        str_addf(label, "#%lld", (long long)s->number);
    if (s->call && s->call->layer[0] != '\0')
        str_addf(label, " %s", s->call->layer);
}

void track_text(struct track *k, double x, double y, const char *anchor,
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

    for (i = 0; i < TRACK_LEVELS; i++) {
        if (left >= k->used[i])
            return i;
        if (k->used[i] < k->used[best])
            best = i;
    }
    return best;
}

/* The number of a slice too short for its name, below it. */
static void add_number(struct track *k, const struct track_slice *s, double y)
{
    double x = (x_of(k, s->begin) + x_of(k, s->end)) / 2, half;
    char text[16];
    int i;

    if (k->n_legend == TRACK_LEGEND)
        return;
    k->legend[k->n_legend++] = *s;
    (void)snprintf(text, sizeof text, "%d", k->n_legend);
    half = svg_width(text, strlen(text), SVG_TEXT) / 2 + 1;
    i = free_level(k, x - half);
    if (x - half < k->used[i])
        x = k->used[i] + half;
    k->used[i] = x + half;
    track_text(k, x, y + TRACK_BAR + 14 + i * 15, "middle", text);
}

/* Name and time if they fit, else the name, else a number. */
void track_slice(struct track *k, const struct track_slice *s, double y)
{
    double x = x_of(k, s->begin), w = x_of(k, s->end) - x;
    struct str name = {0}, both = {0};

    add_name(&name, s);
    str_addf(&both, "%s ", name.text ? name.text : "");
    pl_add_duration(&both, s->end - s->begin);
    if (name.failed || both.failed)
        k->out->failed = true;
    else {
        open_bar(k, s, y);
        close_bar(k, both.text);
        if (svg_width(both.text, both.len, SVG_TEXT) < w - 6)
            track_text(k, x + w / 2, y + 20, "middle", both.text);
        else if (svg_width(name.text, name.len, SVG_TEXT) < w - 6)
            track_text(k, x + w / 2, y + 20, "middle", name.text);
        else
            add_number(k, s, y);
    }
    str_free(&name);
    str_free(&both);
}

void track_begin(struct track *k, struct str *body, int64_t begin, int64_t end)
{
    memset(k, 0, sizeof *k);
    k->out = body;
    k->begin = begin;
    k->length = end > begin ? end - begin : 1;
}

void track_row_begin(struct track *k, const char *label, double y)
{
    int level;

    track_text(k, TRACK_LEFT - 10, y + 20, "end", label);
    for (level = 0; level < TRACK_LEVELS; level++)
        k->used[level] = 0;
}

double track_row_end(const struct track *k, int n_legend_before)
{
    double height = TRACK_BAR + TRACK_GAP;
    int level;

    for (level = 0; level < TRACK_LEVELS && k->n_legend > n_legend_before;
         level++)
        if (k->used[level] > 0)
            height = TRACK_BAR + TRACK_GAP + 15 * (level + 1);
    return height;
}

double track_axis(struct track *k, double y)
{
    const struct pl_chart_axis axis = {.label = "us since the step began"};
    struct pl_scale scale;
    struct str text = {0};
    int i;

    pl_scale_fit(&scale, &axis, 0, (double)k->length / 1e3, 8, false);
    for (i = 0; i < scale.n_ticks; i++) {
        double x = TRACK_LEFT + TRACK_PLOT * pl_scale_at(&scale, scale.tick[i]);

        str_add(k->out, "<path class=\"axis\" d=\"M");
        svg_add_xy(k->out, x, y);
        str_add(k->out, "v5\"/>\n");
        str_clear(&text);
        pl_scale_add_tick(&text, &scale, i);
        track_text(k, x, y + 20, "middle", text.text ? text.text : "");
    }
    str_add(k->out, "<path class=\"axis\" d=\"M");
    svg_add_xy(k->out, TRACK_LEFT, y);
    str_addf(k->out, "h%d\"/>\n", TRACK_PLOT);
    str_clear(&text);
    pl_scale_add_label(&text, &scale, axis.label);
    track_text(k, TRACK_LEFT + TRACK_PLOT / 2.0, y + 40, "middle",
               text.text ? text.text : "");
    str_free(&text);
    return y + 40;
}

double track_legend(struct track *k, double y)
{
    int rows = (k->n_legend + LEGEND_COLUMNS - 1) / LEGEND_COLUMNS, i;
    double column = (TRACK_WIDTH - 40) / (double)LEGEND_COLUMNS;
    struct str text = {0};

    for (i = 0; i < k->n_legend; i++) {
        const struct track_slice *s = &k->legend[i];
        int right = i / rows;
        const struct svg_place at = {.x = 20 + column * right,
                                     .y = y + TRACK_LINE * (i % rows + 1),
                                     .anchor = "start",
                                     .width = column - 8};

        str_clear(&text);
        str_addf(&text, "%d  ", i + 1);
        pl_add_duration(&text, s->end - s->begin);
        str_add(&text, "  "); /* names may be long: they are what is cut */
        add_name(&text, s);
        svg_add_text(k->out, &at, text.text ? text.text : "");
    }
    str_free(&text);
    return y + TRACK_LINE * rows;
}

static const char simulated_text[] =
    "SIMULATED: no GPU, no time means anything";

/* Across the bars, pale and large: it goes wherever the picture goes. A style
 * of its own, as the picture's is for all text. */
static void add_watermark(struct str *out, double height)
{
    str_add(out, "<text text-anchor=\"middle\" style=\"fill:#d33;"
                 "fill-opacity:.4;font:bold 30px sans-serif\"");
    svg_add_attr(out, "x", TRACK_WIDTH / 2.0);
    svg_add_attr(out, "y", height / 2);
    str_addf(out, " transform=\"rotate(-9 %d %.0f)\">%s</text>\n",
             TRACK_WIDTH / 2, height / 2, simulated_text);
}

/* The picture stands in a text of its own: its height is known at the end. */
void track_frame(struct str *out, const struct str *body, double height,
                 const char *title, bool simulated)
{
    svg_begin(out, TRACK_WIDTH, height, title,
              simulated ? simulated_text
                        : "bars from left to right in the order of time");
    (void)svg_add_title(out, title, TRACK_WIDTH / 2.0, 14, TRACK_WIDTH - 40);
    if (body->failed)
        out->failed = true;
    else
        str_addn(out, body->text, body->len);
    if (simulated)
        add_watermark(out, height);
    str_add(out, "</svg>\n");
}

struct track_slice track_span(const struct prof_span *s)
{
    const struct nn_call *call = s->kind == PROF_OP ? s->arg : NULL;
    const struct track_slice x = {
        .begin = s->begin,
        .end = s->end,
        .name = s->name,
        .call = call,
        .phase = s->kind == PROF_PHASE ? s->name
                 : call                ? nn_phase_name(call->phase)
                                       : "",
        .number = s->kind == PROF_STEP ? s->step : -1,
    };

    return x;
}
