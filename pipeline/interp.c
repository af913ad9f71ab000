#include "pipeline/interp.h"

#include <stdlib.h>
#include <string.h>

#include "nn/base/str.h"
#include "pipeline/utf8.h"

enum {
    MAX_CHAIN = 64,       /* variables that refer one to the next */
    MAX_BYTES = 16 << 20, /* of all texts that references make */
};

enum state { NEW, BUSY, DONE };

struct var {
    enum state state;
    struct pl_node *node; /* DONE: resolved; NULL: it had an error */
};

struct interp {
    struct arena *arena;
    struct pl_diag *d;
    const struct pl_node *vars; /* as written; empty: there are none */
    bool vars_bad;              /* vars is no map: an error is told elsewhere */
    struct var *var;            /* one for each pair of vars */
    size_t chain[MAX_CHAIN];    /* the variables that are BUSY */
    size_t n_chain;
    size_t bytes; /* of the texts made so far */
};

/* A reference in a text: from `${` to behind `}`. */
struct ref {
    const struct pl_node *in;
    const char *begin, *end; /* in in->text */
    const char *name;        /* between the braces, in the arena */
};

static struct pl_node *resolve(struct interp *x, struct pl_node *node);

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

/* Where a reference stands, if the text stands in one line as it is. */
static struct pl_loc ref_loc(const struct ref *r)
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

static void suggest_vars(struct interp *x, const struct pl_node *map,
                         const char *word, const char *what)
{
    const char **names = arena_array(x->arena, map->n, sizeof *names);
    struct str s = {0};
    size_t i;

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
        pl_diag_error(x->d, ref_loc(r),
                      "vars refer to each other in a "
                      "circle: %s",
                      s.text);
    str_free(&s);
}

/* --- what a reference stands for --- */

