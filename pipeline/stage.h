/* What a stage kind is, and what a running stage may use. */
#ifndef PIPELINE_STAGE_H
#define PIPELINE_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/backend.h"
#include "nn/base/err.h"
#include "pipeline/config.h"
#include "pipeline/pipeline.h" /* struct pl_progress */
#include "pipeline/schema.h"

struct pl_run; /* pipeline/run.c */

struct pl_stage_ctx {
    struct pl_run *run;
    const struct pl_config *config;
    const struct pl_stage *stage;
    const char *dir;       /* out/<name>/<stage>, exists */
    const char *out;       /* out/<name> */
    struct nn_backend *be; /* NULL unless kind->needs_device */
    bool fresh;            /* --fresh: do not resume */
    bool offline;          /* --offline: folders and the cache only */
    /* Where results were moved that differ from what is wanted by kind->grows
     * alone; or NULL. */
    const char *previous;
};

struct pl_stage_kind {
    const char *name;
    const char *help; /* one sentence */
    const struct pl_schema *with;
    bool needs_device; /* gets ctx->be; never two such stages at once */
    bool has_values;   /* leaves named numbers in values.json, as metrics.json,
                          for expectations about a `value` */
    bool measures; /* times something: runs alone, and its results hang on the
                      machine */
    int version;   /* raised when the same config must give other artifacts */
    /* Checks that go past the table, with places; may be NULL. */
    void (*check)(const struct pl_config *c, const struct pl_stage *s,
                  struct pl_diag *d);
    /* The input that may grow without beginning anew ("with.epochs"), and
     * whether these settings allow it; both may be NULL. */
    const char *grows;
    bool (*may_grow)(const void *with);
    /* Does the work. Artifacts are written by the functions below;
     * metrics.json, log.txt and stage.json by the runner. */
    int (*run)(struct pl_stage_ctx *ctx, struct err *err);
    /* Whether what a whole stage left outside its folder dir (downloads in the
     * cache) is still there; else why says what is not. NULL: nothing is. */
    bool (*intact)(const char *dir, struct str *why);
};

/* NULL-terminated, in the order of the documentation. */
extern const struct pl_stage_kind *const pl_stage_kinds[];
const struct pl_stage_kind *pl_stage_kind_find(const char *name);

extern const struct pl_stage_kind pl_kind_fetch, pl_kind_summary, pl_kind_train,
    pl_kind_evaluate, pl_kind_autograd, pl_kind_profile, pl_kind_compare;

/* dir/name as a text of the run, valid until the stage ends; makes the
 * folders that name goes through. NULL: out of memory, *err says so. */
const char *pl_artifact_path(struct pl_stage_ctx *ctx, const char *name,
                             struct err *err);
/* Writes dir/name atomically and records it. */
int pl_artifact_write(struct pl_stage_ctx *ctx, const char *name,
                      const void *data, size_t len, struct err *err);
/* Records a file that the stage wrote by itself (atomically), in this run or
 * in the one that it resumes. It is hashed when the stage ends. */
int pl_artifact_add(struct pl_stage_ctx *ctx, const char *name,
                    struct err *err);
/* Takes a file back: removes it and its record. */
int pl_artifact_remove(struct pl_stage_ctx *ctx, const char *name,
                       struct err *err);

/* A dotted name and a number for metrics.json; inf and nan become null. The
 * last value of a name counts. Out of memory is remembered by the run. The name
 * stands in pipeline/metric_names.c too. */
void pl_metric(struct pl_stage_ctx *ctx, const char *name, double value);
/* A wall-clock or host fact for stage.json ("steps_per_s"). */
void pl_fact(struct pl_stage_ctx *ctx, const char *name, double value);

/* A metric of another, finished stage (from its metrics.json). */
int pl_stage_metric(struct pl_stage_ctx *ctx, const char *stage,
                    const char *name, double *out, struct err *err);
/* out/<name>/<stage>/<file> (file NULL: the folder), valid until the stage
 * ends; NULL: no memory. */
const char *pl_stage_file(struct pl_stage_ctx *ctx, const char *stage,
                          const char *file, struct err *err);

/* A line of result: stdout and log.txt. */
void pl_say(struct pl_stage_ctx *ctx, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* A line about the work: stderr and log.txt. */
void pl_log(struct pl_stage_ctx *ctx, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* How far the work is: one line on a terminal, a plain line now and then
 * elsewhere. */
void pl_progress(struct pl_stage_ctx *ctx, const struct pl_progress *p);

/* True once Ctrl-C or a time-out asks the stage to stop: finish the step,
 * save, return ERR_INTERRUPTED. */
bool pl_stopping(const struct pl_stage_ctx *ctx);

/* The opened sets of a data set: fetched by the stage that this one needs. */
int pl_open_dataset(struct pl_stage_ctx *ctx, const char *name,
                    struct pl_sets *out, struct err *err);

#endif
