#include "nn/opcase.h"

#include <string.h>

#include "nn/base/mem.h"
#include "nn/norm.h"

/* Names of the reference tables where they differ from ours. */
static const struct {
    const char *name;
    enum nn_op_id op;
    int n_in;
} known[] = {
    {"linear", NN_OP_LINEAR, 3},
    {"matmul", NN_OP_MATMUL, 2},
    {"relu", NN_OP_RELU, 1},
    {"tanh", NN_OP_TANH, 1},
    {"sigmoid", NN_OP_SIGMOID, 1},
    {"gelu", NN_OP_GELU, 1},
    {"dropout", NN_OP_DROPOUT, 1},
    {"softmax", NN_OP_SOFTMAX, 1},
    {"log_softmax", NN_OP_LOG_SOFTMAX, 1},
    {"cross_entropy", NN_OP_CROSS_ENTROPY, 2},
    {"bce_with_logits", NN_OP_BCE_WITH_LOGITS, 2},
    {"mse", NN_OP_MSE, 2},
    {"add", NN_OP_ADD, 2},
    {"add_broadcast", NN_OP_ADD, 2},
    {"sub", NN_OP_SUB, 2},
    {"mul", NN_OP_MUL, 2},
    {"mul_broadcast", NN_OP_MUL, 2},
    {"div", NN_OP_DIV, 2},
    {"neg", NN_OP_NEG, 1},
    {"exp", NN_OP_EXP, 1},
    {"log", NN_OP_LOG, 1},
    {"pow", NN_OP_POW, 1},
    {"mean", NN_OP_MEAN, 1},
    {"sum", NN_OP_SUM, 1},
    {"sum_dim", NN_OP_SUM, 1},
    {"maximum", NN_OP_MAXIMUM, 2},
    {"log1p", NN_OP_LOG1P, 1},
    {"sqrt", NN_OP_SQRT, 1},
    {"abs", NN_OP_ABS, 1},
    {"max", NN_OP_MAX, 1},
    {"squeeze", NN_OP_RESHAPE, 1},
    {"transpose", NN_OP_TRANSPOSE, 1},
    {"slice", NN_OP_SLICE, 1},
    {"cat", NN_OP_CAT, 2},
    {"cat3", NN_OP_CAT, 3},
    {"cast", NN_OP_CAST, 1},
    {"embedding", NN_OP_EMBEDDING, 2},
    {"conv2d", NN_OP_CONV2D, 3},
    {"max_pool2d", NN_OP_MAX_POOL2D, 1},
    {"avg_pool2d", NN_OP_AVG_POOL2D, 1},
    {"batch_norm", NN_OP_BATCH_NORM, 3},
    {"batch_norm_eval", NN_OP_BATCH_NORM, 5},
    {"layer_norm", NN_OP_LAYER_NORM, 3},
};

static int find(const char *op)
{
    int i;

    for (i = 0; i < (int)(sizeof known / sizeof *known); i++)
        if (strcmp(known[i].name, op) == 0)
            return i;
    return -1;
}

bool nn_opcase_known(const char *op, int *n_in)
{
    int i = find(op);

    if (i >= 0)
        *n_in = known[i].n_in;
    return i >= 0;
}

bool nn_opcase_is_index(const char *op, int i)
{
    return i == 1 &&
           (strcmp(op, "cross_entropy") == 0 || strcmp(op, "embedding") == 0);
}

bool nn_opcase_is_weight(const char *op, int i)
{
    return i == 1 && (strcmp(op, "linear") == 0 || strcmp(op, "conv2d") == 0);
}

static int apply_linear(const struct nn_opcase *c, struct nn_tape *tape,
                        struct nn_tensor *const *in, struct nn_tensor **out,
                        struct err *err)
{
    static const enum nn_op_id act_op[] = {
        [NN_ACT_RELU] = NN_OP_RELU,
        [NN_ACT_TANH] = NN_OP_TANH,
        [NN_ACT_SIGMOID] = NN_OP_SIGMOID,
    };
    union nn_attrs attrs = {.linear = {c->unfused ? NN_ACT_NONE : c->act}};
    int rc =
        nn_tape_apply(tape, NN_OP_LINEAR, in, in[2] ? 3 : 2, &attrs, out, err);

