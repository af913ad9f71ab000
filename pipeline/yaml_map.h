/* What YAML leaves to us about a map: keys that stand twice, and `<<`. */
#ifndef PIPELINE_YAML_MAP_H
#define PIPELINE_YAML_MAP_H

#include <stdbool.h>

#include "nn/base/arena.h"
#include "pipeline/diag.h"
#include "pipeline/node.h"

/* The key `<<` written without quotes: known by its address. */
extern const char pl_yaml_merge_key[];

/* Ends a map whose pairs are all there: reports keys that stand twice and puts
 * what `<<` brings in its place. A map's own keys win, wherever `<<` stands;
 * of a list of maps the first one wins. false: out of memory. */
bool pl_yaml_finish_map(struct pl_node *map, struct arena *a,
                        struct pl_diag *d);

#endif
