/* Running calls with a span around each, for a backend that has a recorder. */
#ifndef NN_TRACED_H
#define NN_TRACED_H

#include "nn/backend.h"
#include "nn/step.h"

/* As be->ops->run, with a span of the call's operator, and one of its phase
 * around all calls of the same phase that follow each other. arg is what the
 * span points to: call itself, or a copy that lives as long. */
int nn_traced_run(struct nn_backend *be, const struct nn_call *call,
                  const struct nn_call *arg, struct err *err);

/* All calls of a step. The step must outlive the reading of be->prof. */
int nn_traced_calls(const struct nn_step *s, struct err *err);

/* nn_backend_run for a call that stands on the stack: the recorder gets a copy.
 * Its tensors must outlive the reading of be->prof. */
int nn_traced_first(struct nn_backend *be, const struct nn_call *call,
                    struct err *err);

/* A phase begins, where there is a recorder: one of nn_phase_name, or one of
 * these, of what is done around the operators of a step. */
void nn_traced_phase(struct nn_backend *be, const char *name);
extern const char nn_traced_prepare[]; /* a first step, to be run again */
extern const char nn_traced_replay[];  /* and given to the device at once */
extern const char nn_traced_read[];    /* the host reads the loss */
/* The phase at hand ends here. */
void nn_traced_phase_end(struct nn_backend *be);

#endif
