#include "pipeline/prog_parser.h"

#include <string.h>

/* ---- words ---- */

bool prog_at_sign(const struct prog_parser *p, const char *sign)
{
    return p->l.kind == TOK_SIGN && strcmp(p->l.text, sign) == 0;
}

bool prog_take_sign(struct prog_parser *p, const char *sign)
{
    if (!prog_at_sign(p, sign))
        return false;
    prog_lex_next(&p->l);
    return true;
}

/* What stands at hand, for messages. */
static const char *found(const struct prog_parser *p)
{
    switch (p->l.kind) {
    case TOK_END:
        return "the end of the program";
    case TOK_NEWLINE:
        return "the end of the line";
    case TOK_INDENT:
        return "a deeper indentation";
    case TOK_DEDENT:
        return "the end of the block";
    default:
        return NULL;
    }
}

void prog_wanted(struct prog_parser *p, const char *what)
{
    const char *it = found(p);

    if (it)
        prog_lex_error(&p->l, p->l.pos, "%s is due, not %s", what, it);
    else
        prog_lex_error(&p->l, p->l.pos, "%s is due, not '%s'", what, p->l.text);
}

void prog_need_sign(struct prog_parser *p, const char *sign, const char *what)
{
    if (!prog_take_sign(p, sign))
        prog_wanted(p, what);
}

/* The end of a bracket that was opened at pos: where the line is another one,
 * that it was not closed is the news. */
static void need_end(struct prog_parser *p, const char *sign, const char *what,
                     struct prog_pos pos)
{
    if (prog_at_sign(p, sign) || p->l.pos.line == pos.line)
        prog_need_sign(p, sign, what);
    else
        prog_lex_error(&p->l, pos, "this bracket is not closed");
}

/* ---- the tree ---- */

/* Room for n children; NULL: out of memory or too deep. */
static struct prog_expr *new_expr(struct prog_parser *p, enum prog_kind kind,
                                  struct prog_pos pos, const char *text,
                                  size_t n)
{
    struct prog_expr *e = arena_alloc(p->l.arena, sizeof *e);

    if (e && n)
        e->arg = arena_array(p->l.arena, n, sizeof(struct prog_expr *));
    if (!e || (n && !e->arg)) {
        p->l.d->nomem = true;
        p->l.failed = true;
        return NULL;
    }
    e->kind = kind;
    e->pos = pos;
    e->text = text;
    e->n = n;
    return e;
}

static void too_deep(struct prog_parser *p, struct prog_pos pos)
{
    prog_lex_error(&p->l, pos, "an expression nests deeper than %d levels",
                   PROG_MAX_DEPTH);
}

/* Sets e's depth; NULL if there are too many levels. */
static struct prog_expr *whole(struct prog_parser *p, struct prog_expr *e)
{
    size_t i;

    if (!e || p->l.failed)
        return NULL;
    for (i = 0; i < e->n; i++)
        if (e->arg[i] && e->arg[i]->depth >= e->depth)
            e->depth = e->arg[i]->depth + 1;
    if (e->depth <= PROG_MAX_DEPTH)
        return e;
    too_deep(p, e->pos);
    return NULL;
}

static struct prog_expr *new_binary(struct prog_parser *p, struct prog_pos pos,
                                    const char *op, struct prog_expr *a,
                                    struct prog_expr *b)
{
    struct prog_expr *e;

    if (!a || !b)
        return NULL;
    e = new_expr(p, PROG_BINARY, pos, op, 2);
    if (!e)
        return NULL;
    e->arg[0] = a;
    e->arg[1] = b;
    return whole(p, e);
}

/* ---- expressions ---- */

static struct prog_expr *parse_word(struct prog_parser *p)
{
    struct prog_lexer *l = &p->l;
    struct prog_expr *e = NULL;

    if (l->kind == TOK_NUMBER) {
        e = new_expr(p, PROG_NUMBER, l->pos, l->text, 0);
        if (e)
            e->number = l->number;
    } else if (l->kind == TOK_NAME) {
        e = new_expr(p, PROG_NAME, l->pos, l->text, 0);
    } else if (l->kind == TOK_TEXT) {
        e = new_expr(p, PROG_TEXT, l->pos, l->text, 0);
    } else if (prog_at_sign(p, "(")) {
        struct prog_pos pos = l->pos;

        prog_lex_next(l);
        e = prog_parse_sum(p);
        if (!l->failed)
            need_end(p, ")", "')'", pos);
        return l->failed ? NULL : e;
    } else {
        prog_wanted(p, "a value");
    }
    if (e && !l->failed)
        prog_lex_next(l);
    return l->failed ? NULL : e;
}

/* Arguments up to ')'; e's arrays have room for PROG_MAX_ARGS. */
static void parse_args(struct prog_parser *p, struct prog_expr *e,
                       struct prog_pos open)
{
    while (!p->l.failed && !prog_take_sign(p, ")")) {
        struct prog_pos pos = p->l.pos;
        struct prog_expr *a;

        if (e->n == PROG_MAX_ARGS) {
            prog_lex_error(&p->l, pos, "a call has at most %d arguments",
                           PROG_MAX_ARGS);
            return;
        }
        a = prog_parse_sum(p);
        if (a && a->kind == PROG_NAME && prog_take_sign(p, "=")) {
            e->key[e->n] = a->text;
            a = prog_parse_sum(p);
            if (a)
                a->pos = pos; /* the key is what messages point at */
        } else if (a && e->n > 0 && e->key[e->n - 1]) {
            prog_lex_error(&p->l, pos,
                           "a value without a name stands behind one with a "
                           "name");
        }
        e->arg[e->n++] = a;
        if (!p->l.failed && !prog_at_sign(p, ")"))
            need_end(p, ",", "',' or ')'", open);
    }
}

