/* The two programs of an own operator: what they read, set and may say. */
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/operator.h"

/* The names that a program has set, one after the other. */
struct names {
    const char **name;
    size_t n, cap;
};

struct scan {
    struct pl_operator *o;
    struct arena *arena;
    struct pl_diag *d;
    struct names set; /* by forward, so far */
};

static bool has(const struct names *list, const char *name)
{
    size_t i;

    for (i = 0; i < list->n; i++)
        if (strcmp(list->name[i], name) == 0)
            return true;
    return false;
}

static void add(struct scan *s, struct names *list, const char *name)
{
    const char **more;

    if (has(list, name))
        return;
    if (list->n == list->cap) {
        size_t cap = list->cap ? list->cap * 2 : 16;

        more = mem_grow(list->name, cap, sizeof *more);
        if (!more) {
            s->d->nomem = true;
            return;
        }
        list->name = more;
        list->cap = cap;
    }
    list->name[list->n++] = name;
}

static int operand(const struct pl_operator *o, const char *name)
{
    int i;

    for (i = 0; i < o->n_in; i++)
        if (strcmp(o->in[i].name, name) == 0)
            return i;
    return -1;
}

static void add_operand(struct scan *s, const struct prog_expr *e)
{
    struct pl_operator *o = s->o;
    struct pl_operand *in = &o->in[o->n_in];
    bool target = strcmp(e->text, "t") == 0;

    if (strcmp(e->text, "y") == 0 || strcmp(e->text, "g") == 0) {
        pl_diag_error(s->d, prog_loc(&o->program.source, e->pos),
                      *e->text == 'y' ? "y is read before it is set"
                                      : "g is the gradient of y: only backward "
                                        "has it");
        return;
    }
    if (o->n_in == PL_OPERATOR_IN) {
        pl_diag_error(s->d, prog_loc(&o->program.source, e->pos),
                      "an operator has at most %d parameters; '%s' is one more",
                      PL_OPERATOR_PARAMS, e->text);
        return;
    }
    in->name = e->text;
    in->pos = e->pos;
    in->grad = target ? NULL : arena_printf(s->arena, "d%s", e->text);
    if (!in->grad && !target)
        s->d->nomem = true;
    o->loss = o->loss || target;
    o->n_in++;
}

/* Whether argument i of a call is one of class numbers. */
static bool wants_classes(const struct prog_expr *e, size_t i)
{
    const struct prog_fn *fn = prog_fn_find(e->text);

    if (strcmp(e->text, "one_hot") == 0)
        return i == 0;
    return fn && (fn->flags & PROG_FN_INDEX) && i == 1;
}

static void scan_expr(struct scan *s, const struct prog_expr *e);

static void scan_call(struct scan *s, const struct prog_expr *e)
{
    double constant;
    size_t i;

    for (i = 0; i < e->n; i++) {
        const struct prog_expr *a = e->arg[i];
        bool name = a->kind == PROG_NAME;

        if (name && strcmp(a->text, "t") == 0 && wants_classes(e, i))
            s->o->classes = true;
        if (!name || has(&s->set, a->text) || !prog_fn_constant(a, &constant))
            scan_expr(s, a);
    }
}

/* The depth of an expression is bounded by the parser. */
static void scan_expr(struct scan *s, const struct prog_expr *e)
{
    size_t i;

    if (e->kind == PROG_CALL) {
        scan_call(s, e);
        return;
    }
    if (e->kind == PROG_NAME && !has(&s->set, e->text) &&
        operand(s->o, e->text) < 0)
        add_operand(s, e);
    for (i = 0; i < e->n; i++)
        if (e->arg[i])
            scan_expr(s, e->arg[i]);
}

/* The gradients that .grad holds are those of a tape that is not there; dropout
 * would drop in evaluation too, since an operator is not told where it is. */
static void check_expr(const struct prog_source *source,
                       const struct prog_expr *e, struct pl_diag *d)
{
    size_t i;

    if (e->kind == PROG_CALL && strcmp(e->text, "dropout") == 0) {
        pl_diag_error(d, prog_loc(source, e->pos),
                      "dropout has no place in an operator: it would drop in "
                      "evaluation too");
        pl_diag_help(d, "put a layer {type: dropout} beside it");
    }

    if (e->kind == PROG_ATTR && strcmp(e->text, "grad") == 0)
        pl_diag_error(d, prog_loc(source, e->pos),
                      "an operator has no '.grad': backward gets g");
    for (i = 0; i < e->n; i++)
        if (e->arg[i])
            check_expr(source, e->arg[i], d);
}

