/* Memory that is freed all at once. */
#ifndef NN_BASE_ARENA_H
#define NN_BASE_ARENA_H

#include <stddef.h>

struct arena_block;

/* Zero-initialise; no call is needed before the first allocation. */
struct arena {
    struct arena_block *head;
    size_t used; /* bytes used in head */
};

void *arena_alloc(struct arena *a, size_t size); /* zeroed, 16-aligned */
void *arena_array(struct arena *a, size_t n, size_t size);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void arena_free(struct arena *a); /* everything; the arena may be used again */

#endif
