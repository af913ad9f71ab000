/* One scalar value by its type: the leaves of pl_schema_read. */
#ifndef PIPELINE_SCHEMA_VALUE_H
#define PIPELINE_SCHEMA_VALUE_H

#include "nn/base/arena.h"
#include "pipeline/diag.h"
#include "pipeline/node.h"
#include "pipeline/schema.h"

struct reader {
    const struct pl_names *names; /* NULL: references are not checked */
    struct arena *arena;
    struct pl_diag *d;
};

/* Reads node as a value of type into at. f gives the name for messages,
 * bounds and choices. */
void pl_value_read(struct reader *r, const struct pl_field *f,
                   enum pl_type type, void *at, const struct pl_node *node);

/* True if v is within the field's bounds, or it has none. */
bool pl_value_within(const struct pl_field *f, double v);

#endif
