/* Where a path leads, links and `..` taken into account. */
#ifndef PIPELINE_REAL_PATH_H
#define PIPELINE_REAL_PATH_H

#include <limits.h>
#include <stdbool.h>

/* path without links; what does not exist stands behind the part that does.
 * false: it cannot be told, as with `..` below what is not there. */
bool pl_real_path(char out[PATH_MAX], const char *path);

/* True if real, of pl_real_path, is folder or below it. */
bool pl_is_below(const char *real, const char *folder);

#endif
