/* The files below a folder that `pipeline view` shows. No link is followed on
 * the way down, whatever is renamed or replaced meanwhile. */
#ifndef PIPELINE_VIEW_FILES_H
#define PIPELINE_VIEW_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "nn/base/arena.h"
#include "nn/base/err.h"

enum {
    VIEW_FILES_MAX = 20000, /* of a page; more are counted, not shown */
    VIEW_DEPTH_MAX = 8
};

struct view_file {
    const char *path; /* below the folder listed */
    uint64_t bytes;
};

/* What is in a folder and in those below it, but not in those of other runs:
 * they are named. */
struct view_list {
    struct view_file *file; /* a folder's files together, folders by name */
    size_t n, cap;
    struct view_file *run; /* folders with a resolved.yaml */
    size_t n_runs, run_cap;
    bool more; /* there are more, or deeper ones */
    struct arena arena;
};

/* A file or folder below root, "" being root itself, open to be read; -1: it is
 * not there, or is neither. *folder says which. */
int view_open(int root, const char *rel, bool *folder, uint64_t *bytes);

/* Lists the folder fd, which is the caller's. ERR_NOMEM; *list is to be
 * ended by view_list_free either way. */
int view_list_make(struct view_list *list, int fd, struct err *err);
void view_list_free(struct view_list *list);

#endif
