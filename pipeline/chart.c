#include "pipeline/chart.h"

#include <math.h>
#include <string.h>

#include "pipeline/chart_axis.h"
#include "pipeline/chart_series.h"
#include "pipeline/chart_svg.h"

enum {
    WIDTH = 760,
    PLOT_HEIGHT = 300,
    MARGIN = 14,     /* around everything */
    LINE = 20,       /* a row of text */
    TICK_GAP = 8,    /* between a tick's text and its axis */
    SAMPLE = 30,     /* the piece of line in the legend */
    LEGEND_GAP = 20, /* between two entries */
    Y_TICKS = 6,
    X_TICK_ROOM = 24, /* between the texts of two ticks */
    MAX_X_TICKS = 10
};

struct layout {
    const struct pl_chart *c;
    bool has_left, has_right, empty, has_gaps;
    struct pl_scale x, left, right;
    double x0, x1, y0, y1; /* the plot */
    double height;         /* of the picture */
};

struct range {
    double lo, hi; /* lo > hi: empty */
};

static const struct pl_chart_axis *axis_of(const struct pl_chart *c,
                                           const struct pl_chart_series *s)
{
    return s->right ? &c->right : &c->left;
}

static void grow(struct range *r, double v)
{
    r->lo = fmin(r->lo, v);
    r->hi = fmax(r->hi, v);
}

/* y and how far it spreads, as far as its axis takes that. */
static void grow_y(struct range *r, const struct pl_chart_series *s, size_t j,
                   bool log)
{
    grow(r, s->y[j]);
    if (!s->low || !s->high)
        return;
    if (pl_scale_takes(log, s->low[j]))
        grow(r, s->low[j]);
    if (pl_scale_takes(log, s->high[j]))
        grow(r, s->high[j]);
}

/* Over the points that can be drawn: those that both axes take. */
static void find_ranges(struct layout *l, struct range *x, struct range *left,
                        struct range *right)
{
    const struct pl_chart *c = l->c;
    size_t i, j;

    x->lo = left->lo = right->lo = HUGE_VAL;
    x->hi = left->hi = right->hi = -HUGE_VAL;
    for (i = 0; i < c->n; i++) {
        const struct pl_chart_series *s = &c->series[i];

        l->has_right = l->has_right || s->right;
        l->has_left = l->has_left || !s->right;
        for (j = 0; j < s->n; j++)
            if (pl_scale_takes(c->x.log, s->x[j]) &&
                pl_scale_takes(axis_of(c, s)->log, s->y[j])) {
                grow(x, s->x[j]);
                grow_y(s->right ? right : left, s, j, axis_of(c, s)->log);
            } else if (c->mark_gaps && !isfinite(s->y[j]) &&
                       pl_scale_takes(c->x.log, s->x[j])) {
                grow(x, s->x[j]);
            }
        l->has_gaps = l->has_gaps || (c->mark_gaps && pl_series_has_gaps(s));
    }
    l->has_left = l->has_left || !l->has_right;
    l->empty = x->lo > x->hi;
}

static double tick_width(const struct pl_scale *s)
{
    double w = 0;
    int i;

    for (i = 0; i < s->n_ticks; i++) {
        struct str t = {0};

        pl_scale_add_tick(&t, s, i);
        if (t.text)
            w = fmax(w, svg_width(t.text, t.len, SVG_TEXT));
        str_free(&t);
    }
    return w;
}

static double side_width(const struct pl_scale *s,
                         const struct pl_chart_axis *axis)
{
    double label = s->exponent != 0 || (axis->label && axis->label[0]);

    return MARGIN + TICK_GAP + tick_width(s) + label * (LINE + 4);
}

/* Leaves those out whose texts would touch the one before. */
static void drop_crowded(struct pl_scale *s, double room)
{
    double least = (tick_width(s) + TICK_GAP) / room, last = -1;
    int i, n = 0;

    for (i = 0; i < s->n_ticks; i++)
        if (n == 0 || pl_scale_at(s, s->tick[i]) - last >= least) {
            last = pl_scale_at(s, s->tick[i]);
            s->tick[n++] = s->tick[i];
        }
    s->n_ticks = n;
}

