/* Lines and tables of results on stdout. */
#ifndef CMD_PRINT_H
#define CMD_PRINT_H

#include <stdbool.h>

#include "pipeline/pipeline.h"

/* "run         train  (with.epochs 5 -> 10)" */
void print_step(const struct pl_step *s);
/* The expectations, a row each, and their points. */
void print_verdicts(const struct pl_result *r, bool color);

#endif
