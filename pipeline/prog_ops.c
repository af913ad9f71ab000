#include "pipeline/prog_ops.h"

#include <math.h>

/* ---- helpers ---- */

static int operands(struct prog_run *r, struct prog_call *c,
                    struct nn_tensor *in[PROG_MAX_IN], struct err *err)
{
    int i;

    (void)r;
    if (c->n_in > PROG_MAX_IN)
        return err_set(err, ERR_SHAPE, "%s takes at most %d tensors",
                       c->fn->name, PROG_MAX_IN);
    for (i = 0; i < c->n_in; i++)
        in[i] = c->in[i]->t;
    return 0;
}

static int run_op(struct prog_run *r, struct prog_call *c,
                  const union nn_attrs *attrs, struct err *err)
{
    struct nn_tensor *in[PROG_MAX_IN];
    int rc = operands(r, c, in, err);

    if (rc != 0)
        return rc;
    return nn_tape_apply(r->tape, c->fn->op, in, c->n_in, attrs, &c->out, err);
}

int prog_call_whole(const struct prog_call *c, int i, int64_t *out,
                    struct err *err)
{
    double v = c->param[i];

    if (!(fabs(v) <= 1e15) || v < floor(v) || v > floor(v))
        return err_set(err, ERR_SHAPE, "%s takes whole numbers, not %g",
                       c->fn->name, v);
    *out = (int64_t)v;
    return 0;
}

int prog_call_axis(const struct prog_call *c, int i, int ndim, int *out,
                   struct err *err)
{
    int64_t v;

    if (prog_call_whole(c, i, &v, err) != 0)
        return ERR_SHAPE;
    if (v < -ndim || v >= ndim)
        return err_set(err, ERR_SHAPE,
                       "%s: there is no dimension %lld in a tensor of %d",
                       c->fn->name, (long long)v, ndim);
    *out = (int)(v < 0 ? v + ndim : v);
    return 0;
}

/* ---- the functions ---- */

PROG_APPLY(plain)
{
    return run_op(r, c, NULL, err);
}

PROG_APPLY(pow)
{
    union nn_attrs attrs = {.scalar = c->param[0]};

    c->attr = c->param[0];
    c->attr_name = "p";
    return run_op(r, c, &attrs, err);
}

/* sum, mean, max: over one dimension (kept as 1 on request), or over all. */
PROG_APPLY(reduce)
{
    struct nn_tensor *x = c->in[0]->t;
    union nn_attrs attrs = {.reduce = {NN_AXIS_ALL}};
    struct nn_shape kept = x->shape;
    int64_t n = nn_tensor_numel(x), out;
    int rc = 0, i;

    if (c->given[0])
        rc = prog_call_axis(c, 0, x->shape.ndim, &attrs.reduce.axis, err);
    if (rc == 0 && n == 0 && c->fn->op != NN_OP_SUM)
        rc = err_set(err, ERR_SHAPE, "%s of an empty tensor", c->fn->name);
    if (rc == 0)
        rc = run_op(r, c, &attrs, err);
    if (rc != 0)
        return rc;
    out = nn_tensor_numel(c->out);
    n = out > 0 ? n / out : 0;
    c->attr = (double)n;
    c->attr_name = "n";
    if (!c->given[1] || !(c->param[1] > 0))
        return 0;
    for (i = 0; i < kept.ndim; i++)
        if (attrs.reduce.axis == NN_AXIS_ALL || i == attrs.reduce.axis)
            kept.dim[i] = 1;
    return nn_tape_reshape(r->tape, c->out, &kept, &c->out, err);
}

/* softmax and log_softmax know the last dimension alone. */
PROG_APPLY(rows)
{
    int ndim = c->in[0]->t->shape.ndim, axis = ndim - 1;
    int rc = c->given[0] ? prog_call_axis(c, 0, ndim, &axis, err) : 0;

    if (rc == 0 && axis != ndim - 1)
        rc = err_set(err, ERR_SHAPE, "%s works over the last dimension alone",
                     c->fn->name);
    return rc != 0 ? rc : run_op(r, c, NULL, err);
}

