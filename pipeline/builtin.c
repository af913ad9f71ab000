#include "pipeline/builtin.h"

#include <string.h>

#define UNARY(name, op) \
    { \
        name, op, {"x"}, 1, 1, "x", false \
    }
#define LOSS(name, op) \
    { \
        name, op, {"x", "t"}, 2, 2, "x and t", true \
    }
static const struct pl_builtin table[] = {
    {"linear",
     NN_OP_LINEAR,
     {"x", "weight", "bias"},
     3,
     2,
     "x, W and b",
     false},
    UNARY("relu", NN_OP_RELU),
    UNARY("tanh", NN_OP_TANH),
    UNARY("sigmoid", NN_OP_SIGMOID),
    UNARY("gelu", NN_OP_GELU),
    UNARY("softmax", NN_OP_SOFTMAX),
    UNARY("log_softmax", NN_OP_LOG_SOFTMAX),
    UNARY("exp", NN_OP_EXP),
    UNARY("abs", NN_OP_ABS),
    UNARY("neg", NN_OP_NEG),
    LOSS("cross_entropy", NN_OP_CROSS_ENTROPY),
    LOSS("bce_with_logits", NN_OP_BCE_WITH_LOGITS),
    LOSS("mse", NN_OP_MSE),
};
enum { N_TABLE = sizeof table / sizeof *table };

/* In the order of the table. */
const char *const pl_builtin_names[] = {
    "linear", "relu",    "tanh",          "sigmoid",
    "gelu",   "softmax", "log_softmax",   "exp",
    "abs",    "neg",     "cross_entropy", "bce_with_logits",
    "mse",    NULL,
};

const struct pl_builtin *pl_builtin_find(const char *name)
{
    size_t i;

    for (i = 0; i < N_TABLE; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

bool pl_builtin_is(const char *builtin, const char *name)
{
    if (strcmp(builtin, name) == 0)
        return true;
    return strcmp(name, "W") == 0   ? strcmp(builtin, "weight") == 0
           : strcmp(name, "b") == 0 ? strcmp(builtin, "bias") == 0
                                    : false;
}

int pl_builtin_apply(const struct pl_builtin *b, struct nn_tape *tape,
                     struct nn_tensor *const *in, struct nn_tensor **out,
                     struct err *err)
{
    union nn_attrs loss = {.loss = {.scale = 1.0, .pos_weight = 1.0}};
    int n = b->n_in;

    while (n > b->least && !in[n - 1])
        n--;
    if (!b->loss)
        return nn_tape_apply(tape, b->op, in, n, NULL, out, err);
    if (b->op != NN_OP_CROSS_ENTROPY) /* a sample's is the mean of its row */
        loss.loss.scale =
            (double)in[0]->shape.dim[0] / (double)nn_tensor_numel(in[0]);
    return nn_tape_apply(tape, b->op, in, n, &loss, out, err);
}
