/* The training engine: a model, its optimizer and a loss, and the recorded
 * step that moves them on by one batch. */
#ifndef NN_TRAIN_H
#define NN_TRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "nn/data.h"
#include "nn/loss.h"
#include "nn/model.h"
#include "nn/optim.h"
#include "nn/step.h"
#include "nn/train_order.h"

struct nn_trainer_opts {
    struct nn_loss loss;
    struct nn_optim_spec optim;
    /* A batch is cut into this many contiguous pieces; each goes forward and
     * backward by itself, and the pieces' gradients and losses are added in a
     * pairwise tree (neighbours, bottom up, an odd one carried). */
    int64_t microbatches;
    double clip_grad_norm; /* 0: none */
    enum nn_fusion fusion;
    enum nn_execution execution;
    bool zero_grad_to_zero; /* clear grad writes zeros instead of dropping */
    uint64_t dropout_seed;
    /* One that carries gradients over takes microbatches 1; see
     * nn_order_plan. */
    struct nn_train_order order;
};

enum { NN_STEP_CACHE = 4, NN_RESULTS = 64 };

/* What a step gave. */
struct nn_step_result {
    int64_t step, batch;
    double lr;
    float loss;
};

struct nn_trainer {
    struct nn_model *model;     /* borrowed */
    const struct nn_data *data; /* borrowed */
    struct nn_trainer_opts opts;
    struct nn_optim *optim;
    struct nn_batch_source source;
    struct nn_scalars scalars;
    struct nn_order_plan plan;
    int64_t step; /* global, next to run */
    bool held;    /* the model's gradients are those that plan.carries means;
                     saved and set with them when a run goes on */
    /* gradient blocks of pieces that wait to be added, beyond the model's */
    struct nn_params *piece;
    int n_piece;
    /* one recorded step a batch size, and one more where the optimizer finds
     * no gradients at first; the oldest replaced */
    struct {
        int64_t batch;
        bool updates;
        struct nn_step *step;
        struct nn_tensor *loss; /* owned by the step's tape */
    } cache[NN_STEP_CACHE];
    int next_cache;
    /* of the steps that were launched and not collected yet */
    struct nn_step_result waiting[NN_RESULTS];
    int n_waiting;
    struct nn_tensor *losses, *flags; /* (NN_RESULTS) each, on the device */
    struct nn_tensor *loss_at[NN_RESULTS], *flag_at[NN_RESULTS]; /* views */
};

int nn_trainer_new(struct nn_trainer **out, struct nn_model *model,
                   const struct nn_data *data,
                   const struct nn_trainer_opts *opts, struct err *err);
void nn_trainer_free(struct nn_trainer *t); /* NULL is fine */

/* One step, its calls in the order asked for, on samples order[first .. first +
 * batch) of the data at rate lr; *loss gets the mean loss of the batch.
 * ERR_NONFINITE if the loss or a parameter is not finite afterwards: the
 * message names step and rate. ERR_CONFIG if the optimizer changes, between
 * forward and backward, what backward reads. */
int nn_trainer_step(struct nn_trainer *t, const int64_t *order, int64_t first,
                    int64_t batch, double lr, float *loss, struct err *err);

/* The same, but a device may still be at work when it returns: the loss is
 * kept there until nn_trainer_collect. At most NN_RESULTS steps may wait. */
int nn_trainer_launch(struct nn_trainer *t, const int64_t *order, int64_t first,
                      int64_t batch, double lr, struct err *err);
/* Waits for the *n steps that were launched since the last time and gives
 * their results in order. ERR_NONFINITE as above, at the first step that
 * diverged: *n are those before it, and what came after it counts for
 * nothing. */
int nn_trainer_collect(struct nn_trainer *t,
                       struct nn_step_result out[NN_RESULTS], int *n,
                       struct err *err);

/* The recorded step for a batch size, or NULL when none ran yet; one that is
 * only the first of a run (no gradients for the optimizer) does not count. */
const struct nn_step *nn_trainer_recorded(const struct nn_trainer *t,
                                          int64_t batch);

#endif
