/* A program's gradients against central differences. */
#ifndef PIPELINE_PROG_DIFF_H
#define PIPELINE_PROG_DIFF_H

#include "pipeline/prog_check.h"
#include "pipeline/prog_run.h"

enum { PROG_DIFF_MAX = 2000 }; /* elements that are looked at */

struct prog_diff {
    /* the largest |backward - difference| / max(1, |backward|, |difference|) */
    double max_error;
    const char *where;    /* the tensor that it was in */
    int64_t checked;      /* elements times backwards compared */
    int64_t kinks;        /* left out: the function has a corner there */
    const char *not_made; /* why nothing was compared, or NULL */
};

/* base is the finished run of p, with its frozen values. The program is run
 * again with each element of each leaf (evenly thinned to PROG_DIFF_MAX) moved
 * by +-eps; what gradients do not flow through stays as it was. stop may be
 * NULL; once it says true the result is ERR_INTERRUPTED. */
int prog_diff_check(struct prog_diff *out, const struct prog_program *p,
                    const struct prog_run *base, double eps,
                    bool (*stop)(void *user), void *user, struct err *err);

#endif
