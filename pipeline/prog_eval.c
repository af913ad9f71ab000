/* Expressions, and what is kept of how each value was made. */
#include <math.h>
#include <string.h>

#include "pipeline/prog_run.h"

static int no_memory(struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory for a program");
}

/* ---- formulas ---- */

/* The text of a number as an expression of its own. */
static const struct prog_expr *number_formula(struct prog_run *r, double v,
                                              struct prog_pos pos)
{
    struct prog_expr *e = arena_alloc(r->arena, sizeof *e);
    struct str s = {0};

    str_add_double(&s, v);
    if (e && !s.failed) {
        e->kind = PROG_NUMBER;
        e->pos = pos;
        e->number = v;
        e->text = arena_strdup(r->arena, s.text);
    }
    str_free(&s);
    return e && e->text ? e : NULL;
}

const struct prog_expr *prog_in_formula(struct arena *arena,
                                        const struct prog_value *v)
{
    struct prog_expr *e;

    if (!v->name)
        return v->formula;
    e = arena_alloc(arena, sizeof *e);
    if (e) {
        e->kind = PROG_NAME;
        e->text = v->name;
        e->rank = v->t ? v->t->shape.ndim : 0;
    }
    return e;
}

/* e with its first n children replaced by the operands. */
static const struct prog_expr *formula_of(struct prog_run *r,
                                          const struct prog_expr *e,
                                          const struct prog_call *c)
{
    struct prog_expr *f = arena_alloc(r->arena, sizeof *f);
    size_t i;

    if (!f)
        return NULL;
    *f = *e;
    f->rank = c->out ? c->out->shape.ndim : 0;
    f->arg = arena_array(r->arena, e->n + 1, sizeof(struct prog_expr *));
    if (!f->arg)
        return NULL;
    for (i = 0; i < e->n; i++) {
        const struct prog_expr *a = i < (size_t)c->n_in
                                        ? prog_in_formula(r->arena, c->in[i])
                                        : e->arg[i];

        if (!a && i < (size_t)c->n_in)
            return NULL;
        f->arg[i] = (struct prog_expr *)a;
    }
    return f;
}

/* ---- applying ---- */

int prog_materialise(struct prog_run *r, struct prog_value *v,
                     enum nn_dtype dtype, struct err *err)
{
    struct nn_shape none = nn_shape0();
    int rc;

    if (v->kind == PROG_V_TENSOR || (v->t && v->t->dtype == dtype))
        return 0;
    rc = nn_tape_tensor(r->tape, &none, dtype, NN_CAT_TEMPORARY, &v->t, err);
    return rc != 0 ? rc : prog_set_numbers(v->t, &v->number, err);
}

/* Numbers take the type of the first tensor beside them. */
static int materialise_all(struct prog_run *r, struct prog_call *c,
                           struct err *err)
{
    enum nn_dtype dtype = NN_F64;
    int rc = 0, i;

    for (i = c->n_in; i-- > 0;)
        if (c->in[i]->kind == PROG_V_TENSOR)
            dtype = c->in[i]->t->dtype;
    for (i = 0; rc == 0 && i < c->n_in; i++) {
        if (c->in[i]->kind == PROG_V_TRUTH)
            return err_set(err, ERR_SHAPE,
                           "%s takes tensors and numbers, not true or false",
                           c->fn->name);
        rc = prog_materialise(r, c->in[i], dtype, err);
    }
    return rc;
}

static int count_elements(struct prog_run *r, const struct nn_tensor *t,
                          struct err *err)
{
    r->elements += nn_tensor_numel(t);
    if (r->elements > PROG_MAX_ELEMENTS)
        return err_set(err, ERR_SHAPE,
                       "a program's tensors may hold %d numbers together",
                       PROG_MAX_ELEMENTS);
    return 0;
}

static int keep_result(struct prog_run *r, const struct prog_call *c,
                       const struct prog_expr *e, struct prog_value **out,
                       struct err *err)
{
    bool truth = c->fn->flags & PROG_FN_TRUTH;
    const struct prog_expr *f = formula_of(r, e, c);
    struct prog_value *v;
    int i;

    if (!f)
        return no_memory(err);
    v = prog_new_value(r, truth ? PROG_V_TRUTH : PROG_V_TENSOR, f, err);
    *out = v;
    if (!v)
        return ERR_NOMEM;
    v->number = c->truth;
    v->t = c->out;
    v->fn = c->fn;
    v->rule = c->rule                    ? c->rule
              : c->fn->op != NN_OP_COUNT ? nn_op_get(c->fn->op)->rule
                                         : NULL;
    v->attr = c->attr;
    v->attr_name = c->attr_name;
    for (i = 0; i < c->n_in && i < PROG_MAX_IN; i++)
        v->in[v->n_in++] = c->in[i];
    if (truth)
        return 0;
    if (count_elements(r, v->t, err) != 0)
        return ERR_SHAPE;
    if ((c->fn->flags & PROG_FN_CUT) || !r->tape->grad_enabled)
        return prog_freeze(r, v, err);
    return 0;
}

