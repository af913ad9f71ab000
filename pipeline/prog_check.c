#include "pipeline/prog_check.h"

#include <string.h>

#include "pipeline/name_index.h"

struct checker {
    const struct prog_program *p;
    struct pl_diag *d;
    struct name_index names; /* of the values that there are by now */
    size_t statements;
};

static void check_expr(struct checker *c, const struct prog_expr *e);

static void add_name(struct checker *c, const char *name)
{
    if (name_index_find(&c->names, name) == NAME_NONE &&
        !name_index_add(&c->names, name))
        c->d->nomem = true;
}

static struct pl_loc loc(const struct checker *c, struct prog_pos pos)
{
    return prog_loc(&c->p->source, pos);
}

static void check_name(struct checker *c, const char *name, struct prog_pos pos)
{
    if (name_index_find(&c->names, name) != NAME_NONE)
        return;
    pl_diag_error(c->d, loc(c, pos), "there is no value '%s'", name);
    if (prog_fn_find(name))
        pl_diag_help(c->d, "a function is called: %s",
                     prog_fn_find(name)->help);
    else if (c->names.n)
        pl_diag_suggest(c->d, name, c->names.name, c->names.n);
}

static const struct prog_fn *check_fn(struct checker *c,
                                      const struct prog_expr *e)
{
    const struct prog_fn *fn = prog_fn_find(e->text);
    const char *names[128];
    size_t n;

    if (fn)
        return fn;
    n = prog_fn_names(names, sizeof names / sizeof *names);
    pl_diag_error(c->d, loc(c, e->pos), "there is no function '%s'", e->text);
    if (pl_nearest(e->text, names, n))
        pl_diag_suggest(c->d, e->text, names, n);
    return NULL;
}

/* A parameter: by name, or the next one by its place. */
static bool check_param(struct checker *c, const struct prog_fn *fn,
                        const struct prog_expr *e, size_t i, int at,
                        unsigned *given)
{
    int p = e->key[i] ? prog_fn_param(fn, e->key[i]) : at;
    double v;

    if (e->key[i] && p < 0) {
        pl_diag_error(c->d, loc(c, e->arg[i]->pos),
                      "%s has no argument called '%s'", fn->name, e->key[i]);
        pl_diag_help(c->d, "it is used so: %s", fn->help);
        return false;
    }
    if (p >= prog_fn_params(fn)) {
        pl_diag_error(c->d, loc(c, e->arg[i]->pos),
                      "%s takes no more arguments", fn->name);
        pl_diag_help(c->d, "it is used so: %s", fn->help);
        return false;
    }
    if (*given & (1u << p)) {
        pl_diag_error(c->d, loc(c, e->arg[i]->pos), "'%s' is given twice",
                      e->key[i]);
        return false;
    }
    *given |= 1u << p;
    if (e->arg[i]->kind != PROG_NAME || !prog_fn_constant(e->arg[i], &v))
        check_expr(c, e->arg[i]);
    return true;
}

static void check_call(struct checker *c, const struct prog_expr *e,
                       bool statement)
{
    const struct prog_fn *fn = check_fn(c, e);
    unsigned given = 0;
    int n_in = 0, at = 0;
    size_t i;

    for (i = 0; fn && i < e->n; i++) {
        if (!e->key[i] && n_in < fn->hi) {
            n_in++;
            check_expr(c, e->arg[i]);
        } else if (!check_param(c, fn, e, i, at++, &given)) {
            return;
        }
    }
    if (!fn)
        return;
    if (n_in < fn->lo || (fn->flags & PROG_FN_LIST && at == 0) ||
        (fn->flags & PROG_FN_PARAM && !(given & 1u))) {
        pl_diag_error(c->d, loc(c, e->pos), "%s lacks an argument", fn->name);
        pl_diag_help(c->d, "it is used so: %s", fn->help);
    } else if ((fn->flags & PROG_FN_STATEMENT) && !statement) {
        pl_diag_error(c->d, loc(c, e->pos),
                      "%s gives no value: it stands on a line of its own",
                      fn->name);
    }
}

