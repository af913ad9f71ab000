#include "pipeline/prog_graph.h"

#include <string.h>

#include "pipeline/chart_svg.h"
#include "pipeline/prog_derive.h"
#include "pipeline/prog_layout.h"
#include "pipeline/prog_report.h"

enum { SHOWN = 6, DIGITS = 5 };
static const double line = 17, pad = 9, between = 46, margin = 24;
static const double least = 96, most = 340;

/* What stands in a box. */
struct box {
    const struct prog_value *v;
    const char *text[3]; /* formula, shape and numbers, gradient or NULL */
};

struct graph {
    const struct prog_run *r;
    const struct prog_backward *backward; /* or NULL */
    struct arena arena;
    struct box *box;
    size_t n;
    size_t *box_of; /* of each value of the run, or NONE */
    struct layout_edge *edge;
    size_t n_edge;
    struct layout layout;
    double top;
};

#define NONE ((size_t)-1)

static int no_memory(struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory for a graph");
}

/* ---- what is drawn ---- */

/* Marks what v was made from; values stand behind their operands. */
static void mark_needed(struct graph *g, bool *needed)
{
    size_t i;
    int k;

    for (i = g->r->n_value; i-- > 0;) {
        const struct prog_value *v = g->r->value[i];

        for (k = 0; needed[i] && k < v->n_in; k++)
            needed[v->in[k]->index] = true;
    }
}

static int choose(struct graph *g, struct err *err)
{
    size_t n = g->r->n_value, count = 0, i;
    bool *needed = arena_array(&g->arena, n + 1, sizeof *needed);

    g->box_of = arena_array(&g->arena, n + 1, sizeof *g->box_of);
    g->box = arena_array(&g->arena, PROG_GRAPH_MAX, sizeof *g->box);
    if (!needed || !g->box_of || !g->box)
        return no_memory(err);
    for (i = 0; i < n; i++)
        needed[i] = !g->backward;
    if (g->backward) {
        needed[g->backward->root->index] = true;
        mark_needed(g, needed);
    }
    for (i = 0; i < n; i++)
        count += needed[i] && g->r->value[i]->kind == PROG_V_TENSOR;
    for (i = 0; i < n; i++) {
        g->box_of[i] = NONE;
        if (!needed[i] || g->r->value[i]->kind != PROG_V_TENSOR)
            continue;
        if (count-- > PROG_GRAPH_MAX)
            continue;
        g->box_of[i] = g->n;
        g->box[g->n++].v = g->r->value[i];
    }
    return 0;
}

static int connect(struct graph *g, struct err *err)
{
    size_t i;
    int k;

    g->edge = arena_array(&g->arena, g->n * PROG_MAX_IN + 1, sizeof *g->edge);
    if (!g->edge)
        return no_memory(err);
    for (i = 0; i < g->n; i++) {
        const struct prog_value *v = g->box[i].v;

        for (k = 0; k < v->n_in; k++) {
            size_t from = g->box_of[v->in[k]->index];

            if (from != NONE && (k == 0 || v->in[k] != v->in[0]))
                g->edge[g->n_edge++] = (struct layout_edge){from, i, 0};
        }
    }
    return 0;
}

/* ---- what stands in a box ---- */

static const double *gradient(const struct graph *g, const struct prog_value *v)
{
    size_t i;

    if (!g->backward)
        return NULL;
    for (i = 0; i < g->backward->n_share; i++)
        if (g->backward->share[i].leaf == v)
            return g->backward->share[i].grad;
    return v->grad;
}

static const char *kept(struct graph *g, struct str *s)
{
    const char *text = s->failed ? NULL : arena_strdup(&g->arena, s->text);

    str_free(s);
    memset(s, 0, sizeof *s);
    return text;
}

static int fill_box(struct graph *g, struct box *b, struct err *err)
{
    const struct nn_shape *shape = &b->v->t->shape;
    const double *n = prog_first_numbers(b->v, &g->arena, err);
    const double *grad = gradient(g, b->v);
    struct str s = {0};
    char text[96];

    if (!n)
        return ERR_NOMEM;
    prog_value_formula(&s, b->v);
    b->text[0] = kept(g, &s);
    if (shape->ndim > 0)
        str_addf(&s, "%s  ", nn_shape_text(shape, text, sizeof text));
    prog_numbers_add(&s, shape, n, SHOWN, DIGITS);
    b->text[1] = kept(g, &s);
    if (grad) {
        str_add(&s, "grad ");
        prog_numbers_add(&s, shape, grad, SHOWN, DIGITS);
        b->text[2] = kept(g, &s);
    }
    return b->text[0] && b->text[1] && (!grad || b->text[2]) ? 0
                                                             : no_memory(err);
}

static double box_width(const struct box *b)
{
    double w = least;
    int i;

    for (i = 0; i < 3; i++) {
        double t =
            b->text[i]
                ? svg_width(b->text[i], strlen(b->text[i]), SVG_TEXT) + 2 * pad
                : 0;

        w = t > w ? t : w;
    }
    return w < most ? w : most;
}

static int lay_out(struct graph *g, struct err *err)
{
    struct layout_node *node = arena_array(&g->arena, g->n + 1, sizeof *node);
    size_t i;
    int rc = 0;

    if (!node)
        return no_memory(err);
    for (i = 0; rc == 0 && i < g->n; i++) {
        rc = fill_box(g, &g->box[i], err);
        if (rc == 0)
            node[i].width = box_width(&g->box[i]);
    }
    if (rc != 0)
        return rc;
    return layout_make(&g->layout, node, g->n, g->edge, g->n_edge, &g->arena,
                       err);
}

/* ---- drawing ---- */

static double height(void)
{
    return 3 * line + 2 * pad - 4;
}

