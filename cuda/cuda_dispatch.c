/* One row for each operator: what puts it on the stream and which operands it
 * takes. */
#include "cuda/cuda_dispatch.h"

#include "cuda/cuda_nvtx.h"
#include "cuda/cuda_ops.h"
#include "cuda/cuda_trace.h"
#include "cuda/cuda_upload.h"
#include "nn/operands.h"

struct row {
    cuda_op_fn run;
    const char *operands; /* see nn_operands_fit */
};

static const struct row rows[NN_OP_COUNT] = {
    [NN_OP_LINEAR] = {cuda_op_linear, "fw[f>f"},
    [NN_OP_LINEAR_GRAD_INPUT] = {cuda_op_linear_grad_input, "fw>f"},
    [NN_OP_LINEAR_GRAD_WEIGHT] = {cuda_op_linear_grad_weight, "ff>w"},
    [NN_OP_LINEAR_GRAD_BIAS] = {cuda_op_linear_grad_bias, "f>f"},
    [NN_OP_MATMUL] = {cuda_op_matmul, "ff>f"},
    [NN_OP_RELU] = {cuda_op_unary, "f>f"},
    [NN_OP_RELU_GRAD] = {cuda_op_unary_grad, "ff>f"},
    [NN_OP_TANH] = {cuda_op_unary, "f>f"},
    [NN_OP_TANH_GRAD] = {cuda_op_unary_grad, "ff>f"},
    [NN_OP_SIGMOID] = {cuda_op_unary, "f>f"},
    [NN_OP_SIGMOID_GRAD] = {cuda_op_unary_grad, "ff>f"},
    [NN_OP_GELU] = {cuda_op_unary, "f>f"},
    [NN_OP_GELU_GRAD] = {cuda_op_unary_grad, "ff>f"},
    [NN_OP_DROPOUT] = {cuda_op_dropout, "f>f"},
    [NN_OP_SOFTMAX] = {cuda_op_softmax, "f>f"},
    [NN_OP_SOFTMAX_GRAD] = {cuda_op_softmax, "ff>f"},
    [NN_OP_LOG_SOFTMAX] = {cuda_op_softmax, "f>f"},
    [NN_OP_LOG_SOFTMAX_GRAD] = {cuda_op_softmax, "ff>f"},
    [NN_OP_CROSS_ENTROPY] = {cuda_op_cross_entropy, "fi>f"},
    [NN_OP_CROSS_ENTROPY_GRAD] = {cuda_op_cross_entropy_grad, "ffi>f"},
    [NN_OP_BCE_WITH_LOGITS] = {cuda_op_bce, "ff>f"},
    [NN_OP_BCE_WITH_LOGITS_GRAD] = {cuda_op_bce_grad, "fff>f"},
    [NN_OP_MSE] = {cuda_op_mse, "ff>f"},
    [NN_OP_MSE_GRAD] = {cuda_op_mse_grad, "fff>f"},
    [NN_OP_ADD] = {cuda_op_binary, "ff>f"},
    [NN_OP_SUB] = {cuda_op_binary, "ff>f"},
    [NN_OP_MUL] = {cuda_op_binary, "ff>f"},
    [NN_OP_DIV] = {cuda_op_binary, "ff>f"},
    [NN_OP_MAXIMUM] = {cuda_op_binary, "ff>f"},
    [NN_OP_MAXIMUM_SHARE] = {cuda_op_binary, "ff>f"},
    [NN_OP_NEG] = {cuda_op_unary, "f>f"},
    [NN_OP_EXP] = {cuda_op_unary, "f>f"},
    [NN_OP_LOG] = {cuda_op_unary, "f>f"},
    [NN_OP_LOG1P] = {cuda_op_unary, "f>f"},
    [NN_OP_LOG1P_GRAD] = {cuda_op_unary_grad, "ff>f"},
    [NN_OP_SQRT] = {cuda_op_unary, "f>f"},
    [NN_OP_SQRT_GRAD] = {cuda_op_unary_grad, "ff>f"},
    [NN_OP_ABS] = {cuda_op_unary, "f>f"},
    [NN_OP_ABS_GRAD] = {cuda_op_unary_grad, "ff>f"},
    [NN_OP_POW] = {cuda_op_pow, "f>f"},
    [NN_OP_SCALE] = {cuda_op_scale, "f>f"},
    [NN_OP_SUM] = {cuda_op_reduce, "f>f"},
    [NN_OP_MEAN] = {cuda_op_reduce, "f>f"},
    [NN_OP_MAX] = {cuda_op_max, "f>f"},
    [NN_OP_MAX_GRAD] = {cuda_op_max_grad, "ff>f"},
    [NN_OP_SUM_TO] = {cuda_op_sum_to, "f>f"},
    [NN_OP_EXPAND] = {cuda_op_expand, "f>f"},
    [NN_OP_CONV2D] = {cuda_op_conv2d, "fw[f>f"},
    [NN_OP_CONV2D_GRAD_INPUT] = {cuda_op_conv2d_grad_input, "fw>f"},
    [NN_OP_CONV2D_GRAD_WEIGHT] = {cuda_op_conv2d_grad_weight, "ff>w"},
    [NN_OP_CONV2D_GRAD_BIAS] = {cuda_op_conv2d_grad_bias, "f>f"},
    [NN_OP_MAX_POOL2D] = {cuda_op_max_pool2d, "f>f"},
    [NN_OP_MAX_POOL2D_GRAD] = {cuda_op_max_pool2d_grad, "ff>f"},
    [NN_OP_AVG_POOL2D] = {cuda_op_avg_pool2d, "f>f"},
    [NN_OP_AVG_POOL2D_GRAD] = {cuda_op_avg_pool2d, "f>f"},
    [NN_OP_BATCH_STATS] = {cuda_op_batch_stats, "f>ff"},
    [NN_OP_BATCH_NORM] = {cuda_op_batch_norm, "fffff>f"},
    [NN_OP_BATCH_NORM_GRAD_INPUT] = {cuda_op_batch_norm_grad_input, "fffff>f"},
    [NN_OP_BATCH_NORM_GRAD_WEIGHT] = {cuda_op_batch_norm_grad, "ffff>f"},
    [NN_OP_BATCH_NORM_GRAD_BIAS] = {cuda_op_batch_norm_grad, "f>f"},
    [NN_OP_BATCH_NORM_UPDATE] = {cuda_op_batch_norm_update, "ff>ffl"},
    [NN_OP_LAYER_NORM] = {cuda_op_layer_norm, "fff>f"},
    [NN_OP_LAYER_NORM_GRAD_INPUT] = {cuda_op_layer_norm_grad_input, "fff>f"},
    [NN_OP_LAYER_NORM_GRAD_WEIGHT] = {cuda_op_layer_norm_grad_weight, "ff>f"},
    [NN_OP_FILL] = {cuda_op_fill, ">w"},
    [NN_OP_COPY] = {cuda_op_copy, "x>x"},
    [NN_OP_TRANSPOSE] = {cuda_op_transpose, "r>r"},
    [NN_OP_SLICE] = {cuda_op_slice, "r>r"},
    [NN_OP_SLICE_GRAD] = {cuda_op_slice, "r>r"},
    [NN_OP_CAT] = {cuda_op_cat, "rr[rr>r"},
    [NN_OP_CAST] = {cuda_op_cast, "r>r"},
    [NN_OP_EMBEDDING] = {cuda_op_embedding, "fi>f"},
    [NN_OP_EMBEDDING_GRAD] = {cuda_op_embedding_grad, "fi>f"},
    [NN_OP_ADD_INTO] = {cuda_op_add_into, "w>w"},
    [NN_OP_CLEAR_GRAD] = {cuda_op_clear_grad, ">x"},
    [NN_OP_BATCH] = {cuda_op_batch, ">f[x"},
    [NN_OP_CLIP_GRAD_NORM] = {cuda_op_clip, ">s"},
    [NN_OP_SGD] = {cuda_op_sgd, "pp[p>i"},
    [NN_OP_ADAM] = {cuda_op_adam, "pppp>i"},
    [NN_OP_ARGMAX] = {cuda_op_argmax, "f>i"},
};

