/* Rules of operators (nn/op.h: "y = a * b; da = g * b; db = g * a") as
 * expressions, with a program's own names put in. */
#ifndef PIPELINE_PROG_RULE_H
#define PIPELINE_PROG_RULE_H

#include "nn/base/str.h"
#include "pipeline/prog_run.h"

/* The gradient of operand k of v by the rule of what made v, where g is v's
 * own gradient; simplified. *out NULL: the rule does not say. Memory from
 * arena. */
int prog_rule_grad(const struct prog_expr **out, const struct prog_value *v,
                   int k, const struct prog_expr *g, struct arena *arena,
                   struct err *err);

/* a + b; a NULL: b. NULL: out of memory. */
const struct prog_expr *prog_rule_sum(const struct prog_expr *a,
                                      const struct prog_expr *b,
                                      struct arena *arena);
/* A name, a number, a call with one argument. NULL: out of memory. */
const struct prog_expr *prog_rule_name(const char *name, int rank,
                                       struct arena *arena);
const struct prog_expr *prog_rule_number(double v, struct arena *arena);
const struct prog_expr *prog_rule_call(const char *fn,
                                       const struct prog_expr *arg,
                                       struct arena *arena);
/* How many words it is made of. */
size_t prog_rule_size(const struct prog_expr *e);

/* Appends e as it is written by hand: products elementwise or with a number
 * told apart, powers and transposes raised. */
void prog_math_add(struct str *out, const struct prog_expr *e);

#endif
