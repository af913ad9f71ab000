/* One row for each operator: what runs it and which operands it takes. */
#include "nn/cpu/cpu_ops.h"

#include "nn/operands.h"

struct row {
    int (*run)(struct cpu *cpu, const struct nn_call *call, struct err *err);
    const char *operands; /* see nn_operands_fit */
};

static const struct row rows[NN_OP_COUNT] = {
    [NN_OP_LINEAR] = {cpu_op_linear, "fw[f>f"},
    [NN_OP_LINEAR_GRAD_INPUT] = {cpu_op_linear_grad_input, "fw>f"},
    [NN_OP_LINEAR_GRAD_WEIGHT] = {cpu_op_linear_grad_weight, "ff>w"},
    [NN_OP_LINEAR_GRAD_BIAS] = {cpu_op_linear_grad_bias, "f>f"},
    [NN_OP_MATMUL] = {cpu_op_matmul, "ff>f"},
    [NN_OP_RELU] = {cpu_op_unary, "f>f"},
    [NN_OP_RELU_GRAD] = {cpu_op_unary_grad, "ff>f"},
    [NN_OP_TANH] = {cpu_op_unary, "f>f"},
    [NN_OP_TANH_GRAD] = {cpu_op_unary_grad, "ff>f"},
    [NN_OP_SIGMOID] = {cpu_op_unary, "f>f"},
    [NN_OP_SIGMOID_GRAD] = {cpu_op_unary_grad, "ff>f"},
    [NN_OP_GELU] = {cpu_op_unary, "f>f"},
    [NN_OP_GELU_GRAD] = {cpu_op_unary_grad, "ff>f"},
    [NN_OP_DROPOUT] = {cpu_op_dropout, "f>f"},
    [NN_OP_SOFTMAX] = {cpu_op_softmax, "f>f"},
    [NN_OP_SOFTMAX_GRAD] = {cpu_op_softmax, "ff>f"},
    [NN_OP_LOG_SOFTMAX] = {cpu_op_softmax, "f>f"},
    [NN_OP_LOG_SOFTMAX_GRAD] = {cpu_op_softmax, "ff>f"},
    [NN_OP_CROSS_ENTROPY] = {cpu_op_cross_entropy, "fi>f"},
    [NN_OP_CROSS_ENTROPY_GRAD] = {cpu_op_cross_entropy_grad, "ffi>f"},
    [NN_OP_BCE_WITH_LOGITS] = {cpu_op_bce, "ff>f"},
    [NN_OP_BCE_WITH_LOGITS_GRAD] = {cpu_op_bce_grad, "fff>f"},
    [NN_OP_MSE] = {cpu_op_mse, "ff>f"},
    [NN_OP_MSE_GRAD] = {cpu_op_mse_grad, "fff>f"},
    [NN_OP_ADD] = {cpu_op_binary, "ff>f"},
    [NN_OP_SUB] = {cpu_op_binary, "ff>f"},
    [NN_OP_MUL] = {cpu_op_binary, "ff>f"},
    [NN_OP_DIV] = {cpu_op_binary, "ff>f"},
    [NN_OP_MAXIMUM] = {cpu_op_binary, "ff>f"},
    [NN_OP_MAXIMUM_SHARE] = {cpu_op_binary, "ff>f"},
    [NN_OP_NEG] = {cpu_op_unary, "f>f"},
    [NN_OP_EXP] = {cpu_op_unary, "f>f"},
    [NN_OP_LOG] = {cpu_op_unary, "f>f"},
    [NN_OP_LOG1P] = {cpu_op_unary, "f>f"},
    [NN_OP_LOG1P_GRAD] = {cpu_op_unary_grad, "ff>f"},
    [NN_OP_SQRT] = {cpu_op_unary, "f>f"},
    [NN_OP_SQRT_GRAD] = {cpu_op_unary_grad, "ff>f"},
    [NN_OP_ABS] = {cpu_op_unary, "f>f"},
    [NN_OP_ABS_GRAD] = {cpu_op_unary_grad, "ff>f"},
    [NN_OP_POW] = {cpu_op_pow, "f>f"},
    [NN_OP_SCALE] = {cpu_op_scale, "f>f"},
    [NN_OP_SUM] = {cpu_op_reduce, "f>f"},
    [NN_OP_MEAN] = {cpu_op_reduce, "f>f"},
    [NN_OP_MAX] = {cpu_op_max, "f>f"},
    [NN_OP_MAX_GRAD] = {cpu_op_max_grad, "ff>f"},
    [NN_OP_SUM_TO] = {cpu_op_sum_to, "f>f"},
    [NN_OP_EXPAND] = {cpu_op_expand, "f>f"},
    [NN_OP_CONV2D] = {cpu_op_conv2d, "fw[f>f"},
    [NN_OP_CONV2D_GRAD_INPUT] = {cpu_op_conv2d_grad_input, "fw>f"},
    [NN_OP_CONV2D_GRAD_WEIGHT] = {cpu_op_conv2d_grad_weight, "ff>w"},
    [NN_OP_CONV2D_GRAD_BIAS] = {cpu_op_conv2d_grad_bias, "f>f"},
    [NN_OP_MAX_POOL2D] = {cpu_op_max_pool2d, "f>f"},
    [NN_OP_MAX_POOL2D_GRAD] = {cpu_op_max_pool2d_grad, "ff>f"},
    [NN_OP_AVG_POOL2D] = {cpu_op_avg_pool2d, "f>f"},
    [NN_OP_AVG_POOL2D_GRAD] = {cpu_op_avg_pool2d, "f>f"},
    [NN_OP_BATCH_STATS] = {cpu_op_batch_stats, "f>ff"},
    [NN_OP_BATCH_NORM] = {cpu_op_batch_norm, "fffff>f"},
    [NN_OP_BATCH_NORM_GRAD_INPUT] = {cpu_op_batch_norm_grad_input, "fffff>f"},
    [NN_OP_BATCH_NORM_GRAD_WEIGHT] = {cpu_op_batch_norm_grad, "ffff>f"},
    [NN_OP_BATCH_NORM_GRAD_BIAS] = {cpu_op_batch_norm_grad, "f>f"},
    [NN_OP_BATCH_NORM_UPDATE] = {cpu_op_batch_norm_update, "ff>ffl"},
    [NN_OP_LAYER_NORM] = {cpu_op_layer_norm, "fff>f"},
    [NN_OP_LAYER_NORM_GRAD_INPUT] = {cpu_op_layer_norm_grad_input, "fff>f"},
    [NN_OP_LAYER_NORM_GRAD_WEIGHT] = {cpu_op_layer_norm_grad_weight, "ff>f"},
    [NN_OP_FILL] = {cpu_op_fill, ">w"},
    [NN_OP_COPY] = {cpu_op_copy, "x>x"},
    [NN_OP_TRANSPOSE] = {cpu_op_transpose, "r>r"},
    [NN_OP_SLICE] = {cpu_op_slice, "r>r"},
    [NN_OP_SLICE_GRAD] = {cpu_op_slice, "r>r"},
    [NN_OP_CAT] = {cpu_op_cat, "rr[rr>r"},
    [NN_OP_CAST] = {cpu_op_cast, "r>r"},
    [NN_OP_EMBEDDING] = {cpu_op_embedding, "fi>f"},
    [NN_OP_EMBEDDING_GRAD] = {cpu_op_embedding_grad, "fi>f"},
    [NN_OP_ADD_INTO] = {cpu_op_add_into, "w>w"},
    [NN_OP_CLEAR_GRAD] = {cpu_op_clear_grad, ">x"},
    [NN_OP_BATCH] = {cpu_op_batch, ">f[x"},
    [NN_OP_CLIP_GRAD_NORM] = {cpu_op_clip, ">s"},
    [NN_OP_SGD] = {cpu_op_sgd, "pp[p>i"},
    [NN_OP_ADAM] = {cpu_op_adam, "pppp>i"},
    [NN_OP_ARGMAX] = {cpu_op_argmax, "f>i"},
};

bool cpu_supports(const struct nn_backend *be, const struct nn_call *call)
{
    (void)be;
    return (unsigned)call->op < NN_OP_COUNT && rows[call->op].run &&
           nn_operands_fit(call, rows[call->op].operands);
}

int cpu_shape_error(const struct nn_call *call, struct err *err)
{
    char text[512];

    return err_set(err, ERR_SHAPE, "%s: operands do not fit each other: %s",
                   nn_op_name(call->op),
                   nn_operands_text(call, text, sizeof text));
}

int cpu_run(struct nn_backend *be, const struct nn_call *call, struct err *err)
{
    char text[512];

    if (!cpu_supports(be, call))
        return err_set(err, ERR_SHAPE, "%s is not in the cpu backend for: %s",
                       nn_op_name(call->op),
                       nn_operands_text(call, text, sizeof text));
    return rows[call->op].run((struct cpu *)be, call, err);
}
