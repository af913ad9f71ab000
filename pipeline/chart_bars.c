#include "pipeline/chart_bars.h"

#include <math.h>
#include <string.h>

#include "pipeline/chart_axis.h"
#include "pipeline/chart_svg.h"

/* Pixels. */
enum {
    WIDTH = 760,
    MARGIN = 14,
    LINE = 20,
    BAR = 13,
    GAP = 9,         /* between two groups */
    LABEL = 230,     /* the most that a group's name takes */
    VALUE_ROOM = 64, /* behind the longest bar */
    SAMPLE = 14,
    LEGEND_GAP = 20,
    MAX_TICKS = 8,
    TICK_ROOM = 24
};

struct layout {
    const struct pl_bars *c;
    struct pl_scale scale;
    double x0, x1, y0, y1; /* the bars */
    double height;         /* of the picture */
    bool empty;
};

static bool takes(const struct pl_bars *c, double v)
{
    return pl_scale_takes(c->axis.log, v) && (c->axis.log || v >= 0);
}

static void find_range(struct layout *l, double *lo, double *hi)
{
    size_t i, k;

    *lo = HUGE_VAL;
    *hi = -HUGE_VAL;
    for (k = 0; k < l->c->n; k++)
        for (i = 0; i < l->c->n_groups; i++) {
            double v = l->c->series[k].value[i];

            if (!takes(l->c, v))
                continue;
            *lo = fmin(*lo, v);
            *hi = fmax(*hi, v);
        }
    l->empty = *lo > *hi;
    if (!l->empty && !l->c->axis.log)
        *lo = 0;
}

static double label_width(const struct pl_bars *c)
{
    double w = 0;
    size_t i;

    for (i = 0; i < c->n_groups; i++)
        w = fmax(w, svg_width(c->groups[i], strlen(c->groups[i]), SVG_TEXT));
    return fmin(w, LABEL);
}

/* As many ticks as there is room for: a log axis may have more than it is
 * asked for. */
static void fit_scale(struct layout *l)
{
    double lo, hi;
    int target = MAX_TICKS;

    find_range(l, &lo, &hi);
    do
        pl_scale_fit(&l->scale, &l->c->axis, lo, hi, target--, true);
    while (target > 1 && l->scale.n_ticks * 3 * TICK_ROOM > l->x1 - l->x0);
}

/* ---- legend ---- */

/* Rows of entries from y down; returns their height. out may be NULL: then
 * nothing is drawn. */
static double add_legend(struct str *out, const struct layout *l, double y)
{
    double x = MARGIN, room = WIDTH - MARGIN;
    int rows = l->c->n > 0;
    size_t k;

    for (k = 0; k < l->c->n; k++) {
        const char *name = l->c->series[k].name;
        double w = fmin(svg_width(name, strlen(name), SVG_TEXT),
                        room - MARGIN - SAMPLE - 6);
        struct svg_place at = {.anchor = "start", .width = w + 1};

        if (x > MARGIN && x + SAMPLE + 6 + w > room) {
            x = MARGIN;
            rows++;
        }
        at.x = x + SAMPLE + 6;
        at.y = y + LINE * rows - 6;
        if (out) {
            str_addf(out, "<rect class=\"f%zu\"", k % SVG_COLOURS);
            svg_add_attr(out, "x", x);
            svg_add_attr(out, "y", at.y - 11);
            str_addf(out, " width=\"%d\" height=\"12\"/>\n", SAMPLE);
            svg_add_text(out, &at, name);
        }
        x += SAMPLE + 6 + w + LEGEND_GAP;
    }
    return rows * LINE;
}

static double group_height(const struct pl_bars *c)
{
    return (double)c->n * BAR + GAP;
}

static void fit(struct layout *l)
{
    const struct pl_bars *c = l->c;
    double head =
        svg_title_height(c->title, WIDTH - 2 * MARGIN) + add_legend(NULL, l, 0);

    l->x0 = MARGIN + label_width(c) + 10;
    l->x1 = WIDTH - MARGIN - VALUE_ROOM;
    l->y0 = MARGIN + head + 8;
    l->y1 = l->y0 + fmax(1, (double)c->n_groups) * group_height(c) + GAP;
    l->height = l->y1 + 2 * LINE + MARGIN;
    fit_scale(l);
}

/* ---- drawing ---- */

static double x_of(const struct layout *l, double v)
{
    return l->x0 + pl_scale_at(&l->scale, v) * (l->x1 - l->x0);
}

