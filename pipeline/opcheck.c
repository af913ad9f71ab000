#include "pipeline/opcheck.h"

#include <math.h>
#include <string.h>

#include "nn/base/mem.h"

/* One run of a case: its input tensors, result and gradients as doubles. */
struct trial {
    struct nn_backend *be;
    const struct pl_ref_case *c;
    struct nn_opcase op;
    enum nn_dtype dtype;
    struct nn_tensor *in[NN_MAX_IN];
    double *out, *grad[NN_MAX_IN];
    struct nn_shape out_shape;
};

static int set_floats(struct nn_tensor *t, const double *data, struct err *err)
{
    int64_t n = nn_tensor_numel(t), i;
    float *v;
    int rc;

    if (t->dtype == NN_F64)
        return nn_tensor_set(t, data, err);
    v = mem_array((size_t)n, sizeof *v);
    if (!v)
        return err_set(err, ERR_NOMEM, "out of memory for a check");
    for (i = 0; i < n; i++)
        v[i] = (float)data[i];
    rc = nn_tensor_set(t, v, err);
    mem_free(v);
    return rc;
}

static int get_floats(const struct nn_tensor *t, double **out, struct err *err)
{
    int64_t n = nn_tensor_numel(t), i;
    float *v;
    int rc;

    *out = mem_array((size_t)n, sizeof **out);
    if (!*out)
        return err_set(err, ERR_NOMEM, "out of memory for a check");
    if (t->dtype == NN_F64)
        return nn_tensor_get(t, *out, err);
    v = mem_array((size_t)n, sizeof *v);
    if (!v)
        return err_set(err, ERR_NOMEM, "out of memory for a check");
    rc = nn_tensor_get(t, v, err);
    for (i = 0; rc == 0 && i < n; i++)
        (*out)[i] = (double)v[i];
    mem_free(v);
    return rc;
}

static int set_indices(struct nn_tensor *t, const double *data, struct err *err)
{
    int64_t n = nn_tensor_numel(t), i;
    int32_t *v = mem_array((size_t)n, sizeof *v);
    int rc;

    if (!v)
        return err_set(err, ERR_NOMEM, "out of memory for a check");
    for (i = 0; i < n; i++)
        v[i] = (int32_t)data[i];
    rc = nn_tensor_set(t, v, err);
    mem_free(v);
    return rc;
}

/* Makes the input tensors; those with a reference gradient, or all floats
 * where there is no reference, are leaves that want theirs. */
static int make_inputs(struct trial *t, struct err *err)
{
    int rc = 0, i;

    for (i = 0; rc == 0 && i < t->c->n_in; i++) {
        const struct pl_ref_tensor *r = &t->c->in[i];
        bool index = nn_opcase_is_index(t->op.op, i);
        enum nn_layout layout =
            nn_opcase_is_weight(t->op.op, i) ? NN_WEIGHT : NN_ROWS;

        rc =
            nn_tensor_new(&t->in[i], t->be, &r->shape,
                          index ? NN_I32 : t->dtype, layout, NN_CAT_INPUT, err);
        if (rc == 0)
            rc = index ? set_indices(t->in[i], r->data, err)
                       : set_floats(t->in[i], r->data, err);
        if (rc == 0 && r->grad)
            rc = nn_tensor_require_grad(t->in[i], err);
    }
    return rc;
}

static void end_trial(struct trial *t)
{
    int i;

    for (i = 0; i < NN_MAX_IN; i++) {
        if (t->in[i])
            nn_tensor_free(t->in[i]->grad);
        nn_tensor_free(t->in[i]);
        mem_free(t->grad[i]);
    }
    mem_free(t->out);
}

static int apply(void *user, struct nn_tape *tape, struct nn_tensor *const *in,
                 struct nn_tensor **out, struct err *err)
{
    const struct trial *t = user;

    return nn_opcase_apply(&t->op, tape, in, out, err);
}