PROG_APPLY(dropout)
{
    union nn_attrs attrs = {.dropout = {.p = c->given[0] ? c->param[0] : 0.5}};
    int64_t seed = 0;

    if (!(attrs.dropout.p >= 0 && attrs.dropout.p < 1))
        return err_set(err, ERR_SHAPE,
                       "dropout takes p from 0 to below 1, not %g",
                       attrs.dropout.p);
    if (c->given[1] && prog_call_whole(c, 1, &seed, err) != 0)
        return ERR_SHAPE;
    attrs.dropout.seed = (uint64_t)seed;
    return run_op(r, c, &attrs, err);
}

int prog_as_index(struct prog_run *r, struct nn_tensor *t,
                  struct nn_tensor **out, struct err *err)
{
    int64_t n = nn_tensor_numel(t), i;
    double *v;
    int32_t *k;
    int rc;

    *out = t;
    if (t->dtype == NN_I32)
        return 0;
    if (r->borrowed)
        return err_set(err, ERR_SHAPE,
                       "class and row numbers of an operator must be its "
                       "target t");
    v = prog_numbers(t, r->arena, err);
    k = arena_array(r->arena, (size_t)n + 1, sizeof *k);
    if (!v || !k)
        return err_set(err, ERR_NOMEM, "out of memory for a program");
    for (i = 0; i < n; i++) {
        if (!(fabs(v[i]) < 2147483647.0) || v[i] < floor(v[i]) ||
            v[i] > floor(v[i]))
            return err_set(err, ERR_SHAPE, "%g is no class or row number",
                           v[i]);
        k[i] = (int32_t)v[i];
    }
    rc = nn_tape_tensor(r->tape, &t->shape, NN_I32, NN_CAT_INPUT, out, err);
    return rc != 0 ? rc : nn_tensor_set(*out, k, err);
}

/* cross_entropy, bce_with_logits, mse: the mean over samples or elements;
 * with per_sample each one's loss, of which no gradient is taken. */
PROG_APPLY(loss)
{
    union nn_attrs attrs = {.loss = {.scale = 1.0, .pos_weight = 1.0}};
    struct nn_tensor *in[PROG_MAX_IN], *x = c->in[0]->t;
    int64_t n = nn_tensor_numel(x);
    int rc = operands(r, c, in, err);

    if (c->fn->flags & PROG_FN_INDEX) {
        n = x->shape.ndim > 0 ? x->shape.dim[0] : 1;
        if (rc == 0)
            rc = prog_as_index(r, in[1], &in[1], err);
    }
    if (c->given[0])
        attrs.loss.label_smoothing = attrs.loss.pos_weight = c->param[0];
    if (c->fn->op == NN_OP_CROSS_ENTROPY)
        attrs.loss.pos_weight = 1.0;
    else
        attrs.loss.label_smoothing = 0.0;
    attrs.loss.per_sample = c->given[1] && c->param[1] != 0;
    if (rc == 0 && attrs.loss.per_sample && x->shape.ndim != 1)
        rc = err_set(err, ERR_SHAPE,
                     "per_sample takes logits of shape (B), not of %d "
                     "dimensions",
                     x->shape.ndim);
    if (rc == 0 && n == 0)
        rc = err_set(err, ERR_SHAPE, "%s of an empty tensor", c->fn->name);
    if (rc != 0)
        return rc;
    attrs.loss.scale = 1.0 / (double)n;
    c->attr = (double)n;
    c->attr_name = "n";
    return nn_tape_apply(r->tape, c->fn->op, in, c->n_in, &attrs, &c->out, err);
}

PROG_APPLY(reshape)
{
    struct nn_tensor *x = c->in[0]->t;
    struct nn_shape s = {.ndim = c->n_param}, known;
    int64_t n;
    int i, open = -1;

    for (i = 0; i < c->n_param; i++) {
        if (prog_call_whole(c, i, &s.dim[i], err) != 0)
            return ERR_SHAPE;
        if (s.dim[i] == -1 && open < 0)
            open = i;
        else if (s.dim[i] < 0)
            return err_set(err, ERR_SHAPE, "reshape: %lld is no length",
                           (long long)s.dim[i]);
    }
    known = s;
    if (open >= 0)
        known.dim[open] = 1;
    if (nn_shape_check(&known, err) != 0)
        return ERR_SHAPE;
    n = nn_shape_numel(&known);
    if (open >= 0 && n > 0 && nn_tensor_numel(x) % n == 0)
        s.dim[open] = nn_tensor_numel(x) / n;
    return nn_tape_reshape(r->tape, x, &s, &c->out, err);
}

