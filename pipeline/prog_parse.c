/* Statements. */
#include <string.h>

#include "pipeline/prog.h"
#include "pipeline/prog_parser.h"

static struct prog_stmt *parse_stmt(struct prog_parser *p);
static struct prog_stmt *parse_line(struct prog_parser *p);

static struct prog_stmt *new_stmt(struct prog_parser *p,
                                  enum prog_stmt_kind kind)
{
    struct prog_stmt *s = arena_alloc(p->l.arena, sizeof *s);

    if (!s) {
        p->l.d->nomem = p->l.failed = true;
        return NULL;
    }
    s->kind = kind;
    s->pos = p->l.pos;
    return s;
}

/* Statements until the block, or the program, ends. */
static struct prog_stmt *parse_block(struct prog_parser *p)
{
    struct prog_stmt *first = NULL, **next = &first;

    while (p->l.kind != TOK_END && p->l.kind != TOK_DEDENT && !p->l.d->nomem) {
        struct prog_stmt *s = NULL;

        if (p->l.kind == TOK_INDENT)
            prog_lex_error(&p->l, p->l.pos,
                           "this line is indented, and no "
                           "block begins above it");
        if (!p->l.failed)
            s = parse_stmt(p);
        if (p->l.failed) {
            prog_lex_skip_line(&p->l);
            continue;
        }
        for (*next = s; *next; next = &(*next)->next)
            continue;
    }
    return first;
}

static void parse_no_grad(struct prog_parser *p, struct prog_stmt *s)
{
    prog_lex_next(&p->l);
    if (prog_take_sign(p, "("))
        prog_need_sign(p, ")", "')'");
    if (!p->l.failed)
        prog_need_sign(p, ":", "':'");
    if (p->l.failed)
        return;
    if (p->l.kind != TOK_NEWLINE) {
        s->body = parse_line(p);
        return;
    }
    prog_lex_next(&p->l);
    if (p->l.kind != TOK_INDENT) {
        prog_wanted(p, "an indented block");
        return;
    }
    prog_lex_next(&p->l);
    s->body = parse_block(p);
    if (p->l.kind == TOK_DEDENT)
        prog_lex_next(&p->l);
}

static void parse_raises(struct prog_parser *p, struct prog_stmt *s)
{
    prog_lex_next(&p->l);
    prog_need_sign(p, "(", "'('");
    if (!p->l.failed && p->l.kind != TOK_TEXT)
        prog_wanted(p, "a part of the message, in quotes,");
    if (!p->l.failed && *p->l.text == '\0') /* it would fit any error */
        prog_wanted(p, "a part of the message that is not empty");
    if (p->l.failed)
        return;
    s->text = p->l.text;
    prog_lex_next(&p->l);
    prog_need_sign(p, ")", "')'");
    if (!p->l.failed)
        prog_need_sign(p, ":", "':'");
    if (!p->l.failed)
        s->body = parse_line(p);
}

static void parse_target(struct prog_parser *p, struct prog_stmt *s)
{
    static const char *const in_place[] = {"+=", "-=", "*=", "/="};
    static const char *const op[] = {"+", "-", "*", "/"};
    struct prog_expr *target = prog_parse_sum(p);
    struct prog_pos pos = p->l.pos;
    size_t i;

    s->expr = target;
    s->kind = PROG_EXPR;
    if (!target || p->l.kind != TOK_SIGN)
        return;
    for (i = 0; i < 4 && !prog_at_sign(p, in_place[i]); i++)
        continue;
    if (i == 4 && !prog_at_sign(p, "="))
        return;
    if (target->kind != PROG_NAME) {
        prog_lex_error(&p->l, pos, "only a name stands before '%s'", p->l.text);
        return;
    }
    s->kind = i < 4 ? PROG_INPLACE : PROG_ASSIGN;
    s->op = i < 4 ? op[i] : NULL;
    s->name = target->text;
    prog_lex_next(&p->l);
    s->expr = prog_parse_sum(p);
}

/* Ends a statement; true if another one follows on its line. */
static bool end_stmt(struct prog_parser *p)
{
    if (p->l.failed)
        return false;
    if (prog_take_sign(p, ";") && p->l.kind != TOK_NEWLINE)
        return !p->l.failed;
    if (p->l.kind == TOK_NEWLINE)
        prog_lex_next(&p->l);
    else if (!p->l.failed)
        prog_wanted(p, "an operator or the end of the line");
    return false;
}

static bool at_word(const struct prog_parser *p, const char *word)
{
    return p->l.kind == TOK_NAME && strcmp(p->l.text, word) == 0;
}

/* Statements up to the end of the line, with ';' between; none that takes
 * others with it, as in Python. */
static struct prog_stmt *parse_line(struct prog_parser *p)
{
    struct prog_stmt *first = NULL, **next = &first;
    bool more = true;

    while (more) {
        if (at_word(p, "no_grad") || at_word(p, "raises")) {
            prog_lex_error(&p->l, p->l.pos, "'%s' begins a line", p->l.text);
            return NULL;
        }
        *next = new_stmt(p, PROG_EXPR);
        if (!*next)
            return NULL;
        parse_target(p, *next);
        next = &(*next)->next;
        more = end_stmt(p);
    }
    return first;
}

/* The statements of a line, or one with its block. */
static struct prog_stmt *parse_stmt(struct prog_parser *p)
{
    bool no_grad = at_word(p, "no_grad");
    struct prog_stmt *s;

    if (!no_grad && !at_word(p, "raises"))
        return parse_line(p);
    s = new_stmt(p, no_grad ? PROG_NO_GRAD : PROG_RAISES);
    if (s && no_grad)
        parse_no_grad(p, s);
    else if (s)
        parse_raises(p, s);
    return s;
}

struct prog_stmt *prog_parse(const struct prog_source *s, struct arena *arena,
                             struct pl_diag *d)
{
    struct prog_parser p = {.depth = 0};
    size_t errors = d->errors;
    struct prog_stmt *first;

    prog_lex_begin(&p.l, s, arena, d);
    if (!p.l.failed)
        prog_lex_next(&p.l);
    if (p.l.failed && s->len > PROG_MAX_BYTES)
        return NULL;
    first = parse_block(&p);
    if (!first && d->errors == errors)
        pl_diag_error(d, s->loc, "the program has no statement");
    return d->errors == errors && !d->nomem ? first : NULL;
}
