#include "nn/op.h"

#include <string.h>

#include "nn/op_rules.h"

enum { IN0 = 1, IN1 = 2, IN2 = 4, OUT = NN_SAVES_OUT };

/* id, operands at least and at most, what backward reads, shape, backward */
#define ROW(id, lo, hi, saves, shape, grad) \
    [NN_OP_##id] = {NN_OP_##id, lo, hi, saves, shape, grad}

static const struct nn_op rows[NN_OP_COUNT] = {
    ROW(LINEAR, 2, 3, IN0 | IN1 | OUT, nn_shape_linear, nn_grad_linear),
    ROW(LINEAR_GRAD_INPUT, 2, 2, 0, NULL, NULL),
    ROW(LINEAR_GRAD_WEIGHT, 2, 2, 0, NULL, NULL),
    ROW(LINEAR_GRAD_BIAS, 1, 1, 0, NULL, NULL),
    ROW(MATMUL, 2, 2, IN0 | IN1, nn_shape_matmul, nn_grad_matmul),
    ROW(RELU, 1, 1, OUT, nn_shape_unary, nn_grad_from_output),
    ROW(RELU_GRAD, 2, 2, 0, nn_shape_gradient, NULL),
    ROW(TANH, 1, 1, OUT, nn_shape_unary, nn_grad_from_output),
    ROW(TANH_GRAD, 2, 2, 0, nn_shape_gradient, NULL),
    ROW(SIGMOID, 1, 1, OUT, nn_shape_unary, nn_grad_from_output),
    ROW(SIGMOID_GRAD, 2, 2, 0, nn_shape_gradient, NULL),
    ROW(GELU, 1, 1, IN0, nn_shape_unary, nn_grad_gelu),
    ROW(GELU_GRAD, 2, 2, 0, nn_shape_gradient, NULL),
    ROW(DROPOUT, 1, 1, 0, nn_shape_rows, nn_grad_dropout),
    ROW(SOFTMAX, 1, 1, OUT, nn_shape_rows, nn_grad_from_output),
    ROW(SOFTMAX_GRAD, 2, 2, 0, nn_shape_gradient, NULL),
    ROW(LOG_SOFTMAX, 1, 1, OUT, nn_shape_rows, nn_grad_from_output),
    ROW(LOG_SOFTMAX_GRAD, 2, 2, 0, nn_shape_gradient, NULL),
    ROW(CROSS_ENTROPY, 2, 2, IN0 | IN1, nn_shape_cross_entropy, nn_grad_loss),
    ROW(CROSS_ENTROPY_GRAD, 3, 3, 0, nn_shape_gradient, NULL),
    ROW(BCE_WITH_LOGITS, 2, 2, IN0 | IN1, nn_shape_pair_loss, nn_grad_loss),
    ROW(BCE_WITH_LOGITS_GRAD, 3, 3, 0, nn_shape_gradient, NULL),
    ROW(MSE, 2, 2, IN0 | IN1, nn_shape_pair_loss, nn_grad_loss),
    ROW(MSE_GRAD, 3, 3, 0, nn_shape_gradient, NULL),
    ROW(ADD, 2, 2, 0, nn_shape_broadcast, nn_grad_add),
    ROW(SUB, 2, 2, 0, nn_shape_broadcast, nn_grad_sub),
    ROW(MUL, 2, 2, IN0 | IN1, nn_shape_broadcast, nn_grad_mul),
    ROW(DIV, 2, 2, IN1 | OUT, nn_shape_broadcast, nn_grad_div),
    ROW(NEG, 1, 1, 0, nn_shape_unary, nn_grad_neg),
    ROW(EXP, 1, 1, OUT, nn_shape_unary, nn_grad_exp),
    ROW(LOG, 1, 1, IN0, nn_shape_unary, nn_grad_log),
    ROW(POW, 1, 1, IN0, nn_shape_unary, nn_grad_pow),
    ROW(SCALE, 1, 1, 0, nn_shape_unary, nn_grad_scale),
    ROW(SUM, 1, 1, 0, nn_shape_reduce, nn_grad_reduce),
    ROW(MEAN, 1, 1, 0, nn_shape_reduce, nn_grad_reduce),
    ROW(SUM_TO, 1, 1, 0, NULL, NULL),
    ROW(EXPAND, 1, 1, 0, NULL, NULL),
    ROW(FILL, 0, 0, 0, NULL, NULL),
    ROW(COPY, 1, 1, 0, NULL, NULL),
    ROW(ADD_INTO, 1, 1, 0, NULL, NULL),
    ROW(CLEAR_GRAD, 0, 0, 0, NULL, NULL),
    ROW(BATCH, 0, 0, 0, NULL, NULL),
    ROW(CLIP_GRAD_NORM, 0, 0, 0, NULL, NULL),
    ROW(SGD, 2, 3, 0, NULL, NULL),
    ROW(ADAM, 4, 4, 0, NULL, NULL),
    ROW(ARGMAX, 1, 1, 0, nn_shape_argmax, NULL),
};

static const char *const names[NN_OP_COUNT] = {
#define NN_OP_NAME(id, name) [NN_OP_##id] = #name,
    NN_OPS(NN_OP_NAME)
#undef NN_OP_NAME
};

const struct nn_op *nn_op_get(enum nn_op_id id)
{
    return &rows[id];
}

const char *nn_op_name(enum nn_op_id id)
{
    return names[id];
}

bool nn_op_find(const char *name, enum nn_op_id *id)
{
    int i;

    for (i = 0; i < NN_OP_COUNT; i++) {
        if (strcmp(names[i], name) == 0) {
            *id = (enum nn_op_id)i;
            return true;
        }
    }
    return false;
}

const char *nn_phase_name(enum nn_phase p)
{
    static const char *const text[NN_PHASE_COUNT] = {
        "", "h2d", "forward", "clear grad", "backward", "optimizer",
    };

    return text[p];
}

const char *nn_role_name(enum nn_role r)
{
    static const char *const text[] = {
        "", "forward", "grad_input", "grad_weight", "grad_bias", "update",
    };

    return text[r];
}
