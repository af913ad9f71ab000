/* The pictures: a run's kinds as stacked areas over the steps, with its peak;
 * the totals of other runs as lines, or each run in a panel of its own. */
#include "pipeline/memory_timeline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/chart_svg.h"

enum {
    WIDTH = 960,
    LEFT = 84,
    RIGHT = 20,
    TOP = 64,
    HEIGHT = 300,
    LEGEND = 62,
    CORNERS = 1500 /* of one outline: beyond, the largest of a stretch */
};

/* From the bottom up, with the colours of the page. */
static const struct {
    enum nn_memory_kind kind;
    const char *fill;
} layer[] = {
    {NN_MEMORY_PARAMETER, "f0"},  {NN_MEMORY_BUFFER, "faint"},
    {NN_MEMORY_OPTIMIZER, "f4"},  {NN_MEMORY_GRADIENT, "f2"},
    {NN_MEMORY_ACTIVATION, "f1"}, {NN_MEMORY_INPUT, "f5"},
    {NN_MEMORY_TEMPORARY, "f3"},
};
enum { LAYERS = sizeof layer / sizeof *layer };

struct frame {
    struct str *s;
    double top;    /* bytes at the upper edge */
    double length; /* at the right edge, ns or calls */
    bool by_call;  /* each operator is as wide as the next */
};

static double x_of(const struct frame *f, int64_t at)
{
    return LEFT + (double)at / f->length * (WIDTH - LEFT - RIGHT);
}

/* Where an event, a span and the end of the run lie on the frame's axis. What
 * dies with a call lies behind it. */
static int64_t event_at(const struct frame *f, const struct nn_step_memory *m,
                        const struct nn_memory_event *e)
{
    if (!f->by_call)
        return e->at - m->begin;
    return e->step < 0 ? 0
                       : (int64_t)(e->step - m->first_step) * m->n_call +
                             e->call + (e->action == NN_MEMORY_DESTROY);
}

static int64_t span_at(const struct frame *f, const struct nn_step_memory *m,
                       const struct nn_memory_span *s)
{
    if (!f->by_call)
        return s->begin - m->begin;
    return (int64_t)(s->step - m->first_step) * m->n_call + s->call;
}

static int64_t end_at(const struct frame *f, const struct nn_step_memory *m)
{
    int64_t end =
        f->by_call ? (int64_t)m->n_step * m->n_call : m->end - m->begin;

    return end > 0 ? end : 1;
}

static double y_of(const struct frame *f, double bytes)
{
    return TOP + HEIGHT - bytes / f->top * HEIGHT;
}

/* The upper edge of layers [0, n) as a stepped line from left to right. */
static void add_edge(const struct frame *f, const struct nn_step_memory *m,
                     int n)
{
    size_t stride = m->n_event / CORNERS + 1, i;
    int64_t sum = 0, most = 0;
    bool counts[NN_MEMORY_KINDS] = {false};
    double last = y_of(f, 0);
    int k;

    for (k = 0; k < n; k++)
        counts[layer[k].kind] = true;
    svg_add_xy(f->s, LEFT, last);
    for (i = 0; i < m->n_event; i++) {
        const struct nn_memory_event *e = &m->event[i];

        if (counts[m->tensor[e->tensor].kind])
            sum += nn_memory_change(m, i);
        if (i % stride == 0 || sum > most)
            most = sum;
        if (i + 1 < m->n_event && (event_at(f, m, e + 1) == event_at(f, m, e) ||
                                   (i + 1) % stride != 0))
            continue;
        str_addc(f->s, ' ');
        svg_add_xy(f->s, x_of(f, event_at(f, m, e)), last);
        last = y_of(f, (double)(stride > 1 ? most : sum));
        str_addc(f->s, ' ');
        svg_add_xy(f->s, x_of(f, event_at(f, m, e)), last);
    }
    str_addc(f->s, ' ');
    svg_add_xy(f->s, x_of(f, end_at(f, m)), last);
}

/* From the top down, each over the larger one behind it. */
static void add_areas(const struct frame *f, const struct nn_step_memory *m)
{
    int n;

    for (n = LAYERS; n > 0; n--) {
        str_addf(f->s, "<polygon class=\"%s\" points=\"", layer[n - 1].fill);
        add_edge(f, m, n);
        str_addc(f->s, ' ');
        svg_add_xy(f->s, x_of(f, end_at(f, m)), y_of(f, 0));
        str_add(f->s, "\"/>\n");
    }
}

static void add_line(const struct frame *f, const struct nn_step_memory *m,
                     size_t i)
{
    str_addf(f->s, "<polyline class=\"line s%d d%d\" points=\"",
             (int)(i % SVG_COLOURS), (int)(i % SVG_DASHES));
    add_edge(f, m, LAYERS);
    str_add(f->s, "\"/>\n");
}

