/* YAML text as nodes with positions: libyaml's events, and the checks that it
 * leaves to us. */
#ifndef PIPELINE_YAML_H
#define PIPELINE_YAML_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/base/arena.h"
#include "pipeline/diag.h"
#include "pipeline/node.h"

/* Parses file->text from byte `from` on, one document. Every text is refused
 * that holds bad UTF-8, control characters, duplicate keys, tags, keys that
 * are not words, undefined or cyclic aliases, a second document, more than
 * PL_MAX_DEPTH levels or PL_MAX_NODES nodes. `<<` is merged: a map's own keys
 * win, then the first of a list. NULL after an error in d; an empty text is
 * one. */
struct pl_node *pl_yaml_parse(const struct pl_file *file, size_t from,
                              struct arena *arena, struct pl_diag *d);

/* Checks the bytes alone. false after an error in d. */
bool pl_yaml_check_text(const struct pl_file *file, struct pl_diag *d);

/* What to do about a syntax error of libyaml's: the message in our words (or
 * libyaml's own) and, or NULL, a help. line is the text from the place of the
 * error to the end of its line, whole the line from its start. */
struct pl_yaml_advice {
    const char *msg, *help;
    bool at_begin; /* show where the thing begins that was not ended */
};
struct pl_yaml_advice pl_yaml_advise(const char *problem, const char *line,
                                     const char *whole);

#endif
