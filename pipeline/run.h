/* A run under way: what its parts share. */
#ifndef PIPELINE_RUN_H
#define PIPELINE_RUN_H

#include <jansson.h>
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
    char *home, *dir;   /* in arena: out/<name> of its file, and its own */
    char *previous;     /* in arena: see pl_stage_ctx */
    struct pl_metrics metrics, facts;
    struct pl_output *artifact; /* in arena; only names until the end */
    size_t n_artifacts, cap_artifacts;
    FILE *log;       /* log.txt, or NULL */
    double deadline; /* of pl_clock; 0: none */
    bool failed;     /* out of memory where no error could be returned */
};

/* What the stages work on, whoever opens it. */
struct pl_run_device {
    char name[16];         /* "cpu", "cuda" */
    char description[160]; /* see struct nn_backend */
};

struct pl_run {
    struct pl_job *job;
    const struct pl_ui *ui;
    struct pl_result *res;
    struct arena arena; /* until the run ends */
    struct pl_run_device device;
    bool apart;            /* see pipeline/run_apart.h */
    struct nn_backend *be; /* NULL: opened by the stages' processes */
    char device_line[200]; /* "cpu (no NVIDIA driver)" */
    struct pl_known *known;
    struct pl_lock *lock; /* of each of config->homes, by name */
    size_t n_locks;       /* those that are held */
    int *history;         /* of each of config->homes: see pl_history_move */
    const char **was;     /* likewise: resolved.yaml before this run changed it;
                             NULL: it did not */
    json_t *locked;       /* see pl_locked_open; or NULL */
    struct pl_work work;
};

/* Does stage i as decided: folder, attempts, records. The outcome is in
 * run->known[i] too. */
int pl_run_stage(struct pl_run *run, size_t i, const struct pl_decision *d,
                 struct err *err);
/* The same in two steps, so that the second may be another process's: the
 * folder, what it held moved away; then the rest. pl_run_stage_end forgets
 * the stage in work after either. */
int pl_run_stage_begin(struct pl_run *run, size_t i,
                       const struct pl_decision *d, struct err *err);
int pl_run_stage_work(struct pl_run *run, const struct pl_decision *d,
                      double *seconds, struct err *err);
void pl_run_stage_end(struct pl_run *run);

/* What there is to do about stage i, whose needs are known. One that is up to
 * date or skipped is known from then on. */
int pl_run_decide(struct pl_run *run, size_t i, struct pl_decision *d,
                  struct err *err);
/* Tells of stage i and takes it into the result: what was decided, and how it
 * ended. */
int pl_run_tell(struct pl_run *run, size_t i, const struct pl_decision *d,
                struct err *err);
void pl_run_tell_ended(struct pl_run *run, size_t i, double seconds);
void pl_run_tell_failed(struct pl_run *run, size_t i, const struct err *why);

/* All stages, several at once (run_jobs.c): one process each, but for those
 * that want the device or measure time, which run here and alone. What a stage
 * tells is shown as one block, in the order of the plan. Returns as a run of
 * one stage after the other does. */
int pl_run_jobs(struct pl_run *run, struct err *err);

/* Whether the user wants to stop. */
bool pl_run_stopping(const struct pl_run *run);
int pl_run_stopped(struct err *err); /* ERR_INTERRUPTED, between two stages */

/* log.txt of the stage in work: opened with its first lines, and closed.
 * ERR_IO from closing if anything could not be written. */
int pl_log_open(struct pl_run *run, const char *reason, struct err *err);
int pl_log_close(struct pl_run *run, struct err *err);
/* A line for log.txt alone. */
void pl_log_line(struct pl_run *run, const char *line);

/* After a failure of the stage in work. Whether another try is of use: not
 * after the error that it is meant to end with. */
bool pl_run_may_retry(struct pl_run *run, const struct err *err);
/* Takes that error for the end that it is: 0 with *err empty and r->error its
 * message; else the code of *err, which says what was to come. */
int pl_run_failed(struct pl_run *run, struct pl_record *r, struct err *err);

/* Whether the stage in work has used up its time. */
bool pl_timed_out(const struct pl_run *run);

/* Judges the expectations of stage s, from what its folder holds (metrics
 * NULL: the stage is not whole) and its record says, into
 * v[0 .. s->n_expect). */
int pl_run_assess(struct pl_run *run, const struct pl_stage *s,
                  const struct pl_metrics *metrics, const struct pl_record *r,
                  struct pl_verdict *v, struct err *err);

/* resolved.yaml, and pipeline.lock.json, each unless it says so already. */
int pl_write_resolved(struct pl_run *run, struct err *err);
int pl_write_lockfile(const struct pl_run *run, struct err *err);

/* --locked: the lock file that the run is held to. ERR_CORRUPT names the first
 * difference: of the config before anything runs, of a whole stage's outputs
 * after it. */
int pl_locked_open(struct pl_run *run, struct err *err);
int pl_locked_outputs(const struct pl_run *run, size_t i, struct err *err);
void pl_locked_close(struct pl_run *run);

/* Whether what stage i was made from stands as it was when d was decided; else
 * *changed says which input does not (in the arena of the stage in work). */
int pl_run_recheck(const char **changed, struct pl_run *run, size_t i,
                   const struct pl_decision *d, struct err *err);

#endif
