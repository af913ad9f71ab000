/* The memory of several runs, side by side: for compare_memory*.c alone. */
#ifndef PIPELINE_COMPARE_MEMORY_H
#define PIPELINE_COMPARE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/arena.h"
#include "nn/base/str.h"
#include "pipeline/compare.h"
#include "pipeline/memory_file.h"

/* Where tensors of a kind come to be and go. */
struct pl_memory_life {
    bool ever;
    bool before; /* there before the first step that was recorded */
    int step;    /* of the first birth, where not before */
    enum nn_phase born;
    bool ends; /* some die before the run does */
    enum nn_phase dies;
    size_t tensors;
};

/* What a run's record says. */
struct pl_memory_figures {
    const char *label;
    const char *optimizer; /* as the stage calls it */
    int blocks;            /* of P that it keeps by its formulas; -1: unknown */
    struct pl_memory_file file;
    struct nn_memory_sums sums;      /* of the whole run */
    int64_t parameters;              /* P: numbers, not bytes */
    int64_t steady[NN_MEMORY_KINDS]; /* the most in the last step */
    int64_t steady_peak;             /* of all kinds at once in it */
    int64_t kept[NN_MEMORY_KINDS];   /* live when it is over */
    struct pl_memory_life life[NN_MEMORY_KINDS];
};

struct pl_memories {
    const char *about; /* "q4, sgd, adam" */
    const struct pl_memory_figures *run;
    size_t n; /* 2 to PL_COMPARED_RUNS */
    bool simulated;
};

/* All but label, optimizer, blocks and file, which are there. */
void pl_memory_figure(struct pl_memory_figures *f);

/* Bytes of kind k in the last step beyond those of the first run. */
int64_t pl_memory_difference(const struct pl_memories *all, size_t run,
                             enum nn_memory_kind k);
/* The sum of the differences, without their signs, of all kinds but that. */
int64_t pl_memory_others(const struct pl_memories *all, size_t run,
                         enum nn_memory_kind but);
/* Gradients or state in steady state as multiples of the parameters' bytes; nan
 * where there are no parameters. */
double pl_memory_multiple(const struct pl_memory_figures *f,
                          enum nn_memory_kind k);
/* Whether parameters : gradients : state is P : P : blocks * P, to the byte. */
bool pl_memory_holds(const struct pl_memory_figures *f);

/* "814,120 bytes", "1 byte". */
void pl_memory_add_count(struct str *out, int64_t bytes);

/* memory.md without its end, which is pl_memory_reasons. */
void pl_memories_md(struct str *out, const struct pl_memories *all,
                    struct arena *arena);
/* A sentence for each thing that the figures say, as a list. */
void pl_memory_reasons(struct str *out, const struct pl_memories *all);
/* memory_compared.csv: a row for each run and kind. */
void pl_memories_csv(struct str *out, const struct pl_memories *all);

#endif