static struct prog_expr *parse_call(struct prog_parser *p,
                                    struct prog_expr *name)
{
    struct prog_pos open = p->l.pos;
    struct prog_expr *e;

    if (name->kind != PROG_NAME) {
        prog_lex_error(&p->l, p->l.pos, "only a function's name is called");
        return NULL;
    }
    prog_lex_next(&p->l);
    e = new_expr(p, PROG_CALL, name->pos, name->text, PROG_MAX_ARGS);
    if (!e)
        return NULL;
    e->n = 0;
    e->key = arena_array(p->l.arena, PROG_MAX_ARGS, sizeof *e->key);
    if (!e->key) {
        p->l.d->nomem = p->l.failed = true;
        return NULL;
    }
    parse_args(p, e, open);
    return whole(p, e);
}

static struct prog_expr *parse_index(struct prog_parser *p,
                                     struct prog_expr *of)
{
    struct prog_expr *e = new_expr(p, PROG_INDEX, p->l.pos, "[", 3);

    if (!e)
        return NULL;
    prog_lex_next(&p->l);
    e->arg[0] = of;
    if (!prog_at_sign(p, ":"))
        e->arg[1] = prog_parse_sum(p);
    if (!p->l.failed && prog_take_sign(p, ":")) {
        e->slice = true;
        if (!prog_at_sign(p, "]"))
            e->arg[2] = prog_parse_sum(p);
    }
    if (!p->l.failed)
        prog_need_sign(p, "]", "']'");
    return whole(p, e);
}

static struct prog_expr *parse_attr(struct prog_parser *p, struct prog_expr *of)
{
    struct prog_expr *e;

    prog_lex_next(&p->l);
    if (p->l.kind != TOK_NAME) {
        prog_wanted(p, "a name behind '.'");
        return NULL;
    }
    e = new_expr(p, PROG_ATTR, p->l.pos, p->l.text, 1);
    if (e)
        e->arg[0] = of;
    prog_lex_next(&p->l);
    return whole(p, e);
}

static struct prog_expr *parse_postfix(struct prog_parser *p)
{
    struct prog_expr *e = parse_word(p);

    while (e) {
        if (prog_at_sign(p, "("))
            e = parse_call(p, e);
        else if (prog_at_sign(p, "["))
            e = parse_index(p, e);
        else if (prog_at_sign(p, "."))
            e = parse_attr(p, e);
        else
            break;
    }
    return e;
}

static struct prog_expr *parse_unary(struct prog_parser *p);

/* x ** y: the left side binds over unary minus, the right side below it. */
static struct prog_expr *parse_power(struct prog_parser *p)
{
    struct prog_expr *a = parse_postfix(p);
    struct prog_pos pos = p->l.pos;

    if (!a || !prog_take_sign(p, "**"))
        return a;
    return new_binary(p, pos, "**", a, parse_unary(p));
}

static struct prog_expr *parse_sign(struct prog_parser *p)
{
    struct prog_pos pos = p->l.pos;
    struct prog_expr *a, *e;

    if (prog_take_sign(p, "+"))
        return parse_unary(p);
    if (!prog_take_sign(p, "-"))
        return parse_power(p);
    a = parse_unary(p);
    e = a ? new_expr(p, PROG_NEG, pos, "-", 1) : NULL;
    if (e)
        e->arg[0] = a;
    return whole(p, e);
}

/* Every way down goes through here: where depth is counted. */
static struct prog_expr *parse_unary(struct prog_parser *p)
{
    struct prog_expr *e = NULL;

    if (p->depth >= PROG_MAX_DEPTH) {
        too_deep(p, p->l.pos);
        return NULL;
    }
    p->depth++;
    e = parse_sign(p);
    p->depth--;
    return e;
}

static struct prog_expr *parse_product(struct prog_parser *p)
{
    struct prog_expr *e = parse_unary(p);

    while (e && (prog_at_sign(p, "*") || prog_at_sign(p, "/") ||
                 prog_at_sign(p, "@"))) {
        struct prog_pos pos = p->l.pos;
        const char *op = p->l.text;

        prog_lex_next(&p->l);
        e = new_binary(p, pos, op, e, parse_unary(p));
    }
    return e;
}

struct prog_expr *prog_parse_sum(struct prog_parser *p)
{
    struct prog_expr *e = parse_product(p);

    while (e && (prog_at_sign(p, "+") || prog_at_sign(p, "-"))) {
        struct prog_pos pos = p->l.pos;
        const char *op = p->l.text;

        prog_lex_next(&p->l);
        e = new_binary(p, pos, op, e, parse_product(p));
    }
    return e;
}

struct prog_expr *prog_parse_expr(const struct prog_source *s,
                                  struct arena *arena, struct pl_diag *d)
{
    struct prog_parser p = {.depth = 0};
    struct prog_expr *e = NULL;

    prog_lex_begin(&p.l, s, arena, d);
    if (!p.l.failed)
        prog_lex_next(&p.l);
    if (!p.l.failed)
        e = prog_parse_sum(&p);
    if (!p.l.failed && p.l.kind != TOK_NEWLINE && p.l.kind != TOK_END)
        prog_wanted(&p, "an operator or the end");
    return p.l.failed || d->nomem ? NULL : e;
}
