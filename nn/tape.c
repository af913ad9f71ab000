#include "nn/tape.h"

#include <string.h>

#include "nn/base/mem.h"
#include "nn/custom.h"
#include "nn/traced.h"

int nn_tape_new(struct nn_tape **out, struct nn_backend *be, struct err *err)
{
    struct nn_tape *t = mem_zalloc(sizeof *t);

    *out = t;
    if (!t)
        return err_set(err, ERR_NOMEM, "out of memory for a tape");
    t->be = be;
    t->grad_enabled = true;
    t->layer = "";
    return 0;
}

void nn_tape_free(struct nn_tape *tape)
{
    size_t i;

    if (!tape)
        return;
    for (i = 0; i < tape->n_node; i++) {
        nn_custom_release(tape->node[i]);
        mem_free(tape->node[i]);
    }
    for (i = 0; i < tape->n_own; i++)
        nn_tensor_free(tape->own[i]);
    mem_free(tape->node);
    mem_free(tape->own);
    mem_free(tape->call);
    mem_free(tape);
}

/* Room for one more element of size bytes in *array. */
static int reserve(void *array, size_t n, size_t *cap, size_t size,
                   struct err *err)
{
    void *old, *p;
    size_t want;

    if (n < *cap)
        return 0;
    want = *cap ? *cap * 2 : 32;
    memcpy(&old, array, sizeof old);
    p = mem_grow(old, want, size);
    if (!p)
        return err_set(err, ERR_NOMEM, "out of memory for a tape");
    memcpy(array, &p, sizeof p);
    *cap = want;
    return 0;
}

/* Takes t over; frees it when there is no room. */
static int own(struct nn_tape *tape, struct nn_tensor *t, struct err *err)
{
    int rc = reserve(&tape->own, tape->n_own, &tape->cap_own, sizeof *tape->own,
                     err);

    if (rc != 0) {
        nn_tensor_free(t);
        return rc;
    }
    tape->own[tape->n_own++] = t;
    return 0;
}

static int new_tensor(struct nn_tape *tape, const struct nn_shape *shape,
                      enum nn_dtype dtype, enum nn_layout layout,
                      enum nn_category cat, struct nn_tensor **out,
                      struct err *err)
{
    int rc = nn_tensor_new(out, tape->be, shape, dtype, layout, cat, err);

    if (rc == 0)
        rc = own(tape, *out, err);
    if (rc != 0)
        *out = NULL;
    return rc;
}

int nn_tape_tensor(struct nn_tape *tape, const struct nn_shape *shape,
                   enum nn_dtype dtype, enum nn_category cat,
                   struct nn_tensor **out, struct err *err)
{
    return new_tensor(tape, shape, dtype, NN_ROWS, cat, out, err);
}

int nn_tape_call(struct nn_tape *tape, struct nn_call *call, struct err *err)
{
    int rc, i;

    if (!call->layer)
        call->layer = tape->layer;
    if (call->phase == NN_PHASE_NONE)
        call->phase = tape->phase;
    if (call->role == NN_ROLE_NONE)
        call->role = tape->role;
    rc = reserve(&tape->call, tape->n_call, &tape->cap_call, sizeof *tape->call,
                 err);
    if (rc == 0)
        rc = tape->be->prof ? nn_traced_first(tape->be, call, err)
                            : nn_backend_run(tape->be, call, err);
    if (rc != 0)
        return rc;
    tape->call[tape->n_call++] = *call;
    for (i = 0; i < call->n_out; i++)
        call->out[i]->st->version++;
    return 0;
}

int nn_tape_add_node(struct nn_tape *tape, const struct nn_call *call,
                     struct nn_node **out, struct err *err)
{
    struct nn_node *node;
    int rc, i;

    rc = reserve(&tape->node, tape->n_node, &tape->cap_node, sizeof *tape->node,
                 err);
    if (rc != 0)
        return rc;
    node = mem_zalloc(sizeof *node);
    if (!node)
        return err_set(err, ERR_NOMEM, "out of memory for a tape");
    node->call = *call;
    for (i = 0; i < call->n_in; i++)
        node->version_in[i] = call->in[i]->st->version;
    for (i = 0; i < call->n_out; i++)
        node->version_out[i] = call->out[i]->st->version;
    tape->node[tape->n_node++] = *out = node;
    call->out[0]->node = node;
    call->out[0]->requires_grad = true;
    return 0;
}

