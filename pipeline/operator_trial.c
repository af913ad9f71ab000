#include "pipeline/operator_trial.h"

#include <math.h>
#include <string.h>

static int no_memory(struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory for a check");
}

static double *numbers(struct operator_trial *t, int64_t n)
{
    return arena_array(&t->arena, (size_t)n + 1, sizeof(double));
}

void operator_trial_end(struct operator_trial *t)
{
    int i;

    for (i = 0; i < PL_OPERATOR_IN; i++)
        nn_tensor_free(t->in[i]);
    arena_free(&t->arena);
}

/* ---- inputs ---- */

static bool is_class(const struct operator_trial *t, int i)
{
    return t->o->classes && !t->o->in[i].grad;
}

static int set_classes(struct operator_trial *t, int i, struct err *err)
{
    int64_t n = nn_shape_numel(&t->shape[i]), k;
    int32_t *v = arena_array(&t->arena, (size_t)n + 1, sizeof *v);

    if (!v)
        return no_memory(err);
    for (k = 0; k < n; k++)
        v[k] = (int32_t)t->data[i][k];
    return nn_tensor_set(t->in[i], v, err);
}

static int draw(struct operator_trial *t, int i, const float interval[2],
                struct rng_mt *gen, struct err *err)
{
    int64_t n = nn_shape_numel(&t->shape[i]), k;
    const struct nn_shape *x = &t->shape[0];
    float hi = is_class(t, i) ? (float)x->dim[x->ndim - 1] : 1.0F;
    bool target = !t->o->in[i].grad;
    int rc;

    t->data[i] = numbers(t, n);
    if (!t->data[i])
        return no_memory(err);
    for (k = 0; k < n; k++)
        t->data[i][k] =
            target ? (double)rng_mt_uniform(gen, 0.0F, hi)
                   : (double)rng_mt_uniform(gen, interval[0], interval[1]);
    rc = nn_tensor_new(&t->in[i], t->be, &t->shape[i],
                       is_class(t, i) ? NN_I32 : NN_F64, NN_ROWS, NN_CAT_INPUT,
                       err);
    if (rc != 0)
        return rc;
    return is_class(t, i) ? set_classes(t, i, err)
                          : nn_tensor_set(t->in[i], t->data[i], err);
}

int operator_trial_draw(struct operator_trial *t, const float interval[2],
                        struct rng_mt *gen, struct err *err)
{
    int rc = 0, i;

    for (i = 0; rc == 0 && i < t->o->n_in; i++)
        rc = draw(t, i, interval, gen, err);
    return rc;
}

/* ---- forward ---- */

static int check_y(const struct operator_trial *t, const struct nn_tensor *y,
                   struct err *err)
{
    const struct nn_shape *x = &t->shape[0];
    char a[96], b[96];

    if (y->dtype != NN_F64)
        return err_set(err, ERR_SHAPE, "%s makes %s of float64", t->o->name,
                       nn_dtype_name(y->dtype));
    if (y->shape.ndim > 0 && y->shape.dim[0] == x->dim[0] &&
        (!t->o->loss || y->shape.ndim == 1))
        return 0;
    return err_set(
        err, ERR_SHAPE, "y of %s is %s for x of %s; one %s a sample is due",
        t->o->name, nn_shape_text(&y->shape, a, sizeof a),
        nn_shape_text(x, b, sizeof b), t->o->loss ? "number" : "row");
}

/* y's numbers, whose shape is checked. */
static int run_forward(struct operator_trial *t, struct nn_tape *tape,
                       double **y, struct pl_operator_run **run,
                       struct err *err)
{
    struct nn_tensor *out;
    int rc;

    tape->grad_enabled = false;
    rc = pl_operator_forward(t->o, tape, t->in, &out, run, err);
    if (rc == 0)
        rc = check_y(t, out, err);
    if (rc != 0)
        return rc;
    t->y_shape = out->shape;
    t->n_y = nn_tensor_numel(out);
    if (!*y)
        *y = numbers(t, t->n_y);
    return *y ? nn_tensor_get(out, *y, err) : no_memory(err);
}

