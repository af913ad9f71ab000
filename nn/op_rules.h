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

NN_SHAPE_RULE(linear);
NN_SHAPE_RULE(matmul);
NN_SHAPE_RULE(unary);
NN_SHAPE_RULE(gradient); /* out like in[1] */
NN_SHAPE_RULE(rows);     /* softmax: at least one dimension */
NN_SHAPE_RULE(cross_entropy);
NN_SHAPE_RULE(pair_loss); /* bce_with_logits, mse */
NN_SHAPE_RULE(broadcast);
NN_SHAPE_RULE(reduce);
NN_SHAPE_RULE(argmax);

NN_GRAD_RULE(linear);
NN_GRAD_RULE(matmul);
NN_GRAD_RULE(from_output); /* relu, tanh, sigmoid, softmax: dy and y */
NN_GRAD_RULE(gelu);
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

#endif
