/* What several profiles say of the same operators: the kernels of each side by
 * side, or, where a device told none, the operators themselves. */
#ifndef PIPELINE_COMPARE_PAIRS_H
#define PIPELINE_COMPARE_PAIRS_H

#include <stdbool.h>
#include <stddef.h>

#include "pipeline/compare.h"

/* A row of kernels.csv or ops.csv. */
struct pl_kernel {
    const char *layer, *op, *role, *phase;
    const char *name;   /* as the device calls it; NULL: of an operator */
    const char *grid;   /* "4x8x1", or "" */
    const char *block;  /* likewise */
    double count;       /* of all traced steps */
    double total_us;    /* likewise */
    double blocks;      /* of the grid; 0: unknown */
    double bytes;       /* that one copy or fill moves; 0: none */
    double registers;   /* a thread; 0: unknown */
    double blocks_here; /* of it that fit on a multiprocessor at once, or 0 */
};

/* What one profile has for a pair. Figures are a step's, in the mean. */
struct pl_side {
    const struct pl_kernel *const *kernel; /* in the order of the file */
    size_t n;                              /* 0: it has none */
    double us, calls;
};

enum pl_pair_group { PL_PAIR_LINEAR, PL_PAIR_OTHER, PL_PAIR_COPY };

/* One operator in one place of the step. */
struct pl_kernel_pair {
    const char *layer, *op, *role, *phase;
    enum pl_pair_group group;
    struct pl_side *side; /* of each profile */
};

/* One profile. NaN: it does not say. */
struct pl_profiled {
    const struct pl_compare_cell *cell;
    struct pl_kernel *kernel;
    size_t n;
    double steps; /* that were traced, > 0 */
    double batch, median_ms, last_ms;
    double busy; /* share of the last step in which the device worked */
    const char *optimizer, *execution, *data, *fusion, *numerics, *device;
    double us; /* of all its kernels, a step */
};

struct pl_pairs {
    bool kernels; /* else operators, timed by the host */
    struct pl_profiled *profile;
    size_t n_profiles;
    struct pl_kernel_pair *pair; /* in the order of the first profile, then of
                             those after it */
    size_t n;
};

/* Reads all that the cells left; memory from their arena. ERR_CONFIG: a cell
 * has no traced step. */
int pl_pairs_read(struct pl_pairs *out, const struct pl_compare_cells *cells,
                  struct err *err);

/* The last profile's figure over the first one's; NaN: one of them has none. */
double pl_pair_ratio(const struct pl_pairs *p,
                     const struct pl_kernel_pair *pair);
/* How many times the samples of the first profile's step the last one's has;
 * 1 if they are as many or one does not say. */
double pl_pairs_work(const struct pl_pairs *p);

/* Sums over the pairs of one profile, in us a step. */
typedef bool pl_pair_test(const struct pl_kernel_pair *pair, const void *about);
double pl_pairs_sum(const struct pl_pairs *p, size_t profile,
                    pl_pair_test *test, const void *about);
bool pl_pair_in_phase(const struct pl_kernel_pair *pair, const void *phase);
bool pl_pair_in_group(const struct pl_kernel_pair *pair, const void *group);
/* A metric's name without ".ratio": "linear.grad_weight", "adam.update". */
bool pl_pair_has_key(const struct pl_kernel_pair *pair, const void *key);
/* Of linear layers, in the phase backward. */
bool pl_pair_is_linear_backward(const struct pl_kernel_pair *pair,
                                const void *unused);

struct str;
/* "linear.grad_weight": the operator without "_grad", and its role, or else its
 * phase. */
void pl_pair_add_key(struct str *out, const struct pl_kernel_pair *pair);
/* "linear_grad_weight 0": the operator and its layer. */
void pl_pair_add_label(struct str *out, const struct pl_kernel_pair *pair);
/* The layer of the first linear operator that runs forward, or NULL. */
const char *pl_pairs_first_layer(const struct pl_pairs *p);

#endif
