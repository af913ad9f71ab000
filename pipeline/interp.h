/* References in texts: ${vars.x}, ${env.X}, ${env.X:-default}; $${ is a
 * literal ${. */
#ifndef PIPELINE_INTERP_H
#define PIPELINE_INTERP_H

#include "nn/base/arena.h"
#include "pipeline/diag.h"
#include "pipeline/node.h"

/* root with every reference in it replaced; keys, `extends` and x-* are left
 * alone. A scalar that is one reference and nothing else becomes the node that
 * is referred to, whatever its kind. NULL after out of memory (d->nomem). */
struct pl_node *pl_interp(struct pl_node *root, struct arena *arena,
                          struct pl_diag *d);

#endif
