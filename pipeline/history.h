/* Folders of results: clearing what a killed run left, and keeping what a new
 * run replaces under out/<name>/.runs/<n>/. */
#ifndef PIPELINE_HISTORY_H
#define PIPELINE_HISTORY_H

#include "nn/base/err.h"

enum { PL_HISTORY_KEPT = 10 };

/* Moves out/stage to out/.runs/<n>/stage. *n is 0 before a run's first move,
 * which takes the next number, copies resolved.yaml and pipeline.lock.json
 * there and drops what is older than the last PL_HISTORY_KEPT; later moves of
 * the run keep it. Nothing to move is no error. */
int pl_history_move(int *n, const char *out, const char *stage,
                    struct err *err);

/* Makes resolved.yaml of run n what it was when that run was made. */
int pl_history_resolved(int n, const char *out, const char *text,
                        struct err *err);

/* Removes the temporaries of io.h below dir. */
int pl_clear_temps(const char *dir, struct err *err);

#endif
