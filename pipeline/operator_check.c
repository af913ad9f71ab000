#include "pipeline/operator_check.h"

#include <math.h>
#include <string.h>

#include "nn/base/rng.h"
#include "pipeline/operator_trial.h"

/* The two one-sided slopes at a corner differ by more than this. */
static const double corner = 1e-3;

/* Elements of an operand that are moved in one case, and about how many numbers
 * are put through forward for that. */
enum { LEAST = 8, MOST = 200, WORK = 20000000 };

struct pl_operator_opts pl_operator_opts(void)
{
    return (struct pl_operator_opts){
        .eps = 1e-6, .tolerance = 1e-6, .rtol = 1e-10, .atol = 1e-10};
}

struct check {
    struct pl_operator_result *out;
    const struct pl_operator *o;
    const struct pl_operator_opts *opts;
    struct arena *arena; /* of the result */
    struct err first;    /* why a case did not fit */
};

/* ---- cases ---- */

/* x, and with it how many features come out. */
static const struct {
    struct nn_shape x;
    int64_t out;
} flat_cases[] = {
    {{2, {3, 4}}, 2},
    {{2, {1, 5}}, 3},
    {{2, {6, 2}}, 4},
    {{2, {4, 3}}, 3},
};
static const struct nn_shape free_cases[] = {
    {2, {4, 3}},
    {2, {1, 5}},
    {3, {2, 3, 4}},
    {4, {2, 2, 4, 4}},
};
/* x and a target of numbers; class numbers are one a row, which only the first
 * N_CLASSES have. */
static const struct {
    struct nn_shape x, t;
} loss_cases[] = {
    {{2, {4, 3}}, {2, {4, 3}}}, {{2, {1, 5}}, {2, {1, 5}}},
    {{2, {6, 2}}, {2, {6, 2}}}, {{2, {3, 1}}, {2, {3, 1}}},
    {{1, {5}}, {1, {5}}},       {{2, {4, 1}}, {1, {4}}},
    {{1, {4}}, {2, {4, 1}}},
};
/* Those from N_ALIKE on are for losses that no other one fits. */
enum {
    N_CLASSES = 4,
    N_ALIKE = 5,
    N_FLAT = sizeof flat_cases / sizeof *flat_cases,
    N_FREE = sizeof free_cases / sizeof *free_cases,
    N_LOSS = sizeof loss_cases / sizeof *loss_cases
};

/* From where inputs are drawn; a second interval above 0 is for operators that
 * are not defined below it, the last one for those that clip. */
static const float interval[][2] = {
    {-1.0F, 1.0F}, {0.1F, 1.1F}, {-3.0F, 3.0F}, {-10.0F, 10.0F}};
enum { N_INTERVAL = sizeof interval / sizeof *interval };

static int case_count(const struct pl_operator *o)
{
    if (o->loss)
        return o->classes ? N_CLASSES : N_LOSS;
    return o->flat ? N_FLAT : N_FREE;
}

static struct nn_shape param_shape(const struct nn_own_param *p, int64_t in,
                                   int64_t out)
{
    struct nn_shape s = {.ndim = p->ndim};
    int i;

    for (i = 0; i < p->ndim; i++)
        s.dim[i] = p->dim[i] == NN_DIM_IN    ? in
                   : p->dim[i] == NN_DIM_OUT ? out
                                             : p->dim[i];
    return s;
}

static void case_shapes(const struct pl_operator *o, int k,
                        struct nn_shape *shape)
{
    int64_t out = o->flat ? flat_cases[k].out : 0;
    int i;

    if (o->loss) {
        shape[0] = loss_cases[k].x;
        shape[1] = o->classes ? nn_shape1(shape[0].dim[0]) : loss_cases[k].t;
        return;
    }
    shape[0] = o->flat ? flat_cases[k].x : free_cases[k];
    for (i = 1; i < o->n_in; i++)
        shape[i] =
            param_shape(&o->param[i - 1], shape[0].dim[shape[0].ndim - 1], out);
}

