#include "cuda/cuda_mem.h"

#include "cuda/cuda_memory.h"
#include "nn/base/mem.h"

enum { ALIGN = 256 };
static const size_t segment_size = (size_t)2 << 20;

/* A piece of a segment, in the order of its addresses. */
struct block {
    struct block *prev, *next;
    struct block *prev_free, *next_free; /* of the arena's free list */
    struct segment *segment;
    size_t offset, size;
    bool used;
};

struct segment {
    struct segment *next;
    char *base; /* on the device */
    size_t size, used;
    struct block *first;
};

struct cuda_arena {
    enum nn_category cat;
    struct segment *segments;
    struct block *free; /* the last that was given back first */
    struct cuda_arena_stats stats;
};

static void list_add(struct cuda_arena *a, struct block *b)
{
    b->prev_free = NULL;
    b->next_free = a->free;
    if (b->next_free)
        b->next_free->prev_free = b;
    a->free = b;
}

static void list_remove(struct cuda_arena *a, struct block *b)
{
    if (b->prev_free)
        b->prev_free->next_free = b->next_free;
    else
        a->free = b->next_free;
    if (b->next_free)
        b->next_free->prev_free = b->prev_free;
}

int cuda_arena_new(struct cuda_arena **out, enum nn_category cat,
                   struct err *err)
{
    struct cuda_arena *a = mem_zalloc(sizeof *a);

    *out = a;
    if (!a)
        return err_set(err, ERR_NOMEM, "out of memory for an arena");
    a->cat = cat;
    return 0;
}

static void segment_free(struct segment *s, struct cuda *cu)
{
    struct block *b = s->first, *next;

    for (; b; b = next) {
        next = b->next;
        mem_free(b);
    }
    cuda_memory_free(cu, s->base);
    mem_free(s);
}

void cuda_arena_free(struct cuda_arena *a, struct cuda *cu)
{
    struct segment *s, *next;

    if (!a)
        return;
    for (s = a->segments; s; s = next) {
        next = s->next;
        segment_free(s, cu);
    }
    mem_free(a);
}

struct cuda_arena_stats cuda_arena_stats(const struct cuda_arena *a)
{
    return a->stats;
}

/* Gives back the segments that nothing lies in; true if there was one. What a
 * graph uses lies in tensors that live as long as it does. */
static bool trim(struct cuda_arena *a, struct cuda *cu)
{
    struct segment **at = &a->segments;
    bool any = false;

    while (*at) {
        struct segment *s = *at;

        if (s->used > 0) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        list_remove(a, s->first); /* all of it is one free block */
        a->stats.reserved -= s->size;
        segment_free(s, cu);
        any = true;
    }
    return any;
}

bool cuda_arenas_trim(struct cuda *cu)
{
    bool any = false;

    for (int i = 0; i <= NN_CAT_TEMPORARY; i++)
        if (cu->arena[i])
            any = trim(cu->arena[i], cu) || any;
    return any;
}

static int segment_new(struct cuda *cu, struct cuda_arena *a, size_t size,
                       struct segment **out, struct err *err)
{
    struct segment *s = mem_zalloc(sizeof *s);
    struct block *b = mem_zalloc(sizeof *b);
    void *base = NULL;
    int rc;

    if (!s || !b) {
        mem_free(s);
        mem_free(b);
        return err_set(err, ERR_NOMEM, "out of memory for an arena");
    }
    s->size = cu->apart
                  ? size
                  : (size + segment_size - 1) / segment_size * segment_size;
    rc = cuda_memory_alloc(cu, &base, s->size, err);
    if (rc != 0) {
        mem_free(s);
        mem_free(b);
        return rc;
    }
    s->base = base;
    b->segment = s;
    b->size = s->size;
    s->first = b;
    s->next = a->segments;
    a->segments = s;
    list_add(a, b);
    a->stats.reserved += s->size;
    *out = s;
    return 0;
}

/* The first free block of at least size. */
static struct block *find(const struct cuda_arena *a, size_t size)
{
    struct block *b = a->free;

