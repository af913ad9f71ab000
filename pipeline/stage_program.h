/* The programs of the autograd stage. */
#ifndef PIPELINE_STAGE_PROGRAM_H
#define PIPELINE_STAGE_PROGRAM_H

#include "pipeline/recipe.h"
#include "pipeline/stage.h"

/* Tells d what is wrong with the program and its tensors. */
void pl_program_check(const struct pl_autograd_with *with, struct pl_diag *d);
/* Runs it and writes values.csv, derivation.md, graph.svg, metrics, and the
 * table and plots that are asked for. */
int pl_program_run(struct pl_stage_ctx *ctx,
                   const struct pl_autograd_with *with, struct err *err);

#endif