/* The variable number index, resolved; NULL after an error. */
static struct pl_node *var_node(struct interp *x, const struct ref *r,
                                size_t index)
{
    struct var *v = &x->var[index];

    if (v->state == BUSY) {
        if (r)
            cycle(x, r, index);
        return NULL;
    }
    if (v->state == DONE)
        return v->node;
    if (x->n_chain == MAX_CHAIN) {
        if (r)
            pl_diag_error(x->d, ref_loc(r),
                          "more than %d vars refer one to the next", MAX_CHAIN);
        return NULL;
    }
    v->state = BUSY;
    x->chain[x->n_chain++] = index;
    v->node = resolve(x, x->vars->pairs[index].value);
    x->n_chain--;
    v->state = DONE;
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
            pl_diag_error(x->d, ref_loc(r), "${%s} is not defined", r->name);
            if (map->kind == PL_MAP && map->n > 0)
                suggest_vars(x, map, name, what);
            else if (map == x->vars)
                pl_diag_help(x->d, "the file has no vars");
            return NULL;
        }
        node = map == x->vars ? var_node(x, r, (size_t)(p - map->pairs))
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
    value = getenv(name);
    if (dash && (!value || !*value))
        value = dash + 2;
    if (!value || !*name) {
        pl_diag_error(x->d, ref_loc(r), "the environment has no variable '%s'",
                      name);
        pl_diag_help(x->d, "${env.%s:-default} gives it a default",
                     *name ? name : "X");
        return NULL;
    }
    if (!is_text(value)) {
        pl_diag_error(x->d, ref_loc(r),
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

static struct pl_node *find(struct interp *x, const struct ref *r)
{
    static const char *const spaces[] = {"vars", "env"};
    size_t len = strcspn(r->name, ".");

    if (strncmp(r->name, "vars.", 5) == 0)
        return find_var(x, r, r->name + 5);
    if (strncmp(r->name, "env.", 4) == 0)
        return find_env(x, r, r->name + 4);
    if (strncmp(r->name, "stages.", 7) == 0 ||
        strncmp(r->name, "matrix.", 7) == 0) {
        pl_diag_error(x->d, ref_loc(r),
                      "${%.*s...} is not supported by this version", (int)len,
                      r->name);
        return NULL;
    }
    pl_diag_error(x->d, ref_loc(r), "${%s} is not defined", r->name);
    if (pl_node_pair(x->vars, r->name))
        pl_diag_help(x->d, "did you mean '${vars.%s}'?", r->name);
    else
        pl_diag_suggest(x->d, r->name, spaces, 2);
    return NULL;
}

/* --- texts --- */

/* The next reference at or after p; false: there is none, or it has no end
 * (an error: *p is NULL). Text before it goes to out, if that is not NULL,
 * with `$${` as `${`. */
static bool next_ref(struct interp *x, struct ref *r, const char **p,
                     struct str *out)
{
    const char *s = *p, *end;

    for (; *s; s++) {
        if (strncmp(s, "$${", 3) == 0) {
            if (out)
                str_add(out, "${");
            s += 2;
        } else if (strncmp(s, "${", 2) == 0) {
            break;
        } else if (out) {
            str_addc(out, *s);
        }
    }
    *p = s;
    if (!*s)
        return false;
    end = strchr(s, '}');
    r->begin = s;
    r->end = end ? end + 1 : s + strlen(s);
    if (!end) {
        pl_diag_error(x->d, ref_loc(r), "'${' has no '}' behind it");
        pl_diag_help(x->d, "for a literal ${ write $${");
        *p = NULL;
        return false;
    }
    r->name = arena_strndup(x->arena, s + 2, (size_t)(end - s - 2));
    if (!r->name) {
        (void)no_memory(x);
        *p = NULL;
        return false;
    }
    *p = r->end;
    return true;
}

/* Adds the text that a reference stands for; false after an error. */
static bool add_ref(struct interp *x, const struct ref *r, struct str *out,
                    bool *secret)
{
    const struct pl_node *node = find(x, r);
    char words[80];

    if (!node)
        return false;
    if (node->kind != PL_SCALAR) {
        pl_diag_error(x->d, ref_loc(r),
                      "${%s} is %s and cannot stand inside of a text", r->name,
                      pl_node_words(node, words));
        return false;
    }
    *secret = *secret || node->written;
    str_add(out, node->text);
    x->bytes += node->len;
    if (x->bytes > MAX_BYTES) {
        pl_diag_error(x->d, ref_loc(r),
                      "references make texts of more than %d MiB",
                      MAX_BYTES >> 20);
        return false;
    }
    return true;
}

/* A text with references in it as a new scalar. */
static struct pl_node *compose(struct interp *x, struct pl_node *node)
{
    struct ref r = {.in = node};
    struct str s = {0};
    const char *p = node->text, *text;
    bool secret = false, found = false, good = true;
    struct pl_node *out = NULL;

    str_add(&s, "");
    while (good && next_ref(x, &r, &p, &s)) {
        found = true;
        good = add_ref(x, &r, &s, &secret);
    }
    if (good && p && !s.failed) {
        text = arena_strdup(x->arena, s.text);
        out = text ? pl_node_scalar(x->arena, text, node->loc) : NULL;
    }
    if (out) {
        out->quoted = node->quoted && !found;
        out->written = secret ? node->text : NULL;
    } else if (good && p) {
        (void)no_memory(x);
    }
    str_free(&s);
    return out;
}

static struct pl_node *resolve_scalar(struct interp *x, struct pl_node *node)
{
    struct ref r = {.in = node};
    const char *p = node->text;

    if (!strstr(node->text, "${"))
        return node;
    if (strncmp(p, "${", 2) == 0) {
        if (!next_ref(x, &r, &p, NULL))
            return NULL;
        if (*p == '\0')
            return find(x, &r);
    }
    return compose(x, node);
}

/* --- trees --- */

/* Stands for what had an error, so that nobody complains again. */
static struct pl_node *bad_node(struct interp *x, struct pl_loc loc)
{
    struct pl_node *bad = pl_node_scalar(x->arena, "", loc);

    if (!bad)
        return no_memory(x);
    bad->kind = PL_NULL;
    bad->bad = true;
    return bad;
}

/* A map or list with its values resolved. */
static struct pl_node *resolve_all(struct interp *x, struct pl_node *node)
{
    bool map = node->kind == PL_MAP, same = true;
    struct pl_node *out = map ? pl_node_map(x->arena, node->n, node->loc)
                              : pl_node_seq(x->arena, node->n, node->loc);
    size_t i;

    if (!out)
        return no_memory(x);
    for (i = 0; i < node->n; i++) {
        struct pl_node *old = map ? node->pairs[i].value : node->items[i];
        struct pl_node *new = resolve(x, old);

        if (!new && !x->d->nomem)
            new = bad_node(x, old->loc);
        if (!new)
            return NULL;
        same = same && new == old;
        if (map)
            pl_node_add(out, node->pairs[i].key, node->pairs[i].key_loc, new);
        else
            pl_node_push(out, new);
    }
    if (same)
        return node;
    if (!pl_node_finish(out, x->arena))
        return no_memory(x);
    if (out->weight > PL_MAX_NODES || out->depth > PL_MAX_DEPTH) {
        pl_diag_error(x->d, node->loc,
                      "references make this larger than %d values or deeper "
                      "than %d levels",
                      PL_MAX_NODES, PL_MAX_DEPTH);
        return NULL;
    }
    return out;
}

static struct pl_node *resolve(struct interp *x, struct pl_node *node)
{
    switch (node->kind) {
    case PL_SCALAR:
        return resolve_scalar(x, node);
    case PL_MAP:
    case PL_SEQ:
        return resolve_all(x, node);
    default:
        return node;
    }
}

/* vars with every variable resolved: their errors are told even where nobody
 * uses them. */
static struct pl_node *resolve_vars(struct interp *x)
{
    struct pl_node *out = pl_node_map(x->arena, x->vars->n, x->vars->loc);
    size_t i;

    for (i = 0; out && i < x->vars->n; i++) {
        const struct pl_pair *p = &x->vars->pairs[i];
        struct pl_node *node = var_node(x, NULL, i);

        if (!node && !x->d->nomem)
            node = bad_node(x, p->value->loc);
        if (!node)
            return NULL;
        pl_node_add(out, p->key, p->key_loc, node);
    }
    if (!out || !pl_node_finish(out, x->arena))
        return no_memory(x);
    return out;
}

static bool left_alone(const char *key)
{
    return strcmp(key, "extends") == 0 || strncmp(key, "x-", 2) == 0;
}

struct pl_node *pl_interp(struct pl_node *root, struct arena *arena,
                          struct pl_diag *d)
{
    struct interp x = {.arena = arena, .d = d};
    struct pl_node *vars = pl_node_get(root, "vars"), *out;
    size_t i;

    x.vars_bad = vars && vars->kind != PL_MAP;
    x.vars = vars && !x.vars_bad ? vars : pl_node_map(arena, 0, root->loc);
    if (!x.vars)
        return no_memory(&x);
    x.var = arena_array(arena, x.vars->n, sizeof *x.var);
    if (!x.var)
        return no_memory(&x);
    out = pl_node_map(arena, root->n, root->loc);
    if (!out)
        return no_memory(&x);
    for (i = 0; i < root->n; i++) {
        const struct pl_pair *p = &root->pairs[i];
        struct pl_node *node = p->value;
        struct pl_loc loc = node->loc;

        if (node == x.vars)
            node = resolve_vars(&x);
        else if (!left_alone(p->key))
            node = resolve(&x, node);
        if (!node && !d->nomem)
            node = bad_node(&x, loc);
        if (!node)
            return NULL;
        pl_node_add(out, p->key, p->key_loc, node);
    }
    return pl_node_finish(out, arena) ? out : no_memory(&x);
}
