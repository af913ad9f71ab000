/* Layers for a drawn graph: every edge goes down, edges that pass a layer get
 * a place in it, and crossings are few. */
#ifndef PIPELINE_PROG_LAYOUT_H
#define PIPELINE_PROG_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/base/arena.h"
#include "nn/base/err.h"

/* A box, or a place where a long edge passes a layer. */
struct layout_node {
    double width;
    int layer;
    double x; /* of its middle */
    /* the layout's own */
    double want;
    size_t place; /* in its layer */
};

struct layout_edge {
    size_t from, to; /* nodes; from lies above to */
    size_t owner;    /* which of the caller's edges it is a piece of */
};

struct layout {
    struct layout_node *node; /* the caller's n first, then the places */
    size_t n, n_boxes;
    struct layout_edge *edge; /* between neighbouring layers */
    size_t n_edge;
    int layers;
    double width; /* of the widest layer; x lies within it */
};

/* node[0..n) with widths set; edge[0..n_edge) with from < to in an order in
 * which every node stands behind what it is made from. Memory from arena. */
int layout_make(struct layout *out, const struct layout_node *node, size_t n,
                const struct layout_edge *edge, size_t n_edge,
                struct arena *arena, struct err *err);

#endif
