#include "pipeline/prog_rule.h"

#include <math.h>
#include <string.h>

enum { MAX_FACTORS = 64 };

static int no_memory(struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory for a derivation");
}

/* ---- building ---- */

static struct prog_expr *build(enum prog_kind kind, const char *text, size_t n,
                               struct arena *arena)
{
    struct prog_expr *e = arena_alloc(arena, sizeof *e);

    if (!e)
        return NULL;
    e->kind = kind;
    e->text = text;
    e->n = n;
    if (n) {
        e->arg = arena_array(arena, n, sizeof(struct prog_expr *));
        e->key = arena_array(arena, n, sizeof *e->key);
    }
    return n && (!e->arg || !e->key) ? NULL : e;
}

/* Expressions are not changed once they are built; the tree's type says less.
 */
static struct prog_expr *writable(const struct prog_expr *e)
{
    return (struct prog_expr *)e;
}

static int rank2(const struct prog_expr *a, const struct prog_expr *b)
{
    return a->rank > b->rank ? a->rank : b->rank;
}

static const struct prog_expr *binary(const char *op, const struct prog_expr *a,
                                      const struct prog_expr *b,
                                      struct arena *arena)
{
    struct prog_expr *e = a && b ? build(PROG_BINARY, op, 2, arena) : NULL;

    if (!e)
        return NULL;
    e->arg[0] = writable(a);
    e->arg[1] = writable(b);
    e->rank = rank2(a, b);
    return e;
}

const struct prog_expr *prog_rule_name(const char *name, int rank,
                                       struct arena *arena)
{
    struct prog_expr *e = build(PROG_NAME, name, 0, arena);

    if (e)
        e->rank = rank;
    return e;
}

const struct prog_expr *prog_rule_number(double v, struct arena *arena)
{
    struct prog_expr *e = build(PROG_NUMBER, NULL, 0, arena);
    struct str s = {0};

    str_add_double(&s, v);
    if (e && !s.failed) {
        e->number = v;
        e->text = arena_strdup(arena, s.text);
    }
    str_free(&s);
    return e && e->text ? e : NULL;
}

const struct prog_expr *
prog_rule_call(const char *fn, const struct prog_expr *arg, struct arena *arena)
{
    struct prog_expr *e = arg ? build(PROG_CALL, fn, 1, arena) : NULL;

    if (!e)
        return NULL;
    e->arg[0] = writable(arg);
    e->rank = arg->rank;
    return e;
}

size_t prog_rule_size(const struct prog_expr *e)
{
    size_t n = 1, i;

    for (i = 0; i < e->n && n < 1000; i++)
        if (e->arg[i])
            n += prog_rule_size(e->arg[i]);
    return n;
}

/* ---- simplifying ---- */

/* A product taken apart: number * above[0] * ... / below[0] / ... */
struct product {
    double number;
    const struct prog_expr *above[MAX_FACTORS], *below[MAX_FACTORS];
    size_t n_above, n_below;
    int rank;
};

static bool is_number(const struct prog_expr *e, double v)
{
    return e && e->kind == PROG_NUMBER && e->number >= v && e->number <= v;
}

static void take_apart(struct product *p, const struct prog_expr *e, bool below)
{
    bool times = e->kind == PROG_BINARY && strcmp(e->text, "*") == 0;
    bool over = e->kind == PROG_BINARY && strcmp(e->text, "/") == 0;
    size_t *n = below ? &p->n_below : &p->n_above;

    if (e->kind == PROG_NUMBER) {
        p->number = below ? p->number / e->number : p->number * e->number;
    } else if (e->kind == PROG_NEG) {
        p->number = -p->number;
        take_apart(p, e->arg[0], below);
    } else if ((times || over) && *n < MAX_FACTORS / 2) {
        take_apart(p, e->arg[0], below);
        take_apart(p, e->arg[1], over ? !below : below);
    } else if (*n < MAX_FACTORS) {
        (below ? p->below : p->above)[(*n)++] = e;
    }
    if (e->rank > p->rank)
        p->rank = e->rank;
}

