/* What can be known to be wrong with a program before it runs. */
#ifndef PIPELINE_PROG_CHECK_H
#define PIPELINE_PROG_CHECK_H

#include "pipeline/prog.h"
#include "pipeline/prog_run.h"

/* A program with the tensors that it is given. */
struct prog_program {
    struct prog_source source;
    const struct prog_stmt *stmts;
    struct prog_tensor *tensors;
    size_t n_tensors;
};

/* Tells d every name, function, argument and attribute that there is not. */
void prog_check(const struct prog_program *p, struct pl_diag *d);
/* The same; *out are the names that there are at the end, for the caller to
 * free. */
void prog_names(const struct prog_program *p, struct name_index *out,
                struct pl_diag *d);

/* `tensors`: name -> number | nested lists of numbers | {value: those,
 * requires_grad, dtype} | {zeros, ones, randn or uniform: shape, seed, ...} |
 * {linspace: [first, last, count], ...}. Numbers may be inf, -inf and nan.
 * tensors NULL: there are none. Memory from arena; mistakes go to d. */
void prog_read_tensors(struct prog_program *p, const struct pl_node *tensors,
                       struct arena *arena, struct pl_diag *d);

/* Reads all of it: false after an error in d. */
bool prog_read(struct prog_program *out, const struct pl_node *tensors,
               const struct pl_node *program, struct arena *arena,
               struct pl_diag *d);

#endif