/* As many ticks as their texts leave room for. */
static void fit_x(struct layout *l, const struct range *x)
{
    int target = MAX_X_TICKS;
    double room = l->x1 - l->x0;

    do
        pl_scale_fit(&l->x, &l->c->x, x->lo, x->hi, target--,
                     l->c->kind == PL_CHART_SCATTER);
    while (target > 1 &&
           l->x.n_ticks * (tick_width(&l->x) + X_TICK_ROOM) > room);
    if (l->x.given)
        drop_crowded(&l->x, room);
}

static void fit_scales(struct layout *l)
{
    const struct pl_chart *c = l->c;
    struct range x, left, right;

    find_ranges(l, &x, &left, &right);
    pl_scale_fit(&l->left, &c->left, left.lo, left.hi, Y_TICKS, true);
    if (l->has_left && l->has_right && !c->left.log && !c->right.log)
        pl_scale_align(&l->right, &c->right, right.lo, right.hi, &l->left);
    else
        pl_scale_fit(&l->right, &c->right, right.lo, right.hi, Y_TICKS, true);
    l->x0 = l->has_left ? side_width(&l->left, &c->left) : 2 * MARGIN;
    l->x1 =
        WIDTH - (l->has_right ? side_width(&l->right, &c->right) : 2 * MARGIN);
    fit_x(l, &x);
}

/* ---- legend ---- */

static bool is_named(const struct pl_chart_series *s)
{
    return s->name && s->name[0];
}

/* Entry i of the legend; behind those of the series comes the one for
 * crosses. Nothing is added: it has no text. */
static void legend_text(struct str *out, const struct layout *l, size_t i)
{
    if (i == l->c->n && l->has_gaps) {
        str_add(out, "inf or nan");
    } else if (i < l->c->n && is_named(&l->c->series[i])) {
        str_add(out, l->c->series[i].name);
        if (l->has_left && l->c->series[i].right)
            str_add(out, " (right axis)");
    }
}

static void add_sample(struct str *out, const struct layout *l, size_t i,
                       double x, double y)
{
    struct pl_look look;

    if (i == l->c->n) {
        str_add(out, "<g class=\"cross axis\">");
        pl_cross_add(out, x + SAMPLE / 2.0, y);
        str_add(out, "</g>\n");
        return;
    }
    look = pl_series_look(l->c, i);
    if (look.line) {
        if (look.guide)
            str_add(out, "<path class=\"guide\" d=\"M");
        else
            str_addf(out, "<path class=\"line s%d d%d\" d=\"M", look.colour,
                     look.dash);
        svg_add_xy(out, x, y);
        str_addf(out, "h%d\"/>\n", SAMPLE);
    }
    if (look.markers) {
        str_addf(out, "<g class=\"f%d\">", look.colour);
        pl_marker_begin(out, look.marker, x + SAMPLE / 2.0, y);
        pl_marker_end(out, look.marker);
        str_add(out, "</g>\n");
    }
}

/* Rows of entries above the plot, from y down; returns their height. out may
 * be NULL: then nothing is drawn. */
static double add_legend(struct str *out, const struct layout *l, double y)
{
    double x = l->x0, room = l->x1 - l->x0;
    int rows = 0;
    size_t i;

    for (i = 0; i <= l->c->n; i++) {
        struct str t = {0};
        double w;

        legend_text(&t, l, i);
        if (out && t.failed)
            out->failed = true;
        if (!t.text || t.len == 0) {
            str_free(&t);
            continue;
        }
        w = fmin(svg_width(t.text, t.len, SVG_TEXT), room - SAMPLE - 6);
        if (rows == 0 || x + SAMPLE + 6 + w > l->x1) {
            x = l->x0;
            rows++;
        }
        if (out) {
            struct svg_place at = {.x = x + SAMPLE + 6,
                                   .y = y + LINE * rows - 6,
                                   .anchor = "start",
                                   .width = w + 1};

            add_sample(out, l, i, x, at.y - 4.5);
            svg_add_text(out, &at, t.text);
        }
        str_free(&t);
        x += SAMPLE + 6 + w + LEGEND_GAP;
    }
    return rows * LINE;
}

