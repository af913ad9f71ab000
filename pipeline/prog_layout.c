/* After Sugiyama, Tagawa and Toda (1981): layers by longest path, places for
 * long edges, barycentres to reduce crossings, then positions. */
#include "pipeline/prog_layout.h"

#include <string.h>

enum { SWEEPS = 12, ROUNDS = 24 };
static const double gap = 26, place_width = 10;

/* ---- layers ---- */

static void set_layers(struct layout *l, const struct layout_edge *edge,
                       size_t n_edge)
{
    size_t i, k;

    for (i = 0; i < l->n_boxes; i++) { /* below all that it is made from */
        l->node[i].layer = 0;
        for (k = 0; k < n_edge; k++)
            if (edge[k].to == i &&
                l->node[edge[k].from].layer >= l->node[i].layer)
                l->node[i].layer = l->node[edge[k].from].layer + 1;
        if (l->node[i].layer >= l->layers)
            l->layers = l->node[i].layer + 1;
    }
    for (i = 0; i < l->n_boxes; i++) { /* sources: right above their use */
        int above = -1;
        bool source = true;

        for (k = 0; k < n_edge; k++) {
            int layer = l->node[edge[k].to].layer;

            if (edge[k].to == i)
                source = false;
            if (edge[k].from == i && (above < 0 || layer - 1 < above))
                above = layer - 1;
        }
        if (source && above >= 0)
            l->node[i].layer = above;
    }
}

static size_t count_places(const struct layout *l,
                           const struct layout_edge *edge, size_t n_edge)
{
    size_t n = 0, k;

    for (k = 0; k < n_edge; k++)
        n += (size_t)(l->node[edge[k].to].layer - l->node[edge[k].from].layer -
                      1);
    return n;
}

/* Cuts an edge at each layer that it passes. */
static void cut_edge(struct layout *l, const struct layout_edge *e,
                     size_t owner)
{
    int last = l->node[e->to].layer, layer;
    size_t from = e->from;

    for (layer = l->node[e->from].layer + 1; layer < last; layer++) {
        struct layout_node *p = &l->node[l->n];

        p->width = place_width;
        p->layer = layer;
        l->edge[l->n_edge++] = (struct layout_edge){from, l->n, owner};
        from = l->n++;
    }
    l->edge[l->n_edge++] = (struct layout_edge){from, e->to, owner};
}

/* ---- order within a layer ---- */

static void number_places(struct layout *l)
{
    size_t count, i;
    int layer;

    for (layer = 0; layer < l->layers; layer++)
        for (i = count = 0; i < l->n; i++)
            if (l->node[i].layer == layer)
                l->node[i].place = count++;
}

/* The mean place (or x) of the neighbours above, or below; its own without. */
static double mean(const struct layout *l, size_t i, bool above, bool x)
{
    double sum = 0;
    size_t n = 0, k;

    for (k = 0; k < l->n_edge; k++) {
        size_t mine = above ? l->edge[k].to : l->edge[k].from;
        size_t other = above ? l->edge[k].from : l->edge[k].to;

        if (mine != i)
            continue;
        sum += x ? l->node[other].x : (double)l->node[other].place;
        n++;
    }
    if (n)
        return sum / (double)n;
    return x ? l->node[i].x : (double)l->node[i].place;
}

/* The nodes of a layer in order of place; returns how many. */
static size_t in_layer(const struct layout *l, int layer, size_t *out)
{
    size_t n = 0, i;

    for (i = 0; i < l->n; i++) {
        if (l->node[i].layer == layer) {
            out[l->node[i].place] = i;
            n++;
        }
    }
    return n;
}

/* A stable sort by `want`: layers are short. */
static void sort_layer(struct layout *l, size_t *list, size_t n)
{
    size_t i, j;

    for (i = 1; i < n; i++) {
        size_t it = list[i];

        for (j = i; j > 0 && l->node[list[j - 1]].want > l->node[it].want; j--)
            list[j] = list[j - 1];
        list[j] = it;
    }
    for (i = 0; i < n; i++)
        l->node[list[i]].place = i;
}

