#include "pipeline/config.h"

#include <string.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/config_load.h"
#include "pipeline/interp.h"
#include "pipeline/override.h"
#include "pipeline/scalar.h"
#include "pipeline/untrusted.h"
#include "pipeline/url.h"

enum { PATH_BYTES = 4096 };

/* Whether this file is without mistakes so far. */
static bool clean(const struct pl_loader *l)
{
    return l->d->errors == l->before && !l->d->nomem;
}

static void check_version(struct pl_loader *l)
{
    if (!pl_node_get(l->c->root, "version"))
        pl_diag_error(l->d, l->c->root->loc, "the file lacks 'version: 1'");
    else /* the command line may have changed it */
        pl_load_check_version(l, l->c->root);
}

static void read_name(struct pl_loader *l)
{
    const struct pl_node *name = pl_node_get(l->c->root, "name");
    char words[80];

    if (!name) {
        pl_diag_error(l->d, l->c->root->loc, "the file lacks 'name'");
        pl_diag_help(l->d, "results go to out/<name>; write name: q2");
    } else if (name->kind != PL_SCALAR) {
        if (!name->bad)
            pl_diag_error(l->d, name->loc, "name must be a text, not %s",
                          pl_node_words(name, words));
    } else if (pl_name_check(name->text, "file's results", name->loc, l->d)) {
        l->c->name = name->text;
    }
}

static void check_top(struct pl_loader *l)
{
    const char *names[PL_MAX_FIELDS];
    const struct pl_node *root = l->c->root;
    size_t i, n = pl_schema_names(&pl_top_schema, NULL, names);

    check_version(l);
    read_name(l);
    for (i = 0; i < root->n; i++) {
        const struct pl_pair *p = &root->pairs[i];

        if (pl_schema_field(&pl_top_schema, p->key) ||
            strncmp(p->key, "x-", 2) == 0)
            continue;
        pl_diag_error(l->d, p->key_loc, "unknown key '%s' at the top", p->key);
        pl_diag_suggest(l->d, p->key, names, n);
    }
}

/* The map at a top key, its names checked; NULL: there is none. *names gets
 * its keys. */
static const struct pl_node *named_map(struct pl_loader *l, const char *key,
                                       const char *what,
                                       const char *const **names, size_t *n)
{
    const struct pl_node *map = pl_node_get(l->c->root, key);
    const char **list;
    char words[80];
    size_t i;

    if (!map || map->bad)
        return NULL;
    if (map->kind != PL_MAP) {
        pl_diag_error(l->d, map->loc, "%s must be a map, not %s", key,
                      pl_node_words(map, words));
        return NULL;
    }
    if (map->n > PL_MAX_NAMED) {
        pl_diag_error(l->d, map->loc,
                      "%s has %zu entries; at most %d are "
                      "taken",
                      key, map->n, PL_MAX_NAMED);
        return NULL;
    }
    list = arena_array(l->arena, map->n, sizeof *list);
    if (!list) {
        l->d->nomem = true;
        return NULL;
    }
    for (i = 0; i < map->n; i++) {
        list[i] = map->pairs[i].key;
        (void)pl_name_check(list[i], what, map->pairs[i].key_loc, l->d);
    }
    *names = list;
    *n = map->n;
    return map;
}

static void read_datasets(struct pl_loader *l, const struct pl_node *map)
{
    size_t i;

    l->c->datasets = arena_array(l->arena, map->n, sizeof *l->c->datasets);
    if (!l->c->datasets) {
        l->d->nomem = true;
        return;
    }
    for (i = 0; i < map->n; i++) {
        const struct pl_pair *p = &map->pairs[i];
        struct pl_dataset *ds = &l->c->datasets[l->c->n_datasets];
        const char *where = arena_printf(l->arena, "datasets.%s", p->key);

        if (!where) {
            l->d->nomem = true;
            return;
        }
        if (p->value->bad ||
            pl_schema_read(&pl_dataset_schema, ds, p->value, where, &l->names,
                           l->arena, l->d) > 0)
            continue;
        ds->name = p->key;
        pl_dataset_check(ds, l->d);
        l->c->n_datasets++;
    }
}

static void read_operators(struct pl_loader *l, const struct pl_node *map)
{
    size_t i;

    l->c->operators = arena_array(l->arena, map->n, sizeof *l->c->operators);
    if (!l->c->operators) {
        l->d->nomem = true;
        return;
    }
    for (i = 0; i < map->n; i++)
        if (pl_operator_read(&l->c->operators[l->c->n_operators],
                             &map->pairs[i], l->arena, l->d))
            l->c->n_operators++;
}