bool nn_tape_wants_grad(const struct nn_tape *tape, struct nn_tensor *const *in,
                        int n_in)
{
    int i;

    for (i = 0; i < n_in; i++)
        if (in[i]->requires_grad)
            return tape->grad_enabled;
    return false;
}

/* A view, or the tensor that it is a view of, after the other one was changed
 * in place: its numbers are new, its history is old. */
int nn_tape_check_history(const struct nn_tape *tape, const struct nn_tensor *x,
                          struct err *err)
{
    if (!tape->grad_enabled || !x->requires_grad || !x->node ||
        x->node->version_out[0] >= x->st->rebased)
        return 0;
    return err_set(err, ERR_SHAPE,
                   "a tensor that shares this one's memory was changed in "
                   "place since; take the view anew");
}

int nn_tape_apply(struct nn_tape *tape, enum nn_op_id id,
                  struct nn_tensor *const *in, int n_in,
                  const union nn_attrs *attrs, struct nn_tensor **out,
                  struct err *err)
{
    const struct nn_op *op = nn_op_get(id);
    struct nn_call call = {.op = id, .n_in = n_in, .n_out = 1};
    struct nn_node *node;
    struct nn_shape shape;
    enum nn_dtype dtype;
    int rc, i;

    if (n_in < op->min_in || n_in > op->max_in || !op->shape)
        return err_set(err, ERR_SHAPE, "%s takes %d to %d tensors, not %d",
                       nn_op_name(id), op->min_in, op->max_in, n_in);
    memcpy(call.in, in, (size_t)n_in * sizeof *in);
    *out = NULL; /* out may be in: x = op(x) */
    if (attrs)
        call.attrs = *attrs;
    rc = op->shape(&call, &shape, &dtype, err);
    for (i = 0; rc == 0 && i < n_in; i++)
        rc = nn_tape_check_history(tape, call.in[i], err);
    if (rc == 0)
        rc =
            nn_tape_tensor(tape, &shape, dtype,
                           tape->phase == NN_PHASE_BACKWARD ? NN_CAT_TEMPORARY
                                                            : NN_CAT_ACTIVATION,
                           &call.out[0], err);
    if (rc == 0)
        rc = nn_tape_call(tape, &call, err);
    if (rc == 0 && op->backward && nn_tape_wants_grad(tape, call.in, n_in))
        rc = nn_tape_add_node(tape, &call, &node, err);
    if (rc == 0)
        *out = call.out[0];
    return rc;
}

/* A tape-owned view of x's memory. */
static int view_of(struct nn_tape *tape, const struct nn_tensor *x,
                   size_t offset, const struct nn_shape *shape,
                   struct nn_tensor **out, struct err *err)
{
    int rc = nn_tensor_view(out, x->st, x->offset + offset, shape, x->dtype,
                            x->layout, err);

    if (rc == 0)
        rc = own(tape, *out, err);
    if (rc != 0)
        *out = NULL;
    return rc;
}

int nn_tape_reshape(struct nn_tape *tape, struct nn_tensor *x,
                    const struct nn_shape *shape, struct nn_tensor **out,
                    struct err *err)
{
    struct nn_call call = {.op = NN_OP_RESHAPE, .n_in = 1, .n_out = 1};
    struct nn_node *node;
    char a[96], b[96];
    int rc;

    *out = NULL;
    if (nn_shape_numel(shape) != nn_tensor_numel(x) || x->layout != NN_ROWS)
        return err_set(err, ERR_SHAPE, "cannot reshape %s to %s",
                       nn_shape_text(&x->shape, a, sizeof a),
                       nn_shape_text(shape, b, sizeof b));
    rc = nn_tape_check_history(tape, x, err);
    if (rc == 0)
        rc = view_of(tape, x, 0, shape, out, err);
    if (rc != 0 || !nn_tape_wants_grad(tape, &x, 1))
        return rc;
    call.in[0] = x;
    call.out[0] = *out;
    rc = nn_tape_add_node(tape, &call, &node, err);
    if (rc != 0)
        *out = NULL;
    else
        node->view = true;
    return rc;
}

int nn_tape_weight(struct nn_tape *tape, struct nn_tensor *x,
                   struct nn_tensor **out, struct err *err)
{
    struct nn_call call = {.op = NN_OP_COPY, .n_in = 1, .n_out = 1, .in = {x}};
    struct nn_node *node;
    int rc;

