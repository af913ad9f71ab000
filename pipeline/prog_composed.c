/* Functions that are composed of several operators. All of it goes over the
 * tape, so that a recorded step can hold them too. */
#include <float.h>

#include "pipeline/prog_ops.h"

/* ---- helpers ---- */

static int unary(struct prog_run *r, enum nn_op_id op, struct nn_tensor **x,
                 struct err *err)
{
    return nn_tape_apply(r->tape, op, x, 1, NULL, x, err);
}

static int pair(struct prog_run *r, enum nn_op_id op, struct nn_tensor *a,
                struct nn_tensor *b, struct nn_tensor **out, struct err *err)
{
    struct nn_tensor *in[2] = {a, b};

    return nn_tape_apply(r->tape, op, in, 2, NULL, out, err);
}

/* A tensor of v alone. */
static int filled(struct prog_run *r, enum nn_dtype dtype,
                  const struct nn_shape *shape, double v,
                  struct nn_tensor **out, struct err *err)
{
    struct nn_call call = {.op = NN_OP_FILL, .n_out = 1, .attrs.scalar = v};
    int rc = nn_tape_tensor(r->tape, shape, dtype, NN_CAT_TEMPORARY,
                            &call.out[0], err);

    *out = call.out[0];
    return rc != 0 ? rc : nn_tape_call(r->tape, &call, err);
}

static int number(struct prog_run *r, enum nn_dtype dtype, double v,
                  struct nn_tensor **out, struct err *err)
{
    const struct nn_shape none = nn_shape0();

    return filled(r, dtype, &none, v, out, err);
}

/* What the gradient rule op of an operator makes of 1 at x; itself it has no
 * gradient. */
static int gradient_of_one(struct prog_run *r, enum nn_op_id op,
                           struct nn_tensor *x, struct nn_tensor **out,
                           struct err *err)
{
    struct nn_tensor *one;
    int rc = filled(r, x->dtype, &x->shape, 1.0, &one, err);

    return rc != 0 ? rc : pair(r, op, one, x, out, err);
}

/* ---- marks ---- */

/* |x|' is 1, -1 or 0, and NaN at NaN. */
PROG_APPLY(sign)
{
    return gradient_of_one(r, NN_OP_ABS_GRAD, c->in[0]->t, &c->out, err);
}

PROG_APPLY(step)
{
    int rc = prog_apply_sign(r, c, err);

    return rc != 0 ? rc : unary(r, NN_OP_RELU, &c->out, err);
}

/* 0 x is NaN unless x is finite, and relu' takes NaN, but not 0, for positive.
 */
PROG_APPLY(isfinite)
{
    struct nn_tensor *zero, *one, *t = NULL;
    int rc = nn_tape_detach(r->tape, c->in[0]->t, &t, err);

    if (rc == 0)
        rc = number(r, t->dtype, 0.0, &zero, err);
    if (rc == 0)
        rc = pair(r, NN_OP_MUL, t, zero, &t, err);
    if (rc == 0)
        rc = gradient_of_one(r, NN_OP_RELU_GRAD, t, &t, err);
    if (rc == 0)
        rc = number(r, t->dtype, 1.0, &one, err);
    return rc != 0 ? rc : pair(r, NN_OP_SUB, one, t, &c->out, err);
}

/* ---- one_hot ---- */

enum { MAX_CLASSES = 4096 }; /* a table of their square is made */

static int class_count(const struct prog_call *c, int64_t *out, struct err *err)
{
    const struct nn_tensor *x = c->in[1]->t;
    double v = c->in[1]->number;

    if (c->in[1]->kind == PROG_V_NUMBER) {
        *out = v >= 1 && v <= MAX_CLASSES ? (int64_t)v : 0;
        if (*out > 0 && !(v > (double)*out))
            return 0;
        return err_set(err, ERR_SHAPE,
                       "one_hot takes a whole number of classes from 1 to %d, "
                       "not %g",
                       MAX_CLASSES, v);
    }
    if (x->shape.ndim < 1)
        return err_set(err, ERR_SHAPE,
                       "one_hot is as wide as the last dimension of its second "
                       "argument, which has none");
    *out = x->shape.dim[x->shape.ndim - 1];
    if (*out >= 1 && *out <= MAX_CLASSES)
        return 0;
    return err_set(err, ERR_SHAPE, "one_hot takes 1 to %d classes, not %lld",
                   MAX_CLASSES, (long long)*out);
}

static int identity(struct prog_run *r, int64_t n, enum nn_dtype dtype,
                    struct nn_tensor **out, struct err *err)
{
    struct nn_shape s = nn_shape2(n, n);
    double *v = arena_array(r->arena, (size_t)(n * n), sizeof *v);
    int64_t i;
    int rc;

    if (!v)
        return err_set(err, ERR_NOMEM, "out of memory for a program");
    for (i = 0; i < n; i++)
        v[i * n + i] = 1.0;
    rc = nn_tape_tensor(r->tape, &s, dtype, NN_CAT_TEMPORARY, out, err);
    return rc != 0 ? rc : prog_set_numbers(*out, v, err);
}

