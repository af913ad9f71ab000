/* What the two output streams can show. */
#ifndef CMD_TERM_H
#define CMD_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Whether to colour a stream: --color, then NO_COLOR, then CLICOLOR_FORCE or
 * FORCE_COLOR, then a terminal that is not dumb. color: enum cmd_color. */
bool term_color(FILE *stream, int color);
/* A terminal on which a line can be rewritten, outside CI. */
bool term_rewrites(FILE *stream);
/* Columns of the terminal; 80 if unknown. */
size_t term_columns(FILE *stream);
/* Characters of a UTF-8 text. */
size_t term_length(const char *text);

#endif
