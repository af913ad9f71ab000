#include "pipeline/inputs.h"

#include <stdlib.h>
#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/config.h"
#include "pipeline/hash.h"
#include "pipeline/record.h"
#include "pipeline/stage.h"
#include "pipeline/url.h"
#include "pipeline/yaml.h"

enum { SHOWN_MAX = 40 }; /* of a value in a reason, in bytes */

static bool reserve(struct pl_inputs *in)
{
    struct pl_input *bigger;
    size_t cap = in->cap ? in->cap * 2 : 32;

    if (in->n < in->cap)
        return true;
    bigger = arena_array(in->arena, cap, sizeof *bigger);
    if (!bigger)
        return false;
    if (in->n)
        memcpy(bigger, in->item, in->n * sizeof *bigger);
    in->item = bigger;
    in->cap = cap;
    return true;
}

/* A password is no input, and has no business in a record. */
static const char *without_password(struct arena *arena, const char *value)
{
    struct str s = {0};
    const char *out = NULL;

    if (!strstr(value, "://"))
        return arena_strdup(arena, value);
    pl_url_mask(&s, value);
    if (!s.failed)
        out = arena_strdup(arena, s.text);
    str_free(&s);
    return out;
}

void pl_inputs_add(struct pl_inputs *in, const char *key, const char *value)
{
    struct pl_input *p;

    if (!key || !value || !reserve(in)) {
        in->failed = true;
        return;
    }
    p = &in->item[in->n];
    p->key = arena_strdup(in->arena, key);
    p->value = without_password(in->arena, value);
    if (p->key && p->value)
        in->n++;
    else
        in->failed = true;
}

const char *pl_inputs_get(const struct pl_inputs *in, const char *key)
{
    size_t i;

    for (i = 0; i < in->n; i++)
        if (strcmp(in->item[i].key, key) == 0)
            return in->item[i].value;
    return NULL;
}

static void add_tree(struct pl_inputs *in, const char *key,
                     const struct pl_node *node);

static void add_children(struct pl_inputs *in, const char *key,
                         const struct pl_node *node)
{
    size_t i;

    for (i = 0; i < node->n; i++) {
        if (node->kind == PL_MAP)
            add_tree(in,
                     arena_printf(in->arena, "%s.%s", key, node->pairs[i].key),
                     node->pairs[i].value);
        else
            add_tree(in, arena_printf(in->arena, "%s.%zu", key, i),
                     node->items[i]);
    }
}

/* A scalar a text; the depth of a tree is bounded by PL_MAX_DEPTH. */
static void add_tree(struct pl_inputs *in, const char *key,
                     const struct pl_node *node)
{
    if (!key)
        in->failed = true;
    else if (node->kind == PL_SCALAR)
        pl_inputs_add(in, key, node->text);
    else if (node->kind == PL_NULL)
        pl_inputs_add(in, key, "none");
    else
        add_children(in, key, node);
}

/* A stage's `with` without its settings for a GPU. */
static void add_with(struct pl_inputs *in, const struct pl_schema *schema,
                     const struct pl_node *with)
{
    size_t i;

    for (i = 0; i < with->n; i++) {
        const struct pl_pair *p = &with->pairs[i];
        const struct pl_field *f = pl_schema_field(schema, p->key);

        if (!f || !(f->flags & PL_F_GPU))
            add_tree(in, arena_printf(in->arena, "with.%s", p->key), p->value);
    }
}

/* The canonical text of a checked struct as a tree. NULL: no memory, since
 * our own text is always well formed. */
static struct pl_node *canonical_tree(const struct pl_schema *schema,
                                      const void *values, struct arena *arena)
{
    struct pl_file *file = arena_alloc(arena, sizeof *file);
    struct pl_diag d = {.arena = arena};
    struct str text = {0};
    struct pl_node *root = NULL;

    pl_schema_canonical(schema, values, &text);
    if (file && text.text && !text.failed) {
        file->path = "canonical text";
        file->len = text.len;
        file->text = arena_strndup(arena, text.text, text.len);
        if (file->text)
            root = pl_yaml_parse(file, 0, arena, &d);
    }
    str_free(&text);
    return root;
}

/* Whether the content of every file is fixed by a hash, so that it does not
 * matter where it comes from. */
static bool all_hashed(const struct pl_dataset *ds)
{
    const struct pl_data_file *f = ds->files.items;
    size_t i;

    for (i = 0; i < ds->files.n; i++)
        if (!f[i].sha256 && !f[i].sha256_unpacked)
            return false;
    return true;
}

/* A file that no hash fixes and that lies in a folder counts by its content:
 * the first folder that has it is the one it would come from. */
