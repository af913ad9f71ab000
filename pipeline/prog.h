/* Programs: the small language of the autograd stage, as a tree in which
 * every node knows where it stands.
 *
 *   name = expr        name += expr (-= *= /=: in place)        expr
 *   no_grad: ...       raises("part of the message"): statement
 *
 * Statements stand on lines of their own or have `;` between them; inside of
 * parentheses a line may end anywhere. The block of no_grad is indented, as in
 * Python, or is the rest of its line; so is what raises speaks of: the first
 * error ends it. `#` begins a comment. Operators bind as in Python: ** over
 * unary - over * / @ over + and -. */
#ifndef PIPELINE_PROG_H
#define PIPELINE_PROG_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/base/arena.h"
#include "pipeline/diag.h"
#include "pipeline/node.h"

/* A program's text and where it stands in the user's file. */
struct prog_source {
    const char *text;
    size_t len;
    struct pl_loc loc; /* of the scalar */
    int line; /* in the file, of the program's first line; 0: unknown */
    int col;  /* columns before each line: its indentation */
};

/* A place in a program: line from 0, column from 0, both in the text. */
struct prog_pos {
    int line, col, len;
};

enum prog_kind {
    PROG_NUMBER, /* number */
    PROG_TEXT,   /* text */
    PROG_NAME,   /* text */
    PROG_NEG,    /* -arg[0] */
    PROG_BINARY, /* arg[0] op arg[1]; text: "+", "**", "@", ... */
    PROG_CALL,   /* text(arg...) */
    PROG_ATTR,   /* arg[0].text */
    PROG_INDEX   /* arg[0][arg[1] : arg[2]]; slice; NULL: left out */
};

struct prog_expr {
    enum prog_kind kind;
    struct prog_pos pos; /* of its operator or first word, for messages */
    double number;
    const char *text;
    struct prog_expr **arg;
    const char **key; /* PROG_CALL: of arguments written key=value, or NULL */
    size_t n;
    bool slice; /* PROG_INDEX */
    int depth;  /* levels below */
    int rank;   /* in derivations: how many dimensions it has */
};

enum prog_stmt_kind {
    PROG_ASSIGN,  /* name = expr */
    PROG_INPLACE, /* name op= expr */
    PROG_EXPR,    /* expr */
    PROG_NO_GRAD, /* body */
    PROG_RAISES   /* body must fail with text */
};

struct prog_stmt {
    enum prog_stmt_kind kind;
    struct prog_pos pos;
    const char *name; /* of what is set */
    const char *op;   /* PROG_INPLACE: "+", "-", "*", "/" */
    const char *text; /* PROG_RAISES */
    struct prog_expr *expr;
    struct prog_stmt *body, *next;
};

enum {
    PROG_MAX_BYTES = 1 << 20,
    PROG_MAX_DEPTH = 200, /* levels of an expression */
    PROG_MAX_ARGS = 16,
    PROG_MAX_BLOCKS = 32
};

/* Where a scalar's lines stand in its file. */
void prog_source(struct prog_source *out, const struct pl_node *scalar);
/* The source of a text that stands in no file. */
void prog_source_text(struct prog_source *out, const char *text);
/* The place in the file, for messages. */
struct pl_loc prog_loc(const struct prog_source *s, struct prog_pos pos);

/* The statements, in order; memory from arena. NULL after an error in d, or
 * if there is none to run (an error too). Stops at the first error of a line
 * and goes on with the next line. */
struct prog_stmt *prog_parse(const struct prog_source *s, struct arena *arena,
                             struct pl_diag *d);

/* One expression alone: a rule's text. NULL: an error in d. */
struct prog_expr *prog_parse_expr(const struct prog_source *s,
                                  struct arena *arena, struct pl_diag *d);

/* Appends the expression as it would be written, with no more parentheses
 * than it needs. */
struct str;
void prog_expr_add(struct str *out, const struct prog_expr *e);

#endif
