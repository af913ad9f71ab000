/* Gradients of the operators that move numbers about or pick some of them. */
#include "nn/op_rules.h"

NN_GRAD_RULE(max)
{
    struct nn_tensor *x = node->call.in[0];
    struct nn_call c = nn_grad_call(NN_OP_MAX_GRAD, grad_out, x);

    c.attrs = node->call.attrs;
    return nn_grad_emit(tape, &c, x, err);
}

/* From one layout to another, and back. */
NN_GRAD_RULE(copy)
{
    struct nn_call c = nn_grad_call(NN_OP_COPY, grad_out, NULL);

    return nn_grad_emit(tape, &c, node->call.in[0], err);
}

NN_GRAD_RULE(transpose)
{
    struct nn_call c = nn_grad_call(NN_OP_TRANSPOSE, grad_out, NULL);

    c.attrs = node->call.attrs;
    return nn_grad_emit(tape, &c, node->call.in[0], err);
}

NN_GRAD_RULE(slice)
{
    struct nn_call c = nn_grad_call(NN_OP_SLICE_GRAD, grad_out, NULL);

    c.attrs = node->call.attrs;
    return nn_grad_emit(tape, &c, node->call.in[0], err);
}

/* Each operand takes its own slice of g. */
NN_GRAD_RULE(cat)
{
    int axis = node->call.attrs.cat.axis, rc = 0, i;
    int64_t at = 0;

    for (i = 0; rc == 0 && i < node->call.n_in; i++) {
        struct nn_tensor *x = node->call.in[i];
        struct nn_call c = nn_grad_call(NN_OP_SLICE, grad_out, NULL);

        c.attrs.slice.axis = axis;
        c.attrs.slice.start = at;
        c.attrs.slice.stop = at += x->shape.dim[axis];
        rc = nn_grad_emit(tape, &c, x, err);
    }
    return rc;
}

NN_GRAD_RULE(cast)
{
    struct nn_call c = nn_grad_call(NN_OP_CAST, grad_out, NULL);

    c.attrs.cast.dtype = node->call.in[0]->dtype;
    return nn_grad_emit(tape, &c, node->call.in[0], err);
}

NN_GRAD_RULE(embedding)
{
    struct nn_call c =
        nn_grad_call(NN_OP_EMBEDDING_GRAD, grad_out, node->call.in[1]);

    return nn_grad_emit(tape, &c, node->call.in[0], err);
}