bool cuda_supports(const struct nn_backend *be, const struct nn_call *call)
{
    (void)be;
    return (unsigned)call->op < NN_OP_COUNT && rows[call->op].run &&
           nn_operands_fit(call, rows[call->op].operands);
}

int cuda_shape_error(const struct nn_call *call, struct err *err)
{
    char text[512];

    return err_set(err, ERR_SHAPE, "%s: operands do not fit each other: %s",
                   nn_op_name(call->op),
                   nn_operands_text(call, text, sizeof text));
}

/* Told to the tools that look on. */
static int run_labelled(struct cuda *cu, const struct nn_call *call,
                        struct err *err)
{
    int rc;

    cuda_trace_push(cu);
    if (cu->nvtx)
        cuda_nvtx_begin(cu, call);
    rc = rows[call->op].run(cu, call, err);
    if (cu->nvtx)
        cuda_nvtx_end(cu);
    cuda_trace_pop(cu);
    return rc;
}

int cuda_run(struct nn_backend *be, const struct nn_call *call, struct err *err)
{
    struct cuda *cu = (struct cuda *)be;
    char text[512];
    int rc = cuda_late(cu, err);

    if (rc != 0)
        return rc;
    if (!cuda_supports(be, call))
        return err_set(err, ERR_SHAPE, "%s is not in the cuda backend for: %s",
                       nn_op_name(call->op),
                       nn_operands_text(call, text, sizeof text));
    if (call->op != NN_OP_BATCH) /* which takes them along */
        rc = cuda_upload_scalars(cu, err);
    return rc == 0 ? run_labelled(cu, call, err) : rc;
}
