/* The last steps of several profiles as tracks on one scale. */
#ifndef PIPELINE_COMPARE_TRACKS_H
#define PIPELINE_COMPARE_TRACKS_H

#include <stdbool.h>

#include "nn/base/err.h"
#include "nn/base/str.h"
#include "pipeline/compare.h"

#define PL_LAST_STEP_FILE "last_step.csv"

/* Appends the picture of what stands in the cells' last_step.csv: of each the
 * step, its phases, and what ran on the device, or else the operators. about:
 * for the title; simulated: by the tests' double of a GPU. ERR_CONFIG: a cell
 * has no such file; ERR_CORRUPT: it is none. */
int pl_tracks_svg(struct str *out, const struct pl_compare_cells *cells,
                  const char *about, bool simulated, struct err *err);

#endif