    if (rc == 0 && c->unfused && c->act != NN_ACT_NONE)
        rc = nn_tape_apply(tape, act_op[c->act], out, 1, NULL, out, err);
    return rc;
}

/* (B, C) with 1 / B (or 1) at each target and 0 elsewhere, negated. */
static int one_hot(const struct nn_opcase *c, struct nn_tape *tape,
                   struct nn_tensor *const *in, struct nn_tensor **out,
                   struct err *err)
{
    int64_t rows = in[0]->shape.dim[0], cols = in[0]->shape.dim[1], i;
    double *hot = mem_array((size_t)(rows * cols), sizeof *hot);
    int32_t *target = mem_array((size_t)rows, sizeof *target);
    int rc;

    if (!hot || !target) {
        rc = err_set(err, ERR_NOMEM, "out of memory for a check");
        goto done;
    }
    rc = nn_tensor_get(in[1], target, err);
    for (i = 0; rc == 0 && i < rows; i++) {
        if (target[i] < 0 || target[i] >= cols)
            rc = err_set(err, ERR_CORRUPT, "target %d of row %lld is no class",
                         (int)target[i], (long long)i);
        else
            hot[i * cols + target[i]] = c->sum ? -1.0 : -1.0 / (double)rows;
    }
    if (rc == 0)
        rc = nn_tape_tensor(tape, &in[0]->shape, NN_F64, NN_CAT_TEMPORARY, out,
                            err);
    if (rc == 0)
        rc = nn_tensor_set(*out, hot, err);
done:
    mem_free(hot);
    mem_free(target);
    return rc;
}

/* The unfused form: -sum(one_hot * log_softmax(x)) / B, in float64. */
static int apply_composed(const struct nn_opcase *c, struct nn_tape *tape,
                          struct nn_tensor *const *in, struct nn_tensor **out,
                          struct err *err)
{
    union nn_attrs all = {.reduce = {NN_AXIS_ALL}};
    struct nn_tensor *pair[2];
    int rc;

    rc = nn_tape_apply(tape, NN_OP_LOG_SOFTMAX, in, 1, NULL, &pair[0], err);
    if (rc == 0)
        rc = one_hot(c, tape, in, &pair[1], err);
    if (rc == 0)
        rc = nn_tape_apply(tape, NN_OP_MUL, pair, 2, NULL, &pair[0], err);
    if (rc == 0)
        rc = nn_tape_apply(tape, NN_OP_SUM, pair, 1, &all, out, err);
    return rc;
}

static int apply_loss(const struct nn_opcase *c, enum nn_op_id op,
                      struct nn_tape *tape, struct nn_tensor *const *in,
                      struct nn_tensor **out, struct err *err)
{
    union nn_attrs attrs = {
        .loss = {.scale = 1.0,
                 .label_smoothing = c->label_smoothing,
                 .pos_weight = c->pos_weight != 0.0 ? c->pos_weight : 1.0}};
    int64_t n = op == NN_OP_CROSS_ENTROPY ? in[0]->shape.dim[0]
                                          : nn_tensor_numel(in[0]);

    if (!c->sum)
        attrs.loss.scale = 1.0 / (double)n;
    return nn_tape_apply(tape, op, in, 2, &attrs, out, err);
}

/* In training by x's own statistics, in evaluation by the operands given. */
static int apply_batch_norm(const struct nn_opcase *c, int n_in,
                            struct nn_tape *tape, struct nn_tensor *const *in,
                            struct nn_tensor **out, struct err *err)
{
    struct nn_batch_norm_opts opts = {.eps = c->eps, .train = n_in == 3};
    struct nn_running running = {NULL, NULL, NULL};

