/* What a reference stands for: a variable, the environment, the folder of a
 * stage, a value of a cell. */
#include <stdlib.h>
#include <string.h>

#include "nn/base/str.h"
#include "pipeline/interp_parts.h"
#include "pipeline/utf8.h"

static struct pl_node *no_memory(struct interp *x)
{
    x->d->nomem = true;
    return NULL;
}

/* --- places and errors --- */

static int characters(const char *p, const char *end)
{
    int n = 0;

    for (; p < end; p++)
        n += ((unsigned char)*p & 0xc0) != 0x80;
    return n;
}

struct pl_loc pl_interp_loc(const struct ref *r)
{
    const char *text = r->in->text;
    struct pl_loc loc = r->in->loc;
    int quotes = r->in->quoted ? 2 : 0;

    if (loc.len != characters(text, text + r->in->len) + quotes)
        return loc;
    loc.col += characters(text, r->begin) + quotes / 2;
    loc.len = characters(r->begin, r->end);
    return loc;
}

static void suggest_keys(struct interp *x, const struct pl_node *map,
                         const char *word, const char *what)
{
    const char **names = arena_array(x->arena, map->n, sizeof *names);
    struct str s = {0};
    size_t i;

    if (x->scope->untrusted && x->d->others)
        return;
    if (!names) {
        (void)no_memory(x);
        return;
    }
    for (i = 0; i < map->n; i++) {
        names[i] = map->pairs[i].key;
        if (i < 12)
            str_addf(&s, "%s%s", i ? ", " : "", names[i]);
    }
    if (pl_nearest(word, names, map->n) || map->n == 0 || map->n > 12)
        pl_diag_suggest(x->d, word, names, map->n);
    else if (!s.failed)
        pl_diag_help(x->d, "%s has: %s", what, s.text);
    else
        (void)no_memory(x);
    str_free(&s);
}

static void cycle(struct interp *x, const struct ref *r, size_t index)
{
    struct str s = {0};
    size_t i = 0;

    while (x->chain[i] != index)
        i++;
    for (; i < x->n_chain; i++)
        str_addf(&s, "%s -> ", x->vars->pairs[x->chain[i]].key);
    str_add(&s, x->vars->pairs[index].key);
    if (s.failed)
        (void)no_memory(x);
    else
        pl_diag_error(x->d, pl_interp_loc(r),
                      "vars refer to each other in a "
                      "circle: %s",
                      s.text);
    str_free(&s);
}

/* --- what a reference stands for --- */

struct pl_node *pl_interp_var(struct interp *x, const struct ref *r,
                              size_t index)
{
    struct var *v = &x->var[index];

    if (v->state == VAR_BUSY) {
        if (r)
            cycle(x, r, index);
        return NULL;
    }
    if (v->state == VAR_DONE)
        return v->node;
    if (x->n_chain == PL_MAX_CHAIN) {
        if (r)
            pl_diag_error(x->d, pl_interp_loc(r),
                          "more than %d vars refer one to the next",
                          PL_MAX_CHAIN);
        return NULL;
    }
    v->state = VAR_BUSY;
    x->chain[x->n_chain++] = index;
    v->node = pl_interp_resolve(x, x->vars->pairs[index].value);
    x->n_chain--;
    v->state = VAR_DONE;
    return v->node;
}

/* The node at path ("a.b") in vars; NULL after an error. */
static struct pl_node *find_var(struct interp *x, const struct ref *r,
                                const char *path)
{
    const char *what = "vars";
    struct pl_node *node = NULL;
    const struct pl_node *map = x->vars;

    for (;;) {
        size_t len = strcspn(path, ".");
        const char *name = arena_strndup(x->arena, path, len);
        const struct pl_pair *p = name ? pl_node_pair(map, name) : NULL;

        if (!name)
            return no_memory(x);
        if (!p && x->vars_bad)
            return NULL;
        if (!p) {
            pl_diag_error(x->d, pl_interp_loc(r), "${%s} is not defined",
                          r->name);
            if (map->kind == PL_MAP && map->n > 0)
                suggest_keys(x, map, name, what);
            else if (map == x->vars)
                pl_diag_help(x->d, "the file has no vars");
            return NULL;
        }
        node = map == x->vars ? pl_interp_var(x, r, (size_t)(p - map->pairs))
                              : p->value;
        if (!node || path[len] == '\0')
            return node;
        what = "it";
        map = node;
        path += len + 1;
    }
}