static int trial_backward(struct trial *t, struct nn_tape *tape,
                          struct nn_tensor *out, struct err *err)
{
    struct nn_tensor *grad;
    int rc, i;

    rc = nn_tape_tensor(tape, &out->shape, t->dtype, NN_CAT_TEMPORARY, &grad,
                        err);
    if (rc == 0)
        rc = set_floats(grad, t->c->grad_out, err);
    if (rc == 0)
        rc = nn_tape_backward_from(tape, out, grad, false, err);
    for (i = 0; rc == 0 && i < t->c->n_in; i++)
        if (t->in[i] && t->in[i]->requires_grad && t->in[i]->grad_ready)
            rc = get_floats(t->in[i]->grad, &t->grad[i], err);
    return rc;
}

/* Forward and backward once in t->dtype and t->op's form. */
static int run_trial(struct trial *t, struct err *err)
{
    struct nn_tensor *out;
    struct nn_tape *tape;
    int rc = make_inputs(t, err);

    if (rc == 0)
        rc = nn_tape_new(&tape, t->be, err);
    if (rc != 0)
        return rc;
    rc = apply(t, tape, t->in, &out, err);
    if (rc == 0) {
        t->out_shape = out->shape;
        rc = get_floats(out, &t->out, err);
    }
    if (rc == 0 && t->c->grad_out)
        rc = trial_backward(t, tape, out, err);
    nn_tape_free(tape);
    return rc;
}

/* NaN is close to nothing. */
static void compare(struct pl_compared *r, const double *a, const double *b,
                    int64_t n, double rtol, double atol)
{
    int64_t i;

    for (i = 0; i < n; i++) {
        double e = a ? fabs(a[i] - b[i]) : HUGE_VAL;

        if (!(e <= atol + rtol * fabs(b[i])))
            r->close = false;
        if (e > r->max_error || isnan(e))
            r->max_error = e;
    }
}

static void compare_reference(struct pl_compared *r, const struct trial *t,
                              double rtol, double atol)
{
    const struct pl_ref_case *c = t->c;
    int i;

    r->made = true;
    r->close = nn_shape_eq(&t->out_shape, &c->out.shape);
    if (!r->close)
        return;
    compare(r, t->out, c->out.data, nn_shape_numel(&c->out.shape), rtol, atol);
    for (i = 0; i < c->n_in; i++)
        if (c->in[i].grad)
            compare(r, t->grad[i], c->in[i].grad,
                    nn_shape_numel(&c->in[i].shape), rtol, atol);
}

static int check_reference(struct pl_compared *r, struct nn_backend *be,
                           const struct pl_ref_case *c, enum nn_dtype dtype,
                           const struct pl_opcheck_opts *o, struct err *err)
{
    struct trial t = {.be = be, .c = c, .op = c->op, .dtype = dtype};
    int rc = run_trial(&t, err);

    if (rc == 0 && dtype == NN_F64)
        compare_reference(r, &t, o->rtol, o->atol);
    else if (rc == 0)
        compare_reference(r, &t, o->rtol32, o->atol32);
    end_trial(&t);
    return rc;
}

/* The other way to write c, if there is one: *tol is what may differ. */
static bool other_form(const struct pl_ref_case *c, struct nn_opcase *other,
                       enum nn_dtype *dtype, double *tol)
{
    *other = c->op;
    *dtype = NN_F32;
    *tol = 0.0; /* a fused activation gives the same bits */
    if (strcmp(c->op.op, "linear") == 0 && c->op.act != NN_ACT_NONE) {
        other->unfused = true;
        return true;
    }
    if (strcmp(c->op.op, "cross_entropy") == 0 &&
        c->op.label_smoothing == 0.0) {
        other->composed = true; /* rounded elsewhere: close, in float64 */
        *dtype = NN_F64;
        *tol = 1e-12;
        return true;
    }
    return false;
}

