/* The graph of a program as a picture. */
#ifndef PIPELINE_PROG_GRAPH_H
#define PIPELINE_PROG_GRAPH_H

#include "nn/base/str.h"
#include "pipeline/prog_run.h"

enum { PROG_GRAPH_MAX = 60 }; /* values that are drawn */

/* Appends an SVG that stands alone: a box a value with formula, shape, numbers
 * and gradient, operands above results. Drawn is what the root of the first
 * backward was made from, or every value where there was none; of more than
 * PROG_GRAPH_MAX the last ones. */
int prog_graph_svg(struct str *out, const char *title, const struct prog_run *r,
                   struct err *err);

#endif