/* Without an axis all dimensions of length 1 go. */
PROG_APPLY(squeeze)
{
    struct nn_tensor *x = c->in[0]->t;
    struct nn_shape s = nn_shape0();
    int axis = -1, rc = 0, i;

    if (c->given[0])
        rc = prog_call_axis(c, 0, x->shape.ndim, &axis, err);
    for (i = 0; i < x->shape.ndim; i++)
        if (x->shape.dim[i] != 1 || (c->given[0] && i != axis))
            s.dim[s.ndim++] = x->shape.dim[i];
    return rc != 0 ? rc : nn_tape_reshape(r->tape, x, &s, &c->out, err);
}

PROG_APPLY(unsqueeze)
{
    struct nn_tensor *x = c->in[0]->t;
    struct nn_shape s = {.ndim = x->shape.ndim + 1};
    int axis, i;

    if (s.ndim > NN_MAX_DIMS)
        return err_set(err, ERR_SHAPE, "a tensor has at most %d dimensions",
                       NN_MAX_DIMS);
    if (prog_call_axis(c, 0, s.ndim, &axis, err) != 0)
        return ERR_SHAPE;
    for (i = 0; i < s.ndim; i++)
        s.dim[i] = i == axis ? 1 : x->shape.dim[i - (i > axis)];
    return nn_tape_reshape(r->tape, x, &s, &c->out, err);
}

/* transpose(x): the last two dimensions; transpose(x, a, b): these. */
PROG_APPLY(transpose)
{
    int ndim = c->in[0]->t->shape.ndim;
    union nn_attrs attrs = {.transpose = {ndim - 2, ndim - 1}};
    int rc = 0;

    if (c->given[0] != c->given[1])
        return err_set(err, ERR_SHAPE,
                       "transpose takes two dimensions or "
                       "none");
    if (!c->given[0] && ndim < 2)
        return err_set(err, ERR_SHAPE,
                       "transpose takes a matrix, not %d "
                       "dimensions",
                       ndim);
    if (c->given[0]) {
        rc = prog_call_axis(c, 0, ndim, &attrs.transpose.a, err);
        if (rc == 0)
            rc = prog_call_axis(c, 1, ndim, &attrs.transpose.b, err);
    }
    return rc != 0 ? rc : run_op(r, c, &attrs, err);
}

/* slice(x, start, stop, dim=0); a negative place counts from behind, and what
 * lies outside is cut, as in Python. */
PROG_APPLY(slice)
{
    struct nn_shape *s = &c->in[0]->t->shape;
    union nn_attrs attrs = {.slice = {0, 0, 0}};
    int64_t at[2] = {0, INT64_C(1000000000000)}, n;
    int i;

    if (s->ndim < 1)
        return err_set(err, ERR_SHAPE,
                       "a tensor without dimensions has no "
                       "parts");
    if (c->given[2] &&
        prog_call_axis(c, 2, s->ndim, &attrs.slice.axis, err) != 0)
        return ERR_SHAPE;
    n = s->dim[attrs.slice.axis];
    for (i = 0; i < 2; i++) {
        if (c->given[i] && prog_call_whole(c, i, &at[i], err) != 0)
            return ERR_SHAPE;
        at[i] += at[i] < 0 ? n : 0;
        at[i] = at[i] < 0 ? 0 : at[i] > n ? n : at[i];
    }
    attrs.slice.start = at[0];
    attrs.slice.stop = at[1] > at[0] ? at[1] : at[0];
    return run_op(r, c, &attrs, err);
}

PROG_APPLY(cat)
{
    union nn_attrs attrs = {.cat = {0}};

    if (c->given[0] && prog_call_axis(c, 0, c->in[0]->t->shape.ndim,
                                      &attrs.cat.axis, err) != 0)
        return ERR_SHAPE;
    return run_op(r, c, &attrs, err);
}

PROG_APPLY(cast)
{
    union nn_attrs attrs = {.cast = {(enum nn_dtype)(int)c->param[0]}};

    return run_op(r, c, &attrs, err);
}