int operator_trial_forward(struct operator_trial *t, struct rng_mt *gen,
                           struct err *err)
{
    struct pl_operator_run *run = NULL;
    struct nn_tape *tape;
    int64_t k;
    int rc = nn_tape_new(&tape, t->be, err);

    if (rc == 0)
        rc = run_forward(t, tape, &t->y, &run, err);
    pl_operator_end(run);
    nn_tape_free(tape);
    if (rc != 0)
        return rc;
    t->weight = numbers(t, t->n_y);
    if (!t->weight)
        return no_memory(err);
    t->finite = true;
    for (k = 0; k < t->n_y; k++) {
        t->weight[k] = (double)rng_mt_uniform(gen, 0.2F, 1.0F);
        t->weight[k] *= k % 2 ? -1.0 : 1.0; /* far from 0, of either sign */
        t->finite = t->finite && isfinite(t->y[k]);
    }
    return 0;
}

int operator_trial_moved(struct operator_trial *t, int i, int64_t at,
                         double value, double *change, struct err *err)
{
    struct pl_operator_run *run = NULL;
    struct nn_tape *tape;
    double keep = t->data[i][at], *y = t->moved;
    int64_t k;
    int rc = nn_tape_new(&tape, t->be, err);

    t->data[i][at] = value;
    if (rc == 0)
        rc = nn_tensor_set(t->in[i], t->data[i], err);
    if (rc == 0)
        rc = run_forward(t, tape, &y, &run, err);
    t->moved = y;
    pl_operator_end(run);
    nn_tape_free(tape);
    *change = 0.0;
    for (k = 0; rc == 0 && k < t->n_y; k++)
        *change += t->weight[k] * (y[k] - t->y[k]);
    t->data[i][at] = keep;
    return rc == 0 ? nn_tensor_set(t->in[i], t->data[i], err) : rc;
}

/* ---- backward ---- */

/* The gradients that grad as the one of y brings. */
static int run_backward(struct operator_trial *t, const double *grad,
                        double *out[PL_OPERATOR_IN], struct err *err)
{
    struct nn_tensor *g, *grad_in[PL_OPERATOR_IN] = {NULL};
    struct pl_operator_run *run = NULL;
    struct nn_tape *tape;
    double *y = NULL;
    int rc = nn_tape_new(&tape, t->be, err), i;

    if (rc == 0)
        rc = run_forward(t, tape, &y, &run, err);
    if (rc == 0)
        rc = nn_tape_tensor(tape, &t->y_shape, NN_F64, NN_CAT_TEMPORARY, &g,
                            err);
    if (rc == 0)
        rc = nn_tensor_set(g, grad, err);
    if (rc == 0)
        rc = pl_operator_backward(run, g, grad_in, err);
    for (i = 0; rc == 0 && i < t->o->n_in; i++) {
        if (!grad_in[i])
            continue;
        t->grad_shape[i] = grad_in[i]->shape;
        out[i] = prog_numbers(grad_in[i], &t->arena, err);
        rc = out[i] ? 0 : ERR_NOMEM;
    }
    pl_operator_end(run);
    nn_tape_free(tape);
    return rc;
}

/* A loss as the sum over its samples. */
static int sum_of_loss(struct operator_trial *t, struct err *err)
{
    double *ones = numbers(t, t->n_y);
    int64_t k;

    t->sum = numbers(t, 1);
    if (!ones || !t->sum)
        return no_memory(err);
    t->n_sum = 1;
    for (k = 0; k < t->n_y; k++) {
        ones[k] = 1.0;
        t->sum[0] += t->y[k];
    }
    return run_backward(t, ones, t->sum_grad, err);
}

