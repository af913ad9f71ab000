/* Everything that is wrong with a config, collected and shown at once. */
#ifndef PIPELINE_DIAG_H
#define PIPELINE_DIAG_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/base/arena.h"
#include "nn/base/str.h"
#include "pipeline/node.h"

enum { PL_DIAG_MAX = 20 };

struct pl_diag_item {
    struct pl_loc loc;
    const char *msg;
    const char *help; /* or NULL */
};

/* Zero-initialise, set arena. Messages past PL_DIAG_MAX are only counted. */
struct pl_diag {
    struct arena *arena;
    struct pl_diag_item item[PL_DIAG_MAX];
    size_t n;      /* items kept */
    size_t errors; /* all errors seen */
    bool kept;     /* the last error is the last item: help may be added */
    bool nomem;    /* out of memory happened: the list may be incomplete */
    const struct pl_file *quotable; /* the one file whose texts may be shown;
                                       NULL: all */
    bool others; /* other files were read: names may be theirs */
};

/* The same message for the same place is kept and counted once. */
void pl_diag_error(struct pl_diag *d, struct pl_loc loc, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds a help line to the last error; several are shown one below another. */
void pl_diag_help(struct pl_diag *d, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* "did you mean 'x'?" for the nearest of names, or the list of them when none
 * is near and the list is short. */
void pl_diag_suggest(struct pl_diag *d, const char *word,
                     const char *const *names, size_t n);

/* Damerau-Levenshtein nearest within 2 edits or a third of the length; NULL:
 * none. For commands too. */
const char *pl_nearest(const char *word, const char *const *names, size_t n);

/* Numbers of items in the order in which they are shown: files as the list
 * first names them, then line, column. order: d->n of them. */
void pl_diag_order(const struct pl_diag *d, size_t order[PL_DIAG_MAX]);

/* "file:line:col: error: ...", the line, a caret (right under wide characters;
 * a tab drawn as one column), "= help: ...", and a closing count. In the
 * order of the file. colour: ANSI escapes. */
void pl_diag_print(const struct pl_diag *d, struct str *out, bool colour);

#endif
