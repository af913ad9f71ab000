/* Device memory: one arena a category, cut from segments of plain cudaMalloc,
 * every byte accounted for. With PIPELINE_CUDA_ARENAS=0 in the environment each
 * tensor has an allocation of its own, slow but for a checker of memory
 * (compute-sanitizer) to see what runs over its end or outlives it. */
#ifndef CUDA_MEM_H
#define CUDA_MEM_H

#include "cuda/cuda_backend.h"

struct cuda_arena_stats {
    size_t used;     /* handed out, rounded up to 256 bytes each */
    size_t reserved; /* in segments: what the device counts as ours */
};

int cuda_arena_new(struct cuda_arena **out, enum nn_category cat,
                   struct err *err);
/* Gives its segments back; whatever was cut from them is gone. */
void cuda_arena_free(struct cuda_arena *a, struct cuda *cu); /* NULL is fine */
/* Gives back every arena's empty segments; true if there were any. */
bool cuda_arenas_trim(struct cuda *cu);
struct cuda_arena_stats cuda_arena_stats(const struct cuda_arena *a);

/* 256-byte aligned. ERR_NOMEM as of cuda_memory_alloc. */
int cuda_mem_alloc(struct cuda *cu, struct nn_buf **out, size_t size,
                   enum nn_category cat, struct err *err);
void cuda_mem_free(struct cuda *cu, struct nn_buf *buf);

#endif
