/* A run under way: what its parts share. */
#ifndef PIPELINE_RUN_H
#define PIPELINE_RUN_H

#include <stdbool.h>
#include <stdio.h>

#include "nn/backend.h"
#include "nn/base/arena.h"
#include "pipeline/job.h"
#include "pipeline/lock.h"
#include "pipeline/metrics.h"
#include "pipeline/plan.h"
#include "pipeline/record.h"
#include "pipeline/stage.h"

/* The stage that runs now. */
struct pl_work {
    const struct pl_stage *stage;
    struct arena arena; /* until the stage ends */
    char *dir;          /* in arena */
    char *previous;     /* in arena: see pl_stage_ctx */
    struct pl_metrics metrics, facts;
    struct pl_output *artifact; /* in arena; only names until the end */
    size_t n_artifacts, cap_artifacts;
    FILE *log;       /* log.txt, or NULL */
    double deadline; /* of pl_clock; 0: none */
    bool failed;     /* out of memory where no error could be returned */
};

struct pl_run {
    struct pl_job *job;
    const struct pl_ui *ui;
    struct pl_result *res;
    struct arena arena; /* until the run ends */
    struct nn_backend *be;
    char device_line[200]; /* "cpu (no NVIDIA driver)" */
    struct pl_known *known;
    struct pl_lock lock;
    int history; /* see pl_history_move */
    struct pl_work work;
};

/* Does stage i as decided: folder, attempts, records. The outcome is in
 * run->known[i] too. */
int pl_run_stage(struct pl_run *run, size_t i, const struct pl_decision *d,
                 struct err *err);

/* log.txt of the stage in work: opened with its first lines, and closed.
 * ERR_IO from closing if anything could not be written. */
int pl_log_open(struct pl_run *run, const char *reason, struct err *err);
int pl_log_close(struct pl_run *run, struct err *err);
/* A line for log.txt alone. */
void pl_log_line(struct pl_run *run, const char *line);

/* Whether the stage in work has used up its time. */
bool pl_timed_out(const struct pl_run *run);

/* Judges the expectations of stage s, from what folder dir holds (metrics
 * NULL: the stage is not whole), into v[0 .. s->n_expect). */
int pl_run_assess(struct pl_run *run, const struct pl_stage *s,
                  const struct pl_metrics *metrics, const char *device,
                  struct pl_verdict *v, struct err *err);

/* resolved.yaml, and pipeline.lock.json if it is due. */
int pl_write_resolved(bool *changed, const struct pl_job *job, struct err *err);
int pl_write_lockfile(const struct pl_run *run, struct err *err);

#endif