/* Gives the layers of m the operators that they name. */
static void find_operators(struct pl_loader *l, struct pl_model *m)
{
    struct pl_layer *layer = m->layers.items;
    size_t i;

    for (i = 0; i < m->layers.n; i++) {
        if (!layer[i].own_type)
            continue;
        layer[i].own = pl_config_operator(l->c, layer[i].own_type);
        if (layer[i].own) /* else it has had its error */
            pl_operator_check_layer(layer[i].own, &layer[i], l->d);
    }
}

static void read_models(struct pl_loader *l, const struct pl_node *map)
{
    size_t i;

    l->c->models = arena_array(l->arena, map->n, sizeof *l->c->models);
    if (!l->c->models) {
        l->d->nomem = true;
        return;
    }
    for (i = 0; i < map->n; i++) {
        const struct pl_pair *p = &map->pairs[i];
        struct pl_model *m = &l->c->models[l->c->n_models];
        const char *where = arena_printf(l->arena, "models.%s", p->key);

        if (!where) {
            l->d->nomem = true;
            return;
        }
        if (p->value->bad ||
            pl_schema_read(&pl_model_schema, m, p->value, where, &l->names,
                           l->arena, l->d) > 0)
            continue;
        m->name = p->key;
        find_operators(l, m);
        pl_model_check(m, l->d);
        l->c->n_models++;
    }
}

/* "hidden_dim=256 lr=0.001": the variables that hold one value. */
static void write_recipe(struct pl_loader *l, const struct pl_node *vars)
{
    struct str s = {0};
    size_t i;

    str_add(&s, "");
    for (i = 0; vars && i < vars->n; i++) {
        const struct pl_node *v = vars->pairs[i].value;
        double number;

        if (v->kind != PL_SCALAR)
            continue;
        str_addf(&s, "%s%s=", s.len ? " " : "", vars->pairs[i].key);
        if (v->written)
            str_add(&s, v->written);
        else if (!v->quoted && scalar_double(v->text, &number) == SCALAR_OK)
            scalar_add(&s, number);
        else
            pl_url_mask(&s, v->text);
    }
    l->c->recipe = s.failed ? NULL : arena_strdup(l->arena, s.text);
    if (!l->c->recipe)
        l->d->nomem = true;
    str_free(&s);
}

/* From the merged tree to the structs. */
static void read_config(struct pl_loader *l)
{
    const struct pl_node *datasets, *operators, *models, *stages, *vars;
    const char *const *var_names;
    size_t n_vars;

    check_top(l);
    vars = named_map(l, "vars", "variable", &var_names, &n_vars);
    datasets = named_map(l, "datasets", "data set", &l->names.datasets,
                         &l->names.n_datasets);
    operators = named_map(l, "operators", "layer or loss", &l->names.operators,
                          &l->names.n_operators);
    models =
        named_map(l, "models", "model", &l->names.models, &l->names.n_models);
    stages =
        named_map(l, "stages", "stage", &l->names.stages, &l->names.n_stages);
    if (l->d->nomem)
        return;
    if (datasets)
        read_datasets(l, datasets);
    if (operators)
        read_operators(l, operators);
    if (models)
        read_models(l, models);
    write_recipe(l, vars);
    if (pl_load_check_defaults(l) && (stages || l->c->n_imports > 0) &&
        !l->d->nomem)
        pl_load_stages(l);
    if (!pl_node_get(l->c->root, "stages") && l->c->n_imports == 0)
        pl_diag_error(l->d, l->c->root->loc, "the file has no stages");
    if (clean(l))
        pl_load_order(l);
    if (clean(l))
        pl_untrusted_check(l);
    if (clean(l))
        pl_load_check_stages(l);
    if (clean(l))
        pl_load_resolve(l);
}

static size_t count_imports(const struct pl_node *root)
{
    const struct pl_node *map = pl_node_get(root, "imports");

    return map ? map->n : 0;
}

/* Tree, command line, imports, references. false: there is nothing to read
 * further. */
static bool load_root(struct pl_loader *l, const struct pl_config_opts *opts,
                      struct err *err)
{
    struct pl_session *s = l->session;
    struct pl_scope scope = {
        .out = s->out, .imported = pl_imported_dir, .user = l};
    size_t n = opts ? opts->n_overrides : 0, i;

    l->c->root = pl_load_tree(l, l->c->path, err);
    /* after a wrong version, or without a base, nothing else can be judged */
    if (!l->c->root || !clean(l))
        return false;
    for (i = 0; i < n && !l->d->nomem; i++)
        l->c->root =
            pl_override(l->c->root, opts->overrides[i], l->arena, l->d);
    if (l->d->nomem)
        return false;
    pl_load_imports(l);
    if (l->c->n_imports < count_imports(l->c->root) || l->d->nomem)
        return false;
    scope.untrusted = s->untrusted ? s->main : NULL;
    l->c->root = pl_interp(l->c->root, &scope, l->arena, l->d);
    return l->c->root && l->c->root->kind == PL_MAP;
}

