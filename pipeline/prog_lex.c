#include "pipeline/prog_lex.h"

#include <stdarg.h>
#include <string.h>

#include "pipeline/scalar.h"
#include "pipeline/utf8.h"

void prog_lex_error(struct prog_lexer *l, struct prog_pos pos, const char *fmt,
                    ...)
{
    struct str s = {0};
    va_list ap;

    if (l->failed)
        return;
    l->failed = true;
    va_start(ap, fmt);
    str_addv(&s, fmt, ap);
    va_end(ap);
    if (s.failed)
        l->d->nomem = true;
    else
        pl_diag_error(l->d, prog_loc(l->s, pos), "%s", s.text);
    str_free(&s);
}

void prog_lex_begin(struct prog_lexer *l, const struct prog_source *s,
                    struct arena *arena, struct pl_diag *d)
{
    memset(l, 0, sizeof *l);
    l->s = s;
    l->arena = arena;
    l->d = d;
    l->line_start = true;
    l->text = "";
    if (s->len > PROG_MAX_BYTES) {
        prog_lex_error(l, l->pos, "a program has at most %d bytes, not %zu",
                       PROG_MAX_BYTES, s->len);
        l->at = s->len;
    }
}

static int peek(const struct prog_lexer *l, size_t ahead)
{
    size_t i = l->at + ahead;

    return i < l->s->len ? (unsigned char)l->s->text[i] : -1;
}

/* Takes n bytes of ASCII. */
static void take(struct prog_lexer *l, size_t n)
{
    l->at += n;
    l->col += (int)n;
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           is_digit(c);
}

static void skip_comment(struct prog_lexer *l)
{
    while (peek(l, 0) >= 0 && peek(l, 0) != '\n')
        take(l, 1);
}

static void new_line(struct prog_lexer *l)
{
    l->at++;
    l->line++;
    l->col = 0;
}

/* Blanks, comments and, inside of brackets, ends of lines. */
static void skip_blanks(struct prog_lexer *l)
{
    for (;;) {
        int c = peek(l, 0);

        if (c == ' ' || c == '\t' || c == '\r')
            take(l, 1);
        else if (c == '#')
            skip_comment(l);
        else if (c == '\n' && l->open > 0)
            new_line(l);
        else
            return;
    }
}

/* Goes over empty lines; the blanks before the next word decide blocks. */
static bool begin_line(struct prog_lexer *l)
{
    int top;

    l->line_start = false;
    skip_blanks(l);
    while (peek(l, 0) == '\n') {
        new_line(l);
        skip_blanks(l);
    }
    l->pos = (struct prog_pos){l->line, l->col, 1};
    if (peek(l, 0) < 0)
        l->col = 0; /* the end closes every block */
    top = l->n_indent ? l->indent[l->n_indent - 1] : 0;
    if (l->col > top && l->n_indent < PROG_MAX_BLOCKS) {
        l->indent[l->n_indent++] = l->col;
        l->kind = TOK_INDENT;
        return true;
    }
    if (l->col > top)
        prog_lex_error(l, l->pos, "blocks nest deeper than %d",
                       PROG_MAX_BLOCKS);
    while (l->n_indent && l->col < l->indent[l->n_indent - 1]) {
        l->n_indent--;
        l->dedents++;
    }
    top = l->n_indent ? l->indent[l->n_indent - 1] : 0;
    if (l->col != top && !l->failed)
        prog_lex_error(l, l->pos,
                       "this line begins in no column that a block "
                       "has");
    return false;
}

static const char *keep(struct prog_lexer *l, size_t begin, size_t n)
{
    const char *text = arena_strndup(l->arena, l->s->text + begin, n);

    if (!text)
        l->d->nomem = true;
    return text ? text : "";
}

static void lex_number(struct prog_lexer *l)
{
    size_t begin = l->at;
    int c;

    while (is_word(c = peek(l, 0)) || c == '.') {
        bool exponent = c == 'e' || c == 'E';

        take(l, 1);
        if (exponent && (peek(l, 0) == '+' || peek(l, 0) == '-'))
            take(l, 1);
    }
    l->kind = TOK_NUMBER;
    l->text = keep(l, begin, l->at - begin);
    l->pos.len = (int)(l->at - begin);
    if (l->at - begin > 64 || scalar_double(l->text, &l->number) != SCALAR_OK)
        prog_lex_error(l, l->pos, "'%.64s' is not a number", l->text);
}

