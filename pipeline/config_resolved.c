/* The config as one file that needs no other. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/config_load.h"
#include "pipeline/merge.h"
#include "pipeline/node_write.h"
#include "pipeline/stage.h"

enum { PATH_BYTES = 4096 };

static struct pl_node *absolute(struct pl_loader *l,
                                const struct pl_schema *schema,
                                struct pl_node *node);

/* A scalar that is a path, made absolute. */
static struct pl_node *absolute_path(struct pl_loader *l, struct pl_node *node)
{
    const char *path = pl_schema_path(node, l->arena);
    char cwd[PATH_BYTES], *joined;
    struct pl_node *out;

    if (!path)
        return NULL;
    if (node->written || strstr(path, "://") ||
        (path[0] != '/' && !getcwd(cwd, sizeof cwd)))
        return node;
    if (path[0] != '/') {
        joined = io_join(cwd, path);
        path = joined ? arena_strdup(l->arena, joined) : NULL;
        mem_free(joined);
    }
    out = path ? pl_node_scalar(l->arena, path, node->loc) : NULL;
    if (out) {
        out->quoted = true;
        out->pending = node->pending;
    }
    return out;
}

/* A value of a field or an element of it. */
static struct pl_node *absolute_value(struct pl_loader *l,
                                      const struct pl_field *f,
                                      enum pl_type type, struct pl_node *node)
{
    bool list = type == PL_T_LIST && node->kind == PL_SEQ;
    bool named = type == PL_T_NAMED && node->kind == PL_MAP;
    struct pl_node *out;
    size_t i;

    if ((type == PL_T_PATH || type == PL_T_PLACE) && node->kind == PL_SCALAR)
        return absolute_path(l, node);
    if (type == PL_T_STRUCT)
        return absolute(l, f->sub, node);
    if (type == PL_T_LIST && node->kind == PL_SCALAR)
        return absolute_value(l, f, f->elem, node);
    if (!list && !named)
        return node;
    out = list ? pl_node_seq(l->arena, node->n, node->loc)
               : pl_node_map(l->arena, node->n, node->loc);
    for (i = 0; out && i < node->n; i++) {
        struct pl_node *old = list ? node->items[i] : node->pairs[i].value;
        struct pl_node *v = list ? absolute_value(l, f, f->elem, old)
                                 : absolute(l, f->sub, old);

        if (!v)
            return NULL;
        if (list)
            pl_node_push(out, v);
        else
            pl_node_add(out, node->pairs[i].key, node->pairs[i].key_loc, v);
    }
    return out && pl_node_finish(out, l->arena) ? out : NULL;
}

/* node, read by schema, with its paths made absolute. NULL: out of memory. */
static struct pl_node *absolute(struct pl_loader *l,
                                const struct pl_schema *schema,
                                struct pl_node *node)
{
    struct pl_node *out;
    size_t i;

    if (node->kind != PL_MAP)
        return node;
    out = pl_node_map(l->arena, node->n, node->loc);
    for (i = 0; out && i < node->n; i++) {
        const struct pl_pair *p = &node->pairs[i];
        const struct pl_field *f = pl_schema_field(schema, p->key);
        struct pl_node *v =
            f ? absolute_value(l, f, f->type, p->value) : p->value;

        if (!v)
            return NULL;
        pl_node_add(out, p->key, p->key_loc, v);
    }
    return out && pl_node_finish(out, l->arena) ? out : NULL;
}

/* The field at path ("optimizer.type"), or NULL. */
static const struct pl_field *
field_at(struct pl_loader *l, const struct pl_schema *schema, const char *path)
{
    size_t len = strcspn(path, ".");
    const char *key = arena_strndup(l->arena, path, len);
    const struct pl_field *f =
        key && schema ? pl_schema_field(schema, key) : NULL;

    return f && path[len] ? field_at(l, f->sub, path + len + 1) : f;
}

/* A map of paths to values: a cell; or to lists of them: a matrix. */
static struct pl_node *absolute_cells(struct pl_loader *l,
                                      const struct pl_schema *schema,
                                      struct pl_node *map, bool lists);

static struct pl_node *absolute_items(struct pl_loader *l,
                                      const struct pl_schema *schema,
                                      const struct pl_field *f,
                                      const struct pl_node *seq)
{
    struct pl_node *out = pl_node_seq(l->arena, seq->n, seq->loc);
    size_t i;

    for (i = 0; out && i < seq->n; i++) {
        struct pl_node *v = f ? absolute_value(l, f, f->type, seq->items[i])
                              : absolute_cells(l, schema, seq->items[i], false);

        if (!v)
            return NULL;
        pl_node_push(out, v);
    }
    return out && pl_node_finish(out, l->arena) ? out : NULL;
}

