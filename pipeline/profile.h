/* The stage kind profile: how long a training step takes. */
#ifndef PIPELINE_PROFILE_H
#define PIPELINE_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "nn/backend.h"
#include "nn/base/prof.h"
#include "pipeline/host_state.h"
#include "pipeline/profile_stats.h"
#include "pipeline/profile_traced.h"
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
    bool trace;
    struct prof_schedule schedule; /* of the traced steps */
    const char *file;              /* the trace's name, or NULL */
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
    const struct pl_traced *traced; /* NULL: nothing was */
};

/* step_times.csv: a row a step, the phases of the traced ones, then a row that
 * sums up the timed ones. */
void pl_step_times_csv(const struct pl_step_times *t, struct str *out);

struct pl_stage_ctx;
/* "adam_h=256_bs=32", with `between` for the blanks; width 0: none to name. */
void pl_profile_recipe(struct str *out, const struct pl_profile_with *w,
                       int64_t width, const char *between);
/* Where the trace goes below the stage's folder: the file asked for, or
 * traces/adam_h=256_bs=32_trace.json. width: of the first linear layer; 0:
 * there is none. */
void pl_trace_name(struct str *out, const struct pl_profile_with *w,
                   int64_t width);
/* That width of a model. */
struct nn_model;
int64_t pl_profile_width(const struct nn_model *m);
/* Writes the trace, the tables and the pictures; says how many spans were lost.
 * With no traced step only the trace, which is empty then. */
int pl_profile_report(struct pl_stage_ctx *ctx, const struct pl_traced *t,
                      const struct pl_traced_more *more, int64_t width,
                      struct err *err);

#endif
