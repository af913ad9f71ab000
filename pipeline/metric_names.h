/* The names of the metrics that each stage kind writes. */
#ifndef PIPELINE_METRIC_NAMES_H
#define PIPELINE_METRIC_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "pipeline/stage.h"

enum { PL_METRIC_NAMES = 64, PL_METRIC_LEN = 96 };

/* Whether a stage of this kind can write a metric called name. True for every
 * name where the names are the config's own, as in an autograd program. */
bool pl_metric_known(const struct pl_stage_kind *kind, const char *name);

/* The names that there are, for messages: where a part of one is free, the
 * words of name in its place stand for it. Returns how many. */
size_t pl_metric_names(const struct pl_stage_kind *kind, const char *name,
                       char out[PL_METRIC_NAMES][PL_METRIC_LEN]);

/* The table of a kind, NULL-terminated; `*` is a part that the config or the
 * data gives. NULL: its metrics have the config's own names. */
const char *const *pl_metric_table(const struct pl_stage_kind *kind);

#endif
