#include "pipeline/interp.h"

#include <string.h>

#include "nn/base/str.h"
#include "pipeline/interp_parts.h"

static struct pl_node *no_memory(struct interp *x)
{
    x->d->nomem = true;
    return NULL;
}

/* --- texts --- */

/* The next reference at or after p; false: there is none, or it has no end
 * (an error: *p is NULL). Text before it goes to out, if that is not NULL,
 * with `$${` as `${`, or as it is where raw says so. */
static bool next_ref(struct interp *x, struct ref *r, const char **p,
                     struct str *out, bool raw)
{
    const char *s = *p, *end;

    for (; *s; s++) {
        if (strncmp(s, "$${", 3) == 0) {
            if (out)
                str_add(out, raw ? "$${" : "${");
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
        pl_diag_error(x->d, pl_interp_loc(r), "'${' has no '}' behind it");
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

/* Adds text with `${` as `$${`. */
static void add_escaped(struct str *out, const char *text)
{
    for (; *text; text++) {
        if (text[0] == '$' && text[1] == '{')
            str_addc(out, '$');
        str_addc(out, *text);
    }
}

/* What the texts that go into one scalar make of it. */
struct composed {
    struct str text;
    bool pending; /* keeps ${matrix...}, and so all else as written */
    bool secret;  /* not to be shown: `written` is */
    const char *stage;
};

static bool add_value(struct interp *x, const struct ref *r,
                      const struct pl_node *node, struct composed *c)
{
    char words[80];

    if (node->kind != PL_SCALAR) {
        pl_diag_error(x->d, pl_interp_loc(r),
                      "${%s} is %s and cannot stand inside of a text", r->name,
                      pl_node_words(node, words));
        return false;
    }
    if (node->stage && c->stage && strcmp(node->stage, c->stage) != 0) {
        pl_diag_error(x->d, pl_interp_loc(r),
                      "a path has the folder of one stage, not of two");
        return false;
    }
    c->secret = c->secret || node->written ||
                (x->scope->untrusted && node->loc.file &&
                 node->loc.file != x->scope->untrusted);
    c->stage = node->stage ? node->stage : c->stage;
    if (c->pending)
        add_escaped(&c->text, node->text);
    else
        str_add(&c->text, node->text);
    x->bytes += node->len;
    if (x->bytes <= PL_MAX_REF_BYTES)
        return true;
    pl_diag_error(x->d, pl_interp_loc(r),
                  "references make texts of more than %d MiB",
                  PL_MAX_REF_BYTES >> 20);
    return false;
}

/* Adds the text that a reference stands for; false after an error. */
static bool add_ref(struct interp *x, const struct ref *r, struct composed *c)
{
    const struct pl_node *node;

    if (c->pending && strncmp(r->name, "matrix.", 7) == 0) {
        str_addn(&c->text, r->begin, (size_t)(r->end - r->begin));
        return pl_interp_in_matrix(x, r);
    }
    node = pl_interp_find(x, r);
    return node && add_value(x, r, node, c);
}

/* A text with references in it as a new scalar. */
static struct pl_node *compose(struct interp *x, struct pl_node *node,
                               bool pending)
{
    struct ref r = {.in = node};
    struct composed c = {.pending = pending, .stage = node->stage};
    const char *p = node->text, *text;
    bool found = false, good = true;
    struct pl_node *out = NULL;

    str_add(&c.text, "");
    while (good && next_ref(x, &r, &p, &c.text, pending)) {
        found = true;
        good = add_ref(x, &r, &c);
    }
    if (good && p && !c.text.failed) {
        text = arena_strdup(x->arena, c.text.text);
        out = text ? pl_node_scalar(x->arena, text, node->loc) : NULL;
    }
    if (out) {
        out->quoted = node->quoted && (pending || !found);
        out->written = node->written ? node->written
                       : c.secret    ? node->text
                                     : NULL;
        out->pending = pending;
        out->stage = c.stage;
    } else if (good && p) {
        (void)no_memory(x);
    }
    str_free(&c.text);
    return out;
}

/* True if text holds a ${matrix...}. */
static bool has_matrix_ref(const char *text)
{
    for (; *text; text++) {
        if (strncmp(text, "$${", 3) == 0)
            text += 2;
        else if (strncmp(text, "${matrix.", 9) == 0)
            return true;
    }
    return false;
}

static struct pl_node *resolve_scalar(struct interp *x, struct pl_node *node)
{
    struct ref r = {.in = node};
    const char *p = node->text;

    if (x->cell ? !node->pending : !strstr(node->text, "${"))
        return node;
    if (!x->cell && x->matrix && has_matrix_ref(node->text))
        return compose(x, node, true);
    if (strncmp(p, "${", 2) == 0) {
        if (!next_ref(x, &r, &p, NULL, false))
            return NULL;
        if (*p == '\0')
            return pl_interp_find(x, &r);
    }
    return compose(x, node, false);
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

/* A map or list with its values resolved: number i by fn. */
static struct pl_node *
resolve_all(struct interp *x, struct pl_node *node,
            struct pl_node *(*fn)(struct interp *x, const struct pl_node *node,
                                  size_t i))
{
    bool map = node->kind == PL_MAP, same = true;
    struct pl_node *out = map ? pl_node_map(x->arena, node->n, node->loc)
                              : pl_node_seq(x->arena, node->n, node->loc);
    size_t i;

    if (!out)
        return no_memory(x);
    for (i = 0; i < node->n; i++) {
        struct pl_node *old = map ? node->pairs[i].value : node->items[i];
        struct pl_loc loc = old->loc;
        struct pl_node *new = fn(x, node, i);

        if (!new && !x->d->nomem)
            new = bad_node(x, loc);
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

static struct pl_node *any_value(struct interp *x, const struct pl_node *node,
                                 size_t i)
{
    return pl_interp_resolve(x, node->kind == PL_MAP ? node->pairs[i].value
                                                     : node->items[i]);
}

struct pl_node *pl_interp_resolve(struct interp *x, struct pl_node *node)
{
    switch (node->kind) {
    case PL_SCALAR:
        return resolve_scalar(x, node);
    case PL_MAP:
    case PL_SEQ:
        return resolve_all(x, node, any_value);
    default:
        return node;
    }
}

/* --- stages with a matrix --- */

/* With references to the matrix left pending. */
static struct pl_node *pending_value(struct interp *x, struct pl_node *node,
                                     const struct pl_node *matrix)
{
    struct pl_node *out;

    x->matrix = matrix;
    out = pl_interp_resolve(x, node);
    x->matrix = NULL;
    return out;
}

static struct pl_node *matrix_value(struct interp *x,
                                    const struct pl_node *matrix, size_t i)
{
    const struct pl_pair *p = &matrix->pairs[i];

    return strcmp(p->key, "name") == 0 ? pending_value(x, p->value, matrix)
                                       : pl_interp_resolve(x, p->value);
}

static struct pl_node *stage_value(struct interp *x,
                                   const struct pl_node *stage, size_t i)
{
    const struct pl_pair *p = &stage->pairs[i];

    if (strcmp(p->key, "matrix") == 0)
        return resolve_all(x, p->value, matrix_value);
    if (strcmp(p->key, "with") == 0 || strcmp(p->key, "expect") == 0)
        return pending_value(x, p->value, pl_node_get(stage, "matrix"));
    return pl_interp_resolve(x, p->value);
}

static struct pl_node *stages_value(struct interp *x,
                                    const struct pl_node *stages, size_t i)
{
    struct pl_node *stage = stages->pairs[i].value;
    const struct pl_node *matrix = pl_node_get(stage, "matrix");

    if (matrix && matrix->kind == PL_MAP)
        return resolve_all(x, stage, stage_value);
    return pl_interp_resolve(x, stage);
}

/* --- the whole file --- */

/* vars with every variable resolved: their errors are told even where nobody
 * uses them. */
static struct pl_node *resolve_vars(struct interp *x)
{
    struct pl_node *out = pl_node_map(x->arena, x->vars->n, x->vars->loc);
    size_t i;

    for (i = 0; out && i < x->vars->n; i++) {
        const struct pl_pair *p = &x->vars->pairs[i];
        struct pl_node *node = pl_interp_var(x, NULL, i);

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
    return strcmp(key, "extends") == 0 || strcmp(key, "imports") == 0 ||
           strncmp(key, "x-", 2) == 0;
}

/* The value at a key of the top. */
static struct pl_node *top_value(struct interp *x, const struct pl_node *root,
                                 size_t i)
{
    const struct pl_pair *p = &root->pairs[i];
    struct pl_node *out;

    if (p->value == x->vars)
        return resolve_vars(x);
    if (left_alone(p->key))
        return p->value;
    if (strcmp(p->key, "stages") == 0 && p->value->kind == PL_MAP)
        return resolve_all(x, p->value, stages_value);
    x->naming = strcmp(p->key, "name") == 0;
    out = pl_interp_resolve(x, p->value);
    x->naming = false;
    return out;
}

struct pl_node *pl_interp(struct pl_node *root, const struct pl_scope *scope,
                          struct arena *arena, struct pl_diag *d)
{
    struct interp x = {.arena = arena, .d = d, .scope = scope, .root = root};
    struct pl_node *vars = pl_node_get(root, "vars"), *out;

    x.vars_bad = vars && vars->kind != PL_MAP;
    x.vars = vars && !x.vars_bad ? vars : pl_node_map(arena, 0, root->loc);
    if (!x.vars)
        return no_memory(&x);
    x.var = arena_array(arena, x.vars->n, sizeof *x.var);
    if (!x.var)
        return no_memory(&x);
    out = resolve_all(&x, root, top_value);
    return out || d->nomem ? out : bad_node(&x, root->loc);
}

struct pl_node *pl_interp_cell(struct pl_node *node, const struct pl_node *cell,
                               struct arena *arena, struct pl_diag *d)
{
    static const struct pl_scope none = {0};
    struct interp x = {
        .arena = arena, .d = d, .scope = &none, .cell = cell, .vars = cell};

    return pl_interp_resolve(&x, node);
}
