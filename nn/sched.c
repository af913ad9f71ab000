#include "nn/sched.h"

#include "nn/base/rng.h"

static double step_lr(const struct nn_sched *s, int64_t i)
{
    double lr = s->base;
    int64_t k;

    if (s->step_every < 1)
        return lr;
    for (k = i / s->step_every; k > 0 && lr > 0.0; k--)
        lr *= s->gamma;
    return lr;
}

static double cosine_lr(const struct nn_sched *s, int64_t i)
{
    const double pi = 3.14159265358979323846;
    int64_t first = s->warmup_steps > 1 ? s->warmup_steps - 1 : 0;
    int64_t last = s->total_steps - 1;
    double t;

    if (last <= first || i >= last)
        return last <= first ? s->base : s->min_lr;
    t = (double)(i - first) / (double)(last - first);
    return s->min_lr + (s->base - s->min_lr) * (0.5 * (1.0 + rng_cos(pi * t)));
}

double nn_sched_lr(const struct nn_sched *s, int64_t i)
{
    if (i < s->warmup_steps)
        return s->base * ((double)(i + 1) / (double)s->warmup_steps);
    if (s->type == NN_SCHED_STEP)
        return step_lr(s, i);
    if (s->type == NN_SCHED_COSINE)
        return cosine_lr(s, i);
    return s->base;
}
