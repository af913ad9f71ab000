/* What the parsers of expressions and of statements share. */
#ifndef PIPELINE_PROG_PARSER_H
#define PIPELINE_PROG_PARSER_H

#include "pipeline/prog_lex.h"

struct prog_parser {
    struct prog_lexer l;
    int depth; /* of expressions, as the parser goes down */
};

bool prog_at_sign(const struct prog_parser *p, const char *sign);
/* True if the sign was at hand: then it is gone by. */
bool prog_take_sign(struct prog_parser *p, const char *sign);
/* The error that `what` is due in place of what is at hand. */
void prog_wanted(struct prog_parser *p, const char *what);
void prog_need_sign(struct prog_parser *p, const char *sign, const char *what);
/* A whole expression; NULL after an error. */
struct prog_expr *prog_parse_sum(struct prog_parser *p);

#endif
