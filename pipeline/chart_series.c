#include "pipeline/chart_series.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/chart_svg.h"

enum { MEAN_POINTS = 4096 };

struct point {
    double x, y; /* pixels */
};

/* A path that is being written. With thin set, consecutive points in one
 * column of pixels become four: first, lowest, highest, last. */
struct pen {
    struct str *out;
    bool down, moved;
    bool thin;
    double column; /* of the points held; they are n */
    size_t n;
    struct point first, last, low, high;
    bool low_first;
};

struct pl_look pl_series_look(const struct pl_chart *c, size_t i)
{
    const struct pl_chart_series *s = &c->series[i];
    struct pl_look look;

    look.colour =
        (s->colour > 0 ? s->colour - 1 : (int)(i % SVG_COLOURS)) % SVG_COLOURS;
    look.dash =
        (s->dash > 0 ? s->dash - 1 : (int)(i % SVG_DASHES)) % SVG_DASHES;
    /* The fifth is solid again, but with another marker than the first. */
    look.marker = (look.dash + (int)(i / SVG_DASHES)) % SVG_DASHES;
    look.guide = s->guide;
    look.line = s->guide || c->kind == PL_CHART_LINE;
    look.markers = !s->guide && (!look.line ||
                                 (s->n <= CHART_MAX_MARKERS && s->smooth <= 1));
    return look;
}

void pl_chart_add_value(struct str *out, double v)
{
    double unit;
    int k;

    if (v == 0 || !isfinite(v)) {
        str_add_double(out, v + 0.0);
        return;
    }
    k = 5 - (int)floor(log10(fabs(v)));
    unit = pow(10, k < 0 ? -k : k);
    if (isfinite(unit))
        v = k < 0 ? round(v / unit) * unit : round(v * unit) / unit;
    str_add_double(out, v);
}

void pl_marker_begin(struct str *out, int marker, double x, double y)
{
    static const char *const path[] = {"", "m-3.2,-3.2h6.4v6.4h-6.4z",
                                       "m0,-4.4l4.2,7.2h-8.4z",
                                       "m0,-4.6l4.6,4.6l-4.6,4.6l-4.6,-4.6z"};

    if (marker == 0) {
        str_add(out, "<circle");
        svg_add_attr(out, "cx", x);
        svg_add_attr(out, "cy", y);
        svg_add_attr(out, "r", 3.6);
        str_addc(out, '>');
        return;
    }
    str_add(out, "<path d=\"M");
    svg_add_xy(out, x, y);
    str_addf(out, "%s\">", path[marker]);
}

void pl_marker_end(struct str *out, int marker)
{
    str_add(out, marker == 0 ? "</circle>" : "</path>");
}

/* ---- lines ---- */

static void draw_to(struct pen *pen, struct point p)
{
    str_add(pen->out, pen->down ? "L" : "M");
    svg_add_xy(pen->out, p.x, p.y);
    pen->moved = pen->down;
    pen->down = true;
}

static void flush(struct pen *pen)
{
    struct point a = pen->low_first ? pen->low : pen->high;
    struct point b = pen->low_first ? pen->high : pen->low;

    if (pen->n > 0)
        draw_to(pen, pen->first);
    if (pen->n > 2) {
        draw_to(pen, a);
        draw_to(pen, b);
    }
    if (pen->n > 1)
        draw_to(pen, pen->last);
    pen->n = 0;
}

static void add_point(struct pen *pen, struct point p)
{
    double column = floor(p.x);

    if (pen->n > 0 && (!pen->thin || column != pen->column))
        flush(pen);
    if (pen->n++ == 0) {
        pen->column = column;
        pen->first = pen->low = pen->high = p;
        pen->low_first = true;
    } else if (p.y > pen->low.y) { /* pixels count downwards */
        pen->low = p;
        pen->low_first = false;
    } else if (p.y < pen->high.y) {
        pen->high = p;
        pen->low_first = true;
    }
    pen->last = p;
}

/* Ends a stretch of line; a point that stands alone becomes a dot. */
static void lift(struct pen *pen)
{
    flush(pen);
    if (pen->down && !pen->moved)
        str_add(pen->out, "h0");
    pen->down = pen->moved = false;
}

static bool place(const struct pl_plot *plot, double x, double y,
                  struct point *out)
{
    if (!pl_scale_takes(plot->x->log, x) || !pl_scale_takes(plot->y->log, y))
        return false;
    out->x = plot->left + pl_scale_at(plot->x, x) * (plot->right - plot->left);
    out->y =
        plot->bottom - pl_scale_at(plot->y, y) * (plot->bottom - plot->top);
    return true;
}