static void lex_name(struct prog_lexer *l)
{
    size_t begin = l->at;

    while (is_word(peek(l, 0)))
        take(l, 1);
    l->kind = TOK_NAME;
    l->text = keep(l, begin, l->at - begin);
    l->pos.len = (int)(l->at - begin);
    if (l->at - begin > 64)
        prog_lex_error(l, l->pos, "a name has at most 64 characters");
}

static void lex_text(struct prog_lexer *l)
{
    int quote = peek(l, 0);
    size_t begin = l->at + 1;

    take(l, 1);
    while (peek(l, 0) != quote) {
        if (peek(l, 0) < 0 || peek(l, 0) == '\n') {
            prog_lex_error(l, l->pos, "this text is not closed on its line");
            return;
        }
        l->col += (peek(l, 0) & 0xc0) != 0x80;
        l->at++;
    }
    l->kind = TOK_TEXT;
    l->text = keep(l, begin, l->at - begin);
    take(l, 1);
    l->pos.len = l->col - l->pos.col;
}

static void bad_character(struct prog_lexer *l)
{
    uint32_t cp;
    size_t n = utf8_decode(l->s->text + l->at, l->s->len - l->at, &cp);

    n = n ? n : 1;
    prog_lex_error(l, l->pos, "'%.*s' is no part of a program", (int)n,
                   l->s->text + l->at);
}

static void lex_sign(struct prog_lexer *l)
{
    static const char *const signs[] = {
        "**", "+=", "-=", "*=", "/=", "+", "-", "*", "/", "@",
        "(",  ")",  "[",  "]",  ",",  ".", ":", "=", ";",
    };
    size_t i, n;

    for (i = 0; i < sizeof signs / sizeof *signs; i++) {
        n = strlen(signs[i]);
        if (l->s->len - l->at >= n &&
            memcmp(l->s->text + l->at, signs[i], n) == 0)
            break;
    }
    if (i == sizeof signs / sizeof *signs) {
        bad_character(l);
        return;
    }
    take(l, n);
    l->kind = TOK_SIGN;
    l->text = signs[i];
    l->pos.len = (int)n;
    if (*l->text == '(' || *l->text == '[')
        l->open++;
    else if ((*l->text == ')' || *l->text == ']') && l->open > 0)
        l->open--;
}

static void lex_word(struct prog_lexer *l)
{
    int c = peek(l, 0);

    l->pos = (struct prog_pos){l->line, l->col, 1};
    l->kind = TOK_SIGN; /* of what cannot be read: it stands on this line */
    if (c < 0) {
        l->kind = TOK_END;
    } else if (c == '\n') {
        l->kind = TOK_NEWLINE;
        new_line(l);
        l->line_start = true;
    } else if (is_digit(c) || (c == '.' && is_digit(peek(l, 1)))) {
        lex_number(l);
    } else if (is_word(c)) {
        lex_name(l);
    } else if (c == '"' || c == '\'') {
        lex_text(l);
    } else {
        lex_sign(l);
    }
}

void prog_lex_next(struct prog_lexer *l)
{
    bool end = l->kind == TOK_NEWLINE || l->at == 0;

    l->text = "";
    if (l->line_start && begin_line(l))
        return;
    if (l->dedents > 0) {
        l->dedents--;
        l->kind = TOK_DEDENT;
        return;
    }
    skip_blanks(l);
    if (peek(l, 0) < 0 && !end && l->kind != TOK_DEDENT && l->kind != TOK_END) {
        l->kind = TOK_NEWLINE; /* the last line may lack it */
        l->pos = (struct prog_pos){l->line, l->col, 1};
        l->line_start = true;
        return;
    }
    lex_word(l);
}

void prog_lex_skip_line(struct prog_lexer *l)
{
    if (l->kind != TOK_NEWLINE) {
        skip_comment(l);
        if (peek(l, 0) == '\n')
            new_line(l);
    }
    l->open = 0;
    l->line_start = true;
    l->failed = false;
    l->kind = TOK_NEWLINE;
    prog_lex_next(l);
}
