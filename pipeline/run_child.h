/* A stage in a process of its own, and what it tells of itself. */
#ifndef PIPELINE_RUN_CHILD_H
#define PIPELINE_RUN_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "nn/base/err.h"
#include "nn/base/str.h"
#include "pipeline/run.h"

struct pl_child {
    pid_t pid;
    int fd;          /* what it tells comes from here; -1: it has ended */
    struct str told; /* whole messages of it, for pl_child_replay */
    struct str raw;  /* bytes that are no whole message yet */
    bool reported;   /* the three below are there */
    int rc;
    struct err err;
    double seconds;
    struct pl_known known; /* what the stage is from now on */
};

/* Begins stage i, whose folder pl_run_stage_begin has made, in a process that
 * ends with this one, whatever ends it. *stop, in shared memory, asks it to
 * stop; signals of the terminal do not reach it. */
int pl_child_start(struct pl_child *c, struct pl_run *run,
                   const struct pl_decision *d,
                   const volatile sig_atomic_t *stop, struct err *err);

/* Reads what is there to be read. False: it has ended, and c->rc and c->err
 * say how. Progress is shown at once. */
bool pl_child_read(struct pl_child *c, const struct pl_run *run,
                   const char *stage);

/* Shows what it told. */
void pl_child_replay(const struct pl_child *c, const struct pl_run *run);

/* Ends it by force if it runs; frees what *c holds. */
void pl_child_free(struct pl_child *c);

#endif
