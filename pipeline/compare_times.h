/* Step times over a setting: what profile stages left, put in order. */
#ifndef PIPELINE_COMPARE_TIMES_H
#define PIPELINE_COMPARE_TIMES_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/base/str.h"
#include "nn/step.h"
#include "pipeline/compare.h"
#include "pipeline/predict.h"

/* What one profile says. NaN: it does not say, or the device has no such
 * thing. Of a step, where it is not said otherwise. */
struct pl_timed {
    const struct pl_compare_cell *cell;
    double x;
    const char *x_text; /* as the file has it */
    /* un-profiled */
    double median_ms, p10_ms, p90_ms, samples_per_s;
    const char *flag; /* "", "drift", "noise", "drift+noise" */
    const char *method, *execution, *data, *fusion, *numerics, *device;
    /* from traced steps */
    double last_ms, last_ratio;   /* the last ProfilerStep; over the median */
    double steps;                 /* how many were traced */
    double share[NN_PHASE_COUNT]; /* of the phases */
    double busy;                  /* of the last step: the device worked */
    double kernels, launches;
    double blocks;        /* of a kernel: mean by the kernels' time */
    double blocks_per_sm; /* the same for each of the device's processors */
    double optimizer;     /* its share of the device's time */
    double host_us;       /* in operators: the host gives work to a device */
    double h2d_bytes, h2d_us, sync_us;
    const char *picture; /* of the last step, from the folder of the stage that
                            compares; NULL: none */
    /* from the step's operators */
    struct pl_step_work work;
    double peak_gflops; /* of the device, float32 */
};

/* Profiles that differ in x alone, by x. */
struct pl_timed_series {
    const char *name; /* "adam, eager": the settings that others differ in */
    const char *key;  /* the same for metrics, "adam_eager"; "": the only one */
    struct pl_timed **at;
    size_t n;
};

struct pl_timed_all {
    const char *x;       /* the setting */
    struct pl_timed *at; /* all profiles */
    size_t n;
    struct pl_timed_series *series;
    size_t n_series;
    bool simulated;  /* one of them is of a device that stands in for a GPU */
    bool has_gpu;    /* one of them has a device's own records */
    bool has_phases; /* one of them has traced steps */
    bool measured_cuda; /* one of them is of a CUDA device */
    /* Steps of which it is said what GPUs would take, by x; none where one was
     * measured. */
    const struct pl_timed **predicted;
    size_t n_predicted;
    bool predicted_drawn; /* no two of them have the same x */
};

/* Reads the cells. End with pl_timed_clear, after a failure too; all but the
 * work of the steps lives in the arena of cells. */
int pl_timed_read(struct pl_timed_all *out, struct pl_stage_ctx *ctx,
                  const struct pl_compare_cells *cells, struct err *err);
void pl_timed_clear(struct pl_timed_all *all);
/* Puts the profiles, whose x is known, into series. ERR_CONFIG: two of one
 * series have the same x, or all have the same. */
int pl_timed_group(struct pl_timed_all *all, struct arena *arena,
                   struct err *err);

/* ---- figures ---- */

/* The last over the first: of the time, and of the products (of x, where there
 * are none). NaN for one point. */
double pl_timed_step_ratio(const struct pl_timed_series *s);
double pl_timed_work_ratio(const struct pl_timed_series *s);

/* The x from which the time grows in proportion: where the slope of log time
 * over log x, between the middles of neighbouring points, rises above 1/2 for
 * good. */
enum pl_knee {
    PL_KNEE_FOUND,
    PL_KNEE_BELOW,  /* the slope is above 1/2 everywhere */
    PL_KNEE_ABOVE,  /* it ends below 1/2 */
    PL_KNEE_UNKNOWN /* fewer than two points */
};
enum pl_knee pl_timed_knee(const struct pl_timed_series *s, double *x);

double pl_timed_gflop_s(const struct pl_timed *t);
double pl_timed_h2d_gb_s(const struct pl_timed *t);
/* Of x units (samples): us each. */
double pl_timed_us_each(const struct pl_timed *t);

/* What the figures of s say, a Markdown list; each sentence has the figures
 * that it rests on. */
void pl_timed_reasons(struct str *out, const struct pl_timed_series *s,
                      const char *x);
/* The times of s over those of base, where they have the same x. */
void pl_timed_between(struct str *out, const struct pl_timed_series *base,
                      const struct pl_timed_series *s, const char *x);

/* ---- files ---- */

void pl_timed_md(struct str *out, const struct pl_timed_all *all);
void pl_timed_csv(struct str *out, const struct pl_timed_all *all);
int pl_timed_svg(struct str *out, const struct pl_timed_all *all,
                 struct err *err);
/* The predicted steps on every card, eager and recorded. */
int pl_timed_predicted_svg(struct str *out, const struct pl_timed_all *all,
                           struct err *err);
void pl_timed_metrics(struct pl_stage_ctx *ctx, const struct pl_timed_all *all);

#endif
