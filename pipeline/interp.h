/* References in texts: ${vars.x}, ${env.X}, ${env.X:-default},
 * ${stages.s.dir}, ${matrix.x}; $${ is a literal ${. */
#ifndef PIPELINE_INTERP_H
#define PIPELINE_INTERP_H

#include "nn/base/arena.h"
#include "pipeline/diag.h"
#include "pipeline/node.h"

/* What references reach besides the file's own vars. Zero: stages as usual,
 * and a file that is trusted. */
struct pl_scope {
    /* The one file whose texts may be quoted, and no environment; NULL: it is
     * trusted. */
    const struct pl_file *untrusted;
    const char *out; /* the folder of results, absolute; NULL: no stages */
    /* The folder below out of stage id that another file brings in ("q1/train"
     * gives "q1/train"); NULL: there is none. */
    const char *(*imported)(void *user, const char *id);
    void *user;
};

/* root with every reference in it replaced; keys, `extends`, `imports` and x-*
 * are left alone. A scalar that is one reference and nothing else becomes the
 * node that is referred to, whatever its kind. `with` and `expect` of a stage
 * that has a matrix keep their ${matrix...}: such scalars are pending. NULL
 * after out of memory (d->nomem). */
struct pl_node *pl_interp(struct pl_node *root, const struct pl_scope *scope,
                          struct arena *arena, struct pl_diag *d);

/* node with what is pending in it resolved for one cell, a map of the matrix's
 * keys. NULL after an error. */
struct pl_node *pl_interp_cell(struct pl_node *node, const struct pl_node *cell,
                               struct arena *arena, struct pl_diag *d);

#endif
