/* The built-in operators that an own one may be compared with. */
#ifndef PIPELINE_BUILTIN_H
#define PIPELINE_BUILTIN_H

#include <stdbool.h>

#include "nn/tape.h"

struct pl_builtin {
    const char *name;
    enum nn_op_id op;
    const char *in[3];    /* "x", "weight", "bias"; "t" is a target */
    int n_in, least;      /* operands, and how many there must be */
    const char *operands; /* "x, W and b", for messages */
    bool loss;
};

/* NULL-terminated. */
extern const char *const pl_builtin_names[];
const struct pl_builtin *pl_builtin_find(const char *name); /* NULL: none */
/* Whether an operand of an own operator called name is the built-in one's:
 * W is its weight, b its bias. */
bool pl_builtin_is(const char *builtin, const char *name);

/* Applies it on tape to in, in the order of b->in, NULL for what is left out.
 * A loss gives the sum over the samples of what each one's is. */
int pl_builtin_apply(const struct pl_builtin *b, struct nn_tape *tape,
                     struct nn_tensor *const *in, struct nn_tensor **out,
                     struct err *err);

#endif
