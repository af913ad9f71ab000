#include "pipeline/merge.h"

#include <string.h>

struct pl_node *pl_long_form(struct arena *a, const char *key,
                             struct pl_node *node)
{
    struct pl_node *map;

    if (node->kind != PL_SCALAR)
        return node;
    map = pl_node_map(a, 1, node->loc);
    if (!map)
        return NULL;
    pl_node_add(map, key, node->loc, node);
    return pl_node_finish(map, a) ? map : NULL;
}

/* What the value of key becomes. schema (may be NULL) is the table that key is
 * a field of. */
static struct pl_node *merge_value(struct arena *a,
                                   const struct pl_schema *schema,
                                   const char *key, struct pl_node *base,
                                   struct pl_node *over)
{
    const struct pl_field *f = schema ? pl_schema_field(schema, key) : NULL;
    const struct pl_schema *sub = f && f->type == PL_T_STRUCT ? f->sub : NULL;

    if (sub && sub->short_key && over->kind == PL_MAP) {
        base = pl_long_form(a, sub->short_key, base);
        if (!base)
            return NULL;
    }
    return sub ? pl_merge_with(a, sub, base, over) : pl_merge(a, base, over);
}

struct pl_node *pl_merge_with(struct arena *a, const struct pl_schema *schema,
                              struct pl_node *base, struct pl_node *over)
{
    struct pl_node *out;
    size_t i;

    if (!base || !over || base->kind != PL_MAP || over->kind != PL_MAP)
        return over ? over : base;
    out = pl_node_map(a, base->n + over->n, over->loc);
    if (!out)
        return NULL;
    for (i = 0; i < base->n; i++) {
        struct pl_pair p = base->pairs[i];
        const struct pl_pair *q = pl_node_pair(over, p.key);

        if (q && q->value->removed)
            continue;
        if (q) {
            p.value = merge_value(a, schema, p.key, p.value, q->value);
            p.key_loc = q->key_loc;
        }
        if (!p.value)
            return NULL;
        pl_node_add(out, p.key, p.key_loc, p.value);
    }
    for (i = 0; i < over->n; i++)
        if (!pl_node_pair(base, over->pairs[i].key))
            pl_node_add(out, over->pairs[i].key, over->pairs[i].key_loc,
                        over->pairs[i].value);
    return pl_node_finish(out, a) ? out : NULL;
}

struct pl_node *pl_merge(struct arena *a, struct pl_node *base,
                         struct pl_node *over)
{
    return pl_merge_with(a, NULL, base, over);
}

struct pl_node *pl_node_set(struct arena *a, const struct pl_node *map,
                            const char *key, struct pl_loc key_loc,
                            struct pl_node *value)
{
    struct pl_node *out = pl_node_map(a, map->n + 1, map->loc);
    bool done = false;
    size_t i;

    if (!out)
        return NULL;
    for (i = 0; i < map->n; i++) {
        const struct pl_pair *p = &map->pairs[i];

        if (strcmp(p->key, key) != 0)
            pl_node_add(out, p->key, p->key_loc, p->value);
        else if (value)
            pl_node_add(out, key, key_loc, value);
        done = done || strcmp(p->key, key) == 0;
    }
    if (!done && value)
        pl_node_add(out, key, key_loc, value);
    return pl_node_finish(out, a) ? out : NULL;
}
