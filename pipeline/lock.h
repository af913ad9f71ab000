/* One run at a time in an output folder. */
#ifndef PIPELINE_LOCK_H
#define PIPELINE_LOCK_H

#include <stdbool.h>

#include "nn/base/err.h"

/* The kernel drops the lock with its process: none is ever left behind. */
struct pl_lock {
    int fd;
};

/* Locks dir/.lock, which need not exist yet; dir must. ERR_LOCKED names the
 * holder. */
int pl_lock_take(struct pl_lock *l, const char *dir, struct err *err);
void pl_lock_drop(struct pl_lock *l);

/* Whether a run holds dir; text then gets "pid 12 on host since ...". Writes
 * nothing. */
bool pl_lock_held(const char *dir, char text[200]);

#endif
