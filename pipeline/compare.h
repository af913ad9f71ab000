/* The stage kind compare: tables and pictures over the results of other
 * stages, one side by side with the other. */
#ifndef PIPELINE_COMPARE_H
#define PIPELINE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/base/arena.h"
#include "nn/base/err.h"
#include "pipeline/schema.h"
#include "pipeline/stage.h"

enum { PL_COMPARED_RUNS = 8 }; /* of show: memory, at most */

enum pl_compare_show {
    PL_SHOW_TIMES,
    PL_SHOW_KERNELS,
    PL_SHOW_MEMORY,
    PL_SHOW_CURVES
};

struct pl_compare_with {
    struct pl_list from; /* const char *: stages; a matrix is all its cells */
    int show;            /* enum pl_compare_show */
    const char *x;       /* PL_SHOW_TIMES: a key of the stages' settings */
    const struct pl_node *node;
};
extern const struct pl_schema pl_compare_schema;

/* One of the stages that are compared; it is whole. */
struct pl_compare_cell {
    const struct pl_stage *stage;
    const char *id;  /* as the file that compares calls it */
    const char *dir; /* its folder */
    /* "batch_size=32, execution=eager" among the cells of one matrix, else its
     * id. No two are equal. */
    const char *label;
};

/* In the order of `from`, and of a matrix' own cells. At least two, of the kind
 * that the show takes. */
struct pl_compare_cells {
    const struct pl_compare_cell *cell;
    size_t n;
    struct arena *arena; /* for what a show needs until it returns */
};

/* What the stage was told for key ("batch_size", "optimizer.type"), or else the
 * default, as a text; NULL: its kind has no such setting. */
const char *pl_compare_setting(const struct pl_stage *s, const char *key);

/* dir/file in the arena of cells; NULL: out of memory. */
const char *pl_compare_path(const struct pl_compare_cells *cells, size_t i,
                            const char *file);

/* For the check of a config: whether times can stand over `x` where profile s
 * is one of them; tells d at its place if not. */
bool pl_compare_times_check(const struct pl_stage *compare,
                            const struct pl_stage *s, struct pl_diag *d);

/* The shows. Each writes its artifacts and metrics. ERR_CONFIG with a place
 * where a stage did not leave what the show needs; ERR_CORRUPT for a file that
 * is not what the profile writes. */
int pl_compare_times(struct pl_stage_ctx *ctx,
                     const struct pl_compare_cells *cells, struct err *err);
int pl_compare_kernels(struct pl_stage_ctx *ctx,
                       const struct pl_compare_cells *cells, struct err *err);
int pl_compare_memory(struct pl_stage_ctx *ctx,
                      const struct pl_compare_cells *cells, struct err *err);
int pl_compare_curves(struct pl_stage_ctx *ctx,
                      const struct pl_compare_cells *cells, struct err *err);

#endif