/* ---- gradients ---- */

/* "dW[1, 2]" */
static const char *element_text(struct check *c, const char *name,
                                const struct nn_shape *s, int64_t at)
{
    struct str text = {0};
    const char *out = NULL;
    int64_t rest = nn_shape_numel(s);
    int i;

    str_add(&text, name);
    for (i = 0; i < s->ndim; i++) {
        rest /= s->dim[i];
        str_addf(&text, "%s%lld", i ? ", " : "[", (long long)(at / rest));
        at %= rest;
    }
    str_add(&text, s->ndim ? "]" : "");
    if (!text.failed)
        out = arena_strdup(c->arena, text.text);
    str_free(&text);
    return out;
}

static int note(struct check *c, const struct operator_trial *t, int i,
                int64_t at, double slope, struct err *err)
{
    struct pl_operator_grad *g = &c->out->grad[i];
    double back = t->grad[i][at];
    double e = fabs(back - slope) / fmax(1.0, fmax(fabs(back), fabs(slope)));

    g->checked++;
    if (isnan(e))
        e = HUGE_VAL;
    g->off += e > c->opts->tolerance;
    if (g->element && e <= g->max_error)
        return 0;
    g->max_error = e;
    g->backward = back;
    g->slope = slope;
    g->x = t->shape[0];
    g->element = element_text(c, g->name, &t->shape[i], at);
    return g->element ? 0
                      : err_set(err, ERR_NOMEM, "out of memory for a check");
}

/* What y, weighed, does when element `at` of operand i moves. */
static int check_element(struct check *c, struct operator_trial *t, int i,
                         int64_t at, struct err *err)
{
    double keep = t->data[i][at], eps = c->opts->eps;
    double hi = keep + eps, lo = keep - eps, right, left;
    int rc = operator_trial_moved(t, i, at, hi, &right, err);

    if (rc == 0)
        rc = operator_trial_moved(t, i, at, lo, &left, err);
    if (rc != 0)
        return rc;
    if (fabs(right / (hi - keep) + left / (keep - lo)) >
        corner * fmax(1.0, fmax(fabs(right), fabs(left)) / eps)) {
        c->out->grad[i].kinks++;
        return 0;
    }
    return note(c, t, i, at, (right - left) / (hi - lo), err);
}

static int wrong_shape(struct check *c, const struct operator_trial *t, int i,
                       struct err *err)
{
    struct pl_operator_grad *g = &c->out->grad[i];
    char a[96], b[96];

    g->max_error = HUGE_VAL;
    g->x = t->shape[0];
    g->why = arena_printf(c->arena, "%s is %s; %s is %s", g->name,
                          nn_shape_text(&t->grad_shape[i], a, sizeof a),
                          c->o->in[i].name,
                          nn_shape_text(&t->shape[i], b, sizeof b));
    return g->why ? 0 : err_set(err, ERR_NOMEM, "out of memory for a check");
}

/* Every element, or of large operands evenly as many as time allows. */
static int64_t stride(const struct operator_trial *t, int i)
{
    int64_t n = nn_shape_numel(&t->shape[i]), all = 1, most;
    int k;

    for (k = 0; k < t->o->n_in; k++)
        all += nn_shape_numel(&t->shape[k]);
    most = WORK / all;
    most = most < LEAST ? LEAST : most > MOST ? MOST : most;
    return (n + most - 1) / most;
}

static int check_operand(struct check *c, struct operator_trial *t, int i,
                         struct err *err)
{
    int64_t n = nn_shape_numel(&t->shape[i]), at;
    int rc = 0;