static void add_local_files(struct pl_inputs *in, const struct pl_dataset *ds)
{
    const char *key = arena_printf(in->arena, "datasets.%s", ds->name);
    const struct pl_data_file *f = ds->files.items;
    const char *const *mirror = ds->mirrors.items;
    size_t i, k;

    for (i = 0; key && i < ds->files.n; i++) {
        char hex[65];
        uint64_t bytes;

        if (f[i].sha256 || f[i].sha256_unpacked)
            continue;
        for (k = 0; k < ds->mirrors.n; k++) {
            char *path =
                pl_url_is(mirror[k]) ? NULL : io_join(mirror[k], f[i].path);
            bool found = path && pl_hash_file(hex, &bytes, path, NULL) == 0;

            mem_free(path);
            if (!found)
                continue;
            pl_inputs_add(
                in,
                arena_printf(in->arena, "%s.files.%s.content", key, f[i].role),
                hex);
            break;
        }
    }
}

static void add_dataset(struct pl_inputs *in, const struct pl_dataset *ds)
{
    const struct pl_node *tree =
        canonical_tree(&pl_dataset_schema, ds, in->arena);
    const struct pl_node *mirrors = NULL;
    char *key = arena_printf(in->arena, "datasets.%s", ds->name);
    size_t i;

    if (!tree || !key) {
        in->failed = true;
        return;
    }
    for (i = 0; i < tree->n; i++) {
        if (strcmp(tree->pairs[i].key, "mirrors") != 0)
            add_tree(in,
                     arena_printf(in->arena, "%s.%s", key, tree->pairs[i].key),
                     tree->pairs[i].value);
    }
    /* As written in the file: the resolved path hangs on where we stand. */
    if (ds->node && !all_hashed(ds))
        mirrors = pl_node_get(ds->node, "mirrors");
    if (mirrors)
        add_tree(in, arena_printf(in->arena, "%s.mirrors", key), mirrors);
}

static void add_model(struct pl_inputs *in, const struct pl_model *m)
{
    const struct pl_node *tree = canonical_tree(&pl_model_schema, m, in->arena);

    if (!tree)
        in->failed = true;
    else
        add_tree(in, arena_printf(in->arena, "models.%s", m->name), tree);
}

static void add_operator(struct pl_inputs *in, const struct pl_operator *o)
{
    const struct pl_node *tree =
        canonical_tree(&pl_operator_schema, o, in->arena);
    const char *key = arena_printf(in->arena, "operators.%s", o->name);
    const char *forward =
        key ? arena_printf(in->arena, "%s.forward", key) : NULL;

    if (!tree || !key || !forward)
        in->failed = true;
    else if (!pl_inputs_get(in, forward)) /* several layers may be of it */
        add_tree(in, key, tree);
}

struct named {
    bool fetches; /* the stage brings the files in */
    struct pl_inputs *in;
    const struct pl_config *config;
};

static void on_dataset(void *user, const char *name)
{
    const struct named *n = user;
    const struct pl_dataset *ds = pl_config_dataset(n->config, name);

    if (ds)
        add_dataset(n->in, ds);
    if (ds && n->fetches) /* others see what the fetch stage left */
        add_local_files(n->in, ds);
}

/* An own operator, or all of them. */
static void on_operator(void *user, const char *name)
{
    const struct named *n = user;
    bool all = strcmp(name, PL_OPERATORS_OWN) == 0;
    size_t i;

    for (i = 0; i < n->config->n_operators; i++)
        if (all || strcmp(n->config->operators[i].name, name) == 0)
            add_operator(n->in, &n->config->operators[i]);
}

static void on_model(void *user, const char *name)
{
    const struct named *n = user;
    const struct pl_model *m = pl_config_model(n->config, name);

    if (!m)
        return;
    add_model(n->in, m);
    pl_schema_visit(&pl_model_schema, m, PL_T_OPERATOR, on_operator, user);
}

/* A file that `with` names counts by its content: where it lies, and from
 * where it is reached, does not matter. */
struct path_search {
    struct pl_inputs *in;
    const char *text; /* as the tree has it */
    bool found;
};

static void on_path(void *user, const char *path)
{
    struct path_search *p = user;

    p->found = p->found || strcmp(p->text, path) == 0;
}

static const char *content_of(struct pl_inputs *in, const char *path)
{
    char hex[65];
    uint64_t bytes;

    if (pl_hash_file(hex, &bytes, path, NULL) != 0)
        return "a file that cannot be read";
    return arena_printf(in->arena, "sha256 %s", hex);
}

static void put_contents(struct pl_inputs *in, const struct pl_stage *s,
                         struct pl_node *node)
{
    struct path_search p = {in, node->text, false};
    size_t i;

    for (i = 0; node->kind == PL_MAP && i < node->n; i++)
        put_contents(in, s, node->pairs[i].value);
    for (i = 0; node->kind == PL_SEQ && i < node->n; i++)
        put_contents(in, s, node->items[i]);
    if (node->kind != PL_SCALAR)
        return;
    pl_schema_visit(s->kind->with, s->with, PL_T_PATH, on_path, &p);
    if (p.found)
        node->text = content_of(in, node->text);
    if (!node->text)
        in->failed = true;
}

