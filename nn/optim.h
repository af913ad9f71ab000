/* Optimizers: torch.optim's SGD, Adam and AdamW in one pass over one block. */
#ifndef NN_OPTIM_H
#define NN_OPTIM_H

#include <stdbool.h>
#include <stdint.h>

#include "nn/model.h"
#include "nn/tape.h"

enum nn_optim_type { NN_OPTIM_SGD, NN_OPTIM_ADAM, NN_OPTIM_ADAMW };

struct nn_optim_spec {
    enum nn_optim_type type;
    double momentum; /* sgd; 0 keeps no state */
    bool nesterov;
    double weight_decay;
    double beta1, beta2, eps; /* adam, adamw */
};

/* How many blocks of state, each as large as the parameters: 0, 1 or 2. */
int nn_optim_state_blocks(const struct nn_optim_spec *spec);
/* torch's names: "momentum_buffer", "exp_avg", "exp_avg_sq". */
const char *nn_optim_state_name(const struct nn_optim_spec *spec, int block);

struct nn_optim {
    struct nn_optim_spec spec;
    struct nn_model *model; /* borrowed */
    int n_state;
    struct nn_params state[2];
    struct nn_tensor *flag; /* (1) int32: non-finite parameters after a step */
    int64_t steps;          /* taken */
    /* Powers of beta as running products, so that no pow() is asked. */
    double beta1_power, beta2_power;
};

int nn_optim_new(struct nn_optim **out, struct nn_model *model,
                 const struct nn_optim_spec *spec, struct err *err);
void nn_optim_free(struct nn_optim *o); /* NULL is fine */

/* Counts one step more and fills in what depends on it and on lr. */
void nn_optim_advance(struct nn_optim *o, double lr, struct nn_scalars *s);
/* Writes the update down on the tape (phase optimizer). */
int nn_optim_record(struct nn_optim *o, struct nn_tape *tape, struct err *err);

#endif
