/* A job: the checked config and the options it runs with. */
#ifndef PIPELINE_JOB_H
#define PIPELINE_JOB_H

#include "nn/base/arena.h"
#include "pipeline/config.h"
#include "pipeline/diag.h"
#include "pipeline/pipeline.h"

struct pl_job {
    const struct pl_opts *opts;
    struct pl_config *config;
    struct pl_diag diag;
    struct arena arena;
    const char *out; /* the folder of results, without a slash at its end */
    const char *dir; /* out/<name> */
    bool *selected;  /* by --only and --from; n_stages */
    bool *forced;    /* by --force; n_stages */
};

/* Selects stages for a config that is there already; used by pl_job_open. */
int pl_job_prepare(struct pl_job *job, struct err *err);
/* out/<name> of the file that home is, and the folder of s: texts of their own
 * (mem_free); NULL: out of memory. */
char *pl_job_home(const struct pl_job *job, const struct pl_config *home);
char *pl_job_stage_dir(const struct pl_job *job, const struct pl_stage *s);
/* The index of a stage id in config->stages, or n_stages. */
size_t pl_job_index(const struct pl_config *c, const char *id);

#endif
