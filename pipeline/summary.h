/* What a model is made of, as a person would work it out by hand. */
#ifndef PIPELINE_SUMMARY_H
#define PIPELINE_SUMMARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/base/err.h"
#include "nn/base/str.h"
#include "nn/model.h"

/* Everything is borrowed. */
struct pl_summary {
    const struct nn_model *model;
    const char *name, *dataset;
    int64_t batch;                 /* samples, shown in the shapes */
    const char *const *optimizers; /* sgd, sgd_momentum, adam, adamw */
    size_t n_optimizers;
};

/* Parameters worked out from the layers' shapes: in x out + out for a linear
 * layer. nn_model_count counts over the tensors instead. */
int64_t pl_summary_parameters(const struct nn_model *m);
/* Bytes of an optimizer's state for n float32 parameters: 0, 1 or 2 blocks as
 * large as they are. Adam's step counter is not in it. -1: no such name. */
int64_t pl_summary_state_bytes(const char *optimizer, int64_t n);

/* The account: layers, working step by step, bytes, the closed formula where
 * there is one hidden layer, the check against the built model, and the memory
 * of training. ERR_CORRUPT if the two counts differ, ERR_CONFIG for an unknown
 * optimizer. */
int pl_summary_write(struct str *out, const struct pl_summary *s, bool markdown,
                     struct err *err);
/* layer,type,input,output,weights,biases,parameters */
void pl_summary_csv(struct str *out, const struct pl_summary *s);

#endif