PROG_APPLY(embedding)
{
    struct nn_tensor *in[PROG_MAX_IN];
    int rc = operands(r, c, in, err);

    if (rc == 0)
        rc = prog_as_index(r, in[1], &in[1], err);
    if (rc != 0)
        return rc;
    return nn_tape_apply(r->tape, c->fn->op, in, 2, NULL, &c->out, err);
}

/* A vector is a row on the left and a column on the right, and that dimension
 * goes again from the result, as in PyTorch. */
PROG_APPLY(matmul)
{
    static const char *const rules[2][2] = {
        {"y = a @ b; da = g * b; db = g * a",
         "y = a @ b; da = b @ g; db = outer(a, g)"},
        {"y = a @ b; da = outer(g, b); db = transpose(a) @ g", NULL},
    };
    struct nn_tensor *in[2] = {c->in[0]->t, c->in[1]->t};
    struct nn_shape s = nn_shape0();
    int m = in[0]->shape.ndim, n = in[1]->shape.ndim, rc = 0;
    char a[96], b[96];

    if (m < 1 || m > 2 || n < 1 || n > 2 ||
        in[0]->shape.dim[m - 1] != in[1]->shape.dim[0])
        return err_set(err, ERR_SHAPE, "@ cannot multiply %s by %s",
                       nn_shape_text(&in[0]->shape, a, sizeof a),
                       nn_shape_text(&in[1]->shape, b, sizeof b));
    if (m == 2)
        s.dim[s.ndim++] = in[0]->shape.dim[0];
    if (n == 2)
        s.dim[s.ndim++] = in[1]->shape.dim[1];
    c->rule = rules[m - 1][n - 1];
    if (m == 1) {
        struct nn_shape row = nn_shape2(1, in[0]->shape.dim[0]);

        rc = nn_tape_reshape(r->tape, in[0], &row, &in[0], err);
    }
    if (rc == 0 && n == 1) {
        struct nn_shape column = nn_shape2(in[1]->shape.dim[0], 1);

        rc = nn_tape_reshape(r->tape, in[1], &column, &in[1], err);
    }
    if (rc == 0)
        rc = nn_tape_apply(r->tape, NN_OP_MATMUL, in, 2, NULL, &c->out, err);
    if (rc == 0 && s.ndim < 2)
        rc = nn_tape_reshape(r->tape, c->out, &s, &c->out, err);
    return rc;
}

/* x @ transpose(W) + b, as a layer does it; W is (out, in). */
PROG_APPLY(linear)
{
    union nn_attrs attrs = {.matmul = {false, true}};
    struct nn_tensor *in[PROG_MAX_IN];
    int rc = operands(r, c, in, err);

    if (rc == 0)
        rc = nn_tape_apply(r->tape, NN_OP_MATMUL, in, 2, &attrs, &c->out, err);
    if (rc != 0 || c->n_in < 3)
        return rc;
    in[0] = c->out;
    in[1] = in[2];
    return nn_tape_apply(r->tape, NN_OP_ADD, in, 2, NULL, &c->out, err);
}

PROG_APPLY(detach)
{
    return nn_tape_detach(r->tape, c->in[0]->t, &c->out, err);
}

PROG_APPLY(shares)
{
    (void)r;
    (void)err;
    c->truth = c->in[0]->t->st == c->in[1]->t->st;
    return 0;
}

PROG_APPLY(requires)
{
    (void)r;
    (void)err;
    c->truth = c->in[0]->t->requires_grad;
    return 0;
}

PROG_APPLY(is_leaf)
{
    (void)r;
    (void)err;
    c->truth = c->in[0]->t->node == NULL;
    return 0;
}

PROG_APPLY(has_grad)
{
    const struct nn_tensor *t = c->in[0]->t;

    (void)r;
    (void)err;
    c->truth = !t->node && t->grad_ready;
    return 0;
}

PROG_APPLY(backward)
{
    return prog_do_backward(r, c->in[0], c->given[0] && c->param[0] > 0, c->pos,
                            err);
}

PROG_APPLY(zero_grad)
{
    return prog_do_zero_grad(r, c->in, c->n_in, err);
}
