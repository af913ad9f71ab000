#include "pipeline/prog_fn.h"

#include <string.h>

#include "pipeline/prog_ops.h"

/* ---- the table ---- */

enum { S = PROG_FN_STATEMENT, T = PROG_FN_TRUTH, ANY = PROG_MAX_ARGS };

#define UNARY(name, op) \
    { \
        name, 1, 1, NULL, 0, op, prog_apply_plain, name "(x)" \
    }
#define PAIR(name, op) \
    { \
        name, 2, 2, NULL, 0, op, prog_apply_plain, name "(a, b)" \
    }
#define REDUCE(name, op) \
    { \
        name, 1, 1, "dim keepdim", 0, op, prog_apply_reduce, \
            name "(x), " name "(x, dim, keepdim=true)" \
    }
static const struct prog_fn table[] = {
    UNARY("neg", NN_OP_NEG),
    UNARY("exp", NN_OP_EXP),
    UNARY("log", NN_OP_LOG),
    UNARY("log1p", NN_OP_LOG1P),
    UNARY("sqrt", NN_OP_SQRT),
    UNARY("abs", NN_OP_ABS),
    UNARY("tanh", NN_OP_TANH),
    UNARY("sigmoid", NN_OP_SIGMOID),
    UNARY("relu", NN_OP_RELU),
    UNARY("gelu", NN_OP_GELU),
    PAIR("add", NN_OP_ADD),
    PAIR("sub", NN_OP_SUB),
    PAIR("mul", NN_OP_MUL),
    PAIR("div", NN_OP_DIV),
    PAIR("maximum", NN_OP_MAXIMUM),
    REDUCE("sum", NN_OP_SUM),
    REDUCE("mean", NN_OP_MEAN),
    REDUCE("max", NN_OP_MAX),
    {"pow", 1, 1, "exponent", PROG_FN_PARAM, NN_OP_POW, prog_apply_pow,
     "pow(x, 2)"},
    {"softmax", 1, 1, "dim", 0, NN_OP_SOFTMAX, prog_apply_rows, "softmax(x)"},
    {"log_softmax", 1, 1, "dim", 0, NN_OP_LOG_SOFTMAX, prog_apply_rows,
     "log_softmax(x)"},
    {"dropout", 1, 1, "p seed", 0, NN_OP_DROPOUT, prog_apply_dropout,
     "dropout(x, p=0.5, seed=0)"},
    {"matmul", 2, 2, NULL, 0, NN_OP_MATMUL, prog_apply_matmul, "a @ b"},
    {"linear", 2, 3, NULL, 0, NN_OP_LINEAR, prog_apply_linear,
     "linear(x, W, b)"},
    {"cross_entropy", 2, 2, "label_smoothing", PROG_FN_INDEX,
     NN_OP_CROSS_ENTROPY, prog_apply_loss, "cross_entropy(logits, classes)"},
    {"bce_with_logits", 2, 2, "pos_weight per_sample", 0, NN_OP_BCE_WITH_LOGITS,
     prog_apply_loss, "bce_with_logits(z, t, per_sample=true)"},
    {"mse", 2, 2, NULL, 0, NN_OP_MSE, prog_apply_loss, "mse(a, b)"},
    {"reshape", 1, 1, NULL, PROG_FN_LIST, NN_OP_RESHAPE, prog_apply_reshape,
     "reshape(x, 2, -1)"},
    {"squeeze", 1, 1, "dim", 0, NN_OP_RESHAPE, prog_apply_squeeze,
     "squeeze(x, 1)"},
    {"unsqueeze", 1, 1, "dim", PROG_FN_PARAM, NN_OP_RESHAPE,
     prog_apply_unsqueeze, "unsqueeze(x, 0)"},
    {"transpose", 1, 1, "dim0 dim1", 0, NN_OP_TRANSPOSE, prog_apply_transpose,
     "transpose(x), x.T"},
    {"slice", 1, 1, "start stop dim", 0, NN_OP_SLICE, prog_apply_slice,
     "slice(x, 1, 3), x[1:3]"},
    {"cat", 2, PROG_MAX_IN, "dim", 0, NN_OP_CAT, prog_apply_cat,
     "cat(a, b, dim=0)"},
    {"cast", 1, 1, "dtype", PROG_FN_PARAM, NN_OP_CAST, prog_apply_cast,
     "cast(x, float32)"},
    {"embedding", 2, 2, NULL, PROG_FN_INDEX, NN_OP_EMBEDDING,
     prog_apply_embedding, "embedding(W, rows)"},
    {"conv2d", 2, 3, "stride padding", 0, NN_OP_CONV2D, prog_apply_conv2d,
     "conv2d(x, W, b, stride=1, padding=0)"},
    {"max_pool2d", 1, 1, "kernel stride padding", PROG_FN_PARAM,
     NN_OP_MAX_POOL2D, prog_apply_pool2d, "max_pool2d(x, 2)"},
    {"avg_pool2d", 1, 1, "kernel stride padding", PROG_FN_PARAM,
     NN_OP_AVG_POOL2D, prog_apply_pool2d, "avg_pool2d(x, 2)"},
    {"batch_norm", 3, 3, "eps", 0, NN_OP_BATCH_NORM, prog_apply_batch_norm,
     "batch_norm(x, weight, bias, eps=1e-5)"},
    {"layer_norm", 3, 3, "eps", 0, NN_OP_LAYER_NORM, prog_apply_layer_norm,
     "layer_norm(x, weight, bias, eps=1e-5)"},
    {"logsumexp", 1, 1, "dim keepdim", 0, NN_OP_COUNT, prog_apply_logsumexp,
     "logsumexp(x, dim=-1, keepdim=true)"},
    {"one_hot", 2, 2, NULL, PROG_FN_CUT, NN_OP_COUNT, prog_apply_one_hot,
     "one_hot(classes, x), one_hot(classes, 10)"},
    {"step", 1, 1, NULL, PROG_FN_CUT, NN_OP_COUNT, prog_apply_step, "step(x)"},
    {"sign", 1, 1, NULL, PROG_FN_CUT, NN_OP_COUNT, prog_apply_sign, "sign(x)"},
    {"isfinite", 1, 1, NULL, PROG_FN_CUT, NN_OP_COUNT, prog_apply_isfinite,
     "isfinite(x)"},
    {"detach", 1, 1, NULL, PROG_FN_CUT, NN_OP_COUNT, prog_apply_detach,
     "detach(x)"},
    {"shares_storage", 2, 2, NULL, T, NN_OP_COUNT, prog_apply_shares,
     "shares_storage(a, b)"},
    {"requires_grad", 1, 1, NULL, T, NN_OP_COUNT, prog_apply_requires,
     "requires_grad(x)"},
    {"is_leaf", 1, 1, NULL, T, NN_OP_COUNT, prog_apply_is_leaf, "is_leaf(x)"},
    {"has_grad", 1, 1, NULL, T, NN_OP_COUNT, prog_apply_has_grad,
     "has_grad(x)"},
    {"backward", 1, 1, "retain_graph", S, NN_OP_COUNT, prog_apply_backward,
     "backward(L, retain_graph=true)"},
    {"zero_grad", 0, ANY, NULL, S, NN_OP_COUNT, prog_apply_zero_grad,
     "zero_grad(), zero_grad(w)"},
};
enum { N_TABLE = sizeof table / sizeof *table };

