/* What a finished program leaves: values.csv, derivation.md, metrics. */
#ifndef PIPELINE_PROG_REPORT_H
#define PIPELINE_PROG_REPORT_H

#include "nn/base/str.h"
#include "pipeline/prog_derive.h"
#include "pipeline/prog_diff.h"
#include "pipeline/prog_run.h"

/* One row a name: name,shape,values,grad; numbers in row-major order with
 * blanks between, as many digits as they have. A leaf's grad is what it holds
 * at the end; that of another value what the last backward brought. */
int prog_values_csv(struct str *out, const struct prog_run *r, struct err *err);

/* Calls fn for each number of values that have at most `most`: "yhat", "w.0",
 * "W.1.0", "w.grad.0", ... */
int prog_each_number(const struct prog_run *r, int64_t most,
                     void (*fn)(void *user, const char *name, double v),
                     void *user, struct err *err);

/* The derivation as Markdown: forward, then each backward. */
int prog_derivation_md(struct str *out, const char *title,
                       const struct prog_run *r, const struct prog_diff *diff,
                       struct err *err);

/* Calls fn with lines that sum it up for a person at a terminal. */
int prog_derivation_say(const struct prog_run *r,
                        void (*fn)(void *user, const char *line), void *user,
                        struct err *err);

/* The backward that the derivation and the picture are of: the last one of the
 * first root; NULL: there was none. */
const struct prog_backward *prog_main_backward(const struct prog_run *r);

#endif
