#include "nn/base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "nn/base/mem.h"

enum { ARENA_BLOCK = 16384, ARENA_ALIGN = 16 };

struct arena_block {
    struct arena_block *next;
    size_t size;
    _Alignas(ARENA_ALIGN) unsigned char data[];
};

static struct arena_block *block_new(struct arena *a, size_t need)
{
    size_t size = need > ARENA_BLOCK ? need : ARENA_BLOCK;
    struct arena_block *b;

    if (size > SIZE_MAX - sizeof *b)
        return NULL;
    b = mem_alloc(sizeof *b + size);
    if (!b)
        return NULL;
    b->size = size;
    b->next = a->head;
    a->head = b;
    a->used = 0;
    return b;
}

void *arena_alloc(struct arena *a, size_t size)
{
    size_t need;
    void *p;

    if (size > SIZE_MAX - ARENA_ALIGN)
        return NULL;
    need = (size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    if (!a->head || a->head->size - a->used < need) {
        if (!block_new(a, need))
            return NULL;
    }
    p = a->head->data + a->used;
    a->used += need;
    memset(p, 0, size);
    return p;
}

void *arena_array(struct arena *a, size_t n, size_t size)
{
    if (size != 0 && n > SIZE_MAX / size)
        return NULL;
    return arena_alloc(a, n * size);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *p = n < SIZE_MAX ? arena_alloc(a, n + 1) : NULL;

    if (p)
        memcpy(p, s, n);
    return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap, again;
    char *p = NULL;
    int n;

    va_start(ap, fmt);
    va_copy(again, ap);
    n = vsnprintf(NULL, 0, fmt, ap);
    if (n >= 0)
        p = arena_alloc(a, (size_t)n + 1);
    if (p)
        (void)vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    va_end(ap);
    return p;
}

void arena_free(struct arena *a)
{
    struct arena_block *b = a->head;

    while (b) {
        struct arena_block *next = b->next;

        mem_free(b);
        b = next;
    }
    a->head = NULL;
    a->used = 0;
}
