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

/* Tensors that l holds at most: parameters, and as many buffers. */
int nn_layer_room(const struct nn_layer *l);

/* Adds what l holds to the plans, which have room for it. */
int nn_layer_plan(struct nn_layer *l, struct nn_plan *params,
                  struct nn_plan *buffers, struct err *err);

/* Sets l's first values; gen NULL: nothing is drawn. */
int nn_layer_reset(const struct nn_model *m, const struct nn_layer *l,
                   struct rng_mt *gen, struct err *err);

/* One more item under the names of torch's state_dict: "0.weight", ... */
int nn_layer_plan_add(struct nn_plan *p, const struct nn_layer *l,
                      const char *what, const struct nn_shape *shape,
                      enum nn_dtype dtype, struct err *err);

/* The three above for NN_LAYER_OWN (nn/layer_own.c). */
int nn_layer_own_init(struct nn_layer *l, const struct nn_layer_spec *spec,
                      struct err *err);
int nn_layer_own_plan(struct nn_layer *l, struct nn_plan *params,
                      struct err *err);
int nn_layer_own_reset(const struct nn_model *m, const struct nn_layer *l,
                       struct rng_mt *gen, struct err *err);

/* First values of t: drawn from +-bound, or all value. */
int nn_layer_draw(struct nn_tensor *t, double bound, struct rng_mt *gen,
                  struct err *err);
int nn_layer_fill(struct nn_tensor *t, float value, struct err *err);
/* What torch.nn.Linear draws from where in numbers enter: kaiming_uniform_ with
 * a = sqrt(5) for a weight, 1/sqrt(in) for a bias. Equal but for rounding. */
double nn_layer_weight_bound(int64_t in);
double nn_layer_bias_bound(int64_t in);

#endif
