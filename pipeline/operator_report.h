/* Own operators in stages: their check told as a table, and before training. */
#ifndef PIPELINE_OPERATOR_REPORT_H
#define PIPELINE_OPERATOR_REPORT_H

#include "pipeline/model_build.h"
#include "pipeline/operator_check.h"
#include "pipeline/recipe.h"
#include "pipeline/stage.h"

struct pl_operator_counts {
    int total, failed;
    double worst_grad, worst_close;
};

/* Checks the file's own operators that `with` asks for, says how each one did,
 * writes operators.md and the metrics operators.NAME.gradcheck and .allclose,
 * and adds to counts. ERR_INTERRUPTED when the stage is to stop. */
int pl_operators_check(struct pl_stage_ctx *ctx,
                       const struct pl_autograd_with *with,
                       struct pl_operator_counts *counts, struct err *err);

/* Before training: the gradients of the own operators among m's layers, and of
 * loss (may be NULL). One that is wrong is an error at its place in the file,
 * or where it says `check: false` a line in the log. */
int pl_operators_must_hold(struct pl_stage_ctx *ctx, const struct pl_model *m,
                           const struct pl_operator *loss, struct err *err);

#endif
