/* The tables of the stage kinds that do not train. */
#include <stddef.h>

#include "pipeline/device_settings.h"
#include "pipeline/recipe.h"

#define MAX_SEED 4294967295.0 /* the generator takes 32 bits */

static const char *const sets[] = {"test", "validation", "train", NULL};
static const char *const train_kind[] = {"train", NULL};

#define AT(m) offsetof(struct pl_evaluate_with, m)
static const struct pl_field evaluate_fields[] = {
    {.name = "from",
     .type = PL_T_STAGE,
     .offset = AT(from),
     .flags = PL_F_REQUIRED,
     .choices = train_kind,
     .help = "the train stage whose model is evaluated",
     .example = "train"},
    {.name = "checkpoint",
     .type = PL_T_STRING,
     .offset = AT(checkpoint),
     .def = "last",
     .help = "which of its models: last, best or epoch-N",
     .example = "epoch-3"},
    {.name = "set",
     .type = PL_T_ENUM,
     .offset = AT(set),
     .def = "test",
     .choices = sets,
     .help = "the samples to evaluate on"},
    {.name = "batch_size",
     .type = PL_T_INT,
     .offset = AT(batch_size),
     .def = "1000",
     .min = 1,
     .max = 1000000,
     .help = "samples at a time; the result does not depend on it"},
    PL_NUMERICS_FIELD(AT(numerics)),
};
const struct pl_schema pl_evaluate_schema = {
    .name = "evaluate",
    .help = "loss, accuracy and confusion matrix of a trained model",
    PL_FIELDS(evaluate_fields),
    .size = sizeof(struct pl_evaluate_with),
    .node_offset = AT(node),
    .has_node = true,
};
#undef AT

#define AT(m) offsetof(struct pl_summary_with, m)
static const struct pl_field summary_fields[] = {
    {.name = "dataset",
     .type = PL_T_DATASET,
     .offset = AT(dataset),
     .flags = PL_F_REQUIRED,
     .help = "whose samples the model takes",
     .example = "mnist"},
    {.name = "model",
     .type = PL_T_MODEL,
     .offset = AT(model),
     .flags = PL_F_REQUIRED,
     .help = "the model to sum up",
     .example = "mlp"},
    {.name = "optimizers",
     .type = PL_T_LIST,
     .offset = AT(optimizers),
     .flags = PL_F_ONE,
     .def = "sgd sgd_momentum adam adamw",
     .elem = PL_T_STRING,
     .choices = pl_optimizer_types,
     .help = "whose state is shown beside the parameters",
     .example = "[sgd, adam]"},
    {.name = "batch_size",
     .type = PL_T_INT,
     .offset = AT(batch_size),
     .def = "1",
     .min = 1,
     .max = 1000000,
     .help = "samples in the shapes that are shown"},
};
const struct pl_schema pl_summary_schema = {
    .name = "summary",
    .help = "shapes, parameters and memory of a model, step by step",
    PL_FIELDS(summary_fields),
    .size = sizeof(struct pl_summary_with),
    .node_offset = AT(node),
    .has_node = true,
};
#undef AT

static const char *const operator_sets[] = {"all", "own", NULL};

