/* The words of a program. */
#ifndef PIPELINE_PROG_LEX_H
#define PIPELINE_PROG_LEX_H

#include "pipeline/prog.h"

enum prog_token {
    TOK_END,
    TOK_NEWLINE, /* the end of a statement */
    TOK_INDENT,
    TOK_DEDENT,
    TOK_NUMBER,
    TOK_NAME,
    TOK_TEXT,
    TOK_SIGN /* an operator or bracket: its text */
};

struct prog_lexer {
    const struct prog_source *s;
    struct arena *arena;
    struct pl_diag *d;
    size_t at; /* next byte */
    int line, col;
    int open; /* brackets */
    int indent[PROG_MAX_BLOCKS];
    int n_indent;
    int dedents; /* yet to be told */
    bool line_start;
    /* the word at hand */
    enum prog_token kind;
    struct prog_pos pos;
    const char *text; /* NUL-terminated; "" for what has none */
    double number;
    bool failed; /* an error was told: the rest of the line is skipped */
};

void prog_lex_begin(struct prog_lexer *l, const struct prog_source *s,
                    struct arena *arena, struct pl_diag *d);
void prog_lex_next(struct prog_lexer *l);
/* Goes to the next line, brackets forgotten. */
void prog_lex_skip_line(struct prog_lexer *l);
/* Tells an error at pos, one a line. */
void prog_lex_error(struct prog_lexer *l, struct prog_pos pos, const char *fmt,
                    ...) __attribute__((format(printf, 3, 4)));

#endif
