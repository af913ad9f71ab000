#include "nn/op_rules.h"

int nn_grad_emit(struct nn_tape *tape, struct nn_call *call,
                 struct nn_tensor *x, struct err *err)
{
    int rc;

    if (!x->requires_grad)
        return 0;
    call->n_out = 1;
    rc = nn_tape_grad_target(tape, x, &call->out[0], err);
    if (rc == 0)
        rc = nn_tape_call(tape, call, err);
    if (rc == 0)
        rc = nn_tape_grad_add(tape, x, call->out[0], err);
    return rc;
}

struct nn_call nn_grad_call(enum nn_op_id op, struct nn_tensor *a,
                            struct nn_tensor *b)
{
    struct nn_call c = {.op = op, .n_in = b ? 2 : 1, .in = {a, b}};

    return c;
}

/* The gradient of an activation that was fused into a linear layer. */
static int act_grad(struct nn_tape *tape, enum nn_act act, struct nn_tensor *dy,
                    struct nn_tensor *y, struct nn_tensor **out,
                    struct err *err)
{
    static const enum nn_op_id op[] = {
        [NN_ACT_NONE] = NN_OP_COPY,
        [NN_ACT_RELU] = NN_OP_RELU_GRAD,
        [NN_ACT_TANH] = NN_OP_TANH_GRAD,
        [NN_ACT_SIGMOID] = NN_OP_SIGMOID_GRAD,
    };
    struct nn_tensor *in[2] = {dy, y};

    *out = dy;
    if (act == NN_ACT_NONE)
        return 0;
    return nn_tape_apply(tape, op[act], in, 2, NULL, out, err);
}

NN_GRAD_RULE(linear)
{
    const struct nn_call *f = &node->call;
    struct nn_tensor *x = f->in[0], *w = f->in[1];
    struct nn_tensor *dz;
    struct nn_call c;
    int rc;

    rc = act_grad(tape, f->attrs.linear.act, grad_out, f->out[0], &dz, err);
    if (rc != 0)
        return rc;
    c = nn_grad_call(NN_OP_LINEAR_GRAD_INPUT, dz, w);
    c.role = NN_ROLE_GRAD_INPUT;
    rc = nn_grad_emit(tape, &c, x, err);
    if (rc != 0)
        return rc;
    c = nn_grad_call(NN_OP_LINEAR_GRAD_WEIGHT, dz, x);
    c.role = NN_ROLE_GRAD_WEIGHT;
    rc = nn_grad_emit(tape, &c, w, err);
    if (rc != 0 || f->n_in < 3)
        return rc;
    c = nn_grad_call(NN_OP_LINEAR_GRAD_BIAS, dz, NULL);
    c.role = NN_ROLE_GRAD_BIAS;
    return nn_grad_emit(tape, &c, f->in[2], err);
}

/* C = A' B' with A' = ta ? A^T : A: dA' = g B'^T, dB' = A'^T g. */
NN_GRAD_RULE(matmul)
{
    struct nn_tensor *a = node->call.in[0], *b = node->call.in[1];
    struct nn_tensor *g = grad_out;
    bool ta = node->call.attrs.matmul.ta, tb = node->call.attrs.matmul.tb;
    struct nn_call c;
    int rc;

    c = ta ? nn_grad_call(NN_OP_MATMUL, b, g)
           : nn_grad_call(NN_OP_MATMUL, g, b);
    c.attrs.matmul.ta = ta ? tb : false;
    c.attrs.matmul.tb = ta ? true : !tb;
    rc = nn_grad_emit(tape, &c, a, err);
    if (rc != 0)
        return rc;
    c = tb ? nn_grad_call(NN_OP_MATMUL, g, a)
           : nn_grad_call(NN_OP_MATMUL, a, g);
    c.attrs.matmul.ta = tb ? true : !ta;
    c.attrs.matmul.tb = tb ? ta : false;
    return nn_grad_emit(tape, &c, b, err);
}

NN_GRAD_RULE(from_output)
{
    static const enum nn_op_id grad[NN_OP_COUNT] = {
        [NN_OP_RELU] = NN_OP_RELU_GRAD,
        [NN_OP_TANH] = NN_OP_TANH_GRAD,
        [NN_OP_SIGMOID] = NN_OP_SIGMOID_GRAD,
        [NN_OP_SQRT] = NN_OP_SQRT_GRAD,
        [NN_OP_SOFTMAX] = NN_OP_SOFTMAX_GRAD,
        [NN_OP_LOG_SOFTMAX] = NN_OP_LOG_SOFTMAX_GRAD,
    };
    struct nn_call c =
        nn_grad_call(grad[node->call.op], grad_out, node->call.out[0]);

    return nn_grad_emit(tape, &c, node->call.in[0], err);
}

