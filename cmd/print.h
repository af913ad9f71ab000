/* Lines and tables of results; `to` is stdout, or stderr where stdout is for a
 * program to read. */
#ifndef CMD_PRINT_H
#define CMD_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "pipeline/pipeline.h"

/* "run         train  (with.epochs 5 -> 10, and 1 more)"; all: then each
 * change in a line of its own. */
void print_step(FILE *to, const struct pl_step *s, bool all);
/* The expectations, a row each, and their points. */
void print_verdicts(FILE *to, const struct pl_result *r, bool color);

#endif
