/* Changes in place that are part of the graph. */
#include "nn/tape.h"

static int check_assign(const struct nn_tape *tape, const struct nn_tensor *x,
                        const struct nn_tensor *value, struct err *err)
{
    char a[96], b[96];

    if (!nn_shape_eq(&x->shape, &value->shape) || x->dtype != value->dtype)
        return err_set(
            err, ERR_SHAPE, "%s %s cannot be put in the place of %s %s",
            nn_dtype_name(value->dtype),
            nn_shape_text(&value->shape, b, sizeof b), nn_dtype_name(x->dtype),
            nn_shape_text(&x->shape, a, sizeof a));
    if (!tape->grad_enabled)
        return 0;
    if (x->requires_grad && !x->node)
        return err_set(err, ERR_SHAPE,
                       "a leaf that requires a gradient cannot be changed in "
                       "place; do it below no_grad");
    if (!x->requires_grad && value->requires_grad && x->st->refs > 1)
        return err_set(err, ERR_SHAPE,
                       "another tensor without gradient shares this memory; it "
                       "cannot take a value with one in place");
    return 0;
}

int nn_tape_assign(struct nn_tape *tape, struct nn_tensor *x,
                   struct nn_tensor *value, struct nn_tensor **out,
                   struct err *err)
{
    struct nn_call copy = {.op = NN_OP_COPY, .n_in = 1, .n_out = 1};
    struct nn_node *node = value->node;
    int rc;

    *out = NULL;
    rc = check_assign(tape, x, value, err);
    copy.in[0] = value;
    copy.out[0] = x;
    if (rc == 0)
        rc = nn_tape_call(tape, &copy, err);
    if (rc == 0 && tape->grad_enabled && node)
        rc = nn_tape_detach(tape, x, out, err);
    else
        *out = rc == 0 ? x : NULL;
    if (rc != 0 || *out == x)
        return rc;
    node->call.out[0] = *out;
    node->version_out[0] = x->st->rebased = x->st->version;
    (*out)->node = node;
    (*out)->requires_grad = true;
    return 0;
}