NN_GRAD_RULE(from_input)
{
    static const enum nn_op_id grad[NN_OP_COUNT] = {
        [NN_OP_GELU] = NN_OP_GELU_GRAD,
        [NN_OP_LOG1P] = NN_OP_LOG1P_GRAD,
        [NN_OP_ABS] = NN_OP_ABS_GRAD,
    };
    struct nn_call c =
        nn_grad_call(grad[node->call.op], grad_out, node->call.in[0]);

    return nn_grad_emit(tape, &c, node->call.in[0], err);
}

/* The mask is drawn again from the same key. */
NN_GRAD_RULE(dropout)
{
    struct nn_call c = nn_grad_call(NN_OP_DROPOUT, grad_out, NULL);

    c.attrs = node->call.attrs;
    return nn_grad_emit(tape, &c, node->call.in[0], err);
}

NN_GRAD_RULE(loss)
{
    enum nn_op_id op = node->call.op;
    struct nn_tensor *x = node->call.in[0], *y = node->call.in[1];
    struct nn_call c = {.n_in = 3, .in = {grad_out, x, y}};
    int rc;

    if (node->call.attrs.loss.per_sample)
        return err_set(err, ERR_SHAPE,
                       "backward through per-sample losses; "
                       "use the reduced loss");
    if (op != NN_OP_MSE && y->requires_grad)
        return err_set(err, ERR_SHAPE, "%s has no gradient for its target",
                       nn_op_name(op));
    c.op = op == NN_OP_CROSS_ENTROPY     ? NN_OP_CROSS_ENTROPY_GRAD
           : op == NN_OP_BCE_WITH_LOGITS ? NN_OP_BCE_WITH_LOGITS_GRAD
                                         : NN_OP_MSE_GRAD;
    c.attrs = node->call.attrs;
    rc = nn_grad_emit(tape, &c, x, err);
    if (rc != 0 || !y->requires_grad)
        return rc;
    c.in[1] = y; /* mse is symmetric */
    c.in[2] = x;
    return nn_grad_emit(tape, &c, y, err);
}

/* Sums g down to the shape of x, which was broadcast, and hands it over. */
static int give_broadcast(struct nn_tape *tape, struct nn_tensor *g,
                          struct nn_tensor *x, struct err *err)
{
    struct nn_call c = nn_grad_call(NN_OP_SUM_TO, g, NULL);

    if (nn_shape_eq(&g->shape, &x->shape))
        return nn_tape_grad_add(tape, x, g, err);
    return nn_grad_emit(tape, &c, x, err);
}

NN_GRAD_RULE(add)
{
    int rc = give_broadcast(tape, grad_out, node->call.in[0], err);

    return rc != 0 ? rc : give_broadcast(tape, grad_out, node->call.in[1], err);
}

/* op applied to in, then given to x. */
static int give_op(struct nn_tape *tape, enum nn_op_id op,
                   struct nn_tensor *const *in, int n_in, struct nn_tensor *x,
                   struct err *err)
{
    struct nn_tensor *g;
    int rc;

    if (!x->requires_grad)
        return 0;
    rc = nn_tape_apply(tape, op, in, n_in, NULL, &g, err);
    return rc != 0 ? rc : give_broadcast(tape, g, x, err);
}

NN_GRAD_RULE(sub)
{
    int rc = give_broadcast(tape, grad_out, node->call.in[0], err);

    return rc != 0
               ? rc
               : give_op(tape, NN_OP_NEG, &grad_out, 1, node->call.in[1], err);
}

NN_GRAD_RULE(mul)
{
    struct nn_tensor *a = node->call.in[0], *b = node->call.in[1];
    struct nn_tensor *in[2] = {grad_out, b};
    int rc = give_op(tape, NN_OP_MUL, in, 2, a, err);

    in[1] = a;
    return rc != 0 ? rc : give_op(tape, NN_OP_MUL, in, 2, b, err);
}

