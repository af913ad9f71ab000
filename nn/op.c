#include "nn/op.h"

#include <string.h>

#include "nn/op_rules.h"

enum { IN0 = 1, IN1 = 2, IN3 = 8, IN4 = 16, OUT = NN_SAVES_OUT };
enum { ALL = ((1 << NN_MAX_IN) - 1) | OUT };

/* id, operands at least and at most, what backward reads, shape, backward */
#define ROW(id, lo, hi, saves, shape, grad) \
    DIFF(id, lo, hi, saves, shape, grad, NULL)
/* and, of what is differentiable, its rule in words */
#define DIFF(id, lo, hi, saves, shape, grad, rule) \
    [NN_OP_##id] = {NN_OP_##id, lo, hi, saves, shape, grad, rule}

static const struct nn_op rows[NN_OP_COUNT] = {
    DIFF(LINEAR, 2, 3, IN0 | IN1 | OUT, nn_shape_linear, nn_grad_linear,
         "y = x @ transpose(W) + b; dx = g @ W; dW = transpose(g) @ x; "
         "db = sum(g, 0)"),
    ROW(LINEAR_GRAD_INPUT, 2, 2, 0, NULL, NULL),
    ROW(LINEAR_GRAD_WEIGHT, 2, 2, 0, NULL, NULL),
    ROW(LINEAR_GRAD_BIAS, 1, 1, 0, NULL, NULL),
    DIFF(MATMUL, 2, 2, IN0 | IN1, nn_shape_matmul, nn_grad_matmul,
         "y = a @ b; da = g @ transpose(b); db = transpose(a) @ g"),
    DIFF(RELU, 1, 1, OUT, nn_shape_unary, nn_grad_from_output,
         "y = relu(x); dx = g * step(x)"),
    ROW(RELU_GRAD, 2, 2, 0, nn_shape_gradient, NULL),
    DIFF(TANH, 1, 1, OUT, nn_shape_unary, nn_grad_from_output,
         "y = tanh(x); dx = g * (1 - y**2)"),
    ROW(TANH_GRAD, 2, 2, 0, nn_shape_gradient, NULL),
    DIFF(SIGMOID, 1, 1, OUT, nn_shape_unary, nn_grad_from_output,
         "y = sigmoid(x); dx = g * y * (1 - y)"),
    ROW(SIGMOID_GRAD, 2, 2, 0, nn_shape_gradient, NULL),
    DIFF(GELU, 1, 1, IN0, nn_shape_unary, nn_grad_from_input,
         "y = gelu(x); dx = g * (Phi(x) + x * phi(x))"),
    ROW(GELU_GRAD, 2, 2, 0, nn_shape_gradient, NULL),
    DIFF(DROPOUT, 1, 1, 0, nn_shape_rows, nn_grad_dropout,
         "y = dropout(x); dx = dropout(g)"),
    DIFF(SOFTMAX, 1, 1, OUT, nn_shape_rows, nn_grad_from_output,
         "y = softmax(x); dx = y * (g - sum(g * y, -1))"),
    ROW(SOFTMAX_GRAD, 2, 2, 0, nn_shape_gradient, NULL),
    DIFF(LOG_SOFTMAX, 1, 1, OUT, nn_shape_rows, nn_grad_from_output,
         "y = log_softmax(x); dx = g - exp(y) * sum(g, -1)"),
    ROW(LOG_SOFTMAX_GRAD, 2, 2, 0, nn_shape_gradient, NULL),
    DIFF(CROSS_ENTROPY, 2, 2, IN0 | IN1, nn_shape_cross_entropy, nn_grad_loss,
         "y = cross_entropy(x, t); dx = g * (softmax(x) - onehot(t)) / n"),
    ROW(CROSS_ENTROPY_GRAD, 3, 3, 0, nn_shape_gradient, NULL),
    DIFF(BCE_WITH_LOGITS, 2, 2, IN0 | IN1, nn_shape_pair_loss, nn_grad_loss,
         "y = bce_with_logits(x, t); dx = g * (sigmoid(x) - t) / n"),
    ROW(BCE_WITH_LOGITS_GRAD, 3, 3, 0, nn_shape_gradient, NULL),
    DIFF(MSE, 2, 2, IN0 | IN1, nn_shape_pair_loss, nn_grad_loss,
         "y = mse(a, b); da = g * 2 * (a - b) / n; db = g * 2 * (b - a) "
         "/ n"),
    ROW(MSE_GRAD, 3, 3, 0, nn_shape_gradient, NULL),
    DIFF(ADD, 2, 2, 0, nn_shape_broadcast, nn_grad_add,
         "y = a + b; da = g; db = g"),
    DIFF(SUB, 2, 2, 0, nn_shape_broadcast, nn_grad_sub,
         "y = a - b; da = g; db = -g"),
    DIFF(MUL, 2, 2, IN0 | IN1, nn_shape_broadcast, nn_grad_mul,
         "y = a * b; da = g * b; db = g * a"),
    DIFF(DIV, 2, 2, IN1 | OUT, nn_shape_broadcast, nn_grad_div,
         "y = a / b; da = g / b; db = -(g * y / b)"),
    DIFF(MAXIMUM, 2, 2, IN0 | IN1, nn_shape_broadcast, nn_grad_maximum,
         "y = maximum(a, b); da = g * share(a, b); db = g * share(b, a)"),
    ROW(MAXIMUM_SHARE, 2, 2, 0, nn_shape_broadcast, NULL),
    DIFF(NEG, 1, 1, 0, nn_shape_unary, nn_grad_neg, "y = -x; dx = -g"),
    DIFF(EXP, 1, 1, OUT, nn_shape_unary, nn_grad_exp, "y = exp(x); dx = g * y"),
    DIFF(LOG, 1, 1, IN0, nn_shape_unary, nn_grad_log, "y = log(x); dx = g / x"),
    DIFF(LOG1P, 1, 1, IN0, nn_shape_unary, nn_grad_from_input,
         "y = log1p(x); dx = g / (1 + x)"),
    ROW(LOG1P_GRAD, 2, 2, 0, nn_shape_gradient, NULL),
    DIFF(SQRT, 1, 1, OUT, nn_shape_unary, nn_grad_from_output,
         "y = sqrt(x); dx = g / (2 * y)"),
    ROW(SQRT_GRAD, 2, 2, 0, nn_shape_gradient, NULL),
    DIFF(ABS, 1, 1, IN0, nn_shape_unary, nn_grad_from_input,
         "y = abs(x); dx = g * sign(x)"),
    ROW(ABS_GRAD, 2, 2, 0, nn_shape_gradient, NULL),
    DIFF(POW, 1, 1, IN0, nn_shape_unary, nn_grad_pow,
         "y = x**p; dx = g * (p * x**(p - 1))"),
    DIFF(SCALE, 1, 1, 0, nn_shape_unary, nn_grad_scale,
         "y = x * c; dx = g * c"),
    DIFF(SUM, 1, 1, 0, nn_shape_reduce, nn_grad_reduce,
         "y = sum(x); dx = expand(g)"),
    DIFF(MEAN, 1, 1, 0, nn_shape_reduce, nn_grad_reduce,
         "y = mean(x); dx = expand(g) / n"),
    DIFF(MAX, 1, 1, IN0, nn_shape_max, nn_grad_max,
         "y = max(x); dx = expand(g) * largest(x)"),
    ROW(MAX_GRAD, 2, 2, 0, nn_shape_gradient, NULL),
    ROW(SUM_TO, 1, 1, 0, NULL, NULL),
    ROW(EXPAND, 1, 1, 0, NULL, NULL),
    DIFF(CONV2D, 2, 3, IN0 | IN1, nn_shape_conv2d, nn_grad_conv2d,
         "y = conv2d(x, W) + b; dx = conv2d_input(g, W); "
         "dW = conv2d_weight(g, x); db = sum_to(g)"),
    ROW(CONV2D_GRAD_INPUT, 2, 2, 0, NULL, NULL),
    ROW(CONV2D_GRAD_WEIGHT, 2, 2, 0, NULL, NULL),
    ROW(CONV2D_GRAD_BIAS, 1, 1, 0, NULL, NULL),
    DIFF(MAX_POOL2D, 1, 1, IN0, nn_shape_pool2d, nn_grad_max_pool2d,
         "y = max_pool2d(x); dx = unpool(g) * largest(x)"),
    ROW(MAX_POOL2D_GRAD, 2, 2, 0, nn_shape_gradient, NULL),
    DIFF(AVG_POOL2D, 1, 1, 0, nn_shape_pool2d, nn_grad_avg_pool2d,
         "y = avg_pool2d(x); dx = unpool(g) / k**2"),
    ROW(AVG_POOL2D_GRAD, 1, 1, 0, NULL, NULL),
    ROW(BATCH_STATS, 1, 1, 0, NULL, NULL),
    DIFF(BATCH_NORM, 5, 5, IN0 | IN1 | IN3 | IN4, nn_shape_batch_norm,
         nn_grad_batch_norm,
         "y = xhat(x) * w + b; dx = w * r(x) * (g - mean(g) - xhat(x) * "
         "mean(g * xhat(x))); dw = sum_to(g * xhat(x)); "
         "db = sum_to(g)"),
    ROW(BATCH_NORM_GRAD_INPUT, 5, 5, 0, nn_shape_gradient, NULL),
    ROW(BATCH_NORM_GRAD_WEIGHT, 4, 4, 0, NULL, NULL),
    ROW(BATCH_NORM_GRAD_BIAS, 1, 1, 0, NULL, NULL),
    ROW(BATCH_NORM_UPDATE, 2, 2, 0, NULL, NULL),
    DIFF(LAYER_NORM, 3, 3, IN0 | IN1, nn_shape_layer_norm, nn_grad_layer_norm,
         "y = xhat(x) * w + b; dx = r(x) * (g * w - mean(g * w) - xhat(x) * "
         "mean(g * w * xhat(x))); dw = sum_to(g * xhat(x)); "
         "db = sum_to(g)"),
    ROW(LAYER_NORM_GRAD_INPUT, 3, 3, 0, nn_shape_gradient, NULL),
    ROW(LAYER_NORM_GRAD_WEIGHT, 2, 2, 0, NULL, NULL),
    ROW(FILL, 0, 0, 0, NULL, NULL),
    DIFF(COPY, 1, 1, 0, NULL, nn_grad_copy, "y = x; dx = g"),
    DIFF(RESHAPE, 1, 1, 0, NULL, NULL, "y = reshape(x); dx = reshape(g)"),
    DIFF(TRANSPOSE, 1, 1, 0, nn_shape_transpose, nn_grad_transpose,
         "y = transpose(x); dx = transpose(g)"),
    DIFF(SLICE, 1, 1, 0, nn_shape_slice, nn_grad_slice,
         "y = slice(x); dx = pad(g)"),
    ROW(SLICE_GRAD, 1, 1, 0, NULL, NULL),
    DIFF(CAT, 2, 4, 0, nn_shape_cat, nn_grad_cat,
         "y = cat(a, b, c, d); da = part(g, 0); db = part(g, 1); dc = "
         "part(g, 2); dd = part(g, 3)"),
    DIFF(CAST, 1, 1, 0, nn_shape_cast, nn_grad_cast,
         "y = cast(x); dx = cast(g)"),
    DIFF(EMBEDDING, 2, 2, IN1, nn_shape_embedding, nn_grad_embedding,
         "y = embedding(W, i); dW = scatter(g, i)"),
    ROW(EMBEDDING_GRAD, 2, 2, 0, NULL, NULL),
    ROW(ADD_INTO, 1, 1, 0, NULL, NULL),
    ROW(CLEAR_GRAD, 0, 0, 0, NULL, NULL),
    ROW(BATCH, 0, 0, 0, NULL, NULL),
    ROW(CLIP_GRAD_NORM, 0, 0, 0, NULL, NULL),
    ROW(SGD, 2, 3, 0, NULL, NULL),
    ROW(ADAM, 4, 4, 0, NULL, NULL),
    ROW(ARGMAX, 1, 1, 0, nn_shape_argmax, NULL),
    ROW(CUSTOM, 1, NN_MAX_IN, ALL, NULL, NULL),
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

bool nn_op_reads_input(const struct nn_call *call, int i)
{
    switch (call->op) {
    case NN_OP_LINEAR:
    case NN_OP_MATMUL:
    case NN_OP_MUL:
    case NN_OP_CONV2D:
        return i < 2 && call->in[1 - i]->requires_grad;
    default:
        return (rows[call->op].saves & (1u << i)) != 0;
    }
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
