#include "pipeline/name_index.h"

#include <stdint.h>
#include <string.h>

#include "nn/base/mem.h"

/* FNV-1a, 64 bits. */
static uint64_t hash(const char *s)
{
    uint64_t h = UINT64_C(14695981039346656037);

    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
    return h ^ h >> 32;
}

/* Where name stands, or the free slot where it would. There is a free one. */
static size_t slot_of(const struct name_index *x, const char *name)
{
    size_t i = (size_t)hash(name) & (x->slots - 1);

    while (x->slot[i] != 0 && strcmp(x->name[x->slot[i] - 1], name) != 0)
        i = (i + 1) & (x->slots - 1);
    return i;
}

size_t name_index_find(const struct name_index *x, const char *name)
{
    size_t at = x->slots ? x->slot[slot_of(x, name)] : 0;

    return at ? at - 1 : NAME_NONE;
}

/* At most half of the slots are taken. */
static bool grow(struct name_index *x)
{
    size_t cap = x->cap ? x->cap * 2 : 32, i;
    size_t *slot = mem_array(2 * cap, sizeof *slot);
    const char **name = slot ? mem_grow(x->name, cap, sizeof *name) : NULL;

    if (!name) {
        mem_free(slot);
        return false;
    }
    mem_free(x->slot);
    memset(slot, 0, 2 * cap * sizeof *slot);
    x->name = name;
    x->cap = cap;
    x->slot = slot;
    x->slots = 2 * cap;
    for (i = 0; i < x->n; i++)
        x->slot[slot_of(x, x->name[i])] = i + 1;
    return true;
}

bool name_index_add(struct name_index *x, const char *name)
{
    if (x->n == x->cap && !grow(x))
        return false;
    x->slot[slot_of(x, name)] = x->n + 1;
    x->name[x->n++] = name;
    return true;
}

void name_index_cut(struct name_index *x, size_t n)
{
    /* The last one to come is in nobody's way. */
    for (; x->n > n; x->n--)
        x->slot[slot_of(x, x->name[x->n - 1])] = 0;
}

void name_index_free(struct name_index *x)
{
    mem_free(x->name);
    mem_free(x->slot);
    memset(x, 0, sizeof *x);
}