    if (n_in == 5) {
        running.mean = in[3];
        running.var = in[4];
        opts.running = &running;
    }
    return nn_batch_norm(tape, in[0], in[1], in[2], &opts, out, err);
}

/* To float32 and back, in float64. */
static int apply_cast(struct nn_tape *tape, struct nn_tensor *const *in,
                      struct nn_tensor **out, struct err *err)
{
    union nn_attrs there = {.cast = {NN_F32}}, back = {.cast = {NN_F64}};
    int rc = nn_tape_apply(tape, NN_OP_CAST, in, 1, &there, out, err);

    return rc == 0 ? nn_tape_apply(tape, NN_OP_CAST, out, 1, &back, out, err)
                   : rc;
}

static void set_windows(const struct nn_opcase *c, enum nn_op_id op,
                        union nn_attrs *attrs)
{
    if (op == NN_OP_CONV2D) {
        attrs->conv.stride = c->stride ? c->stride : 1;
        attrs->conv.padding = c->padding;
    } else {
        attrs->pool.kernel = c->kernel;
        attrs->pool.stride = c->stride ? c->stride : c->kernel;
        attrs->pool.padding = c->padding;
    }
}

static void set_slice(const struct nn_opcase *c, union nn_attrs *attrs)
{
    attrs->slice.axis = c->dim;
    attrs->slice.start = c->start;
    attrs->slice.stop = c->stop;
}

/* The settings of operators that take nothing else. */
static void set_attrs(const struct nn_opcase *c, enum nn_op_id op,
                      union nn_attrs *attrs)
{
    switch (op) {
    case NN_OP_POW:
        attrs->scalar = c->exponent;
        break;
    case NN_OP_SUM:
    case NN_OP_MEAN:
    case NN_OP_MAX:
        attrs->reduce.axis = c->dim;
        break;
    case NN_OP_CAT:
        attrs->cat.axis = c->dim;
        break;
    case NN_OP_TRANSPOSE:
        attrs->transpose.a = c->dim;
        attrs->transpose.b = c->dim2;
        break;
    case NN_OP_SLICE:
        set_slice(c, attrs);
        break;
    case NN_OP_CONV2D:
    case NN_OP_MAX_POOL2D:
    case NN_OP_AVG_POOL2D:
        set_windows(c, op, attrs);
        break;
    case NN_OP_LAYER_NORM:
        attrs->norm.eps = c->eps;
        break;
    case NN_OP_DROPOUT:
        attrs->dropout.p = c->p;
        break;
    default:
        break;
    }
}

int nn_opcase_apply(const struct nn_opcase *c, struct nn_tape *tape,
                    struct nn_tensor *const *in, struct nn_tensor **out,
                    struct err *err)
{
    union nn_attrs attrs = {0};
    int k = find(c->op), n_in;

    *out = NULL;
    if (k < 0)
        return err_set(err, ERR_CONFIG, "there is no operator '%s'", c->op);
    switch (known[k].op) {
    case NN_OP_LINEAR:
        return apply_linear(c, tape, in, out, err);
    case NN_OP_CROSS_ENTROPY:
        if (c->composed)
            return apply_composed(c, tape, in, out, err);
        return apply_loss(c, known[k].op, tape, in, out, err);
    case NN_OP_BCE_WITH_LOGITS:
    case NN_OP_MSE:
        return apply_loss(c, known[k].op, tape, in, out, err);
    case NN_OP_BATCH_NORM:
        return apply_batch_norm(c, known[k].n_in, tape, in, out, err);
    case NN_OP_RESHAPE:
        return nn_tape_squeeze(tape, in[0], c->dim, out, err);
    case NN_OP_CAST:
        return apply_cast(tape, in, out, err);
    default:
        break;
    }
    set_attrs(c, known[k].op, &attrs);
    n_in = known[k].n_in;
    if (known[k].op == NN_OP_CONV2D && !in[2])
        n_in = 2;
    return nn_tape_apply(tape, known[k].op, in, n_in, &attrs, out, err);
}
