/* For the files of the stage kind profile. */
#ifndef PIPELINE_PROFILE_RUN_H
#define PIPELINE_PROFILE_RUN_H

#include "nn/device_trace.h"
#include "nn/train.h"
#include "pipeline/profile.h"
#include "pipeline/profile_gpu.h"
#include "pipeline/train_run.h"

struct profile {
    struct pl_stage_ctx *ctx;
    const struct pl_profile_with *with;
    struct pl_sets sets;
    struct rng_mt gen;
    struct nn_model *model;
    struct nn_loader *loader;
    struct nn_trainer *trainer;
    struct nn_loss loss;
    double *first, *timed; /* with->n_step, with->repeat */
    struct prof *prof;
    struct nn_device_trace *device; /* NULL: none tells of itself */
    struct pl_traced traced;
    struct pl_traced_gpu gpu; /* of device */
};

/* The operator that is the loss; NULL: it is none of the config's own. */
const struct pl_operator *pl_profile_own_loss(const struct pl_config *c,
                                              const struct pl_profile_with *w);

int profile_open(struct profile *p, struct err *err);
int profile_open_model(struct profile *p, struct err *err);
int profile_open_trainer(struct profile *p, struct err *err);
/* Model, loader and trainer. */
void profile_close_trainer(struct profile *p);

/* Whether the device has a clock of its own. */
bool profile_has_marks(const struct profile *p);
/* One step, from an idle device to an idle device. */
int profile_step(struct profile *p, double *seconds, struct err *err);
void profile_show_progress(struct profile *p);
/* All times, without a profiler. */
int profile_measure(struct profile *p, struct pl_step_times *t,
                    struct err *err);

/* Whether the steps of this device can be traced. */
bool profile_can_trace(const struct profile *p);
/* Trains the first steps anew, traced, and writes the files of the trace.
 * ERR_INTERRUPTED: those of the steps before the stop. */
int profile_trace(struct profile *p, struct err *err);
/* The metrics of the trace, once its files are written. */
int profile_give_traced(const struct profile *p, const struct pl_step_times *t,
                        struct err *err);

#endif
