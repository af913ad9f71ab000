/* The parts of the show kernels. */
#ifndef PIPELINE_COMPARE_KERNELS_H
#define PIPELINE_COMPARE_KERNELS_H

#include "nn/base/str.h"
#include "pipeline/compare_pairs.h"

/* kernels.md: tables of all pairs, sums, and what the figures say. about: what
 * is compared, for the heading; back: the way from the file's folder to that
 * of the results of its config, "../". */
void pl_kernels_md(const struct pl_pairs *p, const char *about,
                   const char *back, struct arena *arena, struct str *out);

/* What the figures say, a line of Markdown each: every sentence has the
 * figures that it rests on, and is left out where they do not say so. */
void pl_kernels_why(const struct pl_pairs *p, struct str *out);

/* Operators that only some have, and linear layers without grad_input. */
void pl_kernels_lacks(const struct pl_pairs *p, struct str *out);

/* kernels_compared.csv: a row a pair and profile. */
void pl_kernels_csv(const struct pl_pairs *p, struct str *out);

/* Where no profile is of a GPU: appends what a roofline predicts for Linear
 * there, headed as such, and writes predicted.md and predicted.csv. */
int pl_kernels_predict(struct pl_stage_ctx *ctx, const struct pl_pairs *p,
                       struct arena *arena, struct str *out, struct err *err);

/* The kernels of a side, "a + b"; short: as pl_add_kernel_name. */
void pl_side_add_kernels(struct str *out, const struct pl_side *s, bool cut);

/* "kernels" or "operators". */
const char *pl_pairs_what(const struct pl_pairs *p);
/* Whether a profile is of the tests' double of a GPU. */
bool pl_pairs_simulated(const struct pl_pairs *p);

#endif
