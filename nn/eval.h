/* Evaluation: the mean loss and the accuracy over a whole data set. Every
 * sample's loss is computed by itself and the losses are added in sample order
 * in double, so the result does not depend on the batch size. */
#ifndef NN_EVAL_H
#define NN_EVAL_H

#include <stdbool.h>
#include <stdint.h>

#include "nn/data.h"
#include "nn/loss.h"
#include "nn/model.h"

struct nn_eval_result {
    int64_t samples;
    double loss;
    /* false for number targets, and for a loss of the user's own whose outputs
     * are neither a row of at least one number a class, the largest chosen, nor
     * one logit () for two classes */
    bool has_accuracy;
    int64_t correct;
    double accuracy; /* correct / samples */
};

/* confusion, if not NULL, gets classes * classes counts added up: row the
 * label, column the prediction. stop, if not NULL, is asked between batches:
 * true ends with ERR_INTERRUPTED. */
struct nn_eval_opts {
    int64_t batch_size;
    int64_t *confusion;
    bool (*stop)(void *user);
    void *user;
};

int nn_evaluate(struct nn_eval_result *out, struct nn_model *model,
                const struct nn_data *data, const struct nn_loss *loss,
                const struct nn_eval_opts *opts, struct err *err);

/* The same for a model that is evaluated again and again: its recorded steps
 * are kept. All but opts is borrowed; the model comes to an end later. */
struct nn_evaluator;
int nn_evaluator_new(struct nn_evaluator **out, struct nn_model *model,
                     const struct nn_data *data, const struct nn_loss *loss,
                     const struct nn_eval_opts *opts, struct err *err);
void nn_evaluator_free(struct nn_evaluator *e); /* NULL is fine */
int nn_evaluator_run(struct nn_eval_result *out, struct nn_evaluator *e,
                     struct err *err);

#endif