int prog_apply(struct prog_run *r, struct prog_call *c,
               const struct prog_expr *e, struct prog_value **out,
               struct err *err)
{
    int rc = materialise_all(r, c, err);

    *out = NULL;
    c->pos = e->pos;
    if (rc == 0 || c->fn->flags & PROG_FN_STATEMENT)
        rc = rc != 0 ? rc : c->fn->apply(r, c, err);
    r->where = e->pos;
    if (rc != 0 || (c->fn->flags & PROG_FN_STATEMENT))
        return rc;
    return keep_result(r, c, e, out, err);
}

/* ---- numbers alone ---- */

static int number_value(struct prog_run *r, double v, struct prog_pos pos,
                        struct prog_value **out, struct err *err)
{
    const struct prog_expr *f = number_formula(r, v, pos);

    if (!f)
        return no_memory(err);
    *out = prog_new_value(r, PROG_V_NUMBER, f, err);
    if (!*out)
        return ERR_NOMEM;
    (*out)->number = v;
    return 0;
}

static double fold(char op, double a, double b)
{
    switch (op) {
    case '+':
        return a + b;
    case '-':
        return a - b;
    case '*':
        return a * b;
    case '/':
        return a / b;
    default:
        return pow(a, b);
    }
}

/* ---- expressions ---- */

static const struct prog_fn *binary_fn(const char *op)
{
    switch (*op) {
    case '+':
        return prog_fn_find("add");
    case '-':
        return prog_fn_find("sub");
    case '/':
        return prog_fn_find("div");
    case '@':
        return prog_fn_find("matmul");
    default:
        return prog_fn_find("mul");
    }
}

/* The exponent of a power: a number, or a tensor of one that wants no
 * gradient. */
static int exponent(struct prog_run *r, struct prog_value *v, double *out,
                    struct err *err)
{
    const double *n;

    if (v->kind != PROG_V_TENSOR) {
        *out = v->number;
        return 0;
    }
    if (v->t->requires_grad || nn_tensor_numel(v->t) != 1)
        return err_set(err, ERR_SHAPE,
                       "the exponent of ** must be one number that requires no "
                       "gradient");
    if (r->borrowed)
        return err_set(err, ERR_SHAPE,
                       "the exponent of ** in an operator must be written as a "
                       "number");
    n = prog_numbers(v->t, r->arena, err);
    if (!n)
        return ERR_NOMEM;
    *out = n[0];
    return 0;
}

static int eval_binary(struct prog_run *r, const struct prog_expr *e,
                       struct prog_value **out, struct err *err)
{
    bool power = strcmp(e->text, "**") == 0;
    struct prog_call c = {.n_in = 2};
    char op = *e->text;
    int rc = prog_eval(r, e->arg[0], &c.in[0], err);

    if (rc == 0)
        rc = prog_eval(r, e->arg[1], &c.in[1], err);
    if (rc != 0)
        return rc;
    r->where = e->pos;
    if (power)
        op = '^';
    if (!c.in[0] || !c.in[1])
        return err_set(err, ERR_SHAPE, "an operand has no value");
    if (c.in[0]->kind == PROG_V_NUMBER && c.in[1]->kind == PROG_V_NUMBER &&
        *e->text != '@')
        return number_value(r, fold(op, c.in[0]->number, c.in[1]->number),
                            e->pos, out, err);
    c.fn = power ? prog_fn_find("pow") : binary_fn(e->text);
    if (power) {
        c.n_in = 1;
        rc = exponent(r, c.in[1], &c.param[0], err);
    }
    return rc != 0 ? rc : prog_apply(r, &c, e, out, err);
}

static int eval_neg(struct prog_run *r, const struct prog_expr *e,
                    struct prog_value **out, struct err *err)
{
    struct prog_call c = {.n_in = 1, .fn = prog_fn_find("neg")};
    int rc = prog_eval(r, e->arg[0], &c.in[0], err);

    if (rc != 0)
        return rc;
    if (c.in[0]->kind == PROG_V_NUMBER)
        return number_value(r, -c.in[0]->number, e->pos, out, err);
    return prog_apply(r, &c, e, out, err);
}

/* A parameter: what was checked to be constant, or a number by name. */
static int eval_param(struct prog_run *r, struct prog_call *c, int i,
                      const struct prog_expr *e, struct err *err)
{
    struct prog_value *v;
    int rc;

    if (!prog_fn_constant(e, &c->param[i]) ||
        (e->kind == PROG_NAME && prog_run_get(r, e->text))) {
        rc = prog_eval(r, e, &v, err);
        if (rc != 0)
            return rc;
        if (v->kind == PROG_V_TENSOR)
            return err_set(err, ERR_SHAPE,
                           "%s takes a number here, not a "
                           "tensor",
                           c->fn->name);
        c->param[i] = v->number;
    }
    c->given[i] = true;
    return 0;
}

/* The arguments are known to fit (prog_check.c): operands, then parameters. */
static int eval_call(struct prog_run *r, const struct prog_expr *e,
                     struct prog_value **out, struct err *err)
{
    struct prog_call c = {.fn = prog_fn_find(e->text)};
    int at = 0, rc = 0;
    size_t i;