#define AT(m) offsetof(struct pl_autograd_with, m)
static const struct pl_field autograd_fields[] = {
    {.name = "operators",
     .type = PL_T_LIST,
     .elem = PL_T_OPERATOR,
     .offset = AT(operators),
     .flags = PL_F_ONE,
     .choices = operator_sets,
     .help =
         "which operators are checked: all built-in ones, all of the file's "
         "own, or some of its own by name",
     .example = "own"},
    {.name = "reference",
     .type = PL_T_LIST,
     .elem = PL_T_PATH,
     .offset = AT(reference),
     .flags = PL_F_ONE,
     .help = "files of reference numbers that the operators must agree with",
     .example = "../tests/golden/operators.json"},
    {.name = "tensors",
     .type = PL_T_NODE,
     .offset = AT(tensors),
     .help = "what the program is given: name: number, nested lists, {value: "
             "..., requires_grad: true, dtype: float32}, or zeros, ones, randn "
             "(seed), uniform (-1 to 1, seed) with a shape in place of value, "
             "or {linspace: [first, last, count]}; inf, -inf and nan are "
             "numbers too",
     .example = "{x: [1, -1], w: {zeros: [2], requires_grad: true}}"},
    {.name = "program",
     .type = PL_T_STRING,
     .offset = AT(program),
     .help = "statements, one a line or with ; between: name = expr, name += "
             "expr (in place), expr, backward(L, retain_graph=true), "
             "zero_grad(), no_grad: block, raises(\"part of the message\"): "
             "statement; operators + - * / ** @ as in Python, x[0], x[1:3], "
             "x.T, w.grad; functions of the operators' names, logsumexp, "
             "one_hot, step, sign, isfinite, detach, shares_storage, "
             "requires_grad, is_leaf, has_grad",
     .example = "L = mean((x @ w - y)**2)"},
    {.name = "table",
     .type = PL_T_LIST,
     .elem = PL_T_STRUCT,
     .sub = &pl_program_column_schema,
     .offset = AT(table),
     .help = "columns of table.md and table.csv: names of the program's "
             "vectors, all as long, and numbers, which repeat",
     .example = "[z, {name: naive, as: log(1 + exp(z))}]"},
    {.name = "plots",
     .type = PL_T_NAMED,
     .sub = &pl_program_plot_schema,
     .offset = AT(plots),
     .help = "pictures of the program's vectors: NAME is drawn in NAME.svg",
     .example = "{losses: {x: z, y: [stable, naive]}}"},
    {.name = "eps",
     .type = PL_T_NUMBER,
     .offset = AT(eps),
     .def = "1e-6",
     .flags = PL_F_OPEN_MIN,
     .max = 0.1,
     .help = "half the distance of the central differences"},
    {.name = "gradcheck_tolerance",
     .type = PL_T_NUMBER,
     .offset = AT(gradcheck_tolerance),
     .def = "1e-6",
     .flags = PL_F_OPEN_MIN,
     .max = 1,
     .help = "largest relative error of a gradient"},
    {.name = "rtol",
     .type = PL_T_NUMBER,
     .offset = AT(rtol),
     .def = "1e-5",
     .max = 1,
     .help = "relative part of |a - b| <= atol + rtol |b|, b PyTorch's"},
    {.name = "atol",
     .type = PL_T_NUMBER,
     .offset = AT(atol),
     .def = "1e-8",
     .max = 1,
     .help = "absolute part of it"},
    {.name = "seed",
     .type = PL_T_INT,
     .offset = AT(seed),
     .def = "0",
     .max = MAX_SEED,
     .help = "of the inputs that are tried"},
};
const struct pl_schema pl_autograd_schema = {
    .name = "autograd",
    .help = "checks gradients against central differences and PyTorch",
    PL_FIELDS(autograd_fields),
    .size = sizeof(struct pl_autograd_with),
    .node_offset = AT(node),
    .has_node = true,
};
#undef AT

#define AT(m) offsetof(struct pl_fetch_with, m)
static const struct pl_field fetch_fields[] = {
    {.name = "dataset",
     .type = PL_T_DATASET,
     .offset = AT(dataset),
     .flags = PL_F_REQUIRED,
     .help = "whose files are fetched",
     .example = "mnist"},
    {.name = "offline",
     .type = PL_T_BOOL,
     .offset = AT(offline),
     .def = "false",
     .help = "take files from folders and the cache only"},
    {.name = "connect_timeout",
     .type = PL_T_DURATION,
     .offset = AT(connect_timeout),
     .def = "10s",
     .flags = PL_F_OPEN_MIN,
     .max = 86400,
     .help = "how long a connection may take"},
    {.name = "stall_timeout",
     .type = PL_T_DURATION,
     .offset = AT(stall_timeout),
     .def = "30s",
     .flags = PL_F_OPEN_MIN,
     .max = 86400,
     .help = "how long a download may stand still"},
    {.name = "retries",
     .type = PL_T_INT,
     .offset = AT(retries),
     .def = "3",
     .max = 100,
     .help = "a mirror's further tries, after 1, 2, 4 ... s"},
};
const struct pl_schema pl_fetch_schema = {
    .name = "fetch",
    .help = "downloads, verifies and unpacks the files of a data set",
    PL_FIELDS(fetch_fields),
    .size = sizeof(struct pl_fetch_with),
    .node_offset = AT(node),
    .has_node = true,
};
#undef AT
