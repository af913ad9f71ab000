/* Inside of clean.c and clean_cache.c: removing what is ours. */
#ifndef PIPELINE_CLEAN_H
#define PIPELINE_CLEAN_H

#include <stdbool.h>

#include "nn/base/err.h"
#include "pipeline/pipeline.h"

/* What is being cleaned, and what has been found so far. */
struct pl_clean {
    const struct pl_clean_opts *opts;
    unsigned long long files, bytes; /* since the last pl_clean_tell */
};

/* Opens the folder name below fd (AT_FDCWD: anywhere), never through a link
 * at its end. < 0: errno says why. */
int pl_clean_open(int fd, const char *name);
/* Removes, or with dry counts, the plain file `name` of the folder fd. False:
 * it is no plain file, or gone. */
bool pl_clean_file(struct pl_clean *c, int fd, const char *name,
                   struct err *err);
/* Removes the folder if it is empty. */
void pl_clean_folder(const struct pl_clean *c, int fd, const char *name);
/* "removed PATH (2 files, 1.5 MB)"; and "kept PATH: ...". */
int pl_clean_tell(struct pl_clean *c, const char *path, struct err *err);
int pl_clean_kept(const struct pl_clean *c, const char *path, struct err *err);

/* Calls fn for every name in the folder fd but "." and "..", in the order of
 * the alphabet, until one returns other than 0. fd is closed. */
int pl_clean_each(int fd, const char *path,
                  int (*fn)(void *user, int dir, const char *name,
                            struct err *err),
                  void *user, struct err *err);

int pl_clean_cache(struct pl_clean *c, struct err *err);

#endif
