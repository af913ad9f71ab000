/* Backward, and changes in place. */
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/prog_run.h"

static int no_memory(struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory for a program");
}

/* ---- what stays as it is in a second run ---- */

static int push_frozen(struct prog_frozen *f, double *data, struct err *err)
{
    if (f->n == f->cap) {
        size_t cap = f->cap ? f->cap * 2 : 32;
        double **p = mem_grow(f->data, cap, sizeof(double *));

        if (!p)
            return no_memory(err);
        f->data = p;
        f->cap = cap;
    }
    f->data[f->n++] = data;
    return 0;
}

/* A detached value shares its memory in the first run; in the second it gets
 * its own, or writing to it would change its source too. */
static int own_memory(struct prog_run *r, struct prog_value *v, struct err *err)
{
    return nn_tape_tensor(r->tape, &v->t->shape, v->t->dtype, NN_CAT_TEMPORARY,
                          &v->t, err);
}

int prog_freeze(struct prog_run *r, struct prog_value *v, struct err *err)
{
    double *data;
    int rc;

    if (!r->frozen)
        return 0;
    if (!r->replay) {
        data = prog_numbers(v->t, r->arena, err);
        return data ? push_frozen(r->frozen, data, err) : ERR_NOMEM;
    }
    if (r->at_frozen == r->frozen->n)
        return err_set(err, ERR_CORRUPT,
                       "a second run of a program took "
                       "another way");
    rc = own_memory(r, v, err);
    if (rc != 0)
        return rc;
    return prog_set_numbers(v->t, r->frozen->data[r->at_frozen++], err);
}

/* ---- backward ---- */

/* What the leaves hold before and after, to know what one backward gave. */
static int leaf_grad(const struct prog_value *v, struct arena *a, double **out,
                     struct err *err)
{
    if (v->t->grad_ready)
        *out = prog_numbers(v->t->grad, a, err);
    else
        *out = arena_array(a, (size_t)nn_tensor_numel(v->t) + 1, sizeof **out);
    return *out ? 0 : no_memory(err);
}

static size_t count_leaves(const struct prog_run *r)
{
    size_t n = 0, i;

    for (i = 0; i < r->n_value; i++)
        n += r->value[i]->given && r->value[i]->t->requires_grad;
    return n;
}

static int note_before(struct prog_run *r, struct prog_backward *b,
                       struct err *err)
{
    size_t i;
    int rc = 0;

    b->share = arena_array(r->arena, count_leaves(r) + 1, sizeof *b->share);
    if (!b->share)
        return no_memory(err);
    for (i = 0; rc == 0 && i < r->n_value; i++) {
        struct prog_value *v = r->value[i];

        if (v->given && v->t->requires_grad) {
            b->share[b->n_share].leaf = v;
            rc = leaf_grad(v, r->arena, &b->share[b->n_share++].grad, err);
            if (rc == 0) /* the program may have read it */
                rc = prog_keep_first(r, v->t->grad->st, err);
        } else if (v->t && v->t->node && !v->t->grad_ready) {
            v->t->grad = NULL; /* of a backward before */
        }
    }
    return rc;
}

static int note_after(struct prog_run *r, struct prog_backward *b,
                      struct err *err)
{
    size_t i;
    int rc = 0;

    for (i = 0; rc == 0 && i < b->n_share; i++) {
        struct prog_share *s = &b->share[i];
        int64_t n = nn_tensor_numel(s->leaf->t), k;

        rc = leaf_grad(s->leaf, r->arena, &s->leaf->grad, err);
        for (k = 0; rc == 0 && k < n; k++)
            s->grad[k] = s->leaf->grad[k] - s->grad[k];
        s->reached = s->leaf->t->grad_ready;
        if (!s->reached)
            s->leaf->grad = NULL;
    }
    for (i = 0; rc == 0 && i < r->n_value; i++) {
        struct prog_value *v = r->value[i];

        if (!v->t || !v->t->node || !v->t->grad)
            continue;
        v->grad = prog_numbers(v->t->grad, r->arena, err);
        rc = v->grad ? 0 : ERR_NOMEM;
    }
    return rc;
}