static struct pl_node *absolute_cells(struct pl_loader *l,
                                      const struct pl_schema *schema,
                                      struct pl_node *map, bool lists)
{
    struct pl_node *out = pl_node_map(l->arena, map->n, map->loc);
    size_t i;

    for (i = 0; out && i < map->n; i++) {
        const struct pl_pair *p = &map->pairs[i];
        const struct pl_field *f = field_at(l, schema, p->key);
        struct pl_node *v = p->value;

        if (lists && v->kind == PL_SEQ)
            v = absolute_items(l, schema, f, v);
        else if (f)
            v = absolute_value(l, f, f->type, v);
        if (!v)
            return NULL;
        pl_node_add(out, p->key, p->key_loc, v);
    }
    return out && pl_node_finish(out, l->arena) ? out : NULL;
}

static struct pl_node *absolute_expect(struct pl_loader *l,
                                       const struct pl_node *seq)
{
    struct pl_node *out = pl_node_seq(l->arena, seq->n, seq->loc);
    size_t i;

    for (i = 0; out && i < seq->n; i++) {
        struct pl_node *v = absolute(l, &pl_expect_schema, seq->items[i]);

        if (!v)
            return NULL;
        pl_node_push(out, v);
    }
    return out && pl_node_finish(out, l->arena) ? out : NULL;
}

/* A stage with its merged `with`. */
static struct pl_node *
whole_stage(struct pl_loader *l, const struct pl_draft *s, struct pl_node *node)
{
    struct pl_node *with = absolute(l, s->kind->with, s->with);
    struct pl_node *matrix = pl_node_get(node, "matrix");
    struct pl_node *expect = pl_node_get(node, "expect");

    if (with && matrix) {
        matrix = absolute_cells(l, s->kind->with, matrix, true);
        node = matrix ? pl_node_set(l->arena, node, "matrix", s->loc, matrix)
                      : NULL;
    }
    if (node && expect && expect->kind == PL_SEQ) {
        expect = absolute_expect(l, expect);
        node = expect ? pl_node_set(l->arena, node, "expect", s->loc, expect)
                      : NULL;
    }
    if (!with || !node)
        return NULL;
    return pl_node_set(l->arena, node, "with", s->loc, with);
}

static struct pl_node *whole_map(struct pl_loader *l, const char *key,
                                 const struct pl_node *map)
{
    struct pl_node *out = pl_node_map(l->arena, map->n, map->loc);
    size_t i;

    for (i = 0; out && i < map->n; i++) {
        const struct pl_pair *p = &map->pairs[i];
        struct pl_node *v = strcmp(key, "stages") == 0
                                ? whole_stage(l, &l->draft[i], p->value)
                            : strcmp(key, "imports") == 0
                                ? absolute_path(l, p->value)
                                : absolute(l, &pl_dataset_schema, p->value);

        if (!v)
            return NULL;
        pl_node_add(out, p->key, p->key_loc, v);
    }
    return out && pl_node_finish(out, l->arena) ? out : NULL;
}

void pl_load_resolve(struct pl_loader *l)
{
    static const char *const keys[] = {"version", "name",     "imports",
                                       "vars",    "datasets", "operators",
                                       "models",  "stages"};
    enum { N_KEYS = sizeof keys / sizeof *keys };
    const struct pl_node *root = l->c->root;
    struct pl_node *out = pl_node_map(l->arena, N_KEYS, root->loc);
    size_t i;

    for (i = 0; out && i < N_KEYS; i++) {
        struct pl_node *v = pl_node_get(root, keys[i]);
        struct pl_loc loc = v ? v->loc : root->loc;

        if (!v)
            continue;
        if (strcmp(keys[i], "datasets") == 0 ||
            strcmp(keys[i], "stages") == 0 || strcmp(keys[i], "imports") == 0)
            v = whole_map(l, keys[i], v);
        if (v)
            pl_node_add(out, keys[i], loc, v);
        else
            out = NULL;
    }
    if (out && pl_node_finish(out, l->arena))
        l->c->root = out;
    else
        l->d->nomem = true;
}

void pl_config_resolved(const struct pl_config *c, struct str *out)
{
    size_t i;

    for (i = 0; i < c->root->n; i++) {
        str_add(out, c->root->pairs[i].key);
        str_addc(out, ':');
        pl_write_block(out, c->root->pairs[i].value, 2);
    }
}
