/* Whether the device that is asked for is a simulated one: results of those are
 * no results of a real one. */
#ifndef PIPELINE_SIMULATED_H
#define PIPELINE_SIMULATED_H

#include <stdbool.h>

#include "pipeline/pipeline.h"

/* False as well where the device cannot be opened. A process of its own opens
 * it: a GPU that was looked at here could not be used by the processes that
 * this one makes. */
bool pl_simulated_now(const struct pl_opts *opts);

#endif
