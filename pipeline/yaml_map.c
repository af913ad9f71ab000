#include "pipeline/yaml_map.h"

enum { MAX_MERGED = 64 }; /* maps in one `<<` */

const char pl_yaml_merge_key[] = "<<";

static void check_twice(const struct pl_node *map, struct pl_diag *d)
{
    size_t i;

    for (i = 0; i < map->n; i++) {
        const struct pl_pair *p = &map->pairs[i];
        const struct pl_pair *first = pl_node_pair(map, p->key);

        if (p == first)
            continue;
        pl_diag_error(d, p->key_loc,
                      "'%s' stands here again; the first is in "
                      "line %d",
                      p->key, first->key_loc.line);
        if (p->key == pl_yaml_merge_key)
            pl_diag_help(d, "write one: '<<: [*a, *b]'");
    }
}

/* The maps that `<<: value` names, checked: n of them at *maps. */
static bool merged_maps(struct pl_node *const **maps, size_t *n,
                        struct pl_node *const *value, struct pl_diag *d)
{
    size_t i;

    *maps = value;
    *n = 1;
    if ((*value)->kind == PL_SEQ) {
        *maps = (*value)->items;
        *n = (*value)->n;
    }
    if (*n > MAX_MERGED) {
        pl_diag_error(d, (*value)->loc, "'<<' takes at most %d maps",
                      MAX_MERGED);
        return false;
    }
    for (i = 0; i < *n; i++) {
        char words[80];

        if ((*maps)[i]->kind == PL_MAP)
            continue;
        pl_diag_error(d, (*maps)[i]->loc,
                      "'<<' takes a map or a list of maps, not %s",
                      pl_node_words((*maps)[i], words));
        return false;
    }
    return true;
}

/* Adds to out what the maps bring that `own` does not have. */
static void add_merged(struct pl_node *out, const struct pl_node *own,
                       struct pl_node *const *maps, size_t n)
{
    size_t i, j, k;

    for (i = 0; i < n; i++) {
        for (j = 0; j < maps[i]->n; j++) {
            const struct pl_pair *p = &maps[i]->pairs[j];
            bool taken = pl_node_pair(own, p->key) != NULL;

            for (k = 0; k < i && !taken; k++)
                taken = pl_node_pair(maps[k], p->key) != NULL;
            if (!taken)
                pl_node_add(out, p->key, p->key_loc, p->value);
        }
    }
}

static bool expand(struct pl_node *map, struct pl_node *const *value,
                   struct arena *a, struct pl_diag *d)
{
    struct pl_node *const *maps, *out;
    size_t n, room = map->n, i;

    if (!merged_maps(&maps, &n, value, d))
        return true;
    for (i = 0; i < n; i++)
        room += maps[i]->n;
    out = pl_node_map(a, room, map->loc);
    if (!out)
        return false;
    for (i = 0; i < map->n; i++) {
        const struct pl_pair *p = &map->pairs[i];

        if (p->key == pl_yaml_merge_key)
            add_merged(out, map, maps, n);
        else
            pl_node_add(out, p->key, p->key_loc, p->value);
    }
    *map = *out;
    return pl_node_finish(map, a);
}

bool pl_yaml_finish_map(struct pl_node *map, struct arena *a, struct pl_diag *d)
{
    struct pl_pair *merge;

    if (!pl_node_finish(map, a))
        return false;
    check_twice(map, d);
    merge = pl_node_pair(map, pl_yaml_merge_key);
    if (!merge || merge->key != pl_yaml_merge_key)
        return true;
    return expand(map, &merge->value, a, d);
}
