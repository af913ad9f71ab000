/* The steps between a file and a struct pl_config. */
#ifndef PIPELINE_CONFIG_LOAD_H
#define PIPELINE_CONFIG_LOAD_H

#include "nn/base/err.h"
#include "pipeline/config.h"

enum {
    PL_MAX_NAMED = 1000, /* data sets, operators, models, stages: each */
    PL_MAX_CELLS = 1000  /* of all matrices of a file */
};

/* The cells of a stage with a matrix, in order. */
struct pl_cell {
    const char *name;       /* "batch_size=32,execution=eager" */
    struct pl_node *values; /* a map: what each key of the matrix is there */
};
struct pl_cells {
    struct pl_cell *cell;
    size_t n;
};

/* A stage on its way from the file to struct pl_stage. */
struct pl_draft {
    const char *id;
    struct pl_loc loc; /* of the key */
    const struct pl_stage_kind *kind;
    struct pl_node *with; /* merged with the defaults */
    const struct pl_node *node;
    struct pl_cells cells; /* n 0: it has no matrix, or a wrong one */
    bool bad;              /* its matrix is wrong: an error is told */

    /* what the stage's table reads */
    const char *uses;
    const struct pl_node *with_node, *expect, *matrix;
    struct pl_list needs;
    int64_t retries;
    double timeout;
};

/* All files of one pl_config_load that have results of their own. */
struct pl_session {
    struct pl_config *first;  /* the others follow by `next` */
    struct pl_loaded *loaded; /* how far each file is; see config_import.c */
    const char *out;          /* absolute */
    const char *numerics;     /* see pl_config_opts */
    bool untrusted;
    const struct pl_file *main; /* of first */
    int files;                  /* read so far */
    double bytes; /* that the data sets of an untrusted file may fetch */
};

struct pl_loader {
    struct pl_session *session;
    struct pl_config *c;
    struct arena *arena; /* c's */
    struct pl_diag *d;
    size_t before; /* errors in d when it began */
    struct pl_names names;
    struct pl_draft *draft;
    size_t n_draft;
    size_t n_cells; /* of the matrices so far */
};

enum { PL_MAX_FILES = 64 };

/* Reads one file of a session and what it extends and imports into *out, which
 * is the session's. Mistakes go to d; else 0 or an error in *err. */
int pl_load_file(struct pl_config **out, struct pl_session *session,
                 const char *path, const struct pl_config_opts *opts,
                 struct pl_diag *d, struct err *err);

/* Reads `imports` into c->imports. */
void pl_load_imports(struct pl_loader *l);
/* How many stages they have. */
size_t pl_imported_stages(const struct pl_loader *l);
/* Begins c->stages and c->homes with them. */
void pl_take_imported(struct pl_loader *l);
/* For struct pl_scope: the folder of stage id ("q1/train"), or NULL. */
const char *pl_imported_dir(void *user, const char *id);

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

/* The keys of a file, a stage and an expectation. */
extern const struct pl_schema pl_top_schema, pl_stage_schema, pl_expect_schema;

/* Reads the `matrix` of stage id. false after an error in d. */
bool pl_load_matrix(struct pl_loader *l, const char *id,
                    const struct pl_node *node, struct pl_cells *out);
/* The name of the cell row, whose keys are those of axis: from template, or
 * NULL for key=value,... A list, a map and what must not be shown is named by
 * its number: in axis, else that plus behind. NULL after an error. */
const char *pl_cell_name(struct pl_loader *l, const struct pl_pair *axis,
                         const struct pl_node *row, struct pl_node *template,
                         size_t behind);
/* Equal texts, equal numbers, or the same of all that is in them. */
bool pl_cell_equal(const struct pl_node *a, const struct pl_node *b);

/* Reads `stages` into c->stages, without order. */
void pl_load_stages(struct pl_loader *l);

/* The expectations of s, which the file calls id. */
void pl_load_expect(struct pl_loader *l, const char *id,
                    const struct pl_node *list, struct pl_stage *s);

/* Checks of whole stages that no table can make, the kinds' own among them. */
void pl_load_check_stages(struct pl_loader *l);
/* The scalar in node that stands for path, or NULL. */
const struct pl_node *pl_load_find_path(struct pl_loader *l,
                                        const struct pl_node *node,
                                        const char *path);

/* Adds implied stages and needs, and orders: needs first, else as written. */
void pl_load_order(struct pl_loader *l);

/* Makes c->root what pl_config_resolved writes: `defaults` are in the stages,
 * paths are absolute. */
void pl_load_resolve(struct pl_loader *l);

#endif
