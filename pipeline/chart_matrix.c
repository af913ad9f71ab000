#include "pipeline/chart.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "pipeline/chart_svg.h"
#include "pipeline/number.h"

enum {
    MARGIN = 14,
    LINE = 20,
    CELL = 46,
    SMALL_CELL = 30, /* from MANY_CLASSES on */
    TINY_CELL = 14,  /* without numbers, from MAX_NUMBERS on */
    MANY_CLASSES = 13,
    MAX_NUMBERS = 31,
    MAX_LABEL = 130,
    ACCURACY = 74, /* the column on the right */
    BAR_GAP = 22,  /* between it and the scale */
    BAR = 14,
    BAR_STEPS = 40,
    BAR_TEXT = 52
};

/* Above this shade a number is written in the background's colour. */
static const double dark_from = 0.72;

struct grid {
    const struct pl_matrix *m;
    double x0, y0, cell, side; /* the square of cells */
    double label;              /* width of the rows' names */
    double width, height;      /* of the picture */
};

static int64_t row_sum(const struct pl_matrix *m, size_t i)
{
    int64_t sum = 0;
    size_t j;

    for (j = 0; j < m->n; j++)
        sum += m->count[i * m->n + j];
    return sum;
}

static int64_t right_sum(const struct pl_matrix *m)
{
    int64_t sum = 0;
    size_t i;

    for (i = 0; i < m->n; i++)
        sum += m->count[i * m->n + i];
    return sum;
}

static void add_label_text(struct str *out, const struct pl_matrix *m, size_t i)
{
    if (m->labels)
        str_add(out, m->labels[i]);
    else
        str_addf(out, "%zu", i);
}

static double label_width(const struct pl_matrix *m)
{
    double w = 0;
    size_t i;

    for (i = 0; i < m->n; i++) {
        struct str t = {0};

        add_label_text(&t, m, i);
        if (t.text)
            w = fmax(w, svg_width(t.text, t.len, SVG_TEXT));
        str_free(&t);
    }
    return fmin(w, MAX_LABEL);
}

static bool has_numbers(const struct grid *g)
{
    return g->m->n < MAX_NUMBERS;
}

/* Names that are wider than a cell stand upright above their column. */
static bool turned(const struct grid *g)
{
    return g->label > g->cell - 4;
}

static void fit(struct grid *g)
{
    const struct pl_matrix *m = g->m;
    double head, title;

    g->cell = m->n < MANY_CLASSES ? CELL
              : has_numbers(g)    ? SMALL_CELL
                                  : TINY_CELL;
    g->side = g->cell * (double)m->n;
    g->label = label_width(m);
    g->x0 = MARGIN + LINE + g->label + 10;
    head = LINE + (turned(g) ? g->label + 10 : LINE);
    g->width = g->x0 + g->side + ACCURACY + BAR_GAP + BAR + BAR_TEXT;
    title = svg_title_height(m->title, g->width - 2 * MARGIN);
    g->y0 = MARGIN + title + LINE + 6 + head;
    g->height = g->y0 + fmax(g->side, 4 * LINE) + MARGIN;
}

static void add_str(struct str *out, const struct svg_place *at,
                    struct str *text)
{
    if (text->failed)
        out->failed = true;
    else
        svg_add_text(out, at, text->text);
    str_free(text);
}

static void add_percent(struct str *out, int64_t part, int64_t of)
{
    if (of > 0)
        pl_add_number(out, 100.0 * (double)part / (double)of, 1, false);
    else
        str_add(out, "\xe2\x80\x93"); /* a dash */
    str_add(out, of > 0 ? " %" : "");
}

static void add_cell(struct str *out, const struct grid *g, size_t i, size_t j,
                     int64_t row)
{
    int64_t n = g->m->count[i * g->m->n + j];
    double shade = row > 0 ? sqrt((double)n / (double)row) : 0;
    double x = g->x0 + g->cell * (double)j, y = g->y0 + g->cell * (double)i;
    struct svg_place at = {.x = x + g->cell / 2,
                           .y = y + g->cell / 2 + 4.5,
                           .anchor = "middle",
                           .class = n == 0              ? "faint"
                                    : shade > dark_from ? "dark"
                                                        : NULL};
    struct str t = {0};

    if (n > 0) {
        str_add(out, "<rect class=\"heat\"");
        svg_add_attr(out, "x", x);
        svg_add_attr(out, "y", y);
        svg_add_attr(out, "width", g->cell);
        svg_add_attr(out, "height", g->cell);
        svg_add_attr(out, "fill-opacity", fmax(shade, 0.03));
        str_add(out, "/>\n");
    }
    if (!has_numbers(g))
        return;
    str_addf(&t, "%" PRId64, n);
    add_str(out, &at, &t);
}

static void add_cells(struct str *out, const struct grid *g)
{
    size_t i, j;
    double k;

    for (i = 0; i < g->m->n; i++) {
        int64_t row = row_sum(g->m, i);

        for (j = 0; j < g->m->n; j++)
            add_cell(out, g, i, j, row);
    }
    str_add(out, "<path class=\"grid\" shape-rendering=\"crispEdges\" d=\"");
    for (i = 0; i <= g->m->n; i++) {
        k = g->cell * (double)i;
        str_addc(out, 'M');
        svg_add_xy(out, g->x0, g->y0 + k);
        str_add(out, "L");
        svg_add_xy(out, g->x0 + g->side, g->y0 + k);
        str_addc(out, 'M');
        svg_add_xy(out, g->x0 + k, g->y0);
        str_add(out, "L");
        svg_add_xy(out, g->x0 + k, g->y0 + g->side);
    }
    str_add(out, "\"/>\n");
}

