/* The operators of the CUDA backend: each puts one call on the stream whose
 * operands cuda_dispatch.c has found to be of the right number, types and
 * layouts. Shapes are checked here: ERR_SHAPE. */
#ifndef CUDA_OPS_H
#define CUDA_OPS_H

#include "cuda/cuda_backend.h"

#define CUDA_OP(name) \
    int cuda_op_##name(struct cuda *cu, const struct nn_call *call, \
                       struct err *err)

/* cuda_gemm.c */
CUDA_OP(linear);
CUDA_OP(linear_grad_input);
CUDA_OP(linear_grad_weight);
CUDA_OP(linear_grad_bias);
CUDA_OP(matmul);
/* cuda_elem.c */
CUDA_OP(unary);      /* RELU TANH ... and all others of one operand */
CUDA_OP(unary_grad); /* dy and x or y */
CUDA_OP(pow);
CUDA_OP(scale);
CUDA_OP(dropout);
CUDA_OP(fill);
CUDA_OP(copy);
CUDA_OP(add_into);
CUDA_OP(clear_grad);
/* cuda_broadcast.c */
CUDA_OP(binary); /* ADD SUB MUL DIV MAXIMUM MAXIMUM_SHARE */
CUDA_OP(sum_to);
CUDA_OP(expand);
/* cuda_rows.c */
CUDA_OP(softmax); /* SOFTMAX LOG_SOFTMAX and their gradients */
CUDA_OP(reduce);  /* SUM MEAN */
CUDA_OP(max);
CUDA_OP(max_grad);
CUDA_OP(argmax);
/* cuda_move.c */
CUDA_OP(transpose);
CUDA_OP(slice); /* SLICE SLICE_GRAD */
CUDA_OP(cat);
CUDA_OP(cast);
CUDA_OP(embedding);
CUDA_OP(embedding_grad);
/* cuda_image.c */
CUDA_OP(max_pool2d);
CUDA_OP(max_pool2d_grad);
CUDA_OP(avg_pool2d); /* AVG_POOL2D AVG_POOL2D_GRAD */
CUDA_OP(conv2d);
CUDA_OP(conv2d_grad_input);
CUDA_OP(conv2d_grad_weight);
CUDA_OP(conv2d_grad_bias);
/* cuda_norm.c */
CUDA_OP(batch_stats);
CUDA_OP(batch_norm);
CUDA_OP(batch_norm_grad_input);
CUDA_OP(batch_norm_grad); /* of weight and bias */
CUDA_OP(batch_norm_update);
CUDA_OP(layer_norm);
CUDA_OP(layer_norm_grad_input);
CUDA_OP(layer_norm_grad_weight);
/* cuda_loss.c */
CUDA_OP(cross_entropy);
CUDA_OP(cross_entropy_grad);
CUDA_OP(bce);
CUDA_OP(bce_grad);
CUDA_OP(mse);
CUDA_OP(mse_grad);
/* cuda_optim.c */
CUDA_OP(sgd);
CUDA_OP(adam);
CUDA_OP(clip);
/* cuda_input.c */
CUDA_OP(batch);

#endif
