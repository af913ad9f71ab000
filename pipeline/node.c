#include "pipeline/node.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/utf8.h"

enum { SEARCH_MAX = 16 }; /* pairs up to which a map is searched in order */

const char *pl_file_line(const struct pl_file *f, int line)
{
    const char *p = f->text, *end = f->text + f->len;

    for (; line > 1 && p < end; line--) {
        while (p < end && *p != '\n' && *p != '\r')
            p++;
        if (p + 1 < end && p[0] == '\r' && p[1] == '\n')
            p++;
        if (p < end)
            p++;
    }
    return p;
}

struct pl_node *pl_node_scalar(struct arena *a, const char *text,
                               struct pl_loc loc)
{
    struct pl_node *n = arena_alloc(a, sizeof *n);

    if (!n)
        return NULL;
    n->kind = PL_SCALAR;
    n->loc = loc;
    n->text = text;
    n->len = strlen(text);
    n->weight = 1;
    return n;
}

struct pl_node *pl_node_map(struct arena *a, size_t capacity, struct pl_loc loc)
{
    struct pl_node *n = arena_alloc(a, sizeof *n);

    if (!n)
        return NULL;
    n->kind = PL_MAP;
    n->loc = loc;
    n->pairs = arena_array(a, capacity, sizeof *n->pairs);
    return n->pairs ? n : NULL;
}

struct pl_node *pl_node_seq(struct arena *a, size_t capacity, struct pl_loc loc)
{
    struct pl_node *n = arena_alloc(a, sizeof *n);

    if (!n)
        return NULL;
    n->kind = PL_SEQ;
    n->loc = loc;
    n->items = arena_array(a, capacity, sizeof(struct pl_node *));
    return n->items ? n : NULL;
}

void pl_node_add(struct pl_node *map, const char *key, struct pl_loc key_loc,
                 struct pl_node *value)
{
    map->pairs[map->n++] = (struct pl_pair){key, key_loc, value};
}

void pl_node_push(struct pl_node *seq, struct pl_node *item)
{
    seq->items[seq->n++] = item;
}

/* By key, then in file order, so that the first of equal keys is found. */
static int pair_order(const void *a, const void *b)
{
    const struct pl_pair *x = *(struct pl_pair *const *)a;
    const struct pl_pair *y = *(struct pl_pair *const *)b;
    int c = strcmp(x->key, y->key);

    return c != 0 ? c : (x > y) - (x < y);
}

static void count_child(struct pl_node *node, const struct pl_node *child)
{
    if (child->weight > SIZE_MAX - node->weight)
        node->weight = SIZE_MAX;
    else
        node->weight += child->weight;
    if (child->depth >= node->depth)
        node->depth = child->depth + 1;
}

bool pl_node_finish(struct pl_node *node, struct arena *a)
{
    size_t i;

    node->weight = 1;
    node->depth = 1;
    for (i = 0; i < node->n; i++)
        count_child(node, node->kind == PL_MAP ? node->pairs[i].value
                                               : node->items[i]);
    if (node->kind != PL_MAP || node->n <= SEARCH_MAX)
        return true;
    node->sorted = arena_array(a, node->n, sizeof(struct pl_pair *));
    if (!node->sorted)
        return false;
    for (i = 0; i < node->n; i++)
        node->sorted[i] = &node->pairs[i];
    qsort(node->sorted, node->n, sizeof *node->sorted, pair_order);
    return true;
}

/* The first pair of key by bisection. */
static struct pl_pair *pair_bisect(const struct pl_node *map, const char *key)
{
    size_t low = 0, high = map->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (strcmp(map->sorted[mid]->key, key) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    if (low < map->n && strcmp(map->sorted[low]->key, key) == 0)
        return map->sorted[low];
    return NULL;
}

struct pl_pair *pl_node_pair(const struct pl_node *map, const char *key)
{
    size_t i;

    if (!map || map->kind != PL_MAP)
        return NULL;
    if (map->sorted)
        return pair_bisect(map, key);
    for (i = 0; i < map->n; i++)
        if (strcmp(map->pairs[i].key, key) == 0)
            return &map->pairs[i];
    return NULL;
}

struct pl_node *pl_node_get(const struct pl_node *map, const char *key)
{
    struct pl_pair *p = pl_node_pair(map, key);

    return p ? p->value : NULL;
}

/* As many bytes of text as make whole characters within max. */
static int cut(const char *text, size_t max)
{
    size_t len = strlen(text);

    if (len <= max)
        return (int)len;
    while (max > 0 && ((unsigned char)text[max] & 0xc0) == 0x80)
        max--;
    return (int)max;
}

const char *pl_node_words(const struct pl_node *node, char buf[80])
{
    const char *text;
    int len;

    switch (node->kind) {
    case PL_NULL:
        return "nothing";
    case PL_MAP:
        return "a map";
    case PL_SEQ:
        return "a list";
    case PL_SCALAR:
        break;
    }
    text = node->written ? node->written : node->text;
    len = cut(text, 60);
    (void)snprintf(buf, 80, node->quoted ? "\"%.*s%s\"" : "'%.*s%s'", len, text,
                   text[len] ? "..." : "");
    return buf;
}

struct pl_loc pl_node_key_loc(const struct pl_node *map, const char *key,
                              struct pl_loc other)
{
    const struct pl_pair *pair = map ? pl_node_pair(map, key) : NULL;

    return pair ? pair->key_loc : other;
}