/* Only name = expr: an operator is a function of its operands. */
static void check_statements(const struct prog_program *p, struct pl_diag *d)
{
    static const char *const words[] = {
        [PROG_INPLACE] = "nothing may be changed in place",
        [PROG_EXPR] = "a value must be given a name",
        [PROG_NO_GRAD] = "no_grad has no place",
        [PROG_RAISES] = "raises has no place",
    };
    const struct prog_stmt *s;

    for (s = p->stmts; s; s = s->next) {
        const struct prog_fn *fn =
            s->kind == PROG_EXPR && s->expr->kind == PROG_CALL
                ? prog_fn_find(s->expr->text)
                : NULL;

        if (s->kind == PROG_ASSIGN)
            check_expr(&p->source, s->expr, d);
        else if (fn && (fn->flags & PROG_FN_STATEMENT))
            pl_diag_error(d, prog_loc(&p->source, s->pos),
                          "%s has no place in an operator", fn->name);
        else
            pl_diag_error(d, prog_loc(&p->source, s->pos), "%s in an operator",
                          words[s->kind]);
    }
}

static bool parse(struct prog_program *out, const struct pl_operator *o,
                  const char *key, struct arena *arena, struct pl_diag *d)
{
    const struct pl_node *node = pl_node_get(o->node, key);
    size_t errors = d->errors;

    memset(out, 0, sizeof *out);
    prog_source(&out->source, node);
    out->stmts = prog_parse(&out->source, arena, d);
    if (out->stmts)
        check_statements(out, d);
    return out->stmts && d->errors == errors && !d->nomem;
}

/* What forward reads and sets. */
static void scan_forward(struct scan *s)
{
    const struct pl_operator *o = s->o;
    const struct prog_stmt *st;

    for (st = o->program.stmts; st; st = st->next) {
        scan_expr(s, st->expr);
        if (operand(o, st->name) >= 0) {
            pl_diag_error(s->d, prog_loc(&o->program.source, st->pos),
                          "'%s' is given: forward may not set it", st->name);
            return;
        }
        add(s, &s->set, st->name);
        if (!st->next && strcmp(st->name, "y") != 0)
            pl_diag_error(s->d, prog_loc(&o->program.source, st->pos),
                          "the last thing that forward sets must be y, not %s",
                          st->name);
    }
}

static void swap(struct pl_operator *o, int i, int k)
{
    struct pl_operand keep = o->in[i];

    o->in[i] = o->in[k];
    o->in[k] = keep;
}

/* x first, then t: a loss has nothing else. */
static void sort_operands(struct scan *s)
{
    struct pl_operator *o = s->o;
    int i, x = operand(o, "x");

    if (x < 0) {
        pl_diag_error(s->d, o->program.source.loc, "forward does not read x");
        return;
    }
    for (i = x; i > 0; i--)
        swap(o, i, i - 1);
    for (i = operand(o, "t"); i > 1; i--)
        swap(o, i, i - 1);
    if (o->loss && o->n_in > 2) {
        pl_diag_error(s->d, prog_loc(&o->program.source, o->in[2].pos),
                      "a loss reads x and t alone, not '%s'", o->in[2].name);
        pl_diag_help(s->d, "t makes it a loss; call a parameter otherwise");
    }
}

static void give(struct prog_program *p, const char *name)
{
    p->tensors[p->n_tensors++].name = name;
}

/* Tells what the program reads that it is not given. */
static void check_names(struct scan *s, struct prog_program *p, bool back)
{
    size_t n = PL_OPERATOR_IN + 1 + (back ? s->set.n : 0), i;
    int k;

    p->tensors = arena_array(s->arena, n, sizeof *p->tensors);
    if (!p->tensors) {
        s->d->nomem = true;
        return;
    }
    for (k = 0; k < s->o->n_in; k++)
        give(p, s->o->in[k].name);
    for (i = 0; back && i < s->set.n; i++)
        give(p, s->set.name[i]);
    if (back)
        give(p, "g");
    prog_check(p, s->d);
}

static bool sets(const struct prog_program *p, const char *name)
{
    const struct prog_stmt *s;

    for (s = p->stmts; s; s = s->next)
        if (strcmp(s->name, name) == 0)
            return true;
    return false;
}

static void check_gradients(struct scan *s)
{
    const struct pl_operator *o = s->o;
    int i;

    for (i = 0; i < o->n_in; i++) {
        if (!o->in[i].grad || sets(&o->back, o->in[i].grad))
            continue;
        pl_diag_error(s->d, o->back.source.loc,
                      "backward does not set %s, the gradient of %s",
                      o->in[i].grad, o->in[i].name);
    }
}

bool pl_operator_programs(struct pl_operator *o, struct arena *arena,
                          struct pl_diag *d)
{
    struct scan s = {.o = o, .arena = arena, .d = d};
    size_t errors = d->errors;
    bool both = parse(&o->program, o, "forward", arena, d);

    both = parse(&o->back, o, "backward", arena, d) && both;
    if (both)
        scan_forward(&s);
    if (both && d->errors == errors)
        sort_operands(&s);
    if (both && d->errors == errors) {
        check_names(&s, &o->program, false);
        check_names(&s, &o->back, true);
        check_gradients(&s);
    }
    mem_free(s.set.name);
    return d->errors == errors && !d->nomem;
}