    *out = NULL;
    rc = nn_tape_check_history(tape, x, err);
    if (rc == 0)
        rc = new_tensor(tape, &x->shape, x->dtype, NN_WEIGHT, NN_CAT_TEMPORARY,
                        &call.out[0], err);
    if (rc == 0)
        rc = nn_tape_call(tape, &call, err);
    if (rc == 0 && nn_tape_wants_grad(tape, &x, 1))
        rc = nn_tape_add_node(tape, &call, &node, err);
    if (rc == 0)
        *out = call.out[0];
    return rc;
}

int nn_tape_rows(struct nn_tape *tape, const struct nn_tensor *x, int64_t first,
                 int64_t n, struct nn_tensor **out, struct err *err)
{
    struct nn_shape shape = x->shape;
    int64_t row;

    *out = NULL;
    if (shape.ndim < 1 || first < 0 || n < 0 || first > shape.dim[0] - n)
        return err_set(err, ERR_SHAPE,
                       "rows %lld to %lld are not in the tensor",
                       (long long)first, (long long)(first + n));
    row = shape.dim[0] ? nn_tensor_numel(x) / shape.dim[0] : 0;
    shape.dim[0] = n;
    return view_of(tape, x, (size_t)(first * row) * nn_dtype_size(x->dtype),
                   &shape, out, err);
}

int nn_tape_detach(struct nn_tape *tape, const struct nn_tensor *x,
                   struct nn_tensor **out, struct err *err)
{
    return view_of(tape, x, 0, &x->shape, out, err);
}

int nn_tensor_require_grad(struct nn_tensor *t, struct err *err)
{
    int rc;

    if (t->node)
        return err_set(err, ERR_SHAPE,
                       "only a leaf can be told to require a "
                       "gradient; this tensor was computed");
    if (t->dtype != NN_F32 && t->dtype != NN_F64)
        return err_set(err, ERR_SHAPE,
                       "only float tensors have gradients, not "
                       "%s",
                       nn_dtype_name(t->dtype));
    rc = nn_tensor_new(&t->grad, t->st->be, &t->shape, t->dtype, t->layout,
                       NN_CAT_GRADIENT, err);
    t->requires_grad = rc == 0;
    return rc;
}

int nn_tape_grad_target(struct nn_tape *tape, struct nn_tensor *x,
                        struct nn_tensor **out, struct err *err)
{
    if (!x->node && x->grad && !x->grad_ready) {
        *out = x->grad;
        return 0;
    }
    return new_tensor(tape, &x->shape, x->dtype, x->layout, NN_CAT_TEMPORARY,
                      out, err);
}

/* Puts grad into the leaf's own memory, or adds it to what is there. */
static int leaf_grad_add(struct nn_tape *tape, struct nn_tensor *x,
                         struct nn_tensor *grad, struct err *err)
{
    struct nn_call call = {.n_in = 1, .n_out = 1};

    if (!x->grad)
        return err_set(err, ERR_SHAPE, "a leaf has no memory for its gradient");
    if (grad == x->grad) {
        x->grad_ready = true;
        return 0;
    }
    call.op = x->grad_ready ? NN_OP_ADD_INTO : NN_OP_COPY;
    call.in[0] = grad;
    call.out[0] = x->grad;
    x->grad_ready = true;
    return nn_tape_call(tape, &call, err);
}

int nn_tape_grad_add(struct nn_tape *tape, struct nn_tensor *x,
                     struct nn_tensor *grad, struct err *err)
{
    struct nn_tensor *in[2];

    if (!x->requires_grad)
        return 0;
    if (!x->node)
        return leaf_grad_add(tape, x, grad, err);
    if (!x->grad_ready) {
        x->grad = grad;
        x->grad_ready = true;
        return 0;
    }
    /* grad may be shared with another tensor: never added to in place. */
    in[0] = x->grad;
    in[1] = grad;
    return nn_tape_apply(tape, NN_OP_ADD, in, 2, NULL, &x->grad, err);
}

