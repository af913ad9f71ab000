/* The table of checked operators, as it is said while they are checked. */
#ifndef PIPELINE_OPTABLE_H
#define PIPELINE_OPTABLE_H

#include "pipeline/opcheck.h"
#include "pipeline/stage.h"

/* The width of the column of names; longer ones push the numbers aside. */
enum { PL_OPTABLE_NAME = 38 };

/* What the numbers mean, then the head of the columns. source: where the
 * reference numbers are from, "PyTorch 1.13". */
void pl_optable_head(struct pl_stage_ctx *ctx, const char *source,
                     const struct pl_opcheck_opts *opts);
/* One operator: a mark and the largest error of each check; - where a check
 * was not made. At most 100 columns. */
void pl_optable_row(struct pl_stage_ctx *ctx, const char *name,
                    const struct pl_opcheck *o);

#endif