static void fit_heights(struct layout *l)
{
    double title = svg_title_height(l->c->title, WIDTH - 2 * MARGIN);
    double legend = add_legend(NULL, l, 0);
    bool label = l->x.exponent != 0 || (l->c->x.label && l->c->x.label[0]);

    l->y0 = MARGIN + title + legend + (title + legend > 0 ? 10 : 0);
    l->y1 = l->y0 + PLOT_HEIGHT;
    l->height = l->y1 + TICK_GAP + LINE + label * LINE + 0.5 * MARGIN;
}

/* ---- axes ---- */

static double tick_y(const struct layout *l, const struct pl_scale *s, int i)
{
    return l->y1 - pl_scale_at(s, s->tick[i]) * (l->y1 - l->y0);
}

static double tick_x(const struct layout *l, int i)
{
    return l->x0 + pl_scale_at(&l->x, l->x.tick[i]) * (l->x1 - l->x0);
}

static void add_segment(struct str *out, double x1, double y1, double x2,
                        double y2)
{
    str_add(out, "<path d=\"M");
    svg_add_xy(out, x1, y1);
    str_addc(out, 'L');
    svg_add_xy(out, x2, y2);
    str_add(out, "\"/>\n");
}

static void add_grid(struct str *out, const struct layout *l)
{
    const struct pl_scale *s = l->has_left ? &l->left : &l->right;
    int i;

    str_add(out, "<g class=\"grid\" shape-rendering=\"crispEdges\">\n");
    for (i = 0; i < s->n_ticks; i++)
        add_segment(out, l->x0, tick_y(l, s, i), l->x1, tick_y(l, s, i));
    for (i = 0; i < l->x.n_ticks; i++)
        add_segment(out, tick_x(l, i), l->y0, tick_x(l, i), l->y1);
    str_add(out, "</g>\n<g class=\"axis\" shape-rendering=\"crispEdges\">\n");
    add_segment(out, l->x0, l->y1, l->x1, l->y1);
    if (l->has_left)
        add_segment(out, l->x0, l->y0, l->x0, l->y1);
    if (l->has_right)
        add_segment(out, l->x1, l->y0, l->x1, l->y1);
    str_add(out, "</g>\n");
}

static void add_tick(struct str *out, const struct pl_scale *s, int i,
                     const struct svg_place *at)
{
    struct str t = {0};

    pl_scale_add_tick(&t, s, i);
    if (t.failed)
        out->failed = true;
    else
        svg_add_text(out, at, t.text);
    str_free(&t);
}

static void add_label(struct str *out, const struct pl_scale *s,
                      const struct pl_chart_axis *axis, struct svg_place *at)
{
    struct str t = {0};

    pl_scale_add_label(&t, s, axis->label);
    at->anchor = "middle";
    if (t.failed)
        out->failed = true;
    else if (t.len > 0)
        svg_add_text(out, at, t.text);
    str_free(&t);
}

static void add_x_axis(struct str *out, const struct layout *l)
{
    struct svg_place at = {
        .y = l->y1 + TICK_GAP + 11, .anchor = "middle", .class = "soft"};
    int i;

    for (i = 0; i < l->x.n_ticks; i++) {
        at.x = tick_x(l, i);
        add_tick(out, &l->x, i, &at);
    }
    at.x = (l->x0 + l->x1) / 2;
    at.y += LINE + 2;
    at.width = l->x1 - l->x0;
    at.class = NULL;
    add_label(out, &l->x, &l->c->x, &at);
}

/* The class that colours an axis' label like the one series on it. */
static const char *label_class(const struct pl_chart *c, bool right,
                               char buf[8])
{
    size_t i, n = 0, last = 0;

    for (i = 0; i < c->n; i++)
        if (c->series[i].right == right) {
            last = i;
            n++;
        }
    if (n != 1 || c->n < 2)
        return NULL;
    buf[0] = 'f';
    buf[1] = (char)('0' + pl_series_look(c, last).colour);
    buf[2] = '\0';
    return buf;
}

