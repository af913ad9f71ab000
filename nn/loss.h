/* The losses that training and evaluation know. */
#ifndef NN_LOSS_H
#define NN_LOSS_H

#include "nn/custom.h"
#include "nn/data.h"
#include "nn/tape.h"

enum nn_loss_type {
    NN_LOSS_CROSS_ENTROPY,
    NN_LOSS_BCE_WITH_LOGITS,
    NN_LOSS_MSE,
    NN_LOSS_CUSTOM
};
const char *nn_loss_name(enum nn_loss_type t); /* "cross_entropy", "custom" */

struct nn_loss {
    enum nn_loss_type type;
    double label_smoothing; /* cross_entropy, 0 to 1 */
    double pos_weight;      /* bce_with_logits; 1: none */
    /* custom: (outputs (B, ...), y) -> (B), each sample's loss; borrowed */
    const struct nn_custom *custom;
};

/* The loss for a data set that names none: cross_entropy for class labels, mse
 * for targets. */
enum nn_loss_type nn_loss_default(const struct nn_data *data);
/* Whether the outputs of a model (one sample) fit data under this loss:
 * ERR_CONFIG says what would. As in PyTorch, bce_with_logits takes outputs of
 * the very shape of its targets: () a sample for class labels, (width) for
 * number targets. What custom gives is known only once it runs. */
int nn_loss_check(const struct nn_loss *loss, const struct nn_data *data,
                  const struct nn_shape *out, struct err *err);

/* Writes down the gathering of a batch from source: *x (B, sample...) float32
 * and *y: for class labels int32 (B) under cross_entropy and custom, float32
 * (B) under bce_with_logits and (B, 1) under mse; else float32 (B, width). */
int nn_loss_batch(const struct nn_loss *loss, struct nn_tape *tape,
                  const struct nn_batch_source *source, int64_t batch,
                  struct nn_tensor **x, struct nn_tensor **y, struct err *err);

/* outputs (B, ...), y -> *out: the sum over the batch of loss / samples where
 * samples counts the whole step, or (B) losses when samples is 0. Those
 * of custom are added as the others are: scaled, then a chain over the samples.
 * ERR_SHAPE if custom gives anything but a number a sample. */
int nn_loss_apply(const struct nn_loss *loss, struct nn_tape *tape,
                  struct nn_tensor *outputs, struct nn_tensor *y,
                  int64_t samples, struct nn_tensor **out, struct err *err);

#endif
