/* The shape and backward rules that the table in nn/op.c is made of. */
#ifndef NN_OP_RULES_H
#define NN_OP_RULES_H

#include "nn/op.h"
#include "nn/tape.h"

#define NN_SHAPE_RULE(name) \
    int nn_shape_##name(const struct nn_call *call, struct nn_shape *shape, \
                        enum nn_dtype *dtype, struct err *err)
#define NN_GRAD_RULE(name) \
    int nn_grad_##name(struct nn_tape *tape, const struct nn_node *node, \
                       struct nn_tensor *grad_out, struct err *err)

/* For shape rules: all inputs float32, or all float64. */
int nn_shape_floats(const struct nn_call *call, struct err *err);

/* For backward rules: runs call into x's gradient, the leaf's own memory where
 * it may; nothing where x wants none. call->n_out and out are filled in. */
int nn_grad_emit(struct nn_tape *tape, struct nn_call *call,
                 struct nn_tensor *x, struct err *err);
/* op on a and b, or on a alone where b is NULL */
struct nn_call nn_grad_call(enum nn_op_id op, struct nn_tensor *a,
                            struct nn_tensor *b);

NN_SHAPE_RULE(linear);
NN_SHAPE_RULE(matmul);
NN_SHAPE_RULE(unary);
NN_SHAPE_RULE(gradient); /* out like in[1] */
NN_SHAPE_RULE(rows);     /* softmax: at least one dimension */
NN_SHAPE_RULE(cross_entropy);
NN_SHAPE_RULE(pair_loss); /* bce_with_logits, mse */
NN_SHAPE_RULE(broadcast);
NN_SHAPE_RULE(reduce);
NN_SHAPE_RULE(max);
NN_SHAPE_RULE(argmax);
NN_SHAPE_RULE(transpose);
NN_SHAPE_RULE(slice);
NN_SHAPE_RULE(cat);
NN_SHAPE_RULE(cast);
NN_SHAPE_RULE(embedding);
NN_SHAPE_RULE(conv2d);
NN_SHAPE_RULE(pool2d);
NN_SHAPE_RULE(batch_norm);
NN_SHAPE_RULE(layer_norm);

NN_GRAD_RULE(linear);
NN_GRAD_RULE(matmul);
NN_GRAD_RULE(from_output); /* relu, tanh, sigmoid, sqrt, softmax: dy and y */
NN_GRAD_RULE(from_input);  /* gelu, log1p, abs: dy and x */
NN_GRAD_RULE(dropout);
NN_GRAD_RULE(loss);
NN_GRAD_RULE(add);
NN_GRAD_RULE(sub);
NN_GRAD_RULE(mul);
NN_GRAD_RULE(div);
NN_GRAD_RULE(neg);
NN_GRAD_RULE(exp);
NN_GRAD_RULE(log);
NN_GRAD_RULE(pow);
NN_GRAD_RULE(scale);
NN_GRAD_RULE(reduce);
NN_GRAD_RULE(maximum);
NN_GRAD_RULE(max);
NN_GRAD_RULE(copy);
NN_GRAD_RULE(transpose);
NN_GRAD_RULE(slice);
NN_GRAD_RULE(cat);
NN_GRAD_RULE(cast);
NN_GRAD_RULE(embedding);
NN_GRAD_RULE(conv2d);
NN_GRAD_RULE(max_pool2d);
NN_GRAD_RULE(avg_pool2d);
NN_GRAD_RULE(batch_norm);
NN_GRAD_RULE(layer_norm);

#endif
