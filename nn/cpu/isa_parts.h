/* The kernels of one instruction set, family by family; isa_table.c puts them
 * together. */
#ifndef NN_CPU_ISA_PARTS_H
#define NN_CPU_ISA_PARTS_H

#include "nn/cpu/cpu_kernels.h"
#include "nn/cpu/cpu_vec.h"

extern const struct cpu_elem_kernels ISA(cpu_elem);
extern const struct cpu_row_kernels ISA(cpu_row);
extern const struct cpu_loss_kernels ISA(cpu_loss);
extern const struct cpu_reduce_kernels ISA(cpu_reduce);
extern const struct cpu_gemm_kernels ISA(cpu_gemm);
extern const struct cpu_pool_kernels ISA(cpu_pool);
extern const struct cpu_optim_kernels ISA(cpu_optim);

#endif