    if (!c->o->in[i].grad || c->out->grad[i].why)
        return 0;
    if (!nn_shape_eq(&t->grad_shape[i], &t->shape[i]))
        return wrong_shape(c, t, i, err);
    for (at = 0; rc == 0 && at < n; at += stride(t, i)) {
        if (c->opts->stop && c->opts->stop(c->opts->user))
            return err_set(err, ERR_INTERRUPTED,
                           "stopped before all operators were checked");
        rc = check_element(c, t, i, at, err);
    }
    return rc;
}

static bool moves_others(const struct operator_trial *t, int64_t rows)
{
    int64_t k;

    for (k = t->n_y / rows; k < t->n_y; k++)
        if (!(t->moved[k] == t->y[k]))
            return true;
    return false;
}

/* Whether y of another sample moves with one number of the first: then what
 * comes out would hang on which samples stand together, on batch_size, on
 * microbatches and on the batches of an evaluation. A loss whose operands came
 * in two shapes was not meant for them, then: ERR_SHAPE. */
static int check_samples(struct check *c, struct operator_trial *t,
                         struct err *err)
{
    int64_t rows = t->shape[0].dim[0], at;
    int64_t row = nn_shape_numel(&t->shape[0]) / rows;
    bool two = c->o->loss && !c->o->classes &&
               !nn_shape_eq(&t->shape[0], &t->shape[1]);
    double change;
    int rc = 0;

    for (at = 0; rc == 0 && at < row && at < LEAST; at++) {
        rc = operator_trial_moved(t, 0, at, t->data[0][at] + 0.5, &change, err);
        if (rc != 0 || !moves_others(t, rows))
            continue;
        if (two)
            return err_set(err, ERR_SHAPE, "the samples do not stand apart");
        c->out->broken = arena_strdup(
            c->arena, "y of one sample hangs on x of another, so that results "
                      "would hang on how samples are put into batches");
        return c->out->broken
                   ? 0
                   : err_set(err, ERR_NOMEM, "out of memory for a check");
    }
    return rc;
}

/* ---- the built-in one ---- */

/* NaN is close to nothing. */
static void compare(struct check *c, const char *what, const double *a,
                    const double *b, int64_t n)
{
    struct pl_operator_result *r = c->out;
    int64_t i;

    for (i = 0; i < n; i++) {
        double e = fabs(a[i] - b[i]);

        if (!(e <= c->opts->atol + c->opts->rtol * fabs(b[i])))
            r->close = false;
        if (e > r->close_error || isnan(e) || !r->differs) {
            r->close_error = isnan(e) ? HUGE_VAL : e;
            r->differs = what;
        }
    }
}

static int compare_builtin(struct check *c, struct operator_trial *t,
                           struct err *err)
{
    struct operator_builtin b;
    struct err none = {0};
    int rc, i;

    if (!c->o->same_as)
        return 0;
    rc = operator_trial_builtin(&b, t, &none);
    if (rc == ERR_SHAPE) /* it does not take what forward does */
        return 0;
    if (rc != 0)
        return err_set(err, rc, "%s", none.msg);
    if (!c->out->compared)
        c->out->compared = c->out->close = true;
    if (b.n_y != t->n_sum) {
        c->out->close = false;
        c->out->differs = "y";
        c->out->close_error = HUGE_VAL;
        return 0;
    }
    compare(c, "y", t->sum, b.y, b.n_y);
    for (i = 0; i < c->o->n_in; i++)
        if (b.grad[i] && nn_shape_eq(&t->grad_shape[i], &t->shape[i]))
            compare(c, c->o->in[i].grad, t->sum_grad[i], b.grad[i],
                    nn_shape_numel(&t->shape[i]));
    return 0;
}

/* ---- one operator ---- */

/* Backward failed: nothing can be said of the gradients. */
static int broken(struct check *c, const struct err *e, struct err *err)
{
    c->out->broken = e->at[0] ? arena_printf(c->arena, "%s: %s", e->at, e->msg)
                              : arena_strdup(c->arena, e->msg);
    if (c->out->broken)
        return 0;
    return err_set(err, ERR_NOMEM, "out of memory for a check");
}

