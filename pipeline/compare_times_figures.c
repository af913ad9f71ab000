/* Figures of a series of step times. */
#include <math.h>

#include "pipeline/compare_times.h"

static const struct pl_timed *first_of(const struct pl_timed_series *s)
{
    return s->at[0];
}

static const struct pl_timed *last_of(const struct pl_timed_series *s)
{
    return s->at[s->n - 1];
}

double pl_timed_step_ratio(const struct pl_timed_series *s)
{
    return s->n > 1 ? last_of(s)->median_ms / first_of(s)->median_ms : NAN;
}

double pl_timed_work_ratio(const struct pl_timed_series *s)
{
    if (s->n < 2)
        return NAN;
    return first_of(s)->work.flops > 0
               ? last_of(s)->work.flops / first_of(s)->work.flops
               : last_of(s)->x / first_of(s)->x;
}

/* d log(time) / d log(x) between points i and i + 1. */
static double slope(const struct pl_timed_series *s, size_t i)
{
    const struct pl_timed *a = s->at[i], *b = s->at[i + 1];

    return log(b->median_ms / a->median_ms) / log(b->x / a->x);
}

static double log_middle(const struct pl_timed_series *s, size_t i)
{
    return 0.5 * (log(s->at[i]->x) + log(s->at[i + 1]->x));
}

static const double knee_slope = 0.5;

enum pl_knee pl_timed_knee(const struct pl_timed_series *s, double *x)
{
    size_t i;
    double a, b, share;

    *x = NAN;
    if (s->n < 2)
        return PL_KNEE_UNKNOWN;
    i = s->n - 2;
    if (!(slope(s, i) > knee_slope))
        return PL_KNEE_ABOVE;
    while (i > 0 && slope(s, i - 1) > knee_slope)
        i--;
    if (i == 0)
        return PL_KNEE_BELOW;
    a = slope(s, i - 1);
    b = slope(s, i);
    share = (knee_slope - a) / (b - a);
    *x = exp(log_middle(s, i - 1) +
             share * (log_middle(s, i) - log_middle(s, i - 1)));
    return PL_KNEE_FOUND;
}

double pl_timed_gflop_s(const struct pl_timed *t)
{
    return t->work.flops > 0 ? 1e-6 * t->work.flops / t->median_ms : NAN;
}

double pl_timed_h2d_gb_s(const struct pl_timed *t)
{
    return t->h2d_us > 0 ? 1e-3 * t->h2d_bytes / t->h2d_us : NAN;
}

double pl_timed_us_each(const struct pl_timed *t)
{
    return 1e6 / t->samples_per_s;
}
