/* A fixed set of threads that split an index range. Work is split over
 * outputs, never over a sum, so results do not depend on the thread count. */
#ifndef NN_BASE_POOL_H
#define NN_BASE_POOL_H

#include <stdint.h>

#include "nn/base/err.h"

struct pool;

/* threads counts the caller; 1 starts no thread at all. */
int pool_new(struct pool **out, int threads, struct err *err);
void pool_free(struct pool *p);
int pool_threads(const struct pool *p);
/* Cores that this process may run on. */
int pool_cores(void);

/* Calls fn(arg, begin, end) so that the ranges cover [0, n) once, begin a
 * multiple of grain. Returns when all are done. One caller at a time. */
typedef void (*pool_fn)(void *arg, int64_t begin, int64_t end);
void pool_for(struct pool *p, int64_t n, int64_t grain, pool_fn fn, void *arg);

#endif