static const struct prog_expr *put_together(const struct product *p,
                                            struct arena *arena)
{
    const struct prog_expr *e = NULL;
    double number = fabs(p->number);
    struct prog_expr *neg;
    size_t i;

    if (p->n_above == 0 || number > 1.0 || number < 1.0 || isnan(number))
        e = prog_rule_number(number, arena);
    for (i = 0; i < p->n_above; i++)
        e = i || e ? binary("*", e, p->above[i], arena) : p->above[i];
    for (i = 0; e && i < p->n_below; i++)
        e = binary("/", e, p->below[i], arena);
    if (!e || !(p->number < 0))
        return e;
    if (e->kind == PROG_NUMBER)
        return prog_rule_number(-number, arena);
    neg = build(PROG_NEG, "-", 1, arena);
    if (!neg)
        return NULL;
    neg->arg[0] = writable(e);
    neg->rank = e->rank;
    return neg;
}

static const struct prog_expr *simplify_product(const struct prog_expr *e,
                                                struct arena *arena)
{
    struct product p = {.number = 1.0};

    if (prog_rule_size(e) > MAX_FACTORS)
        return e;
    take_apart(&p, e, false);
    return put_together(&p, arena);
}

static bool same(const struct prog_expr *a, const struct prog_expr *b)
{
    size_t i;

    if (a->kind != b->kind || a->n != b->n || strcmp(a->text, b->text) != 0)
        return false;
    for (i = 0; i < a->n; i++)
        if (!a->arg[i] || !b->arg[i] || !same(a->arg[i], b->arg[i]))
            return false;
    return true;
}

const struct prog_expr *prog_rule_sum(const struct prog_expr *a,
                                      const struct prog_expr *b,
                                      struct arena *arena)
{
    struct product p = {.number = 2.0};

    if (!a)
        return b;
    if (prog_rule_size(b) > MAX_FACTORS || !same(a, b))
        return binary("+", a, b, arena);
    take_apart(&p, b, false);
    return put_together(&p, arena);
}

/* The transpose of e, which is simple: of a product, and of a transpose. */
static const struct prog_expr *transposed(const struct prog_expr *e,
                                          struct arena *arena)
{
    bool turned = (e->kind == PROG_CALL && e->n == 1 &&
                   strcmp(e->text, "transpose") == 0) ||
                  (e->kind == PROG_ATTR && strcmp(e->text, "T") == 0);

    if (turned)
        return e->arg[0];
    if (e->kind != PROG_BINARY || *e->text != '@')
        return prog_rule_call("transpose", e, arena);
    return binary("@", transposed(e->arg[1], arena),
                  transposed(e->arg[0], arena), arena);
}

/* e, whose children are simple already. */
static const struct prog_expr *simplify(const struct prog_expr *e,
                                        struct arena *arena)
{
    const struct prog_expr *a = e->n > 0 ? e->arg[0] : NULL;
    const struct prog_expr *b = e->n > 1 ? e->arg[1] : NULL;

    if (e->kind == PROG_CALL && strcmp(e->text, "expand") == 0 && a->rank == 0)
        return a;
    if (e->kind == PROG_CALL && strcmp(e->text, "transpose") == 0)
        return transposed(a, arena);
    if (e->kind == PROG_NEG)
        return simplify_product(e, arena);
    if (e->kind != PROG_BINARY || *e->text == '@')
        return e;
    if (strcmp(e->text, "**") == 0)
        return is_number(b, 1)   ? a
               : is_number(b, 0) ? prog_rule_number(1.0, arena)
                                 : e;
    if (*e->text == '*' || *e->text == '/')
        return simplify_product(e, arena);
    if (a && b && a->kind == PROG_NUMBER && b->kind == PROG_NUMBER)
        return prog_rule_number(*e->text == '+' ? a->number + b->number
                                                : a->number - b->number,
                                arena);
    return e;
}

/* ---- putting names in ---- */