    for (i = 0; rc == 0 && i < e->n; i++) {
        int p = e->key[i] ? prog_fn_param(c.fn, e->key[i]) : at;

        if (!e->key[i] && c.n_in < c.fn->hi) {
            rc = prog_eval(r, e->arg[i], &c.in[c.n_in++], err);
            continue;
        }
        rc = eval_param(r, &c, p, e->arg[i], err);
        at++;
        c.n_param = at;
    }
    return rc != 0 ? rc : prog_apply(r, &c, e, out, err);
}

/* The gradient that a leaf holds, sharing its memory. */
static int eval_grad(struct prog_run *r, const struct prog_expr *e,
                     struct prog_value *of, struct prog_value **out,
                     struct err *err)
{
    struct prog_call c = {.fn = prog_fn_find("detach"), .n_in = 1, .in = {of}};
    struct nn_tensor *t = of->t;
    int rc;

    r->where = e->pos;
    if (of->kind != PROG_V_TENSOR || !t->requires_grad)
        return err_set(err, ERR_SHAPE, "%s does not require a gradient",
                       of->name ? of->name : "this value");
    if (t->node)
        return err_set(err, ERR_SHAPE,
                       "%s was computed; only a leaf keeps its gradient",
                       of->name ? of->name : "this value");
    if (!t->grad_ready && !r->replay)
        return err_set(err, ERR_SHAPE,
                       "%s has no gradient: no backward has reached it",
                       of->name ? of->name : "this value");
    rc = nn_tape_detach(r->tape, t->grad, &c.out, err);
    if (rc == 0)
        rc = keep_result(r, &c, e, out, err);
    if (rc == 0)
        (*out)->n_in = 0; /* no operand in the graph */
    return rc;
}

static int eval_attr(struct prog_run *r, const struct prog_expr *e,
                     struct prog_value **out, struct err *err)
{
    struct prog_call c = {.fn = prog_fn_find("transpose"), .n_in = 1};
    int rc = prog_eval(r, e->arg[0], &c.in[0], err);

    if (rc != 0)
        return rc;
    if (strcmp(e->text, "grad") == 0)
        return eval_grad(r, e, c.in[0], out, err);
    return prog_apply(r, &c, e, out, err);
}

/* x[i]: a slice of one, without its dimension. */
static int drop_first(struct prog_run *r, struct prog_value *v, struct err *err)
{
    struct nn_shape s = v->t->shape;
    int i;

    for (i = 1; i < s.ndim; i++)
        s.dim[i - 1] = s.dim[i];
    s.ndim--;
    ((struct prog_expr *)v->formula)->rank = s.ndim; /* ours */
    return nn_tape_reshape(r->tape, v->t, &s, &v->t, err);
}

static int eval_index(struct prog_run *r, const struct prog_expr *e,
                      struct prog_value **out, struct err *err)
{
    struct prog_call c = {.fn = prog_fn_find("slice"), .n_in = 1};
    int64_t n;
    int rc = prog_eval(r, e->arg[0], &c.in[0], err), i;

    for (i = 0; rc == 0 && i < 2; i++)
        if (e->arg[i + 1])
            rc = eval_param(r, &c, i, e->arg[i + 1], err);
    if (rc != 0)
        return rc;
    r->where = e->pos;
    if (!e->slice) {
        n = c.in[0]->kind == PROG_V_TENSOR && c.in[0]->t->shape.ndim > 0
                ? c.in[0]->t->shape.dim[0]
                : 0;
        if (!(c.param[0] >= -(double)n && c.param[0] < (double)n))
            return err_set(err, ERR_SHAPE,
                           "index %g is outside of a dimension of %lld",
                           c.param[0], (long long)n);
        c.param[0] += c.param[0] < 0 ? (double)n : 0;
        c.param[1] = c.param[0] + 1;
        c.given[1] = true;
    }
    rc = prog_apply(r, &c, e, out, err);
    return rc == 0 && !e->slice ? drop_first(r, *out, err) : rc;
}

int prog_eval(struct prog_run *r, const struct prog_expr *e,
              struct prog_value **out, struct err *err)
{
    *out = NULL;
    r->where = e->pos;
    switch (e->kind) {
    case PROG_NUMBER:
        return number_value(r, e->number, e->pos, out, err);
    case PROG_NAME:
        *out = prog_run_get(r, e->text);
        return *out ? 0
                    : err_set(err, ERR_CONFIG, "there is no value '%s'",
                              e->text);
    case PROG_NEG:
        return eval_neg(r, e, out, err);
    case PROG_BINARY:
        return eval_binary(r, e, out, err);
    case PROG_CALL:
        return eval_call(r, e, out, err);
    case PROG_ATTR:
        return eval_attr(r, e, out, err);
    case PROG_INDEX:
        return eval_index(r, e, out, err);
    default:
        return err_set(err, ERR_CONFIG, "a text is no value");
    }
}
