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
    PL_REL_EXISTS
};

/* One expectation: metric (or file) relation bound. */
struct pl_expect {
    struct pl_loc loc;
    const char *metric; /* of this stage's metrics.json; or NULL */
    const char *file;   /* an artifact of this stage; or NULL */
    enum pl_relation relation;
    double bound;
    const char *other; /* PL_REL_CLOSE_TO */
    double atol, rtol;
    double points; /* 0: carries none */
    const char *why;
    const char *requires_device; /* "cuda", or NULL */
    bool manual;                 /* a person grades it */
    const char *text;            /* manual: what is graded */
};

struct pl_stage {
    const char *id; /* "train"; implied downloads are "fetch-mnist" */
    const struct pl_stage_kind *kind;
    void *with; /* the kind's own struct, filled by its schema */
    struct pl_loc loc;
    const char *const *needs; /* ids: written, referred to and implied */
    size_t n_needs;
    struct pl_expect *expect;
    size_t n_expect;
    int64_t retries;
    double timeout; /* seconds; 0: none */
    bool implied;   /* not written in the file */
};

struct pl_config {
    struct arena arena; /* owns everything below */
    const char *path;   /* of the file, as given */
    const char *name;
    struct pl_dataset *datasets;
    size_t n_datasets;
    struct pl_model *models;
    size_t n_models;
    struct pl_stage *stages; /* in an order in which needs come first */
    size_t n_stages;
    struct pl_node *root; /* merged and interpolated */
    const char *recipe;   /* "hidden_dim=256 batch_size=128 ...": the vars */
};

/* Reads and checks path with overrides ("a.b=v", "lr=0.01" for vars.lr). On
 * success *out is the caller's (pl_config_free). Mistakes go to d and the
 * result is ERR_CONFIG; ERR_IO when the file cannot be read. d's arena must
 * outlive d, not the config; *out is set for ERR_CONFIG too if d points into
 * it, and NULL otherwise. */
int pl_config_load(struct pl_config **out, const char *path,
                   const char *const *overrides, size_t n_overrides,
                   struct pl_diag *d, struct err *err);
void pl_config_free(struct pl_config *c); /* NULL is fine */

const struct pl_dataset *pl_config_dataset(const struct pl_config *c,
                                           const char *name);
const struct pl_model *pl_config_model(const struct pl_config *c,
                                       const char *name);
const struct pl_stage *pl_config_stage(const struct pl_config *c,
                                       const char *id);

/* The merged config as YAML that `pipeline run` takes again. */
void pl_config_resolved(const struct pl_config *c, struct str *out);

#endif