const struct prog_fn *prog_fn_find(const char *name)
{
    size_t i;

    for (i = 0; i < N_TABLE; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

size_t prog_fn_names(const char **names, size_t cap)
{
    size_t n;

    for (n = 0; n < N_TABLE && n < cap; n++)
        names[n] = table[n].name;
    return n;
}

int prog_fn_param(const struct prog_fn *fn, const char *name)
{
    const char *p = fn->params;
    size_t len = strlen(name), word;
    int i;

    for (i = 0; p && *p; i++) {
        word = strcspn(p, " ");
        if (word == len && memcmp(p, name, len) == 0)
            return i;
        p += word + strspn(p + word, " ");
    }
    return -1;
}

int prog_fn_params(const struct prog_fn *fn)
{
    const char *p = fn->params;
    int n = 0;

    if (fn->flags & PROG_FN_LIST)
        return PROG_MAX_PARAMS;
    while (p && *p) {
        n++;
        p += strcspn(p, " ");
        p += strspn(p, " ");
    }
    return n;
}

bool prog_fn_constant(const struct prog_expr *e, double *out)
{
    static const struct {
        const char *name;
        double value;
    } words[] = {
        {"true", 1},  {"false", 0},        {"True", 1},
        {"False", 0}, {"float32", NN_F32}, {"float64", NN_F64},
    };
    size_t i;

    if (e->kind == PROG_NUMBER) {
        *out = e->number;
        return true;
    }
    if (e->kind == PROG_NEG && e->arg[0]->kind == PROG_NUMBER) {
        *out = -e->arg[0]->number;
        return true;
    }
    for (i = 0; e->kind == PROG_NAME && i < sizeof words / sizeof *words; i++) {
        if (strcmp(e->text, words[i].name) == 0) {
            *out = words[i].value;
            return true;
        }
    }
    return false;
}