static void add_axis(struct str *out, const struct layout *l)
{
    struct svg_place at = {
        .y = l->y1 + 18, .anchor = "middle", .class = "soft"};
    struct str text = {0};
    int i;

    str_add(out, "<g class=\"grid\" shape-rendering=\"crispEdges\">\n");
    for (i = 0; i < l->scale.n_ticks; i++) {
        str_add(out, "<path d=\"M");
        svg_add_xy(out, x_of(l, l->scale.tick[i]), l->y0);
        str_addc(out, 'L');
        svg_add_xy(out, x_of(l, l->scale.tick[i]), l->y1);
        str_add(out, "\"/>\n");
    }
    str_add(out, "</g>\n");
    for (i = 0; i < l->scale.n_ticks; i++) {
        str_clear(&text);
        pl_scale_add_tick(&text, &l->scale, i);
        at.x = x_of(l, l->scale.tick[i]);
        svg_add_text(out, &at, text.text ? text.text : "");
    }
    str_clear(&text);
    pl_scale_add_label(&text, &l->scale, l->c->axis.label);
    at = (struct svg_place){
        .x = (l->x0 + l->x1) / 2, .y = l->y1 + 18 + LINE, .anchor = "middle"};
    svg_add_text(out, &at, text.text ? text.text : "");
    out->failed = out->failed || text.failed;
    str_free(&text);
}

static void add_value(struct str *out, double v)
{
    str_addf(out, fabs(v) < 100 ? "%.3g" : fabs(v) < 1e6 ? "%.0f" : "%.4g", v);
}

/* A bar, and behind it its value. */
static void add_bar(struct str *out, const struct layout *l, size_t group,
                    size_t k, double y)
{
    const struct pl_bar_series *s = &l->c->series[k];
    double v = s->value[group];
    bool drawn = takes(l->c, v);
    double x = drawn ? x_of(l, v) : l->x0;
    struct svg_place at = {.x = x + 5, .y = y + 11, .anchor = "start"};
    struct str text = {0};

    if (drawn) {
        str_addf(out, "<rect class=\"f%zu\"", k % SVG_COLOURS);
        svg_add_attr(out, "x", l->x0);
        svg_add_attr(out, "y", y);
        svg_add_attr(out, "width", fmax(x - l->x0, 1));
        svg_add_attr(out, "height", BAR - 1);
        str_add(out, "/>\n");
        add_value(&text, v);
    } else {
        at.class = "soft";
        str_add(&text, isfinite(v) ? "0" : "none");
    }
    svg_add_text(out, &at, text.text ? text.text : "");
    out->failed = out->failed || text.failed;
    str_free(&text);
}

static void add_groups(struct str *out, const struct layout *l)
{
    const struct pl_bars *c = l->c;
    size_t i, k;

    for (i = 0; i < c->n_groups; i++) {
        double y = l->y0 + GAP + (double)i * group_height(c);
        const struct svg_place at = {.x = l->x0 - 8,
                                     .y = y + (double)c->n * BAR / 2 + 4,
                                     .anchor = "end",
                                     .width = LABEL};

        svg_add_text(out, &at, c->groups[i]);
        for (k = 0; k < c->n; k++)
            add_bar(out, l, i, k, y + (double)k * BAR);
    }
    str_add(out, "<path class=\"axis\" d=\"M");
    svg_add_xy(out, l->x0, l->y0);
    str_add(out, "L");
    svg_add_xy(out, l->x0, l->y1);
    str_add(out, "\"/>\n");
}

/* In the middle of the bars. */
static void add_note(struct str *out, const struct layout *l, const char *class,
                     const char *text)
{
    const struct svg_place at = {.x = (l->x0 + l->x1) / 2,
                                 .y = (l->y0 + l->y1) / 2,
                                 .anchor = "middle",
                                 .class = class};

    svg_add_text(out, &at, text);
}

/* What a screen reader says of bars that have no text of their own. */
static void make_desc(struct str *out, const struct pl_bars *c)
{
    size_t i, k;

    str_addf(out, "Bar chart, %s.", c->axis.label ? c->axis.label : "");
    for (i = 0; i < c->n_groups; i++) {
        str_addf(out, " %s:", c->groups[i]);
        for (k = 0; k < c->n; k++) {
            str_addf(out, "%s %s ", k ? "," : "", c->series[k].name);
            if (isfinite(c->series[k].value[i]))
                add_value(out, c->series[k].value[i]);
            else
                str_add(out, "none");
        }
        str_addc(out, '.');
    }
}

int pl_bars_svg(struct str *out, const struct pl_bars *c, struct err *err)
{
    struct layout l = {.c = c};
    struct str desc = {0};
    double title;
    int rc = 0;

    fit(&l);
    if (!c->desc)
        make_desc(&desc, c);
    svg_begin(out, WIDTH, l.height, c->title,
              c->desc       ? c->desc
              : desc.failed ? ""
                            : desc.text);
    title = svg_add_title(out, c->title, WIDTH / 2.0, MARGIN - 4,
                          WIDTH - 2 * MARGIN);
    (void)add_legend(out, &l, MARGIN + title);
    add_axis(out, &l);
    add_groups(out, &l);
    if (l.empty)
        add_note(out, &l, "soft", "no data");
    if (c->watermark)
        add_note(out, &l, "mark", c->watermark);
    str_add(out, "</svg>\n");
    if (out->failed || desc.failed)
        rc = err_set(err, ERR_NOMEM, "out of memory drawing bars");
    str_free(&desc);
    return rc;
}
