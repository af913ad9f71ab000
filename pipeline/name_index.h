/* Names in the order in which they came, found by hashing. */
#ifndef PIPELINE_NAME_INDEX_H
#define PIPELINE_NAME_INDEX_H

#include <stdbool.h>
#include <stddef.h>

#define NAME_NONE ((size_t)-1)

/* Zero-initialise. The names are borrowed. */
struct name_index {
    const char **name; /* n of them */
    size_t n, cap;
    size_t *slot; /* 1 + a name's place, or 0; open addressing */
    size_t slots; /* a power of two, or 0 */
};

/* The place of name, or NAME_NONE. */
size_t name_index_find(const struct name_index *x, const char *name);
/* Adds a name that is not there yet; false: out of memory, nothing added. */
bool name_index_add(struct name_index *x, const char *name);
/* Forgets all but the first n. */
void name_index_cut(struct name_index *x, size_t n);
void name_index_free(struct name_index *x); /* leaves it empty */

#endif