static void add_y_axis(struct str *out, const struct layout *l, bool right)
{
    const struct pl_scale *s = right ? &l->right : &l->left;
    const struct pl_chart_axis *axis = right ? &l->c->right : &l->c->left;
    struct svg_place at = {.x = right ? l->x1 + TICK_GAP : l->x0 - TICK_GAP,
                           .anchor = right ? "start" : "end",
                           .class = "soft"};
    char class[8];
    int i;

    for (i = 0; i < s->n_ticks; i++) {
        at.y = tick_y(l, s, i) + 4.5;
        add_tick(out, s, i, &at);
    }
    at.x = right ? WIDTH - MARGIN + 2 : MARGIN + 9;
    at.y = (l->y0 + l->y1) / 2;
    at.width = l->y1 - l->y0;
    at.upwards = true;
    at.class = label_class(l->c, right, class);
    add_label(out, s, axis, &at);
}

/* ---- the whole ---- */

static void add_series_desc(struct str *out, const struct pl_chart_series *s)
{
    double lo = HUGE_VAL, hi = -HUGE_VAL;
    size_t i;

    for (i = 0; i < s->n; i++)
        if (isfinite(s->y[i])) {
            lo = fmin(lo, s->y[i]);
            hi = fmax(hi, s->y[i]);
        }
    str_addf(out, " %s: %zu points", is_named(s) ? s->name : "unnamed", s->n);
    if (lo <= hi) {
        str_add(out, ", the last ");
        pl_chart_add_value(out, s->y[s->n - 1]);
        str_add(out, ", between ");
        pl_chart_add_value(out, lo);
        str_add(out, " and ");
        pl_chart_add_value(out, hi);
    }
    str_addc(out, '.');
}

/* What a screen reader says of a chart that has no text of its own. */
static void make_desc(struct str *out, const struct pl_chart *c)
{
    size_t i;

    str_add(out, c->kind == PL_CHART_LINE ? "Line chart" : "Scatter chart");
    if (c->x.label && c->x.label[0])
        str_addf(out, " over %s", c->x.label);
    str_addc(out, '.');
    for (i = 0; i < c->n; i++)
        add_series_desc(out, &c->series[i]);
}

static int add_all_series(struct str *out, const struct layout *l,
                          struct err *err)
{
    struct pl_plot plot = {l->x0, l->x1, l->y0, l->y1, &l->x, NULL};
    size_t i;
    int rc = 0;

    for (i = 0; rc == 0 && i < l->c->n; i++) {
        plot.y = l->c->series[i].right ? &l->right : &l->left;
        rc = pl_series_add(out, l->c, i, &plot, err);
        if (rc == 0 && l->has_gaps)
            pl_series_add_gaps(out, l->c, i, &plot);
    }
    return rc;
}

static void add_watermark(struct str *out, const struct layout *l)
{
    const struct svg_place at = {.x = (l->x0 + l->x1) / 2,
                                 .y = (l->y0 + l->y1) / 2 + 22,
                                 .anchor = "middle",
                                 .class = "mark"};

    if (l->c->watermark)
        svg_add_text(out, &at, l->c->watermark);
}

static void add_empty_note(struct str *out, const struct layout *l)
{
    struct svg_place at = {.x = (l->x0 + l->x1) / 2,
                           .y = (l->y0 + l->y1) / 2,
                           .anchor = "middle",
                           .class = "soft"};

    if (l->empty)
        svg_add_text(out, &at, "no data");
}

int pl_chart_svg(struct str *out, const struct pl_chart *c, struct err *err)
{
    struct layout l = {.c = c};
    struct str desc = {0};
    double title;
    int rc;

    fit_scales(&l);
    fit_heights(&l);
    if (c->desc)
        str_add(&desc, c->desc);
    else
        make_desc(&desc, c);
    svg_begin(out, WIDTH, l.height, c->title, desc.failed ? "" : desc.text);
    title = svg_add_title(out, c->title, WIDTH / 2.0, MARGIN - 4,
                          WIDTH - 2 * MARGIN);
    (void)add_legend(out, &l, MARGIN + title);
    add_grid(out, &l);
    if (l.has_left)
        add_y_axis(out, &l, false);
    if (l.has_right)
        add_y_axis(out, &l, true);
    add_x_axis(out, &l);
    add_watermark(out, &l);
    add_empty_note(out, &l);
    rc = add_all_series(out, &l, err);
    str_add(out, "</svg>\n");
    if (rc == 0 && (out->failed || desc.failed))
        rc = err_set(err, ERR_NOMEM, "out of memory drawing a chart");
    str_free(&desc);
    return rc;
}
