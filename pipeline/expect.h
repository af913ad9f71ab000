/* Expectations against what a stage measured. */
#ifndef PIPELINE_EXPECT_H
#define PIPELINE_EXPECT_H

#include "nn/base/arena.h"
#include "pipeline/config.h"
#include "pipeline/metrics.h"
#include "pipeline/pipeline.h"

/* The stage that is judged. */
struct pl_judged {
    const char *stage;
    const char *dir;                  /* its folder */
    const char *device;               /* what it ran on: "cpu", "cuda" */
    bool simulated;                   /* a GPU that tests play: no points */
    const struct pl_metrics *metrics; /* NULL: the stage is not whole, */
    const char *became;               /* but this; NULL: nothing is known */
    const struct pl_metrics *values;  /* of values.json; NULL: there are none */
    const char *error; /* that it failed with as was expected; NULL, "": none */
};

/* Fills *v; texts come from arena. A number that is missing, null or not
 * finite satisfies nothing. close: |a - b| <= atol + rtol * |b|. Of a column
 * the last number counts, for `order` each beside the next: two or more. */
int pl_expect_assess(struct pl_verdict *v, const struct pl_expect *e,
                     const struct pl_judged *of, struct arena *arena,
                     struct err *err);

/* Appends an expectation as it is shown: "test.accuracy > 0.97". */
void pl_expect_text(struct str *s, const struct pl_expect *e);

#endif