static int check_forms(struct pl_compared *r, struct nn_backend *be,
                       const struct pl_ref_case *c, struct err *err)
{
    struct trial a = {.be = be, .c = c, .op = c->op}, b = a;
    double tol;
    int rc, i;

    if (!other_form(c, &b.op, &a.dtype, &tol))
        return 0;
    b.dtype = a.dtype;
    rc = run_trial(&a, err);
    if (rc == 0)
        rc = run_trial(&b, err);
    if (rc == 0) {
        r->made = true;
        r->close = nn_shape_eq(&a.out_shape, &b.out_shape);
        if (r->close)
            compare(r, a.out, b.out, nn_shape_numel(&a.out_shape), tol, tol);
        for (i = 0; i < c->n_in; i++)
            if (c->in[i].grad && b.grad[i])
                compare(r, a.grad[i], b.grad[i],
                        nn_shape_numel(&c->in[i].shape), tol, tol);
    }
    end_trial(&a);
    end_trial(&b);
    return rc;
}

/* How far element i of the first input goes so as not to lie on a kink: those
 * of relu and abs are at 0, that of maximum where its operands are equal, and
 * max's where two numbers are. */
static double step_off(const struct trial *t, double x, int64_t i)
{
    const struct pl_ref_tensor *in = t->c->in;

    if (strcmp(t->op.op, "max") == 0)
        return 1e-3 * (double)i;
    if (strcmp(t->op.op, "maximum") == 0) {
        if (!nn_shape_eq(&in[0].shape, &in[1].shape))
            return 0.0;
        x -= in[1].data[i];
    } else if (strcmp(t->op.op, "relu") != 0 && strcmp(t->op.op, "abs") != 0)
        return 0.0;
    return fabs(x) < 0.01 ? 0.1 : 0.0;
}

/* Moves inputs off a kink: there the two sides differ, and a central
 * difference says nothing. */
static int step_round_kinks(struct trial *t, struct err *err)
{
    int64_t n = nn_tensor_numel(t->in[0]), i;
    double *v;
    int rc;

    v = mem_array((size_t)n, sizeof *v);
    if (!v)
        return err_set(err, ERR_NOMEM, "out of memory for a check");
    rc = nn_tensor_get(t->in[0], v, err);
    for (i = 0; i < n; i++)
        v[i] += step_off(t, v[i], i);
    if (rc == 0)
        rc = nn_tensor_set(t->in[0], v, err);
    mem_free(v);
    return rc;
}

static int check_gradient(struct pl_opcheck *out, struct nn_backend *be,
                          const struct pl_ref_case *c,
                          const struct pl_opcheck_opts *o, struct err *err)
{
    struct trial t = {.be = be, .c = c, .op = c->op, .dtype = NN_F64};
    int rc = make_inputs(&t, err);

    if (rc == 0)
        rc = step_round_kinks(&t, err);
    if (rc == 0) {
        struct nn_gradcheck what = {t.in, c->n_in, apply, &t, o->eps, o->seed};

        rc = nn_gradcheck(&out->grad, be, &what, err);
    }
    out->grad_ok = rc == 0 && out->grad.checked > 0 &&
                   out->grad.max_error <= o->gradcheck_tolerance;
    end_trial(&t);
    return rc;
}

int pl_opcheck_run(struct pl_opcheck *out, struct nn_backend *be,
                   const struct pl_ref_case *c,
                   const struct pl_opcheck_opts *opts, struct err *err)
{
    int rc;

    memset(out, 0, sizeof *out);
    rc = check_gradient(out, be, c, opts, err);
    if (rc == 0 && c->out.data)
        rc = check_reference(&out->f64, be, c, NN_F64, opts, err);
    if (rc == 0 && c->out.data)
        rc = check_reference(&out->f32, be, c, NN_F32, opts, err);
    if (rc == 0)
        rc = check_forms(&out->forms, be, c, err);
    return rc;
}

bool pl_opcheck_passed(const struct pl_opcheck *o)
{
    return o->grad_ok && (!o->f64.made || o->f64.close) &&
           (!o->f32.made || o->f32.close) && (!o->forms.made || o->forms.close);
}
