/* Reading what a profile stage left. */
#ifndef PIPELINE_COMPARE_PAIRS_READ_H
#define PIPELINE_COMPARE_PAIRS_READ_H

#include "pipeline/compare_pairs.h"

#define PL_KERNELS_FILE "kernels.csv"
#define PL_OPERATORS_FILE "ops.csv"

/* Cell i as a profile: the rows of kernels.csv, or else of ops.csv, and what
 * it was told. */
int pl_profiled_read(struct pl_profiled *out,
                     const struct pl_compare_cells *cells, size_t i,
                     bool kernels, struct err *err);

#endif
