/* How far the work is, on stderr: one line that is rewritten, or a line now
 * and then. */
#ifndef CMD_PROGRESS_H
#define CMD_PROGRESS_H

#include <stdbool.h>

#include "pipeline/pipeline.h"

/* Zero-initialise, set mode. */
struct progress {
    int mode;       /* enum cmd_progress, not PROGRESS_AUTO */
    bool shown;     /* a line stands on the terminal */
    double last;    /* when something was shown */
    char stage[72]; /* what the numbers below are about */
    char unit[16];
    double begin;      /* when its first number came, */
    double begin_done; /* and which it was */
    double done;
};

void progress_show(struct progress *p, const char *stage,
                   const struct pl_progress *now);
/* Takes the line away, before anything else is printed. */
void progress_clear(struct progress *p);

/* What a line says: "train  epoch 2/5  45%  812 steps/s  ETA 0:12". elapsed
 * and since: seconds and units since the first number. */
void progress_text(struct str *out, const char *stage,
                   const struct pl_progress *now, double elapsed, double since);

#endif
