/* What pipeline.lock.json says of a stage's content, written and compared. */
#ifndef PIPELINE_LOCKED_H
#define PIPELINE_LOCKED_H

#include <jansson.h>
#include <stdbool.h>

#include "nn/base/arena.h"
#include "pipeline/config.h"
#include "pipeline/job.h"
#include "pipeline/record.h"

/* name: SHA-256, for every output of a whole stage (lockfile.c). */
json_t *pl_outputs_value(const struct pl_record *r);

/* Adds to v what the results of s hang on and what is expected of them, apart
 * from what other stages leave: "inputs", "expectations". False: out of
 * memory. */
bool pl_locked_describe(json_t *v, const struct pl_stage *s,
                        struct arena *arena);

#endif
