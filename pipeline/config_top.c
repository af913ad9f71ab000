/* The keys at the top of a file, for help, the schema and did-you-mean. They
 * are read one by one in config.c: the struct is never filled. */
#include "pipeline/config_load.h"

static const struct pl_field top_fields[] = {
    {.name = "version",
     .type = PL_T_INT,
     .flags = PL_F_REQUIRED,
     .min = 1,
     .max = 1,
     .help = "of the format",
     .example = "1"},
    {.name = "name",
     .type = PL_T_STRING,
     .flags = PL_F_REQUIRED,
     .help = "of the experiment: results go to out/<name>",
     .example = "q2"},
    {.name = "extends",
     .type = PL_T_LIST,
     .flags = PL_F_ONE,
     .elem = PL_T_PATH,
     .help = "files that this one is laid over, the last on top: maps merge, "
             "all else replaces",
     .example = "common/mnist.yaml"},
    {.name = "imports",
     .type = PL_T_NODE,
     .help = "files whose stages are needed here, as q1/summary; their results "
             "stay under their own names",
     .example = "{q1: q1.yaml}"},
    {.name = "vars",
     .type = PL_T_NODE,
     .help = "values by name, used as ${vars.lr}; on the command line lr=0.01",
     .example = "{lr: 1e-3, epochs: 5}"},
    {.name = "defaults",
     .type = PL_T_NODE,
     .help = "what every `with` gets whose kind takes it, and under the name "
             "of a kind what its stages get",
     .example = "{batch_size: 128, train: {seed: 1}}"},
    {.name = "datasets",
     .type = PL_T_NODE,
     .help = "what stages may name as their dataset; see 'pipeline help type' "
             "for the types",
     .example = "{blobs: {type: synthetic, kind: blobs}}"},
    {.name = "models",
     .type = PL_T_NODE,
     .help = "what stages may name as their model",
     .example = "{mlp: {layers: [{type: linear, out: 256}, relu, {type: "
                "linear, out: 10}]}}"},
    {.name = "operators",
     .type = PL_T_NODE,
     .help = "operators of the file's own: what layers may name as their type, "
             "and training as its loss",
     .example = "{my_relu: {forward: \"y = relu(x)\", backward: \"dx = g * "
                "step(x)\", same_as: relu}}"},
    {.name = "stages",
     .type = PL_T_NODE,
     .flags = PL_F_REQUIRED,
     .help = "the work, by name; each needs what it refers to",
     .example = "{train: {uses: train, with: {dataset: blobs, model: mlp}}}"},
};
const struct pl_schema pl_top_schema = {
    .name = "file",
    .help = "an experiment",
    PL_FIELDS(top_fields),
};
