/* The only caller of malloc: it counts, so that tests can ask for leaks, and
 * it can be told to fail, so that tests can walk every out-of-memory path. */
#ifndef NN_BASE_MEM_H
#define NN_BASE_MEM_H

#include <stddef.h>

void *mem_alloc(size_t size);            /* uninitialised; NULL: no memory */
void *mem_zalloc(size_t size);           /* zeroed */
void *mem_array(size_t n, size_t size);  /* zeroed n * size; NULL on overflow */
void *mem_realloc(void *p, size_t size); /* p stays valid when NULL is given */
void *mem_grow(void *p, size_t n, size_t size); /* n * size, overflow checked */
char *mem_strdup(const char *s);
char *mem_strndup(const char *s, size_t n); /* exactly n bytes, then a NUL */
void mem_free(void *p);                     /* NULL is fine */

/* 64-byte aligned memory for tensors, zeroed. End with mem_free_aligned. */
void *mem_alloc_aligned(size_t size);
void mem_free_aligned(void *p);

/* Blocks allocated through this file and not yet freed. */
long mem_live(void);

/* The n-th allocation from now (n = 1 is the next) and all later ones fail;
 * 0 turns that off. For tests. */
void mem_fail_after(long n);

#endif