static void check_attr(struct checker *c, const struct prog_expr *e)
{
    static const char *const names[] = {"grad", "T"};

    check_expr(c, e->arg[0]);
    if (strcmp(e->text, "grad") == 0 || strcmp(e->text, "T") == 0)
        return;
    pl_diag_error(c->d, loc(c, e->pos), "a value has no '.%s'", e->text);
    pl_diag_suggest(c->d, e->text, names, 2);
}

/* The depth of an expression is bounded by the parser. */
static void check_expr(struct checker *c, const struct prog_expr *e)
{
    size_t i;

    if (e->kind == PROG_NAME) {
        check_name(c, e->text, e->pos);
    } else if (e->kind == PROG_CALL) {
        check_call(c, e, false);
    } else if (e->kind == PROG_ATTR) {
        check_attr(c, e);
    } else if (e->kind == PROG_TEXT) {
        pl_diag_error(c->d, loc(c, e->pos), "a text is no value");
    } else {
        for (i = 0; i < e->n; i++)
            if (e->arg[i])
                check_expr(c, e->arg[i]);
    }
}

static void check_target(struct checker *c, const struct prog_stmt *s)
{
    static const char *const reserved[] = {
        "true", "false", "True", "False", "float32", "float64", "no_grad",
    };
    size_t i;

    for (i = 0; i < sizeof reserved / sizeof *reserved; i++)
        if (strcmp(s->name, reserved[i]) == 0)
            pl_diag_error(c->d, loc(c, s->pos), "'%s' cannot be set", s->name);
    add_name(c, s->name);
}

static void check_stmt(struct checker *c, const struct prog_stmt *s)
{
    bool call = s->expr && s->expr->kind == PROG_CALL;

    if (s->expr && call && s->kind == PROG_EXPR)
        check_call(c, s->expr, true);
    else if (s->expr)
        check_expr(c, s->expr);
    if (s->kind == PROG_INPLACE)
        check_name(c, s->name, s->pos);
    else if (s->kind == PROG_ASSIGN)
        check_target(c, s);
}

static void check_block(struct checker *c, const struct prog_stmt *s)
{
    for (; s && !c->d->nomem; s = s->next) {
        size_t n = c->names.n;

        if (++c->statements == PROG_MAX_STMTS + 1)
            pl_diag_error(c->d, loc(c, s->pos),
                          "a program has at most %d statements",
                          PROG_MAX_STMTS);
        if (c->statements > PROG_MAX_STMTS)
            return;
        if (!s->body) {
            check_stmt(c, s);
            continue;
        }
        check_block(c, s->body);
        if (s->kind == PROG_RAISES)
            name_index_cut(&c->names,
                           n); /* it fails: what it would set is not there */
    }
}

void prog_names(const struct prog_program *p, struct name_index *out,
                struct pl_diag *d)
{
    struct checker c = {.p = p, .d = d};
    size_t i;

    for (i = 0; i < p->n_tensors; i++)
        add_name(&c, p->tensors[i].name);
    check_block(&c, p->stmts);
    *out = c.names;
}

void prog_check(const struct prog_program *p, struct pl_diag *d)
{
    struct name_index names;

    prog_names(p, &names, d);
    name_index_free(&names);
}

bool prog_read(struct prog_program *out, const struct pl_node *tensors,
               const struct pl_node *program, struct arena *arena,
               struct pl_diag *d)
{
    size_t errors = d->errors;

    memset(out, 0, sizeof *out);
    prog_read_tensors(out, tensors, arena, d);
    if (program->kind != PL_SCALAR || program->bad)
        return false;
    prog_source(&out->source, program);
    out->stmts = prog_parse(&out->source, arena, d);
    if (out->stmts)
        prog_check(out, d);
    return out->stmts && d->errors == errors && !d->nomem;
}
