/* The stage kind profile: how long a training step takes. */
#ifndef PIPELINE_PROFILE_H
#define PIPELINE_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "nn/backend.h"
#include "pipeline/host_state.h"
#include "pipeline/profile_stats.h"
#include "pipeline/recipe.h"

struct pl_profile_with {
    const char *dataset, *model;
    int loss;             /* enum pl_loss */
    const char *own_loss; /* PL_LOSS_OWN: the operator's name; else NULL */
    int64_t batch_size, seed;
    double lr;
    struct pl_optimizer optimizer;
    int64_t n_step, warmup, repeat;
    int execution;      /* enum nn_execution */
    int fusion;         /* 0 none, 1 all */
    int numerics, data; /* see pipeline/device_settings.h */
    const struct pl_node *node;
};
extern const struct pl_schema pl_profile_schema;

/* What was measured, in seconds. */
struct pl_step_times {
    const struct pl_profile_with *with;
    const struct nn_backend *be;
    const char *method;  /* "clock", "events" */
    const double *first; /* with->n_step: the run's first steps */
    const double *timed; /* with->repeat, after them and the warm-up */
    struct pl_times sum; /* of timed */
    struct pl_host_state before, after;
};

/* step_times.csv: a row a step, then one that sums up the timed ones. */
void pl_step_times_csv(const struct pl_step_times *t, struct str *out);

#endif
