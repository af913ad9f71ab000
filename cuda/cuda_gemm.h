/* How a matrix is told to NVIDIA's libraries, whose matrices lie in columns:
 * one of ours (rows, cols) is the transpose of what they see. */
#ifndef CUDA_GEMM_H
#define CUDA_GEMM_H

#include <cublas_v2.h>
#include <stdint.h>

struct cuda_operand {
    cublasOperation_t op;
    int64_t ld; /* how far apart their columns lie */
};

/* Element (i, j) of ours is at i * row + j * col, one of which is 1. */
struct cuda_operand cuda_operand(int64_t cols, int64_t row, int64_t col);

#endif
