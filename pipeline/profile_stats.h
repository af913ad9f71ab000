/* What many times of the same thing say. */
#ifndef PIPELINE_PROFILE_STATS_H
#define PIPELINE_PROFILE_STATS_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/base/err.h"

struct pl_times {
    size_t n;
    double median, p10, p90, mean;
    double drift; /* the second half's median over the first half's, less 1 */
    bool drifts;  /* by more than 5 %, either way */
    bool noisy;   /* p90 is more than 1.5 times the median */
};

/* The p-quantile, 0 <= p <= 1, of n >= 1 numbers in rising order: linear
 * between neighbours, as numpy.quantile. */
double pl_quantile(const double *sorted, size_t n, double p);

/* Of n >= 1 times in the order in which they were taken. With an odd n the
 * middle one is in neither half; drift is 0 below n = 2. ERR_NOMEM. */
int pl_times_sum_up(struct pl_times *out, const double *time, size_t n,
                    struct err *err);
/* "", "drift", "noise" or "drift+noise". */
const char *pl_times_flag(const struct pl_times *t);

#endif
