/* The losses of steps that a device is still at work on. Between nn/train.c and
 * nn/train_results.c. */
#ifndef NN_TRAIN_RESULTS_H
#define NN_TRAIN_RESULTS_H

#include "nn/train.h"

/* ERR_NONFINITE: the loss of a step is not finite, or bad parameters are not.
 */
int nn_result_check(const struct nn_step_result *r, int32_t bad,
                    struct err *err);

/* Copies a step's loss and the optimizer's flag, on the device, to where those
 * of the next step that waits belong. */
int nn_results_copy(struct nn_trainer *t, struct nn_tensor *loss,
                    struct err *err);
/* What a replay is to do instead. */
int nn_results_keeper(struct nn_trainer *t, struct nn_tensor *loss,
                      struct nn_step_keep *out, struct err *err);
void nn_results_free(struct nn_trainer *t);

#endif