/* The root's number, where it is one. */
static int root_number(struct prog_run *r, const struct prog_value *root,
                       double *out, struct err *err)
{
    const double *v;

    if (nn_tensor_numel(root->t) != 1)
        return 0; /* backward will say so */
    v = prog_numbers(root->t, r->arena, err);
    if (!v)
        return ERR_NOMEM;
    *out = v[0];
    return 0;
}

int prog_do_backward(struct prog_run *r, struct prog_value *root, bool retain,
                     struct prog_pos pos, struct err *err)
{
    struct prog_backward b = {.root = root, .pos = pos}, *kept;
    int rc;

    if (!root->t->requires_grad)
        return err_set(err, ERR_SHAPE,
                       "%s requires no gradient: nothing that it was made from "
                       "does",
                       root->name ? root->name : "this value");
    b.n_values = r->n_value;
    rc = root_number(r, root, &b.loss, err);
    if (rc == 0 && !r->replay) {
        rc = note_before(r, &b, err);
        if (rc == 0)
            rc = nn_tape_backward(r->tape, root->t, retain, err);
        if (rc == 0)
            rc = note_after(r, &b, err);
    }
    if (rc == 0)
        rc = prog_new_backward(r, &kept, err);
    if (rc == 0)
        *kept = b;
    return rc;
}

/* The memory is not used again: what reads the old gradient keeps it. */
static int zero_one(struct prog_run *r, struct prog_value *v, struct err *err)
{
    int rc;

    if (v->kind != PROG_V_TENSOR || v->t->node || !v->t->requires_grad)
        return err_set(err, ERR_SHAPE, "%s is no leaf that requires a gradient",
                       v->name ? v->name : "this value");
    if (r->replay || !v->t->grad_ready)
        return 0;
    v->t->grad_ready = false;
    rc = nn_tensor_require_grad(v->t, err);
    return rc != 0 ? rc : prog_own(r, v->t->grad, err);
}

int prog_do_zero_grad(struct prog_run *r, struct prog_value *const *leaf, int n,
                      struct err *err)
{
    size_t i;
    int rc = 0, k;

    for (k = 0; rc == 0 && k < n; k++)
        rc = zero_one(r, leaf[k], err);
    for (i = 0; rc == 0 && n == 0 && i < r->n_value; i++)
        if (r->value[i]->given && r->value[i]->t->requires_grad)
            rc = zero_one(r, r->value[i], err);
    return rc;
}

/* ---- in place ---- */

static const char *name_of(const char *op)
{
    return *op == '+' ? "add" : *op == '-' ? "sub" : *op == '*' ? "mul" : "div";
}

/* x op e as an expression of its own. */
static const struct prog_expr *inplace_expr(struct prog_run *r,
                                            const struct prog_stmt *s)
{
    struct prog_expr *e = arena_alloc(r->arena, sizeof *e);
    struct prog_expr *x = arena_alloc(r->arena, sizeof *x);

    if (!e || !x)
        return NULL;
    x->kind = PROG_NAME;
    x->pos = s->pos;
    x->text = s->name;
    e->kind = PROG_BINARY;
    e->pos = s->pos;
    e->text = s->op;
    e->n = 2;
    e->arg = arena_array(r->arena, 2, sizeof(struct prog_expr *));
    if (!e->arg)
        return NULL;
    e->arg[0] = x;
    e->arg[1] = s->expr;
    return e;
}

/* What an operator saves must not be the memory that is written to: a copy
 * that gradients pass stands in for it. */
static int step_aside(struct prog_run *r, struct nn_tensor **x, struct err *err)
{
    union nn_attrs one = {.scalar = 1.0};

    return nn_tape_apply(r->tape, NN_OP_SCALE, x, 1, &one, x, err);
}

/* x op e, to be put in x's place. */
static int inplace_value(struct prog_run *r, const struct prog_call *c,
                         struct nn_tensor **out, struct err *err)
{
    struct nn_tensor *in[2] = {c->in[0]->t, c->in[1]->t};
    unsigned saves = nn_op_get(c->fn->op)->saves;
    int rc = saves & 1u ? step_aside(r, &in[0], err) : 0;

