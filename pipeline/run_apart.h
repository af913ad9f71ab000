/* Stages that use a GPU in processes of their own. A GPU's recorder (CUPTI) is
 * sound for one session in the life of a process, and what it leaves behind
 * slows the steps that are timed after it. So where a run measures on a GPU,
 * this process never opens it: each stage that uses it is a child that does. */
#ifndef PIPELINE_RUN_APART_H
#define PIPELINE_RUN_APART_H

#include "pipeline/run.h"

/* Opens the device of the run (run->be), or only learns what it is, where the
 * stages are to open it (run->apart). ERR_DEVICE, ERR_CONFIG, ERR_NOMEM. */
int pl_run_device(struct pl_run *run, struct err *err);
/* Opens it, in whichever process this is. */
int pl_run_device_open(struct pl_run *run, struct err *err);

/* pl_run_stage_work in a process of its own, which opens the device. What the
 * stage tells is shown at once. */
int pl_run_stage_apart(struct pl_run *run, const struct pl_decision *d,
                       double *seconds, struct err *err);

#endif
