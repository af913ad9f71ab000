#include "pipeline/profile_stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/mem.h"

static const double most_drift = 0.05, most_noise = 1.5;

double pl_quantile(const double *sorted, size_t n, double p)
{
    double at = p * (double)(n - 1);
    size_t below = (size_t)at;

    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] +
           (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

static int by_size(const void *a, const void *b)
{
    double x, y;

    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

/* Sorts a copy of n times into work. */
static double median_of(double *work, const double *time, size_t n)
{
    memcpy(work, time, n * sizeof *work);
    qsort(work, n, sizeof *work, by_size);
    return pl_quantile(work, n, 0.5);
}

int pl_times_sum_up(struct pl_times *out, const double *time, size_t n,
                    struct err *err)
{
    double *work = mem_array(n, sizeof *work);
    size_t half = n / 2, i;
    double sum = 0;

    memset(out, 0, sizeof *out);
    if (!work)
        return err_set(err, ERR_NOMEM, "out of memory for %zu times", n);
    for (i = 0; i < n; i++)
        sum += time[i];
    out->n = n;
    out->mean = sum / (double)n;
    if (half > 0) {
        double early = median_of(work, time, half);
        double late = median_of(work, time + n - half, half);

        out->drift = early > 0 ? late / early - 1 : 0;
    }
    out->median = median_of(work, time, n);
    out->p10 = pl_quantile(work, n, 0.1);
    out->p90 = pl_quantile(work, n, 0.9);
    out->drifts = fabs(out->drift) > most_drift;
    out->noisy = out->p90 > most_noise * out->median;
    mem_free(work);
    return 0;
}

const char *pl_times_flag(const struct pl_times *t)
{
    if (t->drifts)
        return t->noisy ? "drift+noise" : "drift";
    return t->noisy ? "noise" : "";
}