/* y = a / b: da = g / b, db = -(g y) / b */
NN_GRAD_RULE(div)
{
    struct nn_tensor *a = node->call.in[0], *b = node->call.in[1];
    struct nn_tensor *in[2] = {grad_out, b};
    int rc = give_op(tape, NN_OP_DIV, in, 2, a, err);

    if (rc != 0 || !b->requires_grad)
        return rc;
    in[1] = node->call.out[0];
    rc = nn_tape_apply(tape, NN_OP_MUL, in, 2, NULL, &in[0], err);
    if (rc == 0)
        rc = nn_tape_apply(tape, NN_OP_NEG, in, 1, NULL, &in[0], err);
    in[1] = b;
    return rc != 0 ? rc : give_op(tape, NN_OP_DIV, in, 2, b, err);
}

/* Each takes its share of g: all, half where they are equal, or nothing. */
NN_GRAD_RULE(maximum)
{
    struct nn_tensor *a = node->call.in[0], *b = node->call.in[1];
    struct nn_tensor *of_a[2] = {a, b}, *of_b[2] = {b, a};
    struct nn_tensor *in[2] = {grad_out, NULL};
    int rc;

    rc = nn_tape_apply(tape, NN_OP_MAXIMUM_SHARE, of_a, 2, NULL, &in[1], err);
    if (rc == 0)
        rc = give_op(tape, NN_OP_MUL, in, 2, a, err);
    if (rc == 0)
        rc = nn_tape_apply(tape, NN_OP_MAXIMUM_SHARE, of_b, 2, NULL, &in[1],
                           err);
    return rc != 0 ? rc : give_op(tape, NN_OP_MUL, in, 2, b, err);
}

NN_GRAD_RULE(neg)
{
    struct nn_call c = nn_grad_call(NN_OP_NEG, grad_out, NULL);

    return nn_grad_emit(tape, &c, node->call.in[0], err);
}

NN_GRAD_RULE(exp)
{
    struct nn_call c = nn_grad_call(NN_OP_MUL, grad_out, node->call.out[0]);

    return nn_grad_emit(tape, &c, node->call.in[0], err);
}

NN_GRAD_RULE(log)
{
    struct nn_call c = nn_grad_call(NN_OP_DIV, grad_out, node->call.in[0]);

    return nn_grad_emit(tape, &c, node->call.in[0], err);
}

/* g * (p * x^(p - 1)) */
NN_GRAD_RULE(pow)
{
    struct nn_tensor *x = node->call.in[0];
    union nn_attrs attrs = {.scalar = node->call.attrs.scalar - 1.0};
    struct nn_tensor *t;
    struct nn_call c;
    int rc;

    rc = nn_tape_apply(tape, NN_OP_POW, &x, 1, &attrs, &t, err);
    attrs.scalar = node->call.attrs.scalar;
    if (rc == 0)
        rc = nn_tape_apply(tape, NN_OP_SCALE, &t, 1, &attrs, &t, err);
    if (rc != 0)
        return rc;
    c = nn_grad_call(NN_OP_MUL, grad_out, t);
    return nn_grad_emit(tape, &c, x, err);
}

NN_GRAD_RULE(scale)
{
    struct nn_call c = nn_grad_call(NN_OP_SCALE, grad_out, NULL);

    c.attrs = node->call.attrs;
    return nn_grad_emit(tape, &c, node->call.in[0], err);
}

/* sum: the gradient is spread over what was summed; mean divides it first. */
NN_GRAD_RULE(reduce)
{
    struct nn_tensor *x = node->call.in[0];
    int axis = node->call.attrs.reduce.axis;
    struct nn_shape kept = x->shape;
    union nn_attrs attrs = {0};
    struct nn_call c;
    int64_t n = nn_tensor_numel(x) /
                (nn_tensor_numel(grad_out) > 0 ? nn_tensor_numel(grad_out) : 1);
    int rc = 0, i;

    for (i = 0; i < kept.ndim; i++)
        if (axis == NN_AXIS_ALL || i == axis)
            kept.dim[i] = 1;
    if (node->call.op == NN_OP_MEAN) {
        attrs.scalar = 1.0 / (double)n;
        rc = nn_tape_apply(tape, NN_OP_SCALE, &grad_out, 1, &attrs, &grad_out,
                           err);
    }
    if (rc == 0)
        rc = nn_tape_reshape(tape, grad_out, &kept, &grad_out, err);
    if (rc != 0)
        return rc;
    c = nn_grad_call(NN_OP_EXPAND, grad_out, NULL);
    return nn_grad_emit(tape, &c, x, err);
}