static void add_line(struct str *out, const struct pl_chart_series *s,
                     const struct pl_plot *plot, const char *class)
{
    struct pen pen = {.out = out};
    struct point p;
    size_t i;

    pen.thin = (double)s->n > 2 * (plot->right - plot->left);
    str_addf(out, "<path class=\"%s\" d=\"", class);
    for (i = 0; i < s->n; i++)
        if (place(plot, s->x[i], s->y[i], &p))
            add_point(&pen, p);
        else
            lift(&pen);
    lift(&pen);
    str_add(out, "\"/>\n");
}

/* ---- spread ---- */

/* Point i of low or high; a spread that an axis cannot show all of ends at the
 * plot's foot. */
static bool place_spread(const struct pl_plot *plot,
                         const struct pl_chart_series *s, size_t i, bool high,
                         struct point *out)
{
    double v = high ? s->high[i] : s->low[i];
    struct point middle;

    *out = (struct point){plot->left, plot->bottom};
    if (isnan(v) || !place(plot, s->x[i], s->y[i], &middle))
        return false;
    if (!place(plot, s->x[i], v, out)) {
        out->x = middle.x;
        out->y = high ? plot->top : plot->bottom;
    }
    return true;
}

/* The points first .. end - 1, there along high and back along low. */
static void add_band_piece(struct str *out, const struct pl_chart_series *s,
                           const struct pl_plot *plot, size_t first, size_t end)
{
    struct point p;
    size_t i;

    for (i = first; i < end; i++) {
        (void)place_spread(plot, s, i, true, &p);
        str_addc(out, i == first ? 'M' : 'L');
        svg_add_xy(out, p.x, p.y);
    }
    for (i = end; i-- > first;) {
        (void)place_spread(plot, s, i, false, &p);
        str_addc(out, 'L');
        svg_add_xy(out, p.x, p.y);
    }
    str_addc(out, 'Z');
}

static bool has_spread(const struct pl_plot *plot,
                       const struct pl_chart_series *s, size_t i)
{
    struct point p;

    return place_spread(plot, s, i, false, &p) &&
           place_spread(plot, s, i, true, &p);
}

static void add_band(struct str *out, const struct pl_chart_series *s,
                     const struct pl_plot *plot, int colour)
{
    size_t i = 0, first;

    str_addf(out, "<path class=\"band f%d\" d=\"", colour);
    while (i < s->n) {
        first = i;
        while (i < s->n && has_spread(plot, s, i))
            i++;
        if (i > first)
            add_band_piece(out, s, plot, first, i);
        else
            i++;
    }
    str_add(out, "\"/>\n");
}

static void add_bars(struct str *out, const struct pl_chart_series *s,
                     const struct pl_plot *plot, int colour)
{
    struct point low, high;
    size_t i;

    str_addf(out, "<g class=\"bar s%d\">\n", colour);
    for (i = 0; i < s->n; i++) {
        if (!place_spread(plot, s, i, false, &low) ||
            !place_spread(plot, s, i, true, &high))
            continue;
        str_add(out, "<path d=\"M");
        svg_add_xy(out, low.x - 4, low.y);
        str_add(out, "h8m-4,0L");
        svg_add_xy(out, high.x, high.y);
        str_add(out, "m-4,0h8\"/>\n");
    }
    str_add(out, "</g>\n");
}

/* ---- points ---- */

/* What the pointer is shown: "NAME at 32: 0.38 (0.36 to 0.41)". */
static void add_point_title(struct str *out, const struct pl_chart_series *s,
                            size_t i)
{
    str_add(out, "<title>");
    svg_add_escaped(out, s->name ? s->name : "", s->name ? strlen(s->name) : 0);
    str_add(out, " at ");
    pl_chart_add_value(out, s->x[i]);
    str_add(out, ": ");
    pl_chart_add_value(out, s->y[i]);
    if (s->low && s->high) {
        str_add(out, " (");
        pl_chart_add_value(out, s->low[i]);
        str_add(out, " to ");
        pl_chart_add_value(out, s->high[i]);
        str_addc(out, ')');
    }
    str_add(out, "</title>");
}

static void add_markers(struct str *out, const struct pl_chart_series *s,
                        const struct pl_plot *plot, const struct pl_look *look)
{
    struct point p;
    size_t i;

    str_addf(out, "<g class=\"f%d\">\n", look->colour);
    for (i = 0; i < s->n; i++) {
        if (!place(plot, s->x[i], s->y[i], &p))
            continue;
        pl_marker_begin(out, look->marker, p.x, p.y);
        if (s->n <= CHART_MAX_MARKERS)
            add_point_title(out, s, i);
        pl_marker_end(out, look->marker);
        str_addc(out, '\n');
    }
    str_add(out, "</g>\n");
}

