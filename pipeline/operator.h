/* What `operators:` says: operators of the user's own, each with its forward
 * and its backward as programs of the language of the autograd stage, and made
 * ready to be layers and losses of nn. */
#ifndef PIPELINE_OPERATOR_H
#define PIPELINE_OPERATOR_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/custom.h"
#include "pipeline/prog_check.h"
#include "pipeline/schema.h"

struct pl_layer; /* pipeline/model_build.h */

enum {
    PL_OPERATOR_PARAMS = 4,
    PL_OPERATOR_IN = 1 + PL_OPERATOR_PARAMS /* x, parameters; or x, t */
};

/* What stands for all own operators in `operators:` of an autograd stage. */
#define PL_OPERATORS_OWN "own"

/* A name that forward reads before anything sets it. */
struct pl_operand {
    const char *name;    /* "W" */
    const char *grad;    /* "dW", which backward sets; NULL: a loss's t */
    struct prog_pos pos; /* where forward reads it first */
};

struct pl_operator {
    const char *name;
    const char *forward, *backward;
    const char *same_as; /* a built-in operator, or NULL */
    const struct pl_node *parameters;
    bool check; /* training checks its gradients before it begins */
    const struct pl_node *node;

    /* ---- made of that ---- */
    struct prog_program program, back; /* forward, backward */
    struct pl_operand in[PL_OPERATOR_IN];
    int n_in;
    bool loss;    /* in[1] is t, the target */
    bool classes; /* t is class numbers, not floats */
    bool sized;   /* a parameter has the layer's `out` among its sizes */
    bool flat;    /* x comes as a row: some size is `in` or `out` */
    struct nn_own_param param[PL_OPERATOR_PARAMS]; /* of in[1], in[2], ... */
    struct nn_custom custom;                       /* user: this operator */
    struct nn_own_layer layer;
};

extern const struct pl_schema pl_operator_schema;

/* Reads one entry of `operators:` and checks its programs. out must stay where
 * it is: what is made of it points to it. false after an error in d. */
bool pl_operator_read(struct pl_operator *out, const struct pl_pair *entry,
                      struct arena *arena, struct pl_diag *d);

/* What a layer of this type must say, and not say. */
void pl_operator_check_layer(const struct pl_operator *o,
                             const struct pl_layer *l, struct pl_diag *d);
/* That it can be a loss; loc is where it is asked for. */
void pl_operator_check_loss(const struct pl_operator *o, struct pl_loc loc,
                            struct pl_diag *d);

/* ---- between operator.c and its neighbours ---- */

/* Parses and checks both programs, and finds the operands
 * (operator_program.c). */
bool pl_operator_programs(struct pl_operator *o, struct arena *arena,
                          struct pl_diag *d);
/* Fills o->custom and o->layer (operator_run.c). */
void pl_operator_ready(struct pl_operator *o);

/* A forward under way, for the backward behind it. */
struct pl_operator_run;
/* y = forward(in) on tape, whose gradients are off. The run is the caller's
 * (pl_operator_end), the tensors are the tape's. */
int pl_operator_forward(const struct pl_operator *o, struct nn_tape *tape,
                        struct nn_tensor *const *in, struct nn_tensor **y,
                        struct pl_operator_run **run, struct err *err);
/* Sets grad_in[i] of every operand that has a gradient, in whatever shape
 * backward gave it; NULL for t. */
int pl_operator_backward(struct pl_operator_run *run, struct nn_tensor *grad,
                         struct nn_tensor **grad_in, struct err *err);
void pl_operator_end(struct pl_operator_run *run); /* NULL is fine */

#endif
