/* Expectations about a file that a stage left. */
#ifndef PIPELINE_EXPECT_FILE_H
#define PIPELINE_EXPECT_FILE_H

#include "nn/base/str.h"
#include "pipeline/config.h"

/* Judges e->file below dir, for PL_REL_EXISTS and PL_REL_SAME_AS, and appends
 * what was found: "there", "missing"; "the same 812 bytes", "812 bytes beside
 * 640; the first difference is at offset 12". What cannot be read holds
 * nothing. */
bool pl_expect_file(struct str *measured, const struct pl_expect *e,
                    const char *dir);

#endif
