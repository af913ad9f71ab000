/* The memory timeline of a run of steps, or of several runs on one axis: a page
 * to look into it, a picture, and torch.profiler's two files. */
#ifndef PIPELINE_MEMORY_TIMELINE_H
#define PIPELINE_MEMORY_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/str.h"
#include "nn/step_memory.h"
#include "pipeline/stage.h"

/* On the pages and pictures of a simulated device. */
#define PL_MEMORY_SIMULATED "SIMULATED: no GPU, no time means anything"

/* One run. All is borrowed. */
struct pl_memory_run {
    const char *label; /* "adam", "adam, batch 32": any text */
    const struct nn_step_memory *memory;
    int64_t workspace; /* bytes that the backend's libraries work in */
    int64_t resident;  /* bytes of the data set that stay on the device */
};

/* The n >= 1 runs of one page or picture. Times count from each run's begin. */
struct pl_memory_runs {
    const char *title;
    const struct pl_memory_run *run;
    size_t n;
    bool simulated; /* by the tests' double of a GPU, which is said */
};

/* For a profile stage, from the last batch's trainer: writes
 * NAME_memory.html, NAME_memory.svg, and of the first run memory.json,
 * memory.raw.json.gz and memory_events.csv.gz (pipeline/memory_file.h), and
 * sets the metrics memory.*. name: "adam_h=256_bs=32". */
int pl_memory_write(struct pl_stage_ctx *ctx, const char *name,
                    const struct pl_memory_runs *runs, struct err *err);

/* The same of the steps that a profile stage took: with the times of the traced
 * ones, where all their operators were seen; else (traced may be NULL) of the
 * first n_step, by the number of the call. width as in pl_profile_recipe. */
struct nn_trainer;
struct pl_traced;
int pl_memory_profile(struct pl_stage_ctx *ctx, const struct nn_trainer *t,
                      const struct pl_traced *traced, int64_t width,
                      struct err *err);

/* The timeline of the traced steps alone, the caller's (nn_step_memory_free);
 * *out is NULL where not all their operators were seen. */
struct pl_profile_with;
int pl_memory_traced(struct nn_step_memory **out, const struct nn_trainer *t,
                     const struct pl_profile_with *w,
                     const struct pl_traced *traced, struct err *err);

/* The parts, as text. Out of memory is out->failed. */
void pl_memory_html(const struct pl_memory_runs *runs, struct str *out);
void pl_memory_svg(const struct pl_memory_runs *runs, struct str *out);
/* Every run as stacked areas, one below the other on one scale; from left to
 * right call by call, so that their steps lie below each other. */
void pl_memory_panels_svg(const struct pl_memory_runs *runs, struct str *out);
/* torch's export_memory_timeline: [times in us, sizes of nine columns], the
 * first column 0, then the kinds; and [ns, action, bytes, kind] of each event,
 * a change in place as two. */
void pl_memory_json(const struct nn_step_memory *m, struct str *out);
void pl_memory_raw_json(const struct nn_step_memory *m, struct str *out);

/* "795.04 KiB", "0 B": to two decimals in the unit that fits. */
void pl_memory_add_bytes(struct str *s, int64_t bytes);

/* text as a gzip file without name and time. Out of memory is out->failed. */
void pl_gzip(struct str *out, const char *text, size_t len);

#endif
