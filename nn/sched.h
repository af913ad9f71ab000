/* Learning-rate schedules, as functions of the step alone. */
#ifndef NN_SCHED_H
#define NN_SCHED_H

#include <stdint.h>

enum nn_sched_type { NN_SCHED_CONSTANT, NN_SCHED_STEP, NN_SCHED_COSINE };

struct nn_sched {
    enum nn_sched_type type;
    double base;          /* the learning rate asked for */
    int64_t warmup_steps; /* 0 or 1: none */
    int64_t step_every;   /* step: optimizer steps between drops */
    double gamma;         /* step: factor of a drop */
    double min_lr;        /* cosine: rate of the last step */
    int64_t total_steps;  /* cosine: of the whole run */
};

/* The rate of step i (from 0). In warm-up base * (i + 1) / warmup_steps: the
 * first step already learns, and the last of the warm-up has the full rate.
 * After it: constant; base * gamma^floor(i / step_every) by repeated
 * multiplication; or from base down to min_lr along half a cosine that begins
 * where the warm-up ends. Own arithmetic, the same bits everywhere. */
double nn_sched_lr(const struct nn_sched *s, int64_t i);

#endif