int pl_inputs_collect(struct pl_inputs *in, const struct pl_config *c,
                      const struct pl_stage *s, struct err *err)
{
    const struct pl_stage_kind *kind = s->kind;
    struct named names = {kind == &pl_kind_fetch, in, c};
    struct pl_node *with = canonical_tree(kind->with, s->with, in->arena);

    pl_inputs_add(in, "format", PL_FORMAT);
    pl_inputs_add(in, "kind", kind->name);
    pl_inputs_add(in, "version", arena_printf(in->arena, "%d", kind->version));
    if (with) {
        put_contents(in, s, with);
        add_with(in, kind->with, with);
    }
    pl_schema_visit(kind->with, s->with, PL_T_DATASET, on_dataset, &names);
    pl_schema_visit(kind->with, s->with, PL_T_MODEL, on_model, &names);
    pl_schema_visit(kind->with, s->with, PL_T_OPERATOR, on_operator, &names);
    if (!with || in->failed)
        return err_set(err, ERR_NOMEM, "out of memory planning stage '%s'",
                       s->id);
    return 0;
}

int pl_inputs_hash(char hex[65], const struct pl_inputs *in, struct err *err)
{
    struct str s = {0};
    size_t i;
    int rc;

    str_add(&s, "");
    for (i = 0; i < in->n; i++)
        str_addf(&s, "%s %zu\n%s\n", in->item[i].key, strlen(in->item[i].value),
                 in->item[i].value);
    if (s.failed)
        rc = err_set(err, ERR_NOMEM, "out of memory hashing a stage");
    else
        rc = pl_hash_bytes(hex, s.text, s.len, err);
    str_free(&s);
    return rc;
}

bool pl_inputs_grown(const struct pl_inputs *was, const struct pl_inputs *now,
                     const char *key)
{
    bool more = false;
    size_t i;

    if (was->n != now->n)
        return false;
    for (i = 0; i < now->n; i++) {
        const struct pl_input *a = &was->item[i], *b = &now->item[i];

        if (strcmp(a->key, b->key) != 0)
            return false;
        if (strcmp(a->value, b->value) == 0)
            continue;
        if (strcmp(a->key, key) != 0)
            return false;
        more = strtoll(b->value, NULL, 10) > strtoll(a->value, NULL, 10);
        if (!more)
            return false;
    }
    return more;
}

/* A value on one line, cut where it is long, between characters. */
static void add_shown(struct str *out, const char *value)
{
    size_t len = strlen(value), most = len, i;

    if (len > SHOWN_MAX) {
        most = SHOWN_MAX;
        while (most > 0 && ((unsigned char)value[most] & 0xc0) == 0x80)
            most--;
    }
    for (i = 0; i < most; i++)
        str_addn(out, value[i] == '\n' ? " " : value + i, 1);
    if (most < len)
        str_add(out, "...");
    else if (len == 0)
        str_add(out, "''");
}

static void add_change(struct str *out, const char *key, const char *was,
                       const char *now)
{
    if (strncmp(key, "needs.", 6) == 0) {
        str_addf(out, "input from %s changed", key + 6);
        return;
    }
    if (strcmp(key, "version") == 0 || strcmp(key, "format") == 0)
        str_add(out, "the program's ");
    str_addf(out, "%s ", key);
    add_shown(out, was ? was : "none");
    str_add(out, " -> ");
    add_shown(out, now ? now : "none");
}

/* Appends the first `most` changes, a line each. Returns how many there are. */
static size_t add_changes(struct str *out, const struct pl_inputs *was,
                          const struct pl_inputs *now, size_t most)
{
    size_t changes = 0, i;

    for (i = 0; i < now->n; i++) {
        const char *old = pl_inputs_get(was, now->item[i].key);

        if ((old && strcmp(old, now->item[i].value) == 0) || changes++ >= most)
            continue;
        str_add(out, changes > 1 ? "\n" : "");
        add_change(out, now->item[i].key, old, now->item[i].value);
    }
    for (i = 0; i < was->n; i++) {
        if (pl_inputs_get(now, was->item[i].key) || changes++ >= most)
            continue;
        str_add(out, changes > 1 ? "\n" : "");
        add_change(out, was->item[i].key, was->item[i].value, NULL);
    }
    return changes;
}

void pl_inputs_reason(struct str *out, const struct pl_inputs *was,
                      const struct pl_inputs *now)
{
    size_t changes = add_changes(out, was, now, 1);

    if (changes > 1)
        str_addf(out, ", and %zu more", changes - 1);
}

const char *pl_inputs_changes(const struct pl_inputs *was,
                              const struct pl_inputs *now)
{
    struct str s = {0};
    const char *out = NULL;

    if (add_changes(&s, was, now, SIZE_MAX) < 2)
        str_clear(&s);
    if (!s.failed)
        out = arena_strdup(now->arena, s.text ? s.text : "");
    str_free(&s);
    return out;
}
