/* What `models:` says, and building it as an nn_model. */
#ifndef PIPELINE_MODEL_BUILD_H
#define PIPELINE_MODEL_BUILD_H

#include <stddef.h>
#include <stdint.h>

#include "nn/base/err.h"
#include "nn/model.h"
#include "pipeline/diag.h"
#include "pipeline/node.h"
#include "pipeline/schema.h"

struct pl_operator;

/* One entry of `layers:`; type is an enum nn_layer_type. */
struct pl_layer {
    int type;
    const char *own_type;            /* NN_LAYER_OWN: the operator's name */
    const struct pl_operator *own;   /* the operator, or NULL */
    const char *name;                /* "" : its index */
    int64_t out;                     /* linear, conv2d, own; 0: not given */
    bool bias;                       /* linear, conv2d */
    double p;                        /* dropout */
    int64_t kernel, stride, padding; /* conv2d, pools; stride 0: its default */
    double eps, momentum;            /* norms */
    const struct pl_node *node;
};

struct pl_model {
    const char *name;
    const struct pl_node *node;
    struct pl_list layers; /* struct pl_layer */
};

extern const struct pl_schema pl_model_schema;

/* Checks that go past the table: names twice, a linear layer without out. */
void pl_model_check(const struct pl_model *m, struct pl_diag *d);

/* The layers as nn_model_new takes them: *out is n of them, the caller's
 * (mem_free); texts are borrowed from m. */
int pl_model_layers(struct nn_layer_spec **out, size_t *n,
                    const struct pl_model *m, struct err *err);

#endif
