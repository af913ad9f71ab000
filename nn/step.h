/* A recorded step: the calls that one training step is made of, with operator,
 * layer, role, phase and operands, and the live range of every value. It was
 * recorded by running it once on a tape; from then on it runs eagerly, call by
 * call, or is replayed by a backend that prepares it. Same bits either way. */
#ifndef NN_STEP_H
#define NN_STEP_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/backend.h"
#include "nn/op.h"
#include "nn/tape.h"

/* One piece of memory that the step touches, by call index. */
struct nn_value {
    struct nn_storage *st;
    const char *name; /* of the first named tensor on it, or "" */
    int first_write;  /* -1: it held its value before the step */
    int last_use;
};

/* Numbers that a replayed step leaves for the host: the float32 from[0] goes to
 * place nn_scalars.result of the vector ring[0], the int32 from[1] to that of
 * ring[1]. */
struct nn_step_keep {
    struct nn_tensor *from[2], *ring[2]; /* all NULL: none */
};

struct nn_step {
    struct nn_backend *be;
    struct nn_tape *tape; /* owns the tensors and the calls */
    const struct nn_call *call;
    int n_call;
    struct nn_value *value;
    int n_value;
    struct nn_step_keep keep;
    bool prepared; /* step_prepare succeeded: run replays */
    void *replay;  /* the backend's own */
};

enum nn_execution { NN_EXEC_EAGER, NN_EXEC_RECORDED };

/* Takes the tape over (also on failure) and finds the live ranges. RECORDED
 * asks the backend to prepare a replay; one that cannot runs eagerly. keep, if
 * not NULL, is what a replay does at its end; otherwise nobody does. */
int nn_step_new(struct nn_step **out, struct nn_tape *tape,
                enum nn_execution execution, const struct nn_step_keep *keep,
                struct err *err);
void nn_step_free(struct nn_step *s); /* NULL is fine */

/* Runs the step once with these scalars. Allocates nothing. */
int nn_step_run(struct nn_step *s, const struct nn_scalars *scalars,
                struct err *err);

#endif