    while (b && b->size < size)
        b = b->next_free;
    return b;
}

/* Leaves b with size bytes and what is over as a free block behind it. */
static int split(struct cuda_arena *a, struct block *b, size_t size,
                 struct err *err)
{
    struct block *rest;

    if (b->size == size)
        return 0;
    rest = mem_zalloc(sizeof *rest);
    if (!rest)
        return err_set(err, ERR_NOMEM, "out of memory for an arena");
    rest->segment = b->segment;
    rest->offset = b->offset + size;
    rest->size = b->size - size;
    rest->prev = b;
    rest->next = b->next;
    if (rest->next)
        rest->next->prev = rest;
    b->next = rest;
    b->size = size;
    list_add(a, rest);
    return 0;
}

static int take(struct cuda *cu, struct cuda_arena *a, size_t size,
                struct block **out, struct err *err)
{
    struct block *b = find(a, size);
    struct segment *s = NULL;
    int rc = 0;

    if (!b) {
        if (cu->capturing)
            return err_set(err, ERR_DEVICE,
                           "a captured step must not allocate memory");
        rc = segment_new(cu, a, size, &s, err);
        b = rc == 0 ? s->first : NULL;
    }
    if (rc == 0)
        rc = split(a, b, size, err);
    if (rc != 0)
        return rc;
    list_remove(a, b);
    b->used = true;
    b->segment->used += size;
    a->stats.used += size;
    *out = b;
    return 0;
}

/* Takes the block behind b, a free one, into b. */
static void join_next(struct cuda_arena *a, struct block *b)
{
    struct block *n = b->next;

    list_remove(a, n);
    b->size += n->size;
    b->next = n->next;
    if (n->next)
        n->next->prev = b;
    mem_free(n);
}

static void give_back(struct cuda_arena *a, struct block *b)
{
    a->stats.used -= b->size;
    b->segment->used -= b->size;
    b->used = false;
    list_add(a, b);
    if (b->next && !b->next->used)
        join_next(a, b);
    if (b->prev && !b->prev->used)
        join_next(a, b->prev);
}

/* Whole lines of memory and never none; apart, no byte more than asked for. */
static size_t rounded_up(const struct cuda *cu, size_t size)
{
    if (cu->apart)
        return size > 0 ? size : 1;
    return (size / ALIGN + 1) * ALIGN;
}

int cuda_mem_alloc(struct cuda *cu, struct nn_buf **out, size_t size,
                   enum nn_category cat, struct err *err)
{
    size_t rounded = rounded_up(cu, size);
    struct nn_buf *buf = mem_zalloc(sizeof *buf);
    struct block *b = NULL;
    int rc;

    *out = NULL;
    if (!buf)
        return err_set(err, ERR_NOMEM, "out of memory for a tensor");
    rc = cuda_late(cu, err);
    if (rc != 0) {
        mem_free(buf);
        return rc;
    }
    if (size > SIZE_MAX / 2)
        rc = err_set(err, ERR_NOMEM, "out of memory for %zu bytes", size);
    else
        rc = take(cu, cu->arena[cat], rounded, &b, err);
    if (rc != 0) {
        mem_free(buf);
        return rc;
    }
    buf->data = b->segment->base + b->offset;
    buf->size = size;
    buf->cat = cat;
    buf->block = b;
    rc = CU(cudaMemsetAsync(buf->data, 0, rounded, cu->stream), err);
    if (rc != 0) {
        cuda_mem_free(cu, buf);
        return rc;
    }
    *out = buf;
    return 0;
}

/* The stream is the only one that computes, so a block that is handed out anew
 * is written behind whatever still reads it. */
void cuda_mem_free(struct cuda *cu, struct nn_buf *buf)
{
    if (!buf)
        return;
    give_back(cu->arena[buf->cat], buf->block);
    if (cu->apart)
        (void)trim(cu->arena[buf->cat], cu);
    mem_free(buf);
}