static void add_label(const struct frame *f, double x, double y,
                      const char *anchor, const char *text)
{
    struct svg_place at = {x, y, anchor, "soft", 0, false};

    svg_add_text(f->s, &at, text);
}

static void add_rule(const struct frame *f, const char *class, double x1,
                     double y1, double x2, double y2)
{
    str_addf(f->s, "<line class=\"%s\"", class);
    svg_add_attr(f->s, "x1", x1);
    svg_add_attr(f->s, "y1", y1);
    svg_add_attr(f->s, "x2", x2);
    svg_add_attr(f->s, "y2", y2);
    str_add(f->s, "/>\n");
}

/* The largest power of two that gives 4 lines or more. */
static double tick_of(double top)
{
    double tick = 1;

    while (top / (tick * 2) >= 4)
        tick *= 2;
    return tick;
}

static void add_axes(const struct frame *f)
{
    double tick = tick_of(f->top);
    struct str text = {0};
    int i;

    for (i = 0; i * tick <= f->top; i++) {
        double v = i * tick;

        str_clear(&text);
        pl_memory_add_bytes(&text, (int64_t)v);
        add_rule(f, v > 0 ? "grid" : "axis", LEFT, y_of(f, v), WIDTH - RIGHT,
                 y_of(f, v));
        add_label(f, LEFT - 8, y_of(f, v) + 4, "end",
                  text.text ? text.text : "");
    }
    f->s->failed = f->s->failed || text.failed;
    str_free(&text);
}

/* A line where each step begins, and its number where there is room. */
static void add_steps(const struct frame *f, const struct nn_step_memory *m)
{
    double free = LEFT;
    char text[32];
    size_t i;

    for (i = 0; i < m->n_span; i++) {
        const struct nn_memory_span *p = &m->span[i];
        double x = x_of(f, span_at(f, m, p));

        if (i > 0 && p->step == m->span[i - 1].step)
            continue;
        if (i > 0 && x < free && m->n_step > 40)
            continue;
        add_rule(f, "axis", x, TOP + HEIGHT, x, TOP + HEIGHT + 5);
        if (x < free)
            continue;
        (void)snprintf(text, sizeof text, "step %d", p->step);
        add_label(f, x + 2, TOP + HEIGHT + 18, "start", text);
        free = x + 64;
    }
}

static void add_peak(const struct frame *f, const struct pl_memory_run *run,
                     const struct nn_memory_sums *sums)
{
    const struct nn_step_memory *m = run->memory;
    const struct nn_memory_event *e = &m->event[sums->peak_event];
    double x = x_of(f, event_at(f, m, e)), y = y_of(f, (double)sums->peak);
    struct str text = {0};

    str_add(f->s, "<circle class=\"axis\" r=\"4\" fill=\"none\"");
    svg_add_attr(f->s, "cx", x);
    svg_add_attr(f->s, "cy", y);
    str_add(f->s, "/>\n");
    str_add(&text, "peak ");
    pl_memory_add_bytes(&text, sums->peak);
    if (e->step >= 0)
        str_addf(&text, ", step %d, %s", e->step, nn_phase_name(e->phase));
    add_label(f, x, y - 9, x > WIDTH / 2.0 ? "end" : "start",
              text.text ? text.text : "");
    f->s->failed = f->s->failed || text.failed;
    str_free(&text);
}

/* What the areas are, with the bytes of the peak. */
static void add_legend(const struct frame *f, const struct nn_memory_sums *sums)
{
    double x = LEFT, y = TOP + HEIGHT + 40;
    struct str text = {0};
    int k;

    for (k = 0; k < LAYERS; k++) {
        if (sums->most[layer[k].kind] == 0)
            continue;
        str_clear(&text);
        str_addf(&text, "%s ", nn_memory_kind_name(layer[k].kind));
        pl_memory_add_bytes(&text, sums->live[layer[k].kind]);
        if (text.failed)
            break;
        if (x + 18 + svg_width(text.text, text.len, SVG_TEXT) > WIDTH - RIGHT) {
            x = LEFT;
            y += 20;
        }
        str_addf(f->s,
                 "<rect class=\"%s\" width=\"12\" height=\"12\" x=\"%d\" "
                 "y=\"%d\"/>\n",
                 layer[k].fill, (int)x, (int)y - 10);
        add_label(f, x + 17, y, "start", text.text);
        x += 34 + svg_width(text.text, text.len, SVG_TEXT);
    }
    f->s->failed = f->s->failed || text.failed;
    str_free(&text);
}

static void add_names(const struct frame *f, const struct pl_memory_runs *runs)
{
    double x = LEFT + 8;
    size_t i;

    for (i = 1; i < runs->n; i++) {
        const char *label = runs->run[i].label;

        str_addf(f->s,
                 "<line class=\"line s%d d%d\" x1=\"%d\" x2=\"%d\" y1=\"52\" "
                 "y2=\"52\"/>\n",
                 (int)(i % SVG_COLOURS), (int)(i % SVG_DASHES), (int)x,
                 (int)x + 28);
        add_label(f, x + 34, 56, "start", label);
        x += 54 + svg_width(label, strlen(label), SVG_TEXT);
    }
}