static int outcome(struct pl_loader *l, const char *path, struct err *err)
{
    size_t n;

    if (l->d->nomem)
        return err_set(err, ERR_NOMEM, "out of memory reading '%s'", path);
    if (err->code != 0)
        return err->code;
    if (l->d->errors == l->before)
        return 0;
    n = l->d->errors - l->before;
    return err_set(err, ERR_CONFIG, "%zu error%s in '%s'", n, n == 1 ? "" : "s",
                   path);
}

int pl_load_file(struct pl_config **out, struct pl_session *session,
                 const char *path, const struct pl_config_opts *opts,
                 struct pl_diag *d, struct err *err)
{
    struct pl_config *c = mem_zalloc(sizeof *c);
    struct pl_loader l = {
        .session = session, .c = c, .d = d, .before = d->errors};

    *out = c;
    if (!c)
        return err_set(err, ERR_NOMEM, "out of memory reading '%s'", path);
    if (session->first) {
        c->next = session->first->next;
        session->first->next = c;
    } else {
        session->first = c;
    }
    l.arena = &c->arena;
    c->path = arena_strdup(&c->arena, path);
    if (!c->path)
        d->nomem = true;
    else if (load_root(&l, opts, err))
        read_config(&l);
    return outcome(&l, path, err);
}

/* The folder of results as an absolute path, in a buffer of the caller's. */
static const char *absolute_out(char *buf, size_t size, const char *out)
{
    char *cwd = getcwd(buf, size), *path;
    size_t len;

    if (!cwd)
        return out;
    path = io_join(cwd, out);
    len = path ? strlen(path) : size;
    if (len < size)
        memcpy(buf, path, len + 1);
    mem_free(path);
    while (len < size && len > 1 && buf[len - 1] == '/')
        buf[--len] = '\0';
    return path ? buf : NULL;
}

int pl_config_load(struct pl_config **out, const char *path,
                   const struct pl_config_opts *opts, struct pl_diag *d,
                   struct err *err)
{
    char buf[PATH_BYTES];
    const char *results = opts && opts->out ? opts->out : "out";
    struct pl_session session = {.untrusted = opts && opts->untrusted,
                                 .numerics = opts ? opts->numerics : NULL};
    struct err own = {0};
    int rc;

    if (!err)
        err = &own;
    session.out = absolute_out(buf, sizeof buf, results);
    if (!session.out)
        d->nomem = true;
    rc = pl_load_file(out, &session, path, opts, d, err);
    if (rc != 0 && rc != ERR_CONFIG) {
        pl_config_free(*out);
        *out = NULL;
        d->n = d->errors = 0; /* they point into it */
        d->kept = false;
    }
    return rc;
}

void pl_config_free(struct pl_config *c)
{
    while (c) {
        struct pl_config *next = c->next;
        struct arena arena = c->arena;

        arena_free(&arena);
        mem_free(c);
        c = next;
    }
}

const struct pl_dataset *pl_config_dataset(const struct pl_config *c,
                                           const char *name)
{
    size_t i;

    for (i = 0; i < c->n_datasets; i++)
        if (strcmp(c->datasets[i].name, name) == 0)
            return &c->datasets[i];
    return NULL;
}

const struct pl_model *pl_config_model(const struct pl_config *c,
                                       const char *name)
{
    size_t i;

    for (i = 0; i < c->n_models; i++)
        if (strcmp(c->models[i].name, name) == 0)
            return &c->models[i];
    return NULL;
}

const struct pl_operator *pl_config_operator(const struct pl_config *c,
                                             const char *name)
{
    size_t i;

    for (i = 0; i < c->n_operators; i++)
        if (strcmp(c->operators[i].name, name) == 0)
            return &c->operators[i];
    return NULL;
}

const char *pl_config_id(const struct pl_config *c, const struct pl_stage *s)
{
    size_t i;

    for (i = 0; i < c->n_stages; i++)
        if (c->stages[i].home == s->home &&
            strcmp(c->stages[i].local, s->local) == 0)
            return c->stages[i].id;
    return NULL;
}

bool pl_stage_is(const struct pl_stage *s, const char *name)
{
    return strcmp(s->id, name) == 0 ||
           (s->group && strcmp(s->group, name) == 0);
}

const struct pl_stage *pl_config_stage(const struct pl_config *c,
                                       const char *id)
{
    size_t i;

    for (i = 0; i < c->n_stages; i++)
        if (strcmp(c->stages[i].id, id) == 0)
            return &c->stages[i];
    return NULL;
}
