/* The operators of the CPU backend: each runs one call whose operands
 * cpu_dispatch.c has found to be of the right number, types and layouts.
 * Shapes are checked here: ERR_SHAPE. */
#ifndef NN_CPU_OPS_H
#define NN_CPU_OPS_H

#include "nn/cpu/cpu_backend.h"

#define CPU_OP(name) \
    int cpu_op_##name(struct cpu *cpu, const struct nn_call *call, \
                      struct err *err)

/* cpu_gemm.c */
CPU_OP(linear);
CPU_OP(linear_grad_input);
CPU_OP(linear_grad_weight);
CPU_OP(linear_grad_bias);
CPU_OP(matmul);
/* cpu_elem.c */
CPU_OP(unary);      /* RELU TANH ... and all others of one operand */
CPU_OP(unary_grad); /* dy and x or y */
CPU_OP(pow);
CPU_OP(scale);
CPU_OP(dropout);
CPU_OP(fill);
CPU_OP(copy);
CPU_OP(add_into);
CPU_OP(clear_grad);
/* cpu_broadcast.c */
CPU_OP(binary); /* ADD SUB MUL DIV MAXIMUM MAXIMUM_SHARE */
CPU_OP(sum_to);
CPU_OP(expand);
/* cpu_rows.c */
CPU_OP(softmax); /* SOFTMAX LOG_SOFTMAX and their gradients */
CPU_OP(reduce);  /* SUM MEAN */
CPU_OP(argmax);
/* cpu_move.c */
CPU_OP(transpose);
CPU_OP(slice); /* SLICE SLICE_GRAD */
CPU_OP(cat);
CPU_OP(cast);
CPU_OP(embedding);
CPU_OP(embedding_grad);
/* cpu_pool.c */
CPU_OP(max);
CPU_OP(max_grad);
CPU_OP(max_pool2d);
CPU_OP(max_pool2d_grad);
CPU_OP(avg_pool2d); /* AVG_POOL2D AVG_POOL2D_GRAD */
/* cpu_conv.c */
CPU_OP(conv2d);
CPU_OP(conv2d_grad_input);
CPU_OP(conv2d_grad_weight);
CPU_OP(conv2d_grad_bias);
/* cpu_norm.c */
CPU_OP(batch_stats);
CPU_OP(batch_norm);
CPU_OP(batch_norm_grad_input);
CPU_OP(batch_norm_grad); /* of weight and bias */
CPU_OP(batch_norm_update);
/* cpu_layer_norm.c */
CPU_OP(layer_norm);
CPU_OP(layer_norm_grad_input);
CPU_OP(layer_norm_grad_weight);
/* cpu_loss.c */
CPU_OP(cross_entropy);
CPU_OP(cross_entropy_grad);
CPU_OP(bce);
CPU_OP(bce_grad);
CPU_OP(mse);
CPU_OP(mse_grad);
/* cpu_optim.c */
CPU_OP(sgd);
CPU_OP(adam);
/* cpu_clip.c */
CPU_OP(clip);
/* cpu_batch.c */
CPU_OP(batch);

#endif