int operator_trial_backward(struct operator_trial *t, struct err *err)
{
    int rc = run_backward(t, t->weight, t->grad, err);

    if (rc == 0 && t->o->loss && t->o->same_as)
        return sum_of_loss(t, err);
    t->sum = t->y;
    t->n_sum = t->n_y;
    memcpy(t->sum_grad, t->grad, sizeof t->grad);
    return rc;
}

/* ---- the built-in one ---- */

/* Tensors of the built-in operator: copies of t's that want gradients. */
struct twin {
    const struct pl_builtin *b;
    struct nn_tensor *in[3];
    int from[3]; /* the operand that it is a copy of */
};

static int find_operand(const struct pl_operator *o, const char *builtin)
{
    int i;

    for (i = 0; i < o->n_in; i++)
        if (pl_builtin_is(builtin, o->in[i].name))
            return i;
    return -1;
}

static int make_twin(struct twin *w, const struct operator_trial *t, int k,
                     struct err *err)
{
    int i = find_operand(t->o, w->b->in[k]), rc;
    enum nn_layout layout =
        strcmp(w->b->in[k], "weight") == 0 ? NN_WEIGHT : NN_ROWS;

    w->from[k] = i;
    if (i < 0)
        return 0;
    if (!t->o->in[i].grad && is_class(t, i)) {
        w->in[k] = t->in[i]; /* not written to */
        return 0;
    }
    rc = nn_tensor_new(&w->in[k], t->be, &t->shape[i], NN_F64, layout,
                       NN_CAT_INPUT, err);
    if (rc == 0)
        rc = nn_tensor_set(w->in[k], t->data[i], err);
    if (rc == 0 && t->o->in[i].grad)
        rc = nn_tensor_require_grad(w->in[k], err);
    return rc;
}

static void end_twin(struct twin *w, const struct operator_trial *t)
{
    int k;

    for (k = 0; k < w->b->n_in; k++) {
        if (!w->in[k] || w->in[k] == t->in[w->from[k]])
            continue;
        nn_tensor_free(w->in[k]->grad);
        nn_tensor_free(w->in[k]);
    }
}

static int twin_backward(struct operator_builtin *out, struct twin *w,
                         struct operator_trial *t, struct nn_tape *tape,
                         struct nn_tensor *y, struct err *err)
{
    struct nn_tensor *g;
    double one = 1.0;
    int rc, k;

    rc = nn_tape_tensor(tape, &y->shape, NN_F64, NN_CAT_TEMPORARY, &g, err);
    if (rc == 0)
        rc = nn_tensor_set(g, t->o->loss ? &one : t->weight, err);
    if (rc == 0)
        rc = nn_tape_backward_from(tape, y, g, false, err);
    for (k = 0; rc == 0 && k < w->b->n_in; k++) {
        if (!w->in[k] || !w->in[k]->requires_grad)
            continue;
        out->grad[w->from[k]] = prog_numbers(w->in[k]->grad, &t->arena, err);
        rc = out->grad[w->from[k]] ? 0 : ERR_NOMEM;
    }
    return rc;
}

int operator_trial_builtin(struct operator_builtin *out,
                           struct operator_trial *t, struct err *err)
{
    struct twin w = {.b = pl_builtin_find(t->o->same_as)};
    struct nn_tape *tape;
    struct nn_tensor *y;
    int rc = nn_tape_new(&tape, t->be, err), k;

    memset(out, 0, sizeof *out);
    for (k = 0; rc == 0 && k < w.b->n_in; k++)
        rc = make_twin(&w, t, k, err);
    if (rc == 0)
        rc = pl_builtin_apply(w.b, tape, w.in, &y, err);
    if (rc == 0) {
        out->n_y = nn_tensor_numel(y);
        out->y = prog_numbers(y, &t->arena, err);
        rc = out->y ? 0 : ERR_NOMEM;
    }
    if (rc == 0 && out->n_y == t->n_sum)
        rc = twin_backward(out, &w, t, tape, y, err);
    nn_tape_free(tape);
    end_twin(&w, t);
    return rc;
}
