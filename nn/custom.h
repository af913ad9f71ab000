/* An operator of the user's own: forward and backward as recipes that write
 * down calls of the operators that there are. On the tape it is one node with
 * its own backward rule; in a recorded step it is the calls that it is made
 * of, so every backend runs and replays it. */
#ifndef NN_CUSTOM_H
#define NN_CUSTOM_H

#include <stdbool.h>
#include <stdint.h>

#include "nn/tape.h"

struct nn_layer;

struct nn_custom {
    const char *name; /* "my_linear" */
    int n_in;         /* at most NN_MAX_IN */
    /* Writes y = f(in) down on tape, gradients being off. *out belongs to the
     * tape. *state comes as NULL; what it is set to, also by a call that fails,
     * is handed to backward and ended by release, once. */
    int (*forward)(const struct nn_custom *c, struct nn_tape *tape,
                   struct nn_tensor *const *in, struct nn_tensor **out,
                   void **state, struct err *err);
    /* Writes down the gradients: grad has y's shape; grad_in[i] comes as NULL
     * and is set, in its shape, for every input that requires a gradient; what
     * it is set to for others is not looked at, so that the work can be saved.
     * Called more than once where the graph is retained. */
    int (*backward)(const struct nn_custom *c, struct nn_tape *tape,
                    void *state, struct nn_tensor *grad,
                    struct nn_tensor **grad_in, struct err *err);
    void (*release)(void *state); /* never of NULL; NULL: nothing to end */
    const void *user;             /* of whoever made it */
};

/* Applies c to its n_in inputs: one node, PyTorch's rules (a second backward,
 * versions of what was saved: all inputs and the output count as saved). An
 * output that shares memory with an input is copied first. c is borrowed and
 * must outlive the tape. ERR_SHAPE for an n_in that cannot be, and from
 * backward if a gradient is left out or of another shape or type, naming
 * operator and input. out may be in. */
int nn_tape_custom(struct nn_tape *tape, const struct nn_custom *c,
                   struct nn_tensor *const *in, struct nn_tensor **out,
                   struct err *err);

/* For nn/tape.c: the gradients of a custom node's inputs from that of its
 * output, and the end of its state. */
int nn_custom_backward(struct nn_tape *tape, const struct nn_node *node,
                       struct nn_tensor *grad, struct err *err);
void nn_custom_release(struct nn_node *node); /* nothing for other nodes */

/* Sizes of a parameter that are known once the layer is in its place: the
 * numbers of a sample (flat) or its last dimension, and the layer's out. */
enum { NN_DIM_IN = -1, NN_DIM_OUT = -2 };
enum nn_init {
    NN_INIT_UNIFORM, /* within +-1/sqrt(NN_DIM_IN), as torch.nn.Linear draws */
    NN_INIT_ZEROS,
    NN_INIT_ONES
};

/* A parameter of a layer made from an own operator. */
struct nn_own_param {
    const char *name; /* in state_dict: "weight" of "0.weight" */
    int ndim;
    int64_t dim[NN_MAX_DIMS]; /* sizes, NN_DIM_IN or NN_DIM_OUT */
    enum nn_init init;
};

/* A layer type made from an own operator: inputs are x, then the parameters in
 * order. Everything is borrowed and outlives the model. */
struct nn_own_layer {
    const struct nn_custom *custom;
    const struct nn_own_param *param;
    int n_param;
    bool flat; /* x comes as (B, in), not (B, sample...) */
    /* The shape of y, (B, ...), for inputs of these shapes (x first); err
     * where the operator does not fit them. */
    int (*shape)(const struct nn_own_layer *l, const struct nn_shape *in,
                 int n_in, struct nn_shape *y, struct err *err);
};

/* Shape of parameter i of a layer of this kind. */
struct nn_shape nn_own_param_shape(const struct nn_layer *l, int i);

#endif
