/* `defaults`: what the stages get that do not say otherwise. */
#include <string.h>

#include "pipeline/config_load.h"
#include "pipeline/merge.h"
#include "pipeline/stage.h"

enum { MAX_WORDS = 256 };

/* True if a kind's table has the field. */
static bool some_kind_takes(const char *name)
{
    size_t i;

    for (i = 0; pl_stage_kinds[i]; i++)
        if (pl_schema_field(pl_stage_kinds[i]->with, name))
            return true;
    return false;
}

/* The kinds and all their fields: what `defaults` may hold. */
static size_t collect_words(const char *words[MAX_WORDS])
{
    size_t n = 0, i, k;

    for (i = 0; pl_stage_kinds[i] && n < MAX_WORDS; i++)
        words[n++] = pl_stage_kinds[i]->name;
    for (i = 0; pl_stage_kinds[i]; i++) {
        const struct pl_schema *with = pl_stage_kinds[i]->with;

        for (k = 0; k < with->n_fields && n < MAX_WORDS; k++)
            words[n++] = with->fields[k].name;
    }
    return n;
}

/* The keys of defaults.<kind>. */
static void check_kind(struct pl_loader *l, const struct pl_stage_kind *kind,
                       const struct pl_pair *p)
{
    const char *names[MAX_WORDS];
    char words[80];
    size_t i, n = 0;

    if (p->value->kind != PL_MAP) {
        pl_diag_error(l->d, p->value->loc, "defaults.%s must be a map, not %s",
                      p->key, pl_node_words(p->value, words));
        return;
    }
    for (i = 0; i < kind->with->n_fields && n < MAX_WORDS; i++)
        names[n++] = kind->with->fields[i].name;
    for (i = 0; i < p->value->n; i++) {
        const struct pl_pair *q = &p->value->pairs[i];

        if (pl_schema_field(kind->with, q->key))
            continue;
        pl_diag_error(l->d, q->key_loc, "unknown key '%s' in defaults.%s",
                      q->key, p->key);
        pl_diag_suggest(l->d, q->key, names, n);
    }
}

bool pl_load_check_defaults(struct pl_loader *l)
{
    const struct pl_pair *all = pl_node_pair(l->c->root, "defaults");
    const char *names[MAX_WORDS];
    char words[80];
    size_t i;

    if (!all)
        return true;
    if (all->value->bad)
        return false;
    if (all->value->kind != PL_MAP) {
        pl_diag_error(l->d, all->value->loc, "defaults must be a map, not %s",
                      pl_node_words(all->value, words));
        if (all->value->kind == PL_NULL)
            pl_diag_help(l->d, "remove the line to keep what the file extends");
        return false;
    }
    for (i = 0; i < all->value->n; i++) {
        const struct pl_pair *p = &all->value->pairs[i];
        const struct pl_stage_kind *kind = pl_stage_kind_find(p->key);

        if (p->value->bad)
            continue;
        if (kind) {
            check_kind(l, kind, p);
        } else if (!some_kind_takes(p->key)) {
            pl_diag_error(l->d, p->key_loc,
                          "no stage kind takes '%s' in its with", p->key);
            pl_diag_suggest(l->d, p->key, names, collect_words(names));
        }
    }
    return true;
}

/* The pairs of map whose keys the table has: of defaults.<kind>, unknown ones
 * have had their error. */
static struct pl_node *known_pairs(struct pl_loader *l,
                                   const struct pl_schema *with,
                                   const struct pl_node *map, struct pl_loc loc)
{
    struct pl_node *out = pl_node_map(l->arena, map ? map->n : 0, loc);
    size_t i;

    for (i = 0; out && map && map->kind == PL_MAP && i < map->n; i++) {
        const struct pl_pair *p = &map->pairs[i];

        if (pl_schema_field(with, p->key))
            pl_node_add(out, p->key, p->key_loc, p->value);
    }
    return out && pl_node_finish(out, l->arena) ? out : NULL;
}

/* What the command line says about all stages stands above their own. */
static struct pl_node *set_numerics(struct pl_loader *l,
                                    const struct pl_draft *s,
                                    struct pl_node *with)
{
    const char *numerics = l->session->numerics;
    struct pl_node *value;

    if (!with || !numerics || !pl_schema_field(s->kind->with, "numerics"))
        return with;
    value = pl_node_scalar(l->arena, numerics, s->loc);
    return value ? pl_node_set(l->arena, with, "numerics", s->loc, value)
                 : NULL;
}

struct pl_node *pl_load_with(struct pl_loader *l, const struct pl_draft *s)
{
    const struct pl_schema *with = s->kind->with;
    const struct pl_node *all = pl_node_get(l->c->root, "defaults");
    struct pl_node *out = known_pairs(l, with, all, s->loc);
    struct pl_node *own =
        known_pairs(l, with, pl_node_get(all, s->kind->name), s->loc);

    if (!out || !own)
        return NULL;
    out = pl_merge_with(l->arena, with, out, own);
    if (out && s->with_node)
        out = pl_merge_with(l->arena, with, out, pl_node_get(s->node, "with"));
    return set_numerics(l, s, out);
}
