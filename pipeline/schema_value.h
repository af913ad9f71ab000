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

/* Parts of it (schema_name.c): one of the choices, with its number, or the name
 * of an own operator where f takes one... */
void pl_value_enum(struct reader *r, const struct pl_field *f, int *at,
                   const struct pl_node *node);
/* ...the name of a data set, model, stage or operator... */
void pl_value_name(struct reader *r, const struct pl_field *f,
                   enum pl_type type, const char **at,
                   const struct pl_node *node);
/* ...whether the text is one of the choices; else an error. */
bool pl_value_choice(struct reader *r, const struct pl_field *f,
                     const struct pl_node *node);

/* True if v is within the field's bounds, or it has none. */
bool pl_value_within(const struct pl_field *f, double v);

#endif
