/* `imports`: the stages of other files, with results of their own. */
#include <string.h>
#include <sys/stat.h>

#include "pipeline/config_load.h"
#include "pipeline/untrusted.h"

enum { MAX_IMPORTS = 32 }; /* of one file */

/* A file of the session; each stands in the frame that reads it or, when that
 * is done, in the arena of the first config. */
struct pl_loaded {
    struct pl_loaded *next;
    dev_t dev;
    ino_t ino;
    struct pl_config *config; /* NULL: it is being read */
};

static struct pl_loaded *find_loaded(const struct pl_session *s,
                                     const struct stat *st)
{
    struct pl_loaded *p = s->loaded;

    while (p && (p->dev != st->st_dev || p->ino != st->st_ino))
        p = p->next;
    return p;
}

static struct pl_loaded *add_loaded(struct pl_loader *l, const struct stat *st,
                                    struct pl_config *config)
{
    struct pl_loaded *p = arena_alloc(&l->session->first->arena, sizeof *p);

    if (!p) {
        l->d->nomem = true;
        return NULL;
    }
    *p = (struct pl_loaded){l->session->loaded, st->st_dev, st->st_ino, config};
    l->session->loaded = p;
    return p;
}

/* The file of one entry; NULL after an error. */
static const struct pl_config *load_one(struct pl_loader *l, const char *path,
                                        struct pl_loc loc)
{
    struct pl_loaded *p;
    struct err err = {0};
    struct stat st;
    int rc;

    if (stat(path, &st) != 0) {
        (void)err_sys(&err, "cannot open '%s'", path);
        pl_diag_error(l->d, loc, "%s", err.msg);
        return NULL;
    }
    p = find_loaded(l->session, &st);
    if (p && !p->config) {
        pl_diag_error(l->d, loc, "files import each other in a circle: '%s'",
                      path);
        return NULL;
    }
    if (p)
        return p->config;
    p = add_loaded(l, &st, NULL);
    if (!p)
        return NULL;
    rc = pl_load_file(&p->config, l->session, path, NULL, l->d, &err);
    if (rc == ERR_NOMEM)
        l->d->nomem = true;
    else if (rc != 0 && rc != ERR_CONFIG)
        pl_diag_error(l->d, loc, "%s", err.msg);
    return rc == 0 ? p->config : NULL;
}

static void read_import(struct pl_loader *l, const struct pl_pair *p)
{
    struct pl_import *out = &l->c->imports[l->c->n_imports];
    const struct pl_node *n = p->value;
    const char *path;
    char words[80];

    if (!pl_name_check(p->key, "group of stages", p->key_loc, l->d))
        return;
    if (n->kind != PL_SCALAR || n->len == 0 || strstr(n->text, "${")) {
        pl_diag_error(l->d, n->loc, "imports.%s must be a path, not %s", p->key,
                      pl_node_words(n, words));
        return;
    }
    path = pl_schema_path(n, l->arena);
    if (!path) {
        l->d->nomem = true;
        return;
    }
    if (!pl_untrusted_path(l, path, n->loc))
        return;
    out->alias = p->key;
    out->config = load_one(l, path, n->loc);
    if (out->config)
        l->c->n_imports++;
}

void pl_load_imports(struct pl_loader *l)
{
    const struct pl_node *map = pl_node_get(l->c->root, "imports");
    struct stat st;
    char words[80];
    size_t i;

    if (!map)
        return;
    if (map->kind != PL_MAP || map->n > MAX_IMPORTS) {
        pl_diag_error(l->d, map->loc,
                      "imports must be a map of at most %d files, not %s",
                      MAX_IMPORTS, pl_node_words(map, words));
        return;
    }
    l->c->imports = arena_array(l->arena, map->n, sizeof *l->c->imports);
    if (!l->c->imports) {
        l->d->nomem = true;
        return;
    }
    if (!l->session->loaded && stat(l->c->path, &st) == 0 &&
        !add_loaded(l, &st, NULL))
        return;
    for (i = 0; i < map->n && !l->d->nomem; i++)
        read_import(l, &map->pairs[i]);
}