/* Classes that are numbers of the program, not of a batch, are looked at here,
 * for the words of the message. */
static int check_classes(struct prog_run *r, const struct nn_tensor *t,
                         int64_t n, struct err *err)
{
    const double *v;
    int64_t i;

    if (t->dtype == NN_I32)
        return 0;
    v = prog_numbers(t, r->arena, err);
    if (!v)
        return ERR_NOMEM;
    for (i = 0; i < nn_tensor_numel(t); i++)
        if (v[i] < 0 || v[i] >= (double)n)
            return err_set(err, ERR_SHAPE,
                           "label %g of row %lld is outside 0 to %lld", v[i],
                           (long long)i, (long long)n - 1);
    return 0;
}

/* Rows of the identity, looked up by class. */
PROG_APPLY(one_hot)
{
    struct nn_tensor *t = c->in[0]->t, *in[2];
    enum nn_dtype dtype = c->in[1]->t->dtype;
    int64_t n = 0;
    int rc = class_count(c, &n, err);

    if (rc == 0 && t->shape.ndim >= NN_MAX_DIMS)
        rc = err_set(err, ERR_SHAPE, "a tensor has at most %d dimensions",
                     NN_MAX_DIMS);
    if (rc == 0)
        rc = prog_as_index(r, t, &in[1], err);
    if (rc == 0)
        rc = check_classes(r, t, n, err);
    if (rc == 0)
        rc = identity(r, n, dtype == NN_I32 ? NN_F32 : dtype, &in[0], err);
    if (rc != 0)
        return rc;
    return nn_tape_apply(r->tape, NN_OP_EMBEDDING, in, 2, NULL, &c->out, err);
}

/* ---- logsumexp ---- */

/* The largest along axis, of x's rank and without gradient, brought into the
 * finite range: x less it is then never NaN for an infinite x. */
static int largest(struct prog_run *r, struct nn_tensor *x, int axis,
                   struct nn_tensor **out, struct err *err)
{
    union nn_attrs attrs = {.reduce = {axis}};
    struct nn_shape kept = x->shape;
    struct nn_tensor *least;
    double most = x->dtype == NN_F32 ? (double)FLT_MAX : DBL_MAX;
    int rc = nn_tape_detach(r->tape, x, out, err), i;

    for (i = 0; i < kept.ndim; i++)
        if (axis == NN_AXIS_ALL || i == axis)
            kept.dim[i] = 1;
    if (rc == 0)
        rc = nn_tape_apply(r->tape, NN_OP_MAX, out, 1, &attrs, out, err);
    if (rc == 0)
        rc = nn_tape_reshape(r->tape, *out, &kept, out, err);
    if (rc == 0)
        rc = number(r, x->dtype, -most, &least, err);
    for (i = 0; rc == 0 && i < 2; i++) { /* from above, then from below */
        rc = unary(r, NN_OP_NEG, out, err);
        if (rc == 0)
            rc = pair(r, NN_OP_MAXIMUM, *out, least, out, err);
    }
    return rc;
}

/* log(sum(exp(x - m))) + m with m the largest. */
static int logsumexp(struct prog_run *r, struct nn_tensor *x, int axis,
                     struct nn_tensor **out, struct err *err)
{
    union nn_attrs attrs = {.reduce = {axis}};
    struct nn_tensor *m, *t;
    int rc = largest(r, x, axis, &m, err);

    if (rc == 0)
        rc = pair(r, NN_OP_SUB, x, m, &t, err);
    if (rc == 0)
        rc = unary(r, NN_OP_EXP, &t, err);
    if (rc == 0)
        rc = nn_tape_apply(r->tape, NN_OP_SUM, &t, 1, &attrs, &t, err);
    if (rc == 0)
        rc = unary(r, NN_OP_LOG, &t, err);
    if (rc == 0)
        rc = nn_tape_reshape(r->tape, m, &t->shape, &m, err);
    return rc != 0 ? rc : pair(r, NN_OP_ADD, t, m, out, err);
}

PROG_APPLY(logsumexp)
{
    struct nn_tensor *x = c->in[0]->t;
    struct nn_shape kept = x->shape;
    int axis = NN_AXIS_ALL, rc = 0, i;

    c->rule = "y = logsumexp(x); dx = expand(g) * exp(x - expand(y))";
    if (c->given[0])
        rc = prog_call_axis(c, 0, x->shape.ndim, &axis, err);
    if (rc == 0 && nn_tensor_numel(x) == 0)
        rc = err_set(err, ERR_SHAPE, "logsumexp of an empty tensor");
    if (rc == 0)
        rc = logsumexp(r, x, axis, &c->out, err);
    if (rc != 0 || !c->given[1] || !(c->param[1] > 0))
        return rc;
    for (i = 0; i < kept.ndim; i++)
        if (axis == NN_AXIS_ALL || i == axis)
            kept.dim[i] = 1;
    return nn_tape_reshape(r->tape, c->out, &kept, &c->out, err);
}
