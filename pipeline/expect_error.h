/* Stages that are meant to fail. */
#ifndef PIPELINE_EXPECT_ERROR_H
#define PIPELINE_EXPECT_ERROR_H

#include <stdbool.h>

#include "nn/base/err.h"
#include "nn/base/str.h"
#include "pipeline/config.h"

/* The text that the error of stage s is to contain, or NULL: it is to run. */
const char *pl_expected_error(const struct pl_stage *s);

/* Whether message is the one that s is meant to fail with. */
bool pl_error_expected(const struct pl_stage *s, const char *message);

/* Whether a failure of this kind can be an expected one: not that it was
 * stopped or timed out, had no memory, or a download failed. */
bool pl_error_counts(int code);

/* Appends message without what hangs on where things lie: each folder in dirs
 * (n, NULLs are passed over), longest first, and the slash behind it. */
void pl_error_text(struct str *out, const char *message,
                   const char *const *dirs, size_t n);

#endif
