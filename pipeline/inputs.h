/* What a stage's results depend on, as named texts: equal lists mean equal
 * results, and the first difference is the reason to run again. */
#ifndef PIPELINE_INPUTS_H
#define PIPELINE_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "nn/base/arena.h"
#include "nn/base/err.h"
#include "nn/base/str.h"

struct pl_config;
struct pl_stage;

struct pl_input {
    const char *key;   /* "with.optimizer.type" */
    const char *value; /* "adam" */
};

/* Zero-initialise and set arena, which holds everything. */
struct pl_inputs {
    struct arena *arena;
    struct pl_input *item;
    size_t n, cap;
    bool failed; /* out of memory: the list is incomplete */
};

void pl_inputs_add(struct pl_inputs *in, const char *key, const char *value);
/* The value of key, or NULL. */
const char *pl_inputs_get(const struct pl_inputs *in, const char *key);

/* Everything that the config says about s: its kind, `with`, and the data sets
 * and models that it names. What needed stages left is added by the plan. Not
 * in it: comments, places, threads, expectations, the host. */
int pl_inputs_collect(struct pl_inputs *in, const struct pl_config *c,
                      const struct pl_stage *s, struct err *err);

/* The settings of s that say how a GPU works (PL_F_GPU), which are not in the
 * list above: they count for results that were made on one. */
void pl_inputs_gpu(struct pl_inputs *in, const struct pl_stage *s);
/* Whether each of was is in now as it was. */
bool pl_inputs_hold(const struct pl_inputs *was, const struct pl_inputs *now);

/* What the times of a stage that measures hang on besides: the processor, how
 * much of it is used, the device asked for. */
struct pl_opts;
int pl_inputs_machine(struct pl_inputs *in, const struct pl_opts *opts,
                      struct err *err);

/* The SHA-256 of the list. */
int pl_inputs_hash(char hex[65], const struct pl_inputs *in, struct err *err);

/* Whether now is was with nothing changed but that the number at key is
 * larger: more epochs of the same recipe. */
bool pl_inputs_grown(const struct pl_inputs *was, const struct pl_inputs *now,
                     const char *key);

/* What became of was to give now: "with.epochs 5 -> 10, and 1 more". Nothing
 * is added if they are equal. */
void pl_inputs_reason(struct str *out, const struct pl_inputs *was,
                      const struct pl_inputs *now);
/* The same in full, a line each, in the arena of now; "" if there are fewer
 * than two changes. NULL: out of memory. */
const char *pl_inputs_changes(const struct pl_inputs *was,
                              const struct pl_inputs *now);

#endif
