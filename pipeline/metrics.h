/* Named numbers: metrics.json, and the facts of stage.json. */
#ifndef PIPELINE_METRICS_H
#define PIPELINE_METRICS_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/base/err.h"
#include "pipeline/name_index.h"

struct pl_metric_value {
    char *name;
    double value; /* NaN stands for null */
};

/* Zero-initialise. In order of first appearance. */
struct pl_metrics {
    struct pl_metric_value *item;
    size_t n, cap;
    struct name_index names; /* of item, at the same places */
    bool failed;             /* out of memory: the list is incomplete */
};

/* The last value of a name counts; inf and nan are kept as NaN. */
void pl_metrics_set(struct pl_metrics *m, const char *name, double value);
/* The value of name, or NULL. */
const double *pl_metrics_get(const struct pl_metrics *m, const char *name);
void pl_metrics_clear(struct pl_metrics *m); /* also frees everything */

/* One flat JSON object, a name a line, each number the shortest text that
 * reads back as the same double. */
int pl_metrics_write(const struct pl_metrics *m, const char *path,
                     struct err *err);
/* Adds what the file holds. ERR_CORRUPT if it is no such object. */
int pl_metrics_read(struct pl_metrics *m, const char *path, struct err *err);

#endif