/* One shape, one draw. */
static int run_case(struct check *c, struct nn_backend *be, int k, int draw,
                    struct err *err)
{
    struct operator_trial t = {.o = c->o, .be = be};
    struct rng_mt gen;
    struct err e = {0};
    int rc, i;

    rng_mt_seed(&gen, c->opts->seed + 1 + (uint64_t)(draw * 100 + k));
    case_shapes(c->o, k, t.shape);
    rc = operator_trial_draw(&t, interval[draw], &gen, &e);
    if (rc == 0)
        rc = operator_trial_forward(&t, &gen, &e);
    if (rc == 0 && t.finite)
        rc = check_samples(c, &t, &e);
    if (rc == ERR_SHAPE) { /* forward does not fit */
        if (c->first.code == 0)
            c->first = e;
        rc = 0;
    } else if (rc == 0 && t.finite) {
        c->out->cases++;
        if (!c->out->broken)
            rc = operator_trial_backward(&t, &e);
        if (rc == ERR_SHAPE)
            rc = broken(c, &e, err);
        for (i = 0; rc == 0 && !c->out->broken && i < c->o->n_in; i++)
            rc = check_operand(c, &t, i, &e);
        if (rc == 0 && !c->out->broken)
            rc = compare_builtin(c, &t, &e);
    }
    operator_trial_end(&t);
    return rc == 0 ? 0 : err_set(err, rc, "%s", e.msg);
}

static void sum_up(struct check *c)
{
    struct pl_operator_result *r = c->out;
    int i;

    r->grad_ok = !r->broken;
    r->grad_error = r->broken ? HUGE_VAL : 0.0;
    for (i = 0; i < c->o->n_in; i++) {
        struct pl_operator_grad *g = &r->grad[i];

        if (!g->name)
            continue;
        if (!r->broken && !g->why && g->checked == 0) {
            g->why = "no element of it could be checked";
            g->max_error = HUGE_VAL;
        }
        g->ok = !r->broken && !g->why && g->off == 0;
        r->grad_ok = r->grad_ok && g->ok;
        r->grad_error = fmax(r->grad_error, g->max_error);
    }
}

int pl_operator_test(struct pl_operator_result *out,
                     const struct pl_operator *o, struct nn_backend *be,
                     const struct pl_operator_opts *opts, struct arena *arena,
                     struct err *err)
{
    struct check c = {.out = out, .o = o, .opts = opts, .arena = arena};
    int rc = 0, k, i;

    memset(out, 0, sizeof *out);
    out->n_grad = o->n_in;
    for (i = 0; i < o->n_in; i++)
        out->grad[i].name = o->in[i].grad;
    for (k = 0; rc == 0 && k < case_count(o); k++) {
        if (o->loss && k == N_ALIKE && out->cases > 0)
            break;
        for (i = 0; rc == 0 && !out->broken && i < N_INTERVAL; i++)
            rc = run_case(&c, be, k, i, err);
    }
    if (rc != 0)
        return rc;
    if (out->cases == 0 && c.first.code != 0) {
        *err = c.first;
        return c.first.code;
    }
    if (out->cases == 0)
        return err_set(err, ERR_SHAPE,
                       "%s gives nothing finite for any input that was tried",
                       o->name);
    sum_up(&c);
    return 0;
}

const char *pl_operator_fault(const struct pl_operator_result *r,
                              struct arena *arena)
{
    char x[96];
    int i;

    if (r->broken)
        return r->broken;
    for (i = 0; i < r->n_grad; i++) {
        const struct pl_operator_grad *g = &r->grad[i];

        if (!g->name || g->ok)
            continue;
        if (g->why)
            return g->why;
        return arena_printf(arena,
                            "%s is %.6g by backward and %.6g by differences, "
                            "for x of %s",
                            g->element, g->backward, g->slope,
                            nn_shape_text(&g->x, x, sizeof x));
    }
    return "its gradients hold";
}
