/* What each stage's folder is worth now, and so what a run has to do. */
#ifndef PIPELINE_PLAN_H
#define PIPELINE_PLAN_H

#include <stdbool.h>

#include "nn/base/arena.h"
#include "nn/base/err.h"
#include "pipeline/job.h"
#include "pipeline/record.h"

/* How far a stage is, as later stages see it. */
enum pl_known_state {
    PL_KNOWN_NOT, /* not looked at, or not selected */
    PL_KNOWN_WHOLE,
    PL_KNOWN_ERROR,   /* it failed as was expected: there is nothing to need */
    PL_KNOWN_PENDING, /* it will run first; a plan cannot say what comes out */
    PL_KNOWN_TO_FAIL, /* the same, of one whose error is to be expected */
    PL_KNOWN_FAILED   /* or skipped */
};
struct pl_known {
    enum pl_known_state state;
    char outputs[65]; /* of a whole stage: pl_record_outputs_hash */
};

/* Looks at stages in order. */
struct pl_planner {
    const struct pl_job *job;
    struct arena *arena;
    struct pl_known *known; /* n_stages, kept by the caller */
};

struct pl_decision {
    enum pl_action action;
    enum pl_state state;
    bool resume;         /* PL_RUN: go on in the folder as it is */
    char grown_from[65]; /* PL_RUN: the fingerprint of the results there, which
                            the stage may go on from; or "" */
    const char *reason;  /* "" when up to date, unless with its error */
    const char *changes; /* PL_RUN: all that the reason sums up, a line each;
                            "" if there is no more to it */
    char fingerprint[65];
    struct pl_inputs inputs;
    struct pl_inputs gpu;  /* what counts besides on a GPU: pl_inputs_gpu */
    struct pl_record last; /* stage.json; valid if state is DONE or STALE */
};

/* What a stage is whose whole record is r. */
enum pl_known_state pl_known_whole(const struct pl_record *r);

/* Decides about stage i, whose needs are known. Reads only. */
int pl_decide(struct pl_decision *d, const struct pl_planner *p, size_t i,
              struct err *err);

#endif
