/* The tables and plots that a stage asks of its program: `table`, `plots`. */
#ifndef PIPELINE_PROGRAM_OUTPUT_H
#define PIPELINE_PROGRAM_OUTPUT_H

#include "pipeline/prog_check.h"
#include "pipeline/recipe.h"
#include "pipeline/stage.h"

/* Tells d what of it no value of p, which is right in itself, can be. */
void pl_program_output_check(const struct pl_autograd_with *with,
                             const struct prog_program *p, struct pl_diag *d);
/* Writes table.md, table.csv and NAME.svg of the finished run, and says a table
 * that is short. */
int pl_program_output(struct pl_stage_ctx *ctx,
                      const struct pl_autograd_with *with,
                      const struct prog_run *r, struct err *err);

#endif
