/* Whole allocations of plain cudaMalloc, and pinned host memory. Every one is
 * on a list, so that an error can say what this program holds. */
#ifndef CUDA_MEMORY_H
#define CUDA_MEMORY_H

#include "cuda/cuda_backend.h"

/* size 0 gives NULL. ERR_NOMEM says what was asked for, held and free; all
 * arenas' empty segments are given back before it is said. */
int cuda_memory_alloc(struct cuda *cu, void **out, size_t size,
                      struct err *err);
void cuda_memory_free(struct cuda *cu, void *p); /* NULL is fine */

/* Frees p as soon as no captured graph is alive, which may hold its address. */
void cuda_memory_retire(struct cuda *cu, void *p); /* NULL is fine */
/* Frees what was retired. The stream has nothing to do. */
void cuda_memory_sweep(struct cuda *cu);
void cuda_memory_free_all(struct cuda *cu);

/* Ended by cudaFreeHost. */
int cuda_pinned_alloc(void **out, size_t size, struct err *err);

#endif
