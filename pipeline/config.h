/* A checked config: what the file says, after extends, vars, defaults and the
 * command line. */
#ifndef PIPELINE_CONFIG_H
#define PIPELINE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/arena.h"
#include "nn/base/err.h"
#include "pipeline/dataset.h"
#include "pipeline/diag.h"
#include "pipeline/model_build.h"
#include "pipeline/node.h"
#include "pipeline/operator.h"
#include "pipeline/schema.h"

struct pl_stage_kind; /* pipeline/stage.h */

enum pl_relation {
    PL_REL_GT,
    PL_REL_GE,
    PL_REL_LT,
    PL_REL_LE,
    PL_REL_EQ,
    PL_REL_CLOSE,    /* with atol, rtol */
    PL_REL_CLOSE_TO, /* another metric */
    PL_REL_EXISTS,
    PL_REL_ORDER,  /* of a column */
    PL_REL_SAME_AS /* byte for byte another file */
};

enum pl_order {
    PL_INCREASING,
    PL_DECREASING,
    PL_NOT_DECREASING,
    PL_NOT_INCREASING
};

/* One expectation: subject relation bound. The subject is one of metric, value
 * and file; of a file with a column, the column's last number. Or the stage is
 * to fail: then it is its only expectation, without a relation. */
struct pl_expect {
    struct pl_loc loc;
    struct pl_loc metric_loc, other_loc; /* of those two texts */
    const char *metric; /* of this stage's metrics.json; or NULL */
    const char *value;  /* of this stage's values.json; or NULL */
    const char *file;   /* an artifact of this stage; or NULL */
    const char *column; /* of that file, a CSV; or NULL */
    const char
        *error; /* part of the message that it is to fail with; or NULL */
    enum pl_relation relation;
    double bound;
    const double *bounds; /* PL_REL_CLOSE of a tensor to a list, row by row */
    size_t n_bounds;      /* 0: bound counts */
    const char *other;    /* PL_REL_CLOSE_TO */
    enum pl_order order;  /* PL_REL_ORDER */
    const char *same_as;  /* PL_REL_SAME_AS: a path */
    const char *same_as_shown; /* the same as it is written */
    double atol, rtol;
    double points; /* 0: carries none */
    const char *why;
    const char *requires_device; /* "cuda", or NULL */
    const char *visibility; /* "visible", "hidden", "after_due_date", ... */
    bool manual;            /* a person grades it */
    const char *text;       /* manual: what is graded */
};

struct pl_stage {
    /* "train"; implied downloads are "fetch-mnist", cells "step@lr=0.1", those
     * of another file "q1/train" */
    const char *id;
    const char *dir; /* its folder below that of home's results: "step/lr=0.1",
                        else as local */
    const char *group;            /* of a cell: "step"; else NULL */
    const struct pl_node *cell;   /* of a cell: {lr: 0.1}; else NULL */
    const char *local;            /* its id in the file that says it */
    const struct pl_config *home; /* of that file */
    const struct pl_stage_kind *kind;
    void *with; /* the kind's own struct, filled by its schema */
    const struct pl_node *node; /* that it was filled from */
    struct pl_loc loc;
    const char *const *needs; /* ids: written, referred to and implied */
    size_t n_needs;
    struct pl_expect *expect;
    size_t n_expect;
    int64_t retries;
    double timeout; /* seconds; 0: none */
    bool implied;   /* not written in the file */
};

/* Another file whose stages this one brings in. */
struct pl_import {
    const char *alias; /* "q1": its stages are "q1/train", ... */
    const struct pl_config *config;
};

struct pl_config {
    struct arena arena;         /* owns everything below but what is imported */
    const char *path;           /* of the file, as given */
    const struct pl_file *file; /* as it was read; NULL: it could not be */
    const char *name;
    struct pl_dataset *datasets;
    size_t n_datasets;
    struct pl_operator *operators; /* the file's own */
    size_t n_operators;
    struct pl_model *models;
    size_t n_models;
    struct pl_stage *stages; /* in an order in which needs come first */
    size_t n_stages;
    struct pl_import *imports;
    size_t n_imports;
    /* The files that the stages are from: this one, then those that are brought
     * in, directly or not, each once. Their names differ. */
    const struct pl_config **homes;
    size_t n_homes;
    struct pl_config *next; /* owned as this one is */
    struct pl_node *root;   /* merged and interpolated */
    bool untrusted;         /* it was checked as a stranger's */
    const char *recipe;     /* "hidden_dim=256 batch_size=128 ...": the vars */
};

/* How a config is to be read. Zero-initialise; texts are borrowed. */
struct pl_config_opts {
    const char *const *overrides; /* "a.b=v", "lr=0.01" for vars.lr, "~a" */
    size_t n_overrides;
    const char *out;      /* the folder of results; NULL: "out" */
    const char *numerics; /* for every stage that has the setting, or NULL */
    bool untrusted;       /* refuse what a stranger's file must not ask for */
};

/* Reads and checks path; opts may be NULL. On success *out is the caller's
 * (pl_config_free). Mistakes go to d and the result is ERR_CONFIG; ERR_IO when
 * the file cannot be read. d's arena must outlive d, not the config; *out is
 * set for ERR_CONFIG too if d points into it, and NULL otherwise. */
int pl_config_load(struct pl_config **out, const char *path,
                   const struct pl_config_opts *opts, struct pl_diag *d,
                   struct err *err);
void pl_config_free(struct pl_config *c); /* NULL is fine */

const struct pl_dataset *pl_config_dataset(const struct pl_config *c,
                                           const char *name);
const struct pl_model *pl_config_model(const struct pl_config *c,
                                       const char *name);
const struct pl_operator *pl_config_operator(const struct pl_config *c,
                                             const char *name);
const struct pl_stage *pl_config_stage(const struct pl_config *c,
                                       const char *id);

/* What c calls s, a stage of it or of a file that it brings in; NULL: it has
 * no such stage. */
const char *pl_config_id(const struct pl_config *c, const struct pl_stage *s);
/* Whether name means s: its id, or that of the stage that it is a cell of. */
bool pl_stage_is(const struct pl_stage *s, const char *name);

/* The merged config as YAML that `pipeline run` takes again. */
void pl_config_resolved(const struct pl_config *c, struct str *out);

#endif
