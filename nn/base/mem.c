#include "nn/base/mem.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static atomic_long live;
static atomic_long countdown; /* 0: never fail; n: fail at the n-th; -1: fail */

static int fails_now(void)
{
    long n = atomic_load(&countdown);

    if (n == 0)
        return 0;
    if (n < 0)
        return 1;
    if (atomic_fetch_sub(&countdown, 1) == 1)
        atomic_store(&countdown, -1);
    return n == 1;
}

void *mem_alloc(size_t size)
{
    void *p;

    if (fails_now())
        return NULL;
    p = malloc(size ? size : 1);
    if (p)
        atomic_fetch_add(&live, 1);
    return p;
}

void *mem_zalloc(size_t size)
{
    void *p = mem_alloc(size);

    if (p)
        memset(p, 0, size);
    return p;
}

void *mem_array(size_t n, size_t size)
{
    if (size != 0 && n > SIZE_MAX / size)
        return NULL;
    return mem_zalloc(n * size);
}

void *mem_realloc(void *p, size_t size)
{
    void *q;

    if (!p)
        return mem_alloc(size);
    if (fails_now())
        return NULL;
    q = realloc(p, size ? size : 1);
    return q;
}

void *mem_grow(void *p, size_t n, size_t size)
{
    if (size != 0 && n > SIZE_MAX / size)
        return NULL;
    return mem_realloc(p, n * size);
}

char *mem_strndup(const char *s, size_t n)
{
    char *p = mem_alloc(n + 1);

    if (p) {
        memcpy(p, s, n);
        p[n] = '\0';
    }
    return p;
}

char *mem_strdup(const char *s)
{
    return mem_strndup(s, strlen(s));
}

void mem_free(void *p)
{
    if (p)
        atomic_fetch_sub(&live, 1);
    free(p);
}

void *mem_alloc_aligned(size_t size)
{
    size_t rounded;
    void *p;

    if (size > SIZE_MAX - 64 || fails_now())
        return NULL;
    rounded = (size + 63) / 64 * 64;
    p = aligned_alloc(64, rounded ? rounded : 64);
    if (!p)
        return NULL;
    memset(p, 0, rounded);
    atomic_fetch_add(&live, 1);
    return p;
}

void mem_free_aligned(void *p)
{
    mem_free(p);
}

long mem_live(void)
{
    return atomic_load(&live);
}

void mem_fail_after(long n)
{
    atomic_store(&countdown, n);
}
