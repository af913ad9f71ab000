/* Nodes as YAML text that reads back as the same nodes. */
#ifndef PIPELINE_NODE_WRITE_H
#define PIPELINE_NODE_WRITE_H

#include "nn/base/str.h"
#include "pipeline/node.h"

/* A text as a scalar: as it is where that is safe and wanted (quoted false),
 * else in double quotes. `${` is written `$${`, so that it stays a text. */
void pl_write_text(struct str *out, const char *text, bool quoted);

/* {a: 1, b: [x, y]} on one line. */
void pl_write_flow(struct str *out, const struct pl_node *node);

/* Maps as blocks, lists of maps in rows, everything else as flow. `key: ` is in
 * front of it; a map begins on a new line with indent blanks. */
void pl_write_block(struct str *out, const struct pl_node *node, int indent);

#endif
