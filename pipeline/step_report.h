/* A recorded training step in words: what it calls, in which order. */
#ifndef PIPELINE_STEP_REPORT_H
#define PIPELINE_STEP_REPORT_H

#include "nn/base/str.h"
#include "nn/model.h"
#include "nn/step.h"
#include "nn/train_order.h"

struct pl_step_view {
    const struct nn_step *step;
    const struct nn_model *model; /* that it trains */
    const char *loss;             /* what the loss is called */
};

/* Where each part stands in the order of the recorded calls, from 1; 0 for one
 * that the step does without. */
void pl_step_places(const struct pl_step_view *v, int place[NN_PART_COUNT]);
/* "one step: zero_grad, forward (0 linear), loss (mse), backward (loss, 0),
 * step (sgd)" */
void pl_step_line(const struct pl_step_view *v, struct str *out);
/* Markdown: the line, then a table of all calls. Sizes are those of the numbers
 * alone, so that the text is the same on every machine. ERR_NOMEM. */
int pl_step_markdown(const struct pl_step_view *v, struct str *out,
                     struct err *err);

#endif
