/* Autograd: a define-by-run tape with PyTorch's rules. Every operator applied
 * runs at once, is written down as a call, and, where a gradient is wanted,
 * as a node that backward() walks.
 *
 * backward() frees the graph unless told to retain it, and a second one is
 * then an error; gradients of leaves accumulate until cleared; a value that
 * backward needs and that was changed in place is an error. */
#ifndef NN_TAPE_H
#define NN_TAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nn/backend.h"
#include "nn/op.h"

struct nn_custom;

/* An operator as it ran, kept for its backward rule. */
struct nn_node {
    struct nn_call call;
    bool view;  /* a reshape: the gradient is reshaped back */
    bool freed; /* backward went through and did not retain */
    uint32_t version_in[NN_MAX_IN], version_out[NN_MAX_OUT];
    const struct nn_custom *custom; /* of NN_OP_CUSTOM */
    void *state;                    /* custom's own, until it is freed */
};

struct nn_tape {
    struct nn_backend *be;
    bool grad_enabled;
    /* labels of the calls to come */
    const char *layer;
    enum nn_phase phase;
    enum nn_role role;
    /* what was written down */
    struct nn_call *call;
    size_t n_call, cap_call;
    struct nn_node **node;
    size_t n_node, cap_node;
    struct nn_tensor **own; /* tensors that end with the tape */
    size_t n_own, cap_own;
};

int nn_tape_new(struct nn_tape **out, struct nn_backend *be, struct err *err);
/* Ends the tape, its graph and every tensor that it made. */
void nn_tape_free(struct nn_tape *tape); /* NULL is fine */

/* A tensor that lives as long as the tape. */
int nn_tape_tensor(struct nn_tape *tape, const struct nn_shape *shape,
                   enum nn_dtype dtype, enum nn_category cat,
                   struct nn_tensor **out, struct err *err);

/* Applies op to n_in tensors; attrs may be NULL for all zero. *out belongs to
 * the tape and requires a gradient if an input does. out may be in. */
int nn_tape_apply(struct nn_tape *tape, enum nn_op_id op,
                  struct nn_tensor *const *in, int n_in,
                  const union nn_attrs *attrs, struct nn_tensor **out,
                  struct err *err);
/* Runs and writes down a call made by hand; labels are filled in, and the
 * versions of its outputs move on. Outside the graph. */
int nn_tape_call(struct nn_tape *tape, struct nn_call *call, struct err *err);

/* The same numbers in another shape of as many elements. Differentiable. */
int nn_tape_reshape(struct nn_tape *tape, struct nn_tensor *x,
                    const struct nn_shape *shape, struct nn_tensor **out,
                    struct err *err);
/* Reshaped without axis, which must be of 1 element; NN_AXIS_ALL: without any
 * such axis. */
int nn_tape_squeeze(struct nn_tape *tape, struct nn_tensor *x, int axis,
                    struct nn_tensor **out, struct err *err);
/* The numbers of x (out, in, ...) as LINEAR and CONV2D take a weight, in the
 * backend's NN_WEIGHT layout. Differentiable. */
int nn_tape_weight(struct nn_tape *tape, struct nn_tensor *x,
                   struct nn_tensor **out, struct err *err);
/* Rows [first, first + n) of x, sharing its memory, cut off the graph. */
int nn_tape_rows(struct nn_tape *tape, const struct nn_tensor *x, int64_t first,
                 int64_t n, struct nn_tensor **out, struct err *err);
/* x cut off the graph, sharing its memory. */
int nn_tape_detach(struct nn_tape *tape, const struct nn_tensor *x,
                   struct nn_tensor **out, struct err *err);

/* In place: x's memory takes the numbers of value (its shape and type), which
 * was made for this and is not used again. *out is x as it is from now on: the
 * same memory, and the gradient flows to what value was made from; x itself
 * where value wants no gradient. A leaf that wants its gradient can only be
 * changed while grad_enabled is off. What else lies in the same memory (a view,
 * x itself) has the old history: using it afterwards is an error. */
int nn_tape_assign(struct nn_tape *tape, struct nn_tensor *x,
                   struct nn_tensor *value, struct nn_tensor **out,
                   struct err *err);

/* Gradients of root (a scalar) into the leaves that require them. */
int nn_tape_backward(struct nn_tape *tape, struct nn_tensor *root,
                     bool retain_graph, struct err *err);
/* The same with the gradient of root given. */
int nn_tape_backward_from(struct nn_tape *tape, struct nn_tensor *root,
                          struct nn_tensor *grad, bool retain_graph,
                          struct err *err);

/* Makes t a leaf that wants its gradient, in memory of its own: t->grad, which
 * the caller ends with nn_tensor_free. */
int nn_tensor_require_grad(struct nn_tensor *t, struct err *err);

/* For backward rules: where the gradient of x may be written (the leaf's own
 * memory when it holds nothing yet), and handing it over once written. */
int nn_tape_grad_target(struct nn_tape *tape, struct nn_tensor *x,
                        struct nn_tensor **out, struct err *err);
int nn_tape_grad_add(struct nn_tape *tape, struct nn_tensor *x,
                     struct nn_tensor *grad, struct err *err);

/* For nn/custom.c: whether a node is due, whether x's history still holds, and
 * noting call for backward as what made out[0]. */
bool nn_tape_wants_grad(const struct nn_tape *tape, struct nn_tensor *const *in,
                        int n_in);
int nn_tape_check_history(const struct nn_tape *tape, const struct nn_tensor *x,
                          struct err *err);
int nn_tape_add_node(struct nn_tape *tape, const struct nn_call *call,
                     struct nn_node **out, struct err *err);

#endif
