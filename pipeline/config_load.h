/* The steps between a file and a struct pl_config. */
#ifndef PIPELINE_CONFIG_LOAD_H
#define PIPELINE_CONFIG_LOAD_H

#include "nn/base/err.h"
#include "pipeline/config.h"

enum { PL_MAX_NAMED = 1000 }; /* data sets, models, stages: each */

/* A stage on its way from the file to struct pl_stage. */
struct pl_draft {
    const char *id;
    struct pl_loc loc; /* of the key */
    const struct pl_stage_kind *kind;
    struct pl_node *with; /* merged with the defaults */
    const struct pl_node *node;

    /* what the stage's table reads */
    const char *uses;
    const struct pl_node *with_node, *expect, *matrix;
    struct pl_list needs;
    int64_t retries;
    double timeout;
};

struct pl_loader {
    struct pl_config *c;
    struct arena *arena; /* c's */
    struct pl_diag *d;
    struct pl_names names;
    struct pl_draft *draft;
    size_t n_draft;
    int files; /* read so far */
};

/* The file with what it extends below it. NULL after an error in d or err
 * (only for `path` itself). */
struct pl_node *pl_load_tree(struct pl_loader *l, const char *path,
                             struct err *err);
/* Errors for a version other than 1; none is no error here. */
void pl_load_check_version(struct pl_loader *l, const struct pl_node *root);

/* Checks `defaults` against the tables of all kinds. false: it is no map, and
 * stages cannot be judged. */
bool pl_load_check_defaults(struct pl_loader *l);
/* The `with` of a stage: defaults, defaults.<kind>, then its own. NULL: out of
 * memory. */
struct pl_node *pl_load_with(struct pl_loader *l, const struct pl_draft *s);

/* The keys of a stage and of an expectation. */
extern const struct pl_schema pl_stage_schema, pl_expect_schema;

/* Reads `stages` into c->stages, without order. */
void pl_load_stages(struct pl_loader *l);

/* The expectations of a stage. */
void pl_load_expect(struct pl_loader *l, const struct pl_node *list,
                    struct pl_stage *s);

/* Adds implied stages and needs, and orders: needs first, else as written. */
void pl_load_order(struct pl_loader *l);

/* Makes c->root what pl_config_resolved writes: `defaults` are in the stages,
 * paths are absolute. */
void pl_load_resolve(struct pl_loader *l);

#endif
