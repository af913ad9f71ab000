/* Laying one tree over another. */
#ifndef PIPELINE_MERGE_H
#define PIPELINE_MERGE_H

#include "nn/base/arena.h"
#include "pipeline/node.h"
#include "pipeline/schema.h"

/* over laid over base: maps merge key by key, base's order first; everything
 * else of over replaces base's; what over marks as removed goes, if base has
 * it. Either may be NULL. NULL: out of memory, or
 * both were NULL. */
struct pl_node *pl_merge(struct arena *a, struct pl_node *base,
                         struct pl_node *over);

/* The same for the `with` of a table: a short form in base (optimizer: adam)
 * counts as its map where over has a map. */
struct pl_node *pl_merge_with(struct arena *a, const struct pl_schema *schema,
                              struct pl_node *base, struct pl_node *over);

/* map with key set to value, in its place or at the end; value NULL removes
 * it. map itself is not changed. NULL: out of memory. */
struct pl_node *pl_node_set(struct arena *a, const struct pl_node *map,
                            const char *key, struct pl_loc key_loc,
                            struct pl_node *value);

/* {key: scalar} for a scalar, else node itself. NULL: out of memory. */
struct pl_node *pl_long_form(struct arena *a, const char *key,
                             struct pl_node *node);

#endif