static double top_of(const struct graph *g, int layer)
{
    return g->top + layer * (height() + between);
}

/* Whether a place of the layout is a box: then the line ends at its edge. */
static bool is_box(const struct graph *g, size_t i)
{
    return i < g->layout.n_boxes;
}

static void add_arrow(struct str *s, double x, double y)
{
    str_add(s, "<path class=\"soft\" d=\"M");
    svg_add_xy(s, x, y);
    str_add(s, "l-4,-7h8z\"/>\n");
}

static void add_edge(struct str *s, const struct graph *g,
                     const struct layout_edge *e, double left)
{
    const struct layout_node *a = &g->layout.node[e->from];
    const struct layout_node *b = &g->layout.node[e->to];
    double ax = left + a->x, bx = left + b->x;
    double ay = top_of(g, a->layer) + (is_box(g, e->from) ? height() : 0);
    double by = top_of(g, b->layer), bend = between * 0.5;

    if (!is_box(g, e->from)) { /* straight through its own layer */
        str_add(s, "<path class=\"axis\" fill=\"none\" d=\"M");
        svg_add_xy(s, ax, ay);
        str_add(s, "L");
        svg_add_xy(s, ax, ay + height());
        str_add(s, "\"/>\n");
        ay += height();
    }
    str_add(s, "<path class=\"axis\" fill=\"none\" d=\"M");
    svg_add_xy(s, ax, ay);
    str_addc(s, 'C');
    svg_add_xy(s, ax, ay + bend);
    str_addc(s, ' ');
    svg_add_xy(s, bx, by - bend);
    str_addc(s, ' ');
    svg_add_xy(s, bx, by);
    str_add(s, "\"/>\n");
    if (is_box(g, e->to))
        add_arrow(s, bx, by);
}

/* Leaves that want a gradient, the root, what gradients do not flow through. */
static const char *box_class(const struct graph *g, const struct prog_value *v)
{
    if (g->backward && g->backward->root == v)
        return "s1";
    if (v->given)
        return v->t->requires_grad ? "s0" : "axis";
    return v->t->requires_grad ? "s5" : "axis d1";
}

static void add_box(struct str *s, const struct graph *g, size_t i, double left)
{
    const struct box *b = &g->box[i];
    const struct layout_node *p = &g->layout.node[i];
    const char *class = box_class(g, b->v);
    double x = left + p->x - p->width / 2, y = top_of(g, p->layer);
    int k;

    str_addf(s, "<rect class=\"%s\" rx=\"6\" fill=\"none\"", class);
    if (strcmp(class, "s0") == 0 || strcmp(class, "s1") == 0)
        str_add(s, " stroke-width=\"2\"");
    svg_add_attr(s, "x", x);
    svg_add_attr(s, "y", y);
    svg_add_attr(s, "width", p->width);
    svg_add_attr(s, "height", height());
    str_add(s, "/>\n");
    for (k = 0; k < 3; k++) {
        struct svg_place at = {.x = left + p->x,
                               .y = y + pad + line * (k + 1) - 5,
                               .anchor = "middle",
                               .class = k == 0   ? NULL
                                        : k == 1 ? "soft"
                                                 : "f2",
                               .width = p->width - pad};

        if (b->text[k])
            svg_add_text(s, &at, b->text[k]);
    }
}

static void add_key(struct str *s, double x, double y)
{
    static const struct {
        const char *class, *text;
    } keys[] = {
        {"s0", "leaf with gradient"},
        {"axis", "given"},
        {"s5", "computed"},
        {"s1", "root of backward"},
        {"axis d1", "no gradient flows"},
    };
    size_t i;

    for (i = 0; i < sizeof keys / sizeof *keys; i++) {
        struct svg_place at = {
            .x = x + 22, .y = y + 11, .anchor = "start", .class = "soft"};

        str_addf(s, "<rect class=\"%s\" rx=\"3\" fill=\"none\"", keys[i].class);
        svg_add_attr(s, "x", x);
        svg_add_attr(s, "y", y);
        str_add(s, " width=\"16\" height=\"14\"/>\n");
        svg_add_text(s, &at, keys[i].text);
        x += 40 + svg_width(keys[i].text, strlen(keys[i].text), SVG_TEXT);
    }
}

static void draw(struct str *s, struct graph *g, const char *title)
{
    const double key = 640;
    double width = g->layout.width > key ? g->layout.width : key;
    double left = margin + (width - g->layout.width) / 2, bottom;
    struct str desc = {0};
    size_t i;

    width += 2 * margin;
    g->top = margin + svg_title_height(title, width - 2 * margin) + 12;
    bottom = top_of(g, g->layout.layers) - between + margin;
    str_addf(&desc, "%zu values, operands above results", g->n);
    svg_begin(s, width, bottom + 14 + margin, title,
              desc.failed ? "" : desc.text);
    str_free(&desc);
    (void)svg_add_title(s, title, width / 2, margin - 6, width - 2 * margin);
    for (i = 0; i < g->layout.n_edge; i++)
        add_edge(s, g, &g->layout.edge[i], left);
    for (i = 0; i < g->n; i++)
        add_box(s, g, i, left);
    add_key(s, margin, bottom);
    str_add(s, "</svg>\n");
}

int prog_graph_svg(struct str *out, const char *title, const struct prog_run *r,
                   struct err *err)
{
    struct graph g = {.r = r, .backward = prog_main_backward(r)};
    int rc = choose(&g, err);

    if (rc == 0)
        rc = connect(&g, err);
    if (rc == 0)
        rc = lay_out(&g, err);
    if (rc == 0)
        draw(out, &g, title);
    if (rc == 0 && out->failed)
        rc = no_memory(err);
    arena_free(&g.arena);
    return rc;
}
