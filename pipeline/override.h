/* What the command line changes: "a.b=v", "lr=0.01" for vars.lr, "~a.b". */
#ifndef PIPELINE_OVERRIDE_H
#define PIPELINE_OVERRIDE_H

#include "nn/base/arena.h"
#include "pipeline/diag.h"
#include "pipeline/node.h"

/* root with one override applied; on an error in d, root as it was. A value
 * that begins with [ { " or ' is YAML, any other is taken letter by letter. */
struct pl_node *pl_override(struct pl_node *root, const char *text,
                            struct arena *arena, struct pl_diag *d);

#endif
