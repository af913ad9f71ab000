/* The derivation of a program's gradients, from the operators' rules. */
#ifndef PIPELINE_PROG_DERIVE_H
#define PIPELINE_PROG_DERIVE_H

#include "pipeline/prog_run.h"

/* d root / d of = text, in backward order. */
struct prog_step {
    const struct prog_value *of;
    const char *label; /* what `of` is called: its name, or "v1" */
    const char *text;
};

struct prog_derivation {
    const struct prog_backward *backward;
    const char *root; /* what the root is called */
    struct prog_step *step;
    size_t n;
};

/* Values without a name stand in full in the gradients of others as long as
 * that is short, and have a step of their own else. Memory from arena. */
int prog_derive(struct prog_derivation *out, const struct prog_run *r,
                const struct prog_backward *b, struct arena *arena,
                struct err *err);

/* What a word of the rules means that is no operator ("step(x): 1 where x > 0,
 * else 0"); i from 0; NULL: no more. */
const char *prog_derive_word(size_t i, const char **name);

/* Appends "z = W @ x + b", or the formula alone; a given value's name. */
void prog_value_formula(struct str *out, const struct prog_value *v);
/* Appends up to most numbers: "[1, 2, ...]", nested by rows; each with so many
 * digits, 17: all that there are. */
void prog_numbers_add(struct str *out, const struct nn_shape *shape,
                      const double *v, int64_t most, int digits);

#endif