static void describe(const struct pl_memory_run *run,
                     const struct nn_memory_sums *sums, struct str *out)
{
    int k;

    str_addf(out,
             "Memory of %s over %d steps, in bytes of each kind at the "
             "peak of ",
             run->label, run->memory->n_step);
    pl_memory_add_bytes(out, sums->peak);
    for (k = 0; k < LAYERS; k++) {
        str_addf(out, "; %s ", nn_memory_kind_name(layer[k].kind));
        pl_memory_add_bytes(out, sums->live[layer[k].kind]);
    }
}

/* One scale for all runs. */
static struct frame frame_of(const struct pl_memory_runs *runs, bool by_call,
                             struct str *out)
{
    struct frame f = {.s = out, .top = 1, .length = 1, .by_call = by_call};
    struct nn_memory_sums sums;
    size_t i;

    for (i = 0; i < runs->n; i++) {
        nn_memory_sum_up(runs->run[i].memory, &sums);
        f.top = fmax(f.top, 1.12 * (double)sums.peak);
        f.length = fmax(f.length, (double)end_at(&f, runs->run[i].memory));
    }
    return f;
}

/* Axes, areas, others (n of them) as lines, peak and legend of a run. */
static void add_panel(const struct frame *f, const struct pl_memory_run *run,
                      const struct pl_memory_run *others, size_t n)
{
    struct nn_memory_sums sums;
    size_t i;

    nn_memory_sum_up(run->memory, &sums);
    add_axes(f);
    add_areas(f, run->memory);
    for (i = 0; i < n; i++)
        add_line(f, others[i].memory, i + 1);
    add_steps(f, run->memory);
    if (run->memory->n_event > 0)
        add_peak(f, run, &sums);
    add_legend(f, &sums);
}

/* Across the areas, pale and large: it goes wherever the picture goes. */
static void add_watermark(struct str *out, double y)
{
    str_add(out, "<text text-anchor=\"middle\" style=\"fill:#c22;"
                 "fill-opacity:.5;font:bold 30px sans-serif\"");
    svg_add_attr(out, "x", WIDTH / 2.0);
    svg_add_attr(out, "y", y);
    str_addf(out,
             " transform=\"rotate(-9 %d %.0f)\">" PL_MEMORY_SIMULATED
             "</text>\n",
             WIDTH / 2, y);
}

static void begin(const struct pl_memory_runs *runs, double height,
                  struct str *out)
{
    struct nn_memory_sums sums;
    struct str desc = {0};
    size_t i;

    str_add(&desc, runs->simulated ? PL_MEMORY_SIMULATED ". " : "");
    for (i = 0; i < runs->n; i++) {
        nn_memory_sum_up(runs->run[i].memory, &sums);
        str_add(&desc, i ? ". " : "");
        describe(&runs->run[i], &sums, &desc);
    }
    svg_begin(out, WIDTH, height, runs->title, desc.text ? desc.text : "");
    (void)svg_add_title(out, runs->title, WIDTH / 2.0, 12, WIDTH - 40);
    out->failed = out->failed || desc.failed;
    str_free(&desc);
}

void pl_memory_svg(const struct pl_memory_runs *runs, struct str *out)
{
    struct frame f = frame_of(runs, false, out);

    begin(runs, TOP + HEIGHT + LEGEND + 14, out);
    add_panel(&f, &runs->run[0], runs->run + 1, runs->n - 1);
    add_names(&f, runs);
    if (runs->simulated)
        add_watermark(out, TOP + HEIGHT / 2.0);
    str_add(out, "</svg>\n");
}

void pl_memory_panels_svg(const struct pl_memory_runs *runs, struct str *out)
{
    enum { PANEL = HEIGHT + LEGEND + 42 };
    struct frame f = frame_of(runs, true, out);
    size_t i;

    begin(runs, 58 + (double)runs->n * PANEL, out);
    for (i = 0; i < runs->n; i++) {
        struct svg_place at = {LEFT, TOP - 10, "start", "", 0, false};

        str_addf(out, "<g transform=\"translate(0 %d)\">\n", (int)i * PANEL);
        svg_add_text(out, &at, runs->run[i].label);
        add_panel(&f, &runs->run[i], NULL, 0);
        if (runs->simulated)
            add_watermark(out, TOP + HEIGHT / 2.0);
        str_add(out, "</g>\n");
    }
    add_label(&f, LEFT, 46 + (double)runs->n * PANEL, "start",
              "from left to right: the operators in order, each as wide as "
              "the next");
    str_add(out, "</svg>\n");
}