/* The mean of the values that an axis takes among the points around i. */
static double mean_around(const struct pl_chart_series *s, size_t i, bool log)
{
    size_t before = s->smooth / 2, after = s->smooth - before;
    size_t j = i > before ? i - before : 0;
    size_t end = s->n - i > after ? i + after : s->n;
    size_t n = 0;
    double sum = 0;

    for (; j < end; j++)
        if (pl_scale_takes(log, s->y[j])) {
            sum += s->y[j];
            n++;
        }
    return sum / (double)n;
}

/* A line of means through as many points as a picture can show; a gap stays
 * one. */
static int add_mean(struct str *out, const struct pl_chart_series *s,
                    const struct pl_plot *plot, const char *class,
                    struct err *err)
{
    size_t stride = s->n / MEAN_POINTS + 1, i;
    struct pl_chart_series m = {.n = (s->n + stride - 1) / stride};
    double *xy = mem_array(2 * m.n + 1, sizeof *xy);

    if (!xy)
        return err_set(err, ERR_NOMEM, "out of memory drawing a chart");
    m.x = xy;
    m.y = xy + m.n;
    for (i = 0; i < m.n; i++) {
        double y = s->y[i * stride];

        xy[i] = s->x[i * stride];
        xy[m.n + i] = pl_scale_takes(plot->y->log, y)
                          ? mean_around(s, i * stride, plot->y->log)
                          : NAN;
    }
    add_line(out, &m, plot, class);
    mem_free(xy);
    return 0;
}

int pl_series_add(struct str *out, const struct pl_chart *c, size_t i,
                  const struct pl_plot *plot, struct err *err)
{
    const struct pl_chart_series *s = &c->series[i];
    struct pl_look look = pl_series_look(c, i);
    char class[32], pale[32];
    int rc = 0;

    if (look.guide)
        (void)snprintf(class, sizeof class, "guide");
    else
        (void)snprintf(class, sizeof class, "line s%d d%d", look.colour,
                       look.dash);
    (void)snprintf(pale, sizeof pale, "pale s%d", look.colour);
    if (s->low && s->high && look.line)
        add_band(out, s, plot, look.colour);
    else if (s->low && s->high)
        add_bars(out, s, plot, look.colour);
    if (look.line && s->smooth > 1) {
        add_line(out, s, plot, pale);
        rc = add_mean(out, s, plot, class, err);
    } else if (look.line) {
        add_line(out, s, plot, class);
    }
    if (look.markers)
        add_markers(out, s, plot, &look);
    return rc;
}

/* ---- what is not finite ---- */

static bool is_gap(const struct pl_chart_series *s, size_t i)
{
    return !isfinite(s->y[i]) && !isnan(s->x[i]);
}

bool pl_series_has_gaps(const struct pl_chart_series *s)
{
    size_t i;

    for (i = 0; i < s->n; i++)
        if (is_gap(s, i))
            return true;
    return false;
}

void pl_cross_add(struct str *out, double x, double y)
{
    str_add(out, "<path d=\"M");
    svg_add_xy(out, x, y);
    str_add(out, "m-3.5,-3.5l7,7m0,-7l-7,7\"/>\n");
}

/* From the frame: the crosses of each series have a row of their own. */
static double cross_row(const struct pl_chart *c, size_t i)
{
    double row = 6;

    while (i-- > 0)
        row += pl_series_has_gaps(&c->series[i]) ? 9 : 0;
    return row;
}

/* Crosses in one column of pixels are one. */
void pl_series_add_gaps(struct str *out, const struct pl_chart *c, size_t i,
                        const struct pl_plot *plot)
{
    const struct pl_chart_series *s = &c->series[i];
    const double width = plot->right - plot->left, row = cross_row(c, i);
    double last[2] = {-1, -1};
    size_t k;

    str_addf(out, "<g class=\"cross s%d\">\n", pl_series_look(c, i).colour);
    for (k = 0; k < s->n; k++) {
        bool foot = s->y[k] < 0, at_scale = pl_scale_takes(c->x.log, s->x[k]);
        double x = at_scale      ? pl_scale_at(plot->x, s->x[k])
                   : s->x[k] > 0 ? 1.0
                                 : 0.0;

        x = plot->left + x * width;
        if (!is_gap(s, k) || fabs(x - last[foot]) < 1)
            continue;
        last[foot] = x;
        pl_cross_add(out, x, foot ? plot->bottom - row : plot->top + row);
    }
    str_add(out, "</g>\n");
}
