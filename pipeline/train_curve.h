/* The history of a training run: a row for every step, with the evaluations in
 * the row of the step that they followed. */
#ifndef PIPELINE_TRAIN_CURVE_H
#define PIPELINE_TRAIN_CURVE_H

#include <stddef.h>
#include <stdint.h>

#include "nn/base/err.h"
#include "nn/base/str.h"

/* What a row holds; not measured is NaN. step counts from 1, epoch too. */
enum pl_curve_column {
    PL_CURVE_STEP,
    PL_CURVE_EPOCH,
    PL_CURVE_LR,
    PL_CURVE_LOSS, /* of the step's batch, before its update */
    PL_CURVE_VALIDATION_LOSS,
    PL_CURVE_VALIDATION_ACCURACY,
    PL_CURVE_TEST_LOSS,
    PL_CURVE_TEST_ACCURACY,
    PL_CURVE_COLUMNS
};

/* Zero-initialise. */
struct pl_curve {
    double (*row)[PL_CURVE_COLUMNS];
    size_t n, cap;
};
void pl_curve_free(struct pl_curve *c);

/* Adds a row without evaluations. ERR_NOMEM. */
int pl_curve_add(struct pl_curve *c, int64_t step, int64_t epoch, double lr,
                 double loss, struct err *err);
/* Takes over n rows of a saved run, replacing what is there. */
int pl_curve_restore(struct pl_curve *c, const double *rows, size_t n,
                     struct err *err);

/* CSV with a header; numbers shortest, empty where not measured. */
void pl_curve_csv(const struct pl_curve *c, struct str *out);
/* The picture: losses on the left, accuracies (%) on the right, over epochs. */
int pl_curve_svg(const struct pl_curve *c, int64_t steps_per_epoch,
                 const char *title, struct str *out, struct err *err);

#endif