/* Every how many rows a name is written: 13 pixels need 16 or so. */
static size_t label_step(const struct grid *g)
{
    return g->cell < 16 ? 2 : 1;
}

static void add_labels(struct str *out, const struct grid *g)
{
    size_t i;

    for (i = 0; i < g->m->n; i += label_step(g)) {
        double middle = g->cell * ((double)i + 0.5);
        struct svg_place row = {.x = g->x0 - 8,
                                .y = g->y0 + middle + 4.5,
                                .anchor = "end",
                                .width = MAX_LABEL + 1};
        struct svg_place column = {.x = g->x0 + middle,
                                   .y = g->y0 - 8,
                                   .anchor = "middle",
                                   .width = MAX_LABEL + 1};
        struct str a = {0}, b = {0};

        if (turned(g)) {
            column.x += 4.5;
            column.anchor = "start";
            column.upwards = true;
        }
        add_label_text(&a, g->m, i);
        add_label_text(&b, g->m, i);
        add_str(out, &row, &a);
        add_str(out, &column, &b);
    }
}

static void add_accuracies(struct str *out, const struct grid *g)
{
    struct svg_place at = {.x = g->x0 + g->side + ACCURACY - 4,
                           .y = g->y0 - 8,
                           .anchor = "end",
                           .class = "soft"};
    size_t i;

    svg_add_text(out, &at, "accuracy");
    for (i = 0; i < g->m->n; i += label_step(g)) {
        struct str t = {0};

        at.y = g->y0 + g->cell * ((double)i + 0.5) + 4.5;
        add_percent(&t, g->m->count[i * g->m->n + i], row_sum(g->m, i));
        at.class = NULL;
        add_str(out, &at, &t);
    }
}

/* The scale: its shade grows as the square root, as in the cells. */
static void add_bar(struct str *out, const struct grid *g)
{
    static const int marks[] = {0, 5, 25, 50, 100};
    double x = g->x0 + g->side + ACCURACY + BAR_GAP;
    double height = fmax(g->side, 4 * LINE), step = height / BAR_STEPS;
    struct svg_place at = {
        .x = x + BAR + 6, .anchor = "start", .class = "soft"};
    size_t i;
    int k;

    for (k = 0; k < BAR_STEPS; k++) {
        str_add(out, "<rect class=\"heat\" shape-rendering=\"crispEdges\"");
        svg_add_attr(out, "x", x);
        svg_add_attr(out, "y", g->y0 + height - step * (k + 1));
        svg_add_attr(out, "width", BAR);
        svg_add_attr(out, "height", step);
        svg_add_attr(out, "fill-opacity", (k + 0.5) / BAR_STEPS);
        str_add(out, "/>\n");
    }
    for (i = 0; i < sizeof marks / sizeof *marks; i++) {
        struct str t = {0};

        at.y = g->y0 + height * (1 - sqrt(marks[i] / 100.0)) + 4.5;
        str_addf(&t, "%d %%", marks[i]);
        add_str(out, &at, &t);
    }
    at.x = x + BAR;
    at.y = g->y0 - 12;
    at.anchor = "middle";
    svg_add_text(out, &at, "of row");
}

static void add_total(struct str *out, const struct grid *g)
{
    int64_t all = 0;
    size_t i;

    for (i = 0; i < g->m->n; i++)
        all += row_sum(g->m, i);
    pl_add_number(out, (double)right_sum(g->m), 0, true);
    str_add(out, " of ");
    pl_add_number(out, (double)all, 0, true);
    str_add(out, " right: ");
    add_percent(out, right_sum(g->m), all);
}

static void add_headings(struct str *out, const struct grid *g)
{
    double title = svg_add_title(out, g->m->title, g->width / 2, MARGIN - 4,
                                 g->width - 2 * MARGIN);
    struct svg_place at = {.x = g->width / 2,
                           .y = MARGIN + title + 12,
                           .anchor = "middle",
                           .class = "soft"};
    struct str t = {0};

    add_total(&t, g);
    add_str(out, &at, &t);
    at.class = NULL;
    at.x = g->x0 + g->side / 2;
    at.y = MARGIN + title + LINE + 20;
    svg_add_text(out, &at, "predicted class");
    at.x = MARGIN + 9;
    at.y = g->y0 + g->side / 2;
    at.upwards = true;
    svg_add_text(out, &at, "true class");
}

int pl_matrix_svg(struct str *out, const struct pl_matrix *m, struct err *err)
{
    struct grid g = {.m = m};
    struct str desc = {0};
    int rc = 0;

    fit(&g);
    str_addf(&desc, "Confusion matrix of %zu classes, ", m->n);
    add_total(&desc, &g);
    svg_begin(out, g.width, g.height, m->title, desc.failed ? "" : desc.text);
    add_headings(out, &g);
    add_cells(out, &g);
    add_labels(out, &g);
    add_accuracies(out, &g);
    add_bar(out, &g);
    str_add(out, "</svg>\n");
    if (out->failed || desc.failed)
        rc = err_set(err, ERR_NOMEM, "out of memory drawing a matrix");
    str_free(&desc);
    return rc;
}