static void order(struct layout *l, size_t *list)
{
    int sweep, step;
    size_t n, i;

    for (sweep = 0; sweep < SWEEPS; sweep++) {
        for (step = 0; step < l->layers; step++) {
            bool down = sweep % 2 == 0;

            n = in_layer(l, down ? step : l->layers - 1 - step, list);
            for (i = 0; i < n; i++)
                l->node[list[i]].want = mean(l, list[i], down, false);
            sort_layer(l, list, n);
        }
    }
}

/* ---- positions ---- */

static double apart(const struct layout *l, size_t a, size_t b)
{
    return (l->node[a].width + l->node[b].width) / 2 + gap;
}

/* As near to what is wanted as the widths allow: the mean of pushing all that
 * overlaps to the right, and to the left. */
static void settle(struct layout *l, const size_t *list, size_t n)
{
    double at = 0;
    size_t i;

    for (i = 0; i < n; i++) {
        struct layout_node *p = &l->node[list[i]];

        at = i && p->want < at + apart(l, list[i - 1], list[i])
                 ? at + apart(l, list[i - 1], list[i])
                 : p->want;
        p->x = at;
    }
    for (i = n; i-- > 0;) {
        struct layout_node *p = &l->node[list[i]];

        at = i + 1 < n && p->want > at - apart(l, list[i], list[i + 1])
                 ? at - apart(l, list[i], list[i + 1])
                 : p->want;
        p->x = (p->x + at) / 2;
    }
}

static void spread(struct layout *l, size_t *list)
{
    int layer, round, step;
    size_t n, i;

    for (layer = 0; layer < l->layers; layer++) {
        double x = 0;

        n = in_layer(l, layer, list);
        for (i = 0; i < n; i++) {
            x += i ? apart(l, list[i - 1], list[i]) : 0;
            l->node[list[i]].x = x;
        }
        for (i = 0; i < n; i++)
            l->node[list[i]].x -= x / 2;
    }
    for (round = 0; round < ROUNDS; round++) {
        for (step = 0; step < l->layers; step++) {
            bool down = round % 2 == 0;

            n = in_layer(l, down ? step : l->layers - 1 - step, list);
            for (i = 0; i < n; i++)
                l->node[list[i]].want = (mean(l, list[i], true, true) +
                                         mean(l, list[i], false, true)) /
                                        2;
            settle(l, list, n);
        }
    }
}

/* Moves all so that the left edge is at 0. */
static void shift(struct layout *l)
{
    double left = 0, right = 0;
    size_t i;

    for (i = 0; i < l->n; i++) {
        double a = l->node[i].x - l->node[i].width / 2;
        double b = l->node[i].x + l->node[i].width / 2;

        left = i == 0 || a < left ? a : left;
        right = i == 0 || b > right ? b : right;
    }
    for (i = 0; i < l->n; i++)
        l->node[i].x -= left;
    l->width = right - left;
}

int layout_make(struct layout *out, const struct layout_node *node, size_t n,
                const struct layout_edge *edge, size_t n_edge,
                struct arena *arena, struct err *err)
{
    struct layout_node *boxes = arena_array(arena, n + 1, sizeof *boxes);
    size_t places, *list, k;

    memset(out, 0, sizeof *out);
    if (!boxes)
        return err_set(err, ERR_NOMEM, "out of memory for a graph");
    memcpy(boxes, node, n * sizeof *boxes);
    out->node = boxes;
    out->n = out->n_boxes = n;
    set_layers(out, edge, n_edge);
    places = count_places(out, edge, n_edge);
    out->node = arena_array(arena, n + places + 1, sizeof *out->node);
    out->edge = arena_array(arena, n_edge + places + 1, sizeof *out->edge);
    list = arena_array(arena, n + places + 1, sizeof *list);
    if (!out->node || !out->edge || !list)
        return err_set(err, ERR_NOMEM, "out of memory for a graph");
    memcpy(out->node, boxes, n * sizeof *boxes);
    for (k = 0; k < n_edge; k++)
        cut_edge(out, &edge[k], k);
    number_places(out);
    order(out, list);
    spread(out, list);
    shift(out);
    return 0;
}
