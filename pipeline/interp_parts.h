/* What the two halves of the interpolation share: interp.c walks texts and
 * trees, interp_find.c knows what a reference stands for. */
#ifndef PIPELINE_INTERP_PARTS_H
#define PIPELINE_INTERP_PARTS_H

#include "pipeline/interp.h"

enum {
    PL_MAX_CHAIN = 64,           /* variables that refer one to the next */
    PL_MAX_REF_BYTES = 16 << 20, /* of all texts that references make */
};

enum var_state { VAR_NEW, VAR_BUSY, VAR_DONE };

struct var {
    enum var_state state;
    struct pl_node *node; /* VAR_DONE: resolved; NULL: it had an error */
};

struct interp {
    struct arena *arena;
    struct pl_diag *d;
    const struct pl_scope *scope;
    const struct pl_node *root; /* as written */
    const struct pl_node *vars; /* as written; empty: there are none */
    bool vars_bad;              /* vars is no map: an error is told elsewhere */
    struct var *var;            /* one for each pair of vars */
    size_t chain[PL_MAX_CHAIN]; /* the variables that are VAR_BUSY */
    size_t n_chain;
    size_t bytes;                 /* of the texts made so far */
    const struct pl_node *matrix; /* of the stage that is in work, or NULL */
    const struct pl_node *cell;   /* pl_interp_cell only */
    bool naming;                  /* `name` is in work: it has no stages */
};

/* A reference in a text: from `${` to behind `}`. */
struct ref {
    const struct pl_node *in;
    const char *begin, *end; /* in in->text */
    const char *name;        /* between the braces, in the arena */
};

/* node with its references replaced; NULL after an error. */
struct pl_node *pl_interp_resolve(struct interp *x, struct pl_node *node);
/* The variable number index, resolved; NULL after an error, told if r is not
 * NULL. */
struct pl_node *pl_interp_var(struct interp *x, const struct ref *r,
                              size_t index);
/* What a reference stands for; NULL after an error. */
struct pl_node *pl_interp_find(struct interp *x, const struct ref *r);
/* Where a reference stands, if the text stands in one line as it is. */
struct pl_loc pl_interp_loc(const struct ref *r);
/* True if the matrix has what ${matrix...} refers to; else an error. */
bool pl_interp_in_matrix(struct interp *x, const struct ref *r);

#endif
