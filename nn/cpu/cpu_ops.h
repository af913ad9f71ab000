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
CPU_OP(unary);      /* RELU TANH SIGMOID GELU NEG EXP LOG */
CPU_OP(unary_grad); /* RELU_GRAD TANH_GRAD SIGMOID_GRAD GELU_GRAD */
CPU_OP(pow);
CPU_OP(scale);
CPU_OP(dropout);
CPU_OP(fill);
CPU_OP(copy);
CPU_OP(add_into);
CPU_OP(clear_grad);
/* cpu_broadcast.c */
CPU_OP(binary); /* ADD SUB MUL DIV */
CPU_OP(sum_to);
CPU_OP(expand);
/* cpu_rows.c */
CPU_OP(softmax); /* SOFTMAX LOG_SOFTMAX and their gradients */
CPU_OP(reduce);  /* SUM MEAN */
CPU_OP(argmax);
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