static bool is_text(const char *s)
{
    size_t n = strlen(s);

    while (n > 0) {
        uint32_t cp;
        size_t len = utf8_decode(s, n, &cp);

        if (len == 0 || (cp < ' ' && cp != '\t' && cp != '\n') || cp == 0x7f)
            return false;
        s += len;
        n -= len;
    }
    return true;
}

/* The value of an environment variable: "X" or "X:-default". */
static struct pl_node *find_env(struct interp *x, const struct ref *r,
                                const char *spec)
{
    const char *dash = strstr(spec, ":-"), *value;
    char *name = dash ? arena_strndup(x->arena, spec, (size_t)(dash - spec))
                      : arena_strdup(x->arena, spec);
    char *copy;
    struct pl_node *node;

    if (!name)
        return no_memory(x);
    if (x->scope->untrusted) {
        pl_diag_error(x->d, pl_interp_loc(r),
                      "an untrusted file may not read the environment");
        pl_diag_help(x->d, "write the value into the file");
        return NULL;
    }
    value = getenv(name);
    if (dash && (!value || !*value))
        value = dash + 2;
    if (!value || !*name) {
        pl_diag_error(x->d, pl_interp_loc(r),
                      "the environment has no variable '%s'", name);
        pl_diag_help(x->d, "${env.%s:-default} gives it a default",
                     *name ? name : "X");
        return NULL;
    }
    if (!is_text(value)) {
        pl_diag_error(x->d, pl_interp_loc(r),
                      "the environment's variable '%s' is no text", name);
        return NULL;
    }
    copy = arena_strdup(x->arena, value);
    node = copy ? pl_node_scalar(x->arena, copy, r->in->loc) : NULL;
    if (!node)
        return no_memory(x);
    node->written = r->in->text;
    return node;
}

/* --- stages and cells --- */

/* `name` of the file, resolved; NULL: it has none that could be used. */
static const char *own_name(struct interp *x, const struct ref *r)
{
    struct pl_node *name = pl_node_get(x->root, "name");

    if (x->naming) {
        pl_diag_error(x->d, pl_interp_loc(r), "name cannot refer to stages");
        return NULL;
    }
    x->naming = true;
    if (name)
        name = pl_interp_resolve(x, name);
    x->naming = false;
    return name && name->kind == PL_SCALAR ? name->text : NULL;
}

/* The folder below out of a stage of this file; NULL after an error. */
static const char *own_dir(struct interp *x, const struct ref *r,
                           const char *id)
{
    const struct pl_node *stages = pl_node_get(x->root, "stages");
    const char *at = strchr(id, '@'), *name;
    const char *group =
        at ? arena_strndup(x->arena, id, (size_t)(at - id)) : id;
    const struct pl_node *stage = group ? pl_node_get(stages, group) : NULL;

    if (!group) {
        (void)no_memory(x);
        return NULL;
    }
    if (!stage) {
        pl_diag_error(x->d, pl_interp_loc(r), "there is no stage '%s'", group);
        if (stages && stages->kind == PL_MAP)
            suggest_keys(x, stages, group, "stages");
        return NULL;
    }
    if (!at && pl_node_get(stage, "matrix")) {
        pl_diag_error(x->d, pl_interp_loc(r),
                      "'%s' has a matrix: each of its cells has a folder", id);
        pl_diag_help(x->d, "write ${stages.%s@KEY=VALUE.dir}", id);
        return NULL;
    }
    name = own_name(x, r);
    if (!name)
        return NULL;
    return at ? arena_printf(x->arena, "%s/%s/%s", name, group, at + 1)
              : arena_printf(x->arena, "%s/%s", name, id);
}

