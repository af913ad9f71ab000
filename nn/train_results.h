/* The losses of steps that a device is still at work on. Between nn/train.c and
 * nn/train_results.c. */
#ifndef NN_TRAIN_RESULTS_H
#define NN_TRAIN_RESULTS_H

#include "nn/train.h"

/* ERR_NONFINITE: the loss of a step is not finite, or bad parameters are not.
 */
int nn_result_check(const struct nn_step_result *r, int32_t bad,
                    struct err *err);

/* Notes a step and copies its loss and the optimizer's flag, on the device, to
 * where they wait. */
int nn_results_keep(struct nn_trainer *t, const struct nn_step_result *r,
                    struct nn_tensor *loss, struct err *err);
void nn_results_free(struct nn_trainer *t);

#endif
