#include "nn/custom.h"

#include <string.h>

void nn_custom_release(struct nn_node *node)
{
    if (node->state && node->custom->release)
        node->custom->release(node->state);
    node->state = NULL;
}

/* y itself, or a copy where it has a history or memory of somebody else. */
static int own_result(struct nn_tape *tape, const struct nn_call *call,
                      struct nn_tensor *y, struct nn_tensor **out,
                      struct err *err)
{
    struct nn_call copy = {.op = NN_OP_COPY, .n_in = 1, .n_out = 1, .in = {y}};
    bool shared = y->node || y->requires_grad;
    int rc, i;

    for (i = 0; i < call->n_in; i++)
        shared = shared || call->in[i]->st == y->st;
    *out = y;
    if (!shared)
        return 0;
    rc = nn_tape_tensor(tape, &y->shape, y->dtype, NN_CAT_ACTIVATION,
                        &copy.out[0], err);
    if (rc == 0)
        rc = nn_tape_call(tape, &copy, err);
    *out = rc == 0 ? copy.out[0] : NULL;
    return rc;
}

/* Runs c's forward with gradients off: its calls are written down, but what
 * backward will see is one node. */
static int run_forward(struct nn_tape *tape, const struct nn_custom *c,
                       struct nn_call *call, void **state, struct err *err)
{
    bool enabled = tape->grad_enabled;
    struct nn_tensor *y = NULL;
    int rc;

    tape->grad_enabled = false;
    rc = c->forward(c, tape, call->in, &y, state, err);
    if (rc == 0)
        rc = own_result(tape, call, y, &call->out[0], err);
    tape->grad_enabled = enabled;
    return rc;
}

int nn_tape_custom(struct nn_tape *tape, const struct nn_custom *c,
                   struct nn_tensor *const *in, struct nn_tensor **out,
                   struct err *err)
{
    struct nn_call call = {.op = NN_OP_CUSTOM,
                           .n_in = c->n_in,
                           .n_out = 1,
                           .layer = tape->layer,
                           .role = tape->role,
                           .phase = tape->phase};
    struct nn_node unkept = {.custom = c}, *node = NULL;
    int rc = 0, i;

    if (c->n_in < 1 || c->n_in > NN_MAX_IN)
        return err_set(err, ERR_SHAPE, "%s takes 1 to %d tensors, not %d",
                       c->name, NN_MAX_IN, c->n_in);
    memcpy(call.in, in, (size_t)c->n_in * sizeof *in);
    *out = NULL; /* out may be in */
    for (i = 0; rc == 0 && i < c->n_in; i++)
        rc = nn_tape_check_history(tape, call.in[i], err);
    if (rc == 0)
        rc = run_forward(tape, c, &call, &unkept.state, err);
    if (rc == 0 && nn_tape_wants_grad(tape, call.in, c->n_in))
        rc = nn_tape_add_node(tape, &call, &node, err);
    if (rc == 0)
        *out = call.out[0];
    if (node) {
        node->custom = c;
        node->state = unkept.state;
    } else
        nn_custom_release(&unkept);
    return rc;
}

static int check_gradient(const struct nn_custom *c, int i,
                          const struct nn_tensor *x,
                          const struct nn_tensor *grad, struct err *err)
{
    char a[96], b[96];

    if (!grad)
        return err_set(err, ERR_SHAPE,
                       "the backward of %s gives no gradient of input %d, "
                       "which requires one",
                       c->name, i);
    if (nn_shape_eq(&grad->shape, &x->shape) && grad->dtype == x->dtype)
        return 0;
    return err_set(err, ERR_SHAPE,
                   "the backward of %s gives a %s gradient %s of input %d, "
                   "which is %s %s",
                   c->name, nn_dtype_name(grad->dtype),
                   nn_shape_text(&grad->shape, a, sizeof a), i,
                   nn_dtype_name(x->dtype),
                   nn_shape_text(&x->shape, b, sizeof b));
}

static enum nn_role role_of(const struct nn_tensor *x)
{
    if (x->st->cat != NN_CAT_PARAMETER)
        return NN_ROLE_GRAD_INPUT;
    return x->shape.ndim > 1 ? NN_ROLE_GRAD_WEIGHT : NN_ROLE_GRAD_BIAS;
}

/* Tells the calls from first on apart by the gradient that they write; what
 * only leads to one counts as the input's. */
static void label_calls(struct nn_tape *tape, size_t first,
                        const struct nn_call *call,
                        struct nn_tensor *const *grad)
{
    struct nn_call *c;
    int i;

    for (c = &tape->call[first]; c < &tape->call[tape->n_call]; c++) {
        if (c->role != NN_ROLE_NONE || c->n_out < 1)
            continue;
        c->role = NN_ROLE_GRAD_INPUT;
        for (i = 0; i < call->n_in; i++)
            if (grad[i] && grad[i]->st == c->out[0]->st)
                c->role = role_of(call->in[i]);
    }
}

int nn_custom_backward(struct nn_tape *tape, const struct nn_node *node,
                       struct nn_tensor *grad, struct err *err)
{
    const struct nn_call *call = &node->call;
    struct nn_tensor *grad_in[NN_MAX_IN] = {NULL};
    enum nn_role role = tape->role;
    size_t first = tape->n_call;
    int rc, i;

    rc = node->custom->backward(node->custom, tape, node->state, grad, grad_in,
                                err);
    if (rc == 0)
        label_calls(tape, first, call, grad_in);
    for (i = 0; rc == 0 && i < call->n_in; i++) {
        if (!call->in[i]->requires_grad)
            continue;
        tape->role = role_of(call->in[i]);
        rc = check_gradient(node->custom, i, call->in[i], grad_in[i], err);
        if (rc == 0)
            rc = nn_tape_grad_add(tape, call->in[i], grad_in[i], err);
    }
    tape->role = role;
    return rc;
}
