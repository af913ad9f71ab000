/* One layer of a model at a time: shapes, what it holds, first values. Between
 * nn/model.c and nn/layer.c. */
#ifndef NN_LAYER_H
#define NN_LAYER_H

#include "nn/model.h"

/* Parameters or buffers to be. */
struct nn_plan_item {
    char *name; /* from mem_alloc */
    struct nn_shape shape;
    enum nn_dtype dtype;
    enum nn_layout layout;
};
struct nn_plan {
    struct nn_plan_item *item;
    int n;
};

/* Shapes and settings of layer index behind *sample, which moves on to the
 * layer's output. ERR_CONFIG. */
int nn_layer_init(struct nn_layer *l, const struct nn_layer_spec *spec,
                  size_t index, struct nn_shape *sample, struct err *err);

/* Adds what l holds to the plans, which have room for 2 and 3 more. */
int nn_layer_plan(struct nn_layer *l, struct nn_plan *params,
                  struct nn_plan *buffers, struct err *err);

/* Sets l's first values; gen NULL: nothing is drawn. */
int nn_layer_reset(const struct nn_model *m, const struct nn_layer *l,
                   struct rng_mt *gen, struct err *err);

#endif