    if (rc == 0)
        rc = nn_tape_apply(r->tape, c->fn->op, in, 2, NULL, out, err);
    if (rc == 0 && (saves & NN_SAVES_OUT))
        rc = step_aside(r, out, err);
    return rc;
}

/* Below no_grad a leaf stays a leaf, and in a second run what was moved on
 * purpose stays moved. */
static int freeze_inplace(struct prog_run *r, struct prog_value *v,
                          struct err *err)
{
    int64_t n = nn_tensor_numel(v->t);
    double *data;

    if (!r->frozen || !r->replay)
        return prog_freeze(r, v, err);
    if (r->at_frozen == r->frozen->n)
        return err_set(err, ERR_CORRUPT,
                       "a second run of a program took "
                       "another way");
    data = arena_array(r->arena, (size_t)n + 1, sizeof *data);
    if (!data)
        return no_memory(err);
    memcpy(data, r->frozen->data[r->at_frozen++], (size_t)n * sizeof *data);
    if (v->name && r->moved && strcmp(v->name, r->moved) == 0)
        data[r->moved_at] += r->moved_by;
    return prog_set_numbers(v->t, data, err);
}

/* A tensor that stays the same value has its change shown all the same. */
static int note_change(struct prog_run *r, const struct prog_value *x,
                       const struct prog_stmt *s, struct err *err)
{
    struct prog_value *v;

    if (r->replay || r->borrowed)
        return 0;
    v = prog_new_value(r, PROG_V_TENSOR, inplace_expr(r, s), err);
    if (!v || !v->formula)
        return no_memory(err);
    v->change = s;
    v->t = x->t;
    return 0;
}

static int apply_inplace(struct prog_run *r, struct prog_call *c,
                         const struct prog_stmt *s, struct prog_value **out,
                         struct err *err)
{
    struct prog_value *x = c->in[0];
    struct nn_tensor *value, *after;
    int rc = inplace_value(r, c, &value, err);

    if (rc == 0)
        rc = prog_keep_first(r, x->t->st, err);
    if (rc == 0)
        rc = nn_tape_assign(r->tape, x->t, value, &after, err);
    if (rc != 0)
        return rc;
    if (after == x->t) {
        *out = x;
        rc = r->tape->grad_enabled ? 0 : freeze_inplace(r, x, err);
        return rc != 0 ? rc : note_change(r, x, s, err);
    }
    *out = prog_new_value(r, PROG_V_TENSOR, inplace_expr(r, s), err);
    if (!*out || !(*out)->formula)
        return no_memory(err);
    (*out)->change = s;
    (*out)->t = after;
    (*out)->fn = c->fn;
    (*out)->rule = nn_op_get(c->fn->op)->rule;
    (*out)->in[0] = c->in[0];
    (*out)->in[1] = c->in[1];
    (*out)->n_in = 2;
    return 0;
}

int prog_do_inplace(struct prog_run *r, const struct prog_stmt *s,
                    struct err *err)
{
    struct prog_call c = {.fn = prog_fn_find(name_of(s->op)), .n_in = 2};
    struct prog_value *out;
    int rc;

    c.in[0] = prog_run_get(r, s->name);
    rc = prog_eval(r, s->expr, &c.in[1], err);
    r->where = s->pos;
    if (rc != 0)
        return rc;
    if (!c.in[0])
        return err_set(err, ERR_CONFIG, "there is no value '%s'", s->name);
    if (c.in[0]->kind != PROG_V_TENSOR || c.in[1]->kind == PROG_V_TRUTH)
        return err_set(err, ERR_SHAPE, "%s is no tensor; write %s = %s %s ...",
                       s->name, s->name, s->name, s->op);
    rc = prog_materialise(r, c.in[1], c.in[0]->t->dtype, err);
    if (rc == 0)
        rc = apply_inplace(r, &c, s, &out, err);
    return rc != 0 ? rc : prog_set_var(r, s->name, out, err);
}