/* The folder of a stage: "train.dir". */
static struct pl_node *find_stage(struct interp *x, const struct ref *r,
                                  const char *spec)
{
    static const char tail[] = ".dir";
    size_t len = strlen(spec), cut = sizeof tail - 1;
    const struct pl_scope *scope = x->scope;
    struct pl_node *node = NULL;
    const char *id, *dir, *text;

    if (len <= cut || strcmp(spec + len - cut, tail) != 0 || !scope->out) {
        pl_diag_error(x->d, pl_interp_loc(r), "${%s} is not defined", r->name);
        pl_diag_help(x->d, "a stage has a folder: ${stages.NAME.dir}");
        return NULL;
    }
    id = arena_strndup(x->arena, spec, len - cut);
    if (!id)
        return no_memory(x);
    if (!strchr(id, '/')) {
        dir = own_dir(x, r, id);
    } else {
        dir = scope->imported ? scope->imported(scope->user, id) : NULL;
        if (!dir)
            pl_diag_error(x->d, pl_interp_loc(r), "there is no stage '%s'", id);
    }
    if (!dir)
        return NULL;
    text = arena_printf(x->arena, "%s/%s", scope->out, dir);
    if (text)
        node = pl_node_scalar(x->arena, text, r->in->loc);
    if (!node)
        return no_memory(x);
    node->stage = id;
    node->written = r->in->text;
    return node;
}

/* The pair of map whose key is path, or path up to a dot; *rest is what is
 * left of path. */
static const struct pl_pair *matrix_pair(const struct pl_node *map,
                                         const char *path, const char **rest)
{
    const struct pl_pair *best = NULL;
    size_t i, longest = 0;

    for (i = 0; map && i < map->n; i++) {
        size_t n = strlen(map->pairs[i].key);

        if (n < longest || strncmp(map->pairs[i].key, path, n) != 0 ||
            (path[n] != '\0' && path[n] != '.'))
            continue;
        best = &map->pairs[i];
        longest = n;
        *rest = path[n] ? path + n + 1 : "";
    }
    return best;
}

bool pl_interp_in_matrix(struct interp *x, const struct ref *r)
{
    const char *rest;

    if (!x->matrix) {
        pl_diag_error(x->d, pl_interp_loc(r),
                      "${%s} stands outside of a stage with a matrix", r->name);
        pl_diag_help(x->d, "it can stand in `with` and `expect` of one");
        return false;
    }
    /* include alone may bring the keys: then the cells are asked */
    if (matrix_pair(x->matrix, r->name + 7, &rest) ||
        pl_node_get(x->matrix, "include"))
        return true;
    pl_diag_error(x->d, pl_interp_loc(r), "${%s} is not defined", r->name);
    suggest_keys(x, x->matrix, r->name + 7, "the matrix");
    return false;
}

/* What a cell has at "lr", or below "optimizer" for "optimizer.type". */
static struct pl_node *find_cell(struct interp *x, const struct ref *r,
                                 const char *path)
{
    const char *rest = path;
    const struct pl_node *map = x->cell;
    struct pl_node *node = NULL;

    do {
        const struct pl_pair *p = matrix_pair(map, rest, &rest);

        if (!p || (*rest && p->value->kind != PL_MAP)) {
            pl_diag_error(x->d, pl_interp_loc(r), "${%s} is not defined",
                          r->name);
            suggest_keys(x, x->cell, path, "the matrix");
            return NULL;
        }
        map = node = p->value;
    } while (*rest);
    return node;
}

struct pl_node *pl_interp_find(struct interp *x, const struct ref *r)
{
    static const char *const spaces[] = {"vars", "env", "stages", "matrix"};

    if (x->cell && strncmp(r->name, "matrix.", 7) == 0)
        return find_cell(x, r, r->name + 7);
    if (strncmp(r->name, "vars.", 5) == 0)
        return find_var(x, r, r->name + 5);
    if (strncmp(r->name, "env.", 4) == 0)
        return find_env(x, r, r->name + 4);
    if (strncmp(r->name, "stages.", 7) == 0)
        return find_stage(x, r, r->name + 7);
    if (strncmp(r->name, "matrix.", 7) == 0) { /* in a stage: left pending */
        (void)pl_interp_in_matrix(x, r);
        return NULL;
    }
    pl_diag_error(x->d, pl_interp_loc(r), "${%s} is not defined", r->name);
    if (pl_node_pair(x->vars, r->name))
        pl_diag_help(x->d, "did you mean '${vars.%s}'?", r->name);
    else
        pl_diag_suggest(x->d, r->name, spaces, 4);
    return NULL;
}