size_t pl_imported_stages(const struct pl_loader *l)
{
    size_t n = 0, i;

    for (i = 0; i < l->c->n_imports; i++)
        n += l->c->imports[i].config->n_stages;
    return n;
}

/* Notes where results go; two files must not have one folder. */
static void add_home(struct pl_loader *l, const struct pl_config *home,
                     const char *alias)
{
    struct pl_config *c = l->c;
    size_t i;

    for (i = 0; i < c->n_homes; i++) {
        if (c->homes[i] == home)
            return;
        if (strcmp(c->homes[i]->name, home->name) == 0)
            pl_diag_error(l->d,
                          pl_node_key_loc(pl_node_get(c->root, "imports"),
                                          alias, c->root->loc),
                          "'%s' and '%s' are both named %s: their results "
                          "would go to one folder",
                          c->homes[i]->path, home->path, home->name);
    }
    c->homes[c->n_homes++] = home;
}

/* s of an imported file as a stage of this one. */
static void take_stage(struct pl_loader *l, const struct pl_import *from,
                       const struct pl_stage *s)
{
    struct pl_stage *out = &l->c->stages[l->c->n_stages];

    if (pl_config_id(l->c, s)) /* brought in by another one as well */
        return;
    *out = *s;
    out->id = arena_printf(l->arena, "%s/%s", from->alias, s->id);
    if (s->group)
        out->group = arena_printf(l->arena, "%s/%s", from->alias, s->group);
    if (!out->id || (s->group && !out->group))
        l->d->nomem = true;
    else
        l->c->n_stages++;
}

/* The needs of a stage that was taken, by the names that they have here. */
static void take_needs(struct pl_loader *l, struct pl_stage *s,
                       const struct pl_config *from)
{
    const char **needs = arena_array(l->arena, s->n_needs, sizeof *needs);
    size_t i;

    if (!needs) {
        l->d->nomem = true;
        return;
    }
    for (i = 0; i < s->n_needs; i++)
        needs[i] = pl_config_id(l->c, pl_config_stage(from, s->needs[i]));
    s->needs = needs;
}

void pl_take_imported(struct pl_loader *l)
{
    struct pl_config *c = l->c;
    size_t n = 1, first, i, k;

    for (i = 0; i < c->n_imports; i++)
        n += c->imports[i].config->n_homes;
    c->homes = arena_array(l->arena, n, sizeof *c->homes);
    if (!c->homes) {
        l->d->nomem = true;
        return;
    }
    c->homes[c->n_homes++] = c;
    for (i = 0; i < c->n_imports && !l->d->nomem; i++) {
        const struct pl_config *from = c->imports[i].config;

        for (k = 0; k < from->n_homes; k++)
            add_home(l, from->homes[k], c->imports[i].alias);
        first = c->n_stages;
        for (k = 0; k < from->n_stages; k++)
            take_stage(l, &c->imports[i], &from->stages[k]);
        for (k = first; k < c->n_stages && !l->d->nomem; k++)
            take_needs(l, &c->stages[k], from);
    }
}

const char *pl_imported_dir(void *user, const char *id)
{
    struct pl_loader *l = user;
    const char *slash = strchr(id, '/');
    const struct pl_stage *s;
    size_t i;

    for (i = 0; slash && i < l->c->n_imports; i++) {
        const struct pl_import *p = &l->c->imports[i];

        if (strncmp(p->alias, id, (size_t)(slash - id)) != 0 ||
            p->alias[slash - id] != '\0')
            continue;
        s = pl_config_stage(p->config, slash + 1);
        if (!s)
            return NULL;
        id = arena_printf(l->arena, "%s/%s", s->home->name, s->dir);
        l->d->nomem = l->d->nomem || !id;
        return id;
    }
    return NULL;
}
