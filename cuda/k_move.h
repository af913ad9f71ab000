/* Numbers moved about without changing them, changes of type, rows of a table.
 * size is that of an element in bytes: 1, 2, 4 or 8. */
#ifndef CUDA_K_MOVE_H
#define CUDA_K_MOVE_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#include "cuda/cuda_fault.h"
#include "cuda/cuda_scalars.h"

#ifdef __cplusplus
extern "C" {
#endif
#include "nn/tensor.h"

/* count strips of n elements, each a step from the last */
struct k_strips {
    void *to;
    const void *from;
    int64_t to_step, from_step, count, n;
};
cudaError_t k_strips(const struct k_strips *s, size_t size,
                     cudaStream_t stream);

/* x (outer, p, mid, q, inner) -> y (outer, q, mid, p, inner), n elements */
struct k_swap {
    void *y;
    const void *x;
    int64_t p, mid, q, inner, n;
};
cudaError_t k_swap(const struct k_swap *s, size_t size, cudaStream_t stream);

/* To NN_F32 or NN_F64 from NN_F32 NN_F64 NN_U8 NN_I32 NN_I64 */
cudaError_t k_cast(void *y, enum nn_dtype to, const void *x, enum nn_dtype from,
                   int64_t n, cudaStream_t stream);

/* losses[at] = *loss and flags[at] = *flag, where at is s->result; nothing
 * where that is negative */
cudaError_t k_keep(float *losses, const float *loss, int32_t *flags,
                   const int32_t *flag, const struct cuda_scalars *s,
                   cudaStream_t stream);

/* rows (n, width) = table (height, width)[index]; a bad index is noted in
 * *fault and its row is 0. */
struct k_table {
    void *table, *rows;
    const int32_t *index;
    int64_t n, width, height;
    int op; /* enum nn_op_id, for the fault */
};
cudaError_t k_take_rows(enum nn_dtype dtype, const struct k_table *t,
                        struct cuda_fault *fault, cudaStream_t stream);
/* table[index[i]] += rows[i] in the order of i; NN_F32 or NN_F64 */
cudaError_t k_add_rows(enum nn_dtype dtype, const struct k_table *t,
                       struct cuda_fault *fault, cudaStream_t stream);

#ifdef __cplusplus
}
#endif
#endif
