/* Figures and names as people read them. */
#ifndef PIPELINE_COMPARE_TEXT_H
#define PIPELINE_COMPARE_TEXT_H

#include "nn/base/str.h"

/* "4.21", "319.6", "24,310": the digits that count; nan: "-". */
void pl_add_figure(struct str *s, double v);
/* "5.6 times", "0.31 times". */
void pl_add_times(struct str *s, double ratio);

/* A kernel's name without what a reader can do without: its parameters, and
 * template arguments where they are long. */
void pl_add_kernel_name(struct str *s, const char *name);

#endif
