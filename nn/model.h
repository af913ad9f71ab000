/* A model: layers in a row, as torch.nn.Sequential, with all parameters in
 * one block and all gradients in another. */
#ifndef NN_MODEL_H
#define NN_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/backend.h"
#include "nn/base/rng.h"
#include "nn/tensor.h"

struct nn_own_layer; /* nn/custom.h */
struct nn_tape;

enum nn_layer_type {
    NN_LAYER_LINEAR, /* y = x W^T + b on the flattened input */
    NN_LAYER_RELU,
    NN_LAYER_TANH,
    NN_LAYER_SIGMOID,
    NN_LAYER_GELU,
    NN_LAYER_DROPOUT,
    NN_LAYER_FLATTEN, /* (B, ...) -> (B, rest) */
    NN_LAYER_CONV2D,  /* of (in, H, W); (H, W) counts as (1, H, W) */
    NN_LAYER_MAX_POOL2D,
    NN_LAYER_AVG_POOL2D,
    NN_LAYER_BATCH_NORM, /* over the samples, each of C or (C, ...) */
    NN_LAYER_LAYER_NORM, /* over all numbers of a sample */
    NN_LAYER_SQUEEZE,    /* samples without their dimensions of 1 */
    NN_LAYER_OWN,        /* an operator of the user's: nn/custom.h */
    NN_LAYER_COUNT
};
const char *nn_layer_type_name(enum nn_layer_type t); /* "linear", "own" */

/* What the user asks for. name NULL or "": the index in the row, so that
 * parameters are called "0.weight" as in torch.nn.Sequential. */
struct nn_layer_spec {
    enum nn_layer_type type;
    const char *name;
    int64_t out;     /* linear: output features; conv2d: output channels; own:
                        NN_DIM_OUT */
    bool bias;       /* linear, conv2d */
    double p;        /* dropout: probability of a zero */
    int64_t kernel;  /* conv2d, pools: a square */
    int64_t stride;  /* 0: 1 of conv2d, kernel of pools */
    int64_t padding; /* on all four sides */
    double eps;      /* norms: added to the variance */
    double momentum; /* batch_norm: of the running statistics */
    const struct nn_own_layer *own; /* own */
};

struct nn_layer {
    enum nn_layer_type type;
    char name[64];
    struct nn_shape in, out; /* of one sample */
    bool has_bias;
    double p;
    int64_t kernel, stride, padding;
    double eps, momentum;
    int weight, bias; /* indices into nn_params, or -1 */
    int running;      /* batch_norm: index into buffers of the first of three */
    int64_t n_params;
    const struct nn_own_layer *own; /* its parameters begin at weight */
    int64_t features;               /* own: what NN_DIM_OUT is */
};
/* What users call its type: "linear", or the name of an own operator. */
const char *nn_layer_kind(const struct nn_layer *l);

/* Tensors side by side in one storage, each beginning 64-byte aligned. */
struct nn_params {
    int n;
    struct nn_tensor **t;   /* views, named "0.weight", "0.bias", ... */
    struct nn_tensor *flat; /* the whole block as one float32 vector */
};

struct nn_model {
    struct nn_backend *be;
    int n_layers;
    struct nn_layer *layer;
    struct nn_shape in, out;        /* of one sample */
    struct nn_params params, grads; /* grads.t[i] is params.t[i]->grad */
    /* what is saved but not trained: running_mean, running_var (float32) and
     * num_batches_tracked (int64) of each batch_norm */
    struct nn_params buffers;
    char **names; /* of params, then of buffers */
    int n_names;
};

/* n layers in a row, and the shape of one sample that enters them. Borrowed. */
struct nn_model_spec {
    const struct nn_layer_spec *layer;
    size_t n;
    struct nn_shape sample;
};

/* Builds and initialises as torch.nn does, drawing from gen in the order of
 * the layers (weight, then bias). gen NULL: zeros, but for norms, which begin
 * with weight 1, bias 0, mean 0 and variance 1 in any case. The caller owns
 * *out (nn_model_free). ERR_CONFIG for a layer that does not fit; the err's
 * place is left empty and *bad (may be NULL) is the index of that layer. */
int nn_model_new(struct nn_model **out, struct nn_backend *be,
                 const struct nn_model_spec *spec, struct rng_mt *gen,
                 size_t *bad, struct err *err);
void nn_model_free(struct nn_model *m); /* NULL is fine */

/* Trainable parameters, counted over the tensors that were built. */
int64_t nn_model_count(const struct nn_model *m);

enum nn_fusion { NN_FUSION_NONE, NN_FUSION_ALL };

struct nn_forward_opts {
    bool train; /* dropout on; batch_norm by the batch, and remembers */
    enum nn_fusion fusion; /* ALL: an activation joins its linear layer */
    uint64_t dropout_seed;
    int64_t first; /* position of row 0 in the step's batch */
};

/* Records x (B, sample...) -> *out (B, out...), owned by the tape. */
int nn_model_forward(struct nn_model *m, struct nn_tape *tape,
                     struct nn_tensor *x, const struct nn_forward_opts *opts,
                     struct nn_tensor **out, struct err *err);

/* A block like the parameters', zeroed: gradients, optimizer state. */
int nn_params_like(struct nn_params *out, const struct nn_params *of,
                   enum nn_category cat, struct err *err);
void nn_params_free(struct nn_params *p);

#endif
