/* What a layer trains, worked out from what it is told to be and not from the
 * tensors that were built, so that the one can check the other. */
#ifndef PIPELINE_LAYER_PARTS_H
#define PIPELINE_LAYER_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "nn/model.h"
#include "nn/op.h"

struct pl_layer_part {
    const char *name; /* "weight" */
    struct nn_shape shape;
    bool bias; /* of an own layer: any vector */
};

/* The parts in order; their number. */
int pl_layer_parts(const struct nn_layer *l,
                   struct pl_layer_part part[NN_MAX_IN]);
/* Numbers in all parts that are, or are not, biases. */
int64_t pl_layer_numbers(const struct nn_layer *l, bool bias);

#endif