struct rule {
    const char *operand[PROG_MAX_IN]; /* names, in the order of operands */
    int n;
    const struct prog_value *v;
    const struct prog_expr *g;
    struct arena *arena;
};

static const struct prog_expr *name_for(const struct rule *r,
                                        const struct prog_expr *e)
{
    int i;

    if (strcmp(e->text, "g") == 0)
        return r->g;
    if (strcmp(e->text, "y") == 0)
        return prog_in_formula(r->arena, r->v);
    for (i = 0; i < r->n && i < r->v->n_in; i++)
        if (strcmp(e->text, r->operand[i]) == 0)
            return prog_in_formula(r->arena, r->v->in[i]);
    if (r->v->attr_name && strcmp(e->text, r->v->attr_name) == 0)
        return prog_rule_number(r->v->attr, r->arena);
    return e;
}

/* Rules are our own texts, a few levels deep. */
static const struct prog_expr *substitute(const struct rule *r,
                                          const struct prog_expr *e)
{
    struct prog_expr *out;
    size_t i;

    if (e->kind == PROG_NAME)
        return name_for(r, e);
    if (e->n == 0)
        return e;
    out = build(e->kind, e->text, e->n, r->arena);
    if (!out)
        return NULL;
    for (i = 0; i < e->n; i++) {
        const struct prog_expr *a = substitute(r, e->arg[i]);

        if (!a)
            return NULL;
        out->arg[i] = writable(a);
        if (a->rank > out->rank)
            out->rank = a->rank;
    }
    return simplify(out, r->arena);
}

/* ---- reading rules ---- */

/* Names below e that are no functions: operands, in order. */
static void find_operands(struct rule *r, const struct prog_expr *e)
{
    size_t i;
    int k;

    for (i = 0; i < e->n; i++)
        find_operands(r, e->arg[i]);
    if (e->kind != PROG_NAME || r->n == PROG_MAX_IN)
        return;
    for (k = 0; k < r->n; k++)
        if (strcmp(r->operand[k], e->text) == 0)
            return;
    r->operand[r->n++] = e->text;
}

/* The expression of the clause "lhs = ..." of text. *out NULL: there is none.
 */
static int clause(const struct prog_expr **out, const char *text,
                  const char *lhs, struct arena *arena, struct err *err)
{
    struct pl_diag d = {.arena = arena};
    struct prog_source s;
    size_t len = strlen(lhs), end;
    char *copy;

    *out = NULL;
    while (strncmp(text, lhs, len) != 0 || strncmp(text + len, " = ", 3) != 0) {
        text += strcspn(text, ";");
        if (*text == '\0')
            return 0;
        text += strspn(text, "; ");
    }
    text += len + 3;
    end = strcspn(text, ";");
    copy = arena_strndup(arena, text, end);
    if (!copy)
        return no_memory(err);
    prog_source_text(&s, copy);
    *out = prog_parse_expr(&s, arena, &d);
    if (d.nomem)
        return no_memory(err);
    return *out ? 0
                : err_set(err, ERR_CORRUPT, "a rule cannot be read: %s",
                          d.n ? d.item[0].msg : copy);
}

int prog_rule_grad(const struct prog_expr **out, const struct prog_value *v,
                   int k, const struct prog_expr *g, struct arena *arena,
                   struct err *err)
{
    struct rule r = {.v = v, .g = g, .arena = arena};
    const struct prog_expr *y, *e;
    char lhs[72] = "d";
    int rc;

    *out = NULL;
    if (!v->rule)
        return 0;
    rc = clause(&y, v->rule, "y", arena, err);
    if (rc != 0 || !y)
        return rc;
    find_operands(&r, y);
    if (k >= r.n || strlen(r.operand[k]) > 64)
        return 0;
    memcpy(lhs + 1, r.operand[k], strlen(r.operand[k]) + 1);
    rc = clause(&e, v->rule, lhs, arena, err);
    if (rc != 0 || !e)
        return rc;
    *out = substitute(&r, e);
    return *out ? 0 : no_memory(err);
}