/* True if the node's saved values are as the forward pass left them. */
static int check_saved(const struct nn_node *n, struct err *err)
{
    const struct nn_op *op = nn_op_get(n->call.op);
    const char *name = n->custom ? n->custom->name : nn_op_name(n->call.op);
    int i;

    if (n->freed)
        return err_set(err, ERR_SHAPE,
                       "backward through the same graph a second time: the "
                       "first one freed what %s had saved; use retain_graph "
                       "the first time",
                       name);
    if (n->view)
        return 0;
    for (i = 0; i < n->call.n_in; i++)
        if (nn_op_reads_input(&n->call, i) &&
            n->call.in[i]->st->version != n->version_in[i])
            return err_set(err, ERR_SHAPE,
                           "input %d of %s was changed in place after it was "
                           "used; backward needs its old value",
                           i, name);
    if ((op->saves & NN_SAVES_OUT) &&
        n->call.out[0]->st->version != n->version_out[0])
        return err_set(err, ERR_SHAPE,
                       "the result of %s was changed in place; backward needs "
                       "its old value",
                       name);
    return 0;
}

static int node_backward(struct nn_tape *tape, struct nn_node *n,
                         struct err *err)
{
    struct nn_tensor *grad = n->call.out[0]->grad;
    struct nn_tensor *view;
    int rc = check_saved(n, err);

    if (rc != 0)
        return rc;
    if (n->view) {
        rc = view_of(tape, grad, 0, &n->call.in[0]->shape, &view, err);
        return rc != 0 ? rc : nn_tape_grad_add(tape, n->call.in[0], view, err);
    }
    tape->layer = n->call.layer;
    if (n->custom)
        return nn_custom_backward(tape, n, grad, err);
    return nn_op_get(n->call.op)->backward(tape, n, grad, err);
}

/* Walks the nodes from the last to the first: a node's output is used only by
 * later ones, so its gradient is complete when its turn comes. */
static int walk(struct nn_tape *tape, size_t n_node, bool retain,
                struct err *err)
{
    size_t i;
    int rc = 0;

    for (i = n_node; rc == 0 && i-- > 0;) {
        struct nn_node *n = tape->node[i];
        struct nn_tensor *out = n->call.out[0];

        if (!out->grad_ready)
            continue;
        rc = node_backward(tape, n, err);
        if (!retain) {
            n->freed = true;
            nn_custom_release(n);
        }
        out->grad_ready = false; /* the next backward starts anew */
    }
    return rc;
}

/* What a walk that failed left half-way must not count in the next one. */
static void drop_grads(struct nn_tape *tape)
{
    size_t i;

    for (i = 0; i < tape->n_node; i++)
        tape->node[i]->call.out[0]->grad_ready = false;
}

int nn_tape_backward_from(struct nn_tape *tape, struct nn_tensor *root,
                          struct nn_tensor *grad, bool retain_graph,
                          struct err *err)
{
    bool enabled = tape->grad_enabled;
    const char *layer = tape->layer;
    int rc;

    if (!root->requires_grad)
        return err_set(err, ERR_SHAPE,
                       "backward from a tensor that does not "
                       "require a gradient");
    if (!nn_shape_eq(&root->shape, &grad->shape))
        return err_set(err, ERR_SHAPE,
                       "the gradient given to backward has "
                       "another shape than its tensor");
    tape->grad_enabled = false;
    rc = nn_tape_grad_add(tape, root, grad, err);
    if (rc == 0)
        rc = walk(tape, tape->n_node, retain_graph, err);
    if (rc != 0)
        drop_grads(tape);
    tape->grad_enabled = enabled;
    tape->layer = layer;
    return rc;
}

int nn_tape_backward(struct nn_tape *tape, struct nn_tensor *root,
                     bool retain_graph, struct err *err)
{
    struct nn_call fill = {.op = NN_OP_FILL, .n_out = 1};
    char text[96];
    int rc;

    if (nn_tensor_numel(root) != 1)
        return err_set(err, ERR_SHAPE,
                       "backward starts at a scalar, not at shape %s",
                       nn_shape_text(&root->shape, text, sizeof text));
    rc = nn_tape_tensor(tape, &root->shape, root->dtype, NN_CAT_TEMPORARY,
                        &fill.out[0], err);
    if (rc != 0)
        return rc;
    fill.attrs.scalar = 1.0;
    fill.layer = "";
    rc = nn_tape_call(tape, &fill, err);
    if (rc != 0)
        return rc;
    return nn_tape_backward_from(tape, root, fill.out[0], retain_graph, err);
}
