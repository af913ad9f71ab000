#include "pipeline/override.h"

#include <stdlib.h>
#include <string.h>

#include "pipeline/config_load.h"
#include "pipeline/merge.h"
#include "pipeline/yaml.h"

/* One part of a path, and where it stands on the command line. */
struct part {
    const char *name;
    struct pl_loc loc;
};

struct override {
    struct arena *arena;
    struct pl_diag *d;
    struct part part[PL_MAX_DEPTH];
    size_t n;
    struct pl_node *value; /* NULL: remove */
    bool bad;
};

static void out_of_memory(struct override *o)
{
    o->d->nomem = true;
    o->bad = true;
}

static int characters(const char *text, size_t len)
{
    int n = 0;
    size_t i;

    for (i = 0; i < len; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

static void add_part(struct override *o, const char *text, size_t len,
                     struct pl_loc loc)
{
    char *name = arena_strndup(o->arena, text, len);

    if (!name) {
        out_of_memory(o);
        return;
    }
    if (o->n == PL_MAX_DEPTH || len == 0) {
        pl_diag_error(o->d, loc,
                      len ? "the path is too long"
                          : "a part of the path is empty");
        o->bad = true;
        return;
    }
    o->part[o->n++] = (struct part){name, loc};
}

/* Cuts text[from .. to) at its dots. */
static void take_path(struct override *o, const struct pl_file *f, size_t from,
                      size_t to)
{
    const char *text = f->text;

    if (!memchr(text + from, '.', to - from)) { /* lr means vars.lr */
        struct pl_loc loc = {f, 1, characters(text, from) + 1,
                             characters(text + from, to - from)};

        add_part(o, "vars", 4, loc);
    }
    while (!o->bad) {
        const char *dot = memchr(text + from, '.', to - from);
        size_t end = dot ? (size_t)(dot - text) : to;
        struct pl_loc loc = {f, 1, characters(text, from) + 1,
                             characters(text + from, end - from)};

        add_part(o, text + from, end - from, loc);
        if (!dot)
            break;
        from = end + 1;
    }
}

static void take_value(struct override *o, const struct pl_file *f, size_t from)
{
    struct pl_loc loc = {f, 1, characters(f->text, from) + 1,
                         characters(f->text + from, f->len - from)};

    if (from < f->len && strchr("[{\"'", f->text[from])) {
        o->value = pl_yaml_parse(f, from, o->arena, o->d);
        o->bad = !o->value;
        return;
    }
    if (from == f->len) {
        loc.len = 1;
        pl_diag_error(o->d, loc, "nothing stands behind '='");
        pl_diag_help(o->d, "an empty text is '\"\"'; '~path' removes a key");
        o->bad = true;
        return;
    }
    o->value = pl_node_scalar(o->arena, f->text + from, loc);
    if (!o->value)
        out_of_memory(o);
    else if (strcmp(o->value->text, "null") == 0 ||
             strcmp(o->value->text, "~") == 0)
        o->value->kind = PL_NULL;
}

/* "stages.train.with": the parts up to and including i. */
static const char *path_text(struct override *o, size_t i)
{
    const char *s = o->part[0].name;
    size_t k;

    for (k = 1; k <= i && s; k++)
        s = arena_printf(o->arena, "%s.%s", s, o->part[k].name);
    if (!s)
        out_of_memory(o);
    return s ? s : "";
}

static void suggest_keys(struct override *o, const char *word,
                         const struct pl_node *map)
{
    const char **names = arena_array(o->arena, map->n, sizeof *names);
    size_t i;

    if (!names) {
        out_of_memory(o);
        return;
    }
    for (i = 0; i < map->n; i++)
        names[i] = map->pairs[i].key;
    pl_diag_suggest(o->d, word, names, map->n);
}

/* The error for a part that names nothing. */
static void unknown_part(struct override *o, size_t i,
                         const struct pl_node *map)
{
    const char *names[PL_MAX_FIELDS];
    const struct part *p = &o->part[i];

    if (i == 0) {
        pl_diag_error(o->d, p->loc, "there is no key '%s' at the top", p->name);
        pl_diag_suggest(o->d, p->name, names,
                        pl_schema_names(&pl_top_schema, NULL, names));
    } else {
        pl_diag_error(o->d, p->loc, "%s has no '%s'", path_text(o, i - 1),
                      p->name);
        suggest_keys(o, p->name, map);
    }
    o->bad = true;
}

static bool is_top_key(const char *name)
{
    return pl_schema_field(&pl_top_schema, name) || strncmp(name, "x-", 2) == 0;
}

/* True if part i is below the `with` of a stage, which `defaults` add to. */
static bool may_be_inherited(const struct override *o, size_t i)
{
    return i >= 2 && strcmp(o->part[0].name, "stages") == 0 &&
           strcmp(o->part[2].name, "with") == 0 && o->n > 3;
}

/* What removes the last part where it is not, but may be inherited. */
static struct pl_node *removal(struct override *o)
{
    struct pl_node *n = pl_node_scalar(o->arena, "", o->part[o->n - 1].loc);

    if (!n) {
        out_of_memory(o);
        return NULL;
    }
    n->kind = PL_NULL;
    n->removed = true;
    return n;
}

/* True if part i must be there already: what is named, not what is set. Keys
 * of `with` and the like may be new; the tables check them. */
static bool must_exist(const struct override *o, size_t i)
{
    static const char *const named[] = {"datasets", "operators", "models",
                                        "stages"};
    size_t k;

    if (!o->value)
        return !may_be_inherited(o, i);
    if (i == 0)
        return !is_top_key(o->part[0].name);
    if (strcmp(o->part[0].name, "vars") == 0)
        return true;
    for (k = 0; k < sizeof named / sizeof *named; k++)
        if (strcmp(o->part[0].name, named[k]) == 0)
            return i == 1;
    return false;
}

static struct pl_node *set_part(struct override *o, struct pl_node *node,
                                size_t i);

/* Item number part i of a list. */
static struct pl_node *set_item(struct override *o, const struct pl_node *seq,
                                size_t i)
{
    const struct part *p = &o->part[i];
    struct pl_node *out = NULL;
    char *end;
    unsigned long at = strtoul(p->name, &end, 10);
    size_t k;

    if (*end || !strchr("0123456789", p->name[0]) || at >= seq->n) {
        pl_diag_error(o->d, p->loc,
                      "%s is a list of %zu: '%s' is none of its indices",
                      path_text(o, i - 1), seq->n, p->name);
        o->bad = true;
        return NULL;
    }
    out = pl_node_seq(o->arena, seq->n, seq->loc);
    for (k = 0; out && k < seq->n; k++) {
        struct pl_node *item = seq->items[k];

        if (k == at)
            item = i + 1 == o->n ? o->value : set_part(o, item, i + 1);
        if (item)
            pl_node_push(out, item);
        else if (o->bad)
            return NULL;
    }
    if (!out || !pl_node_finish(out, o->arena)) {
        out_of_memory(o);
        return NULL;
    }
    return out;
}

static struct pl_node *set_key(struct override *o, struct pl_node *map,
                               size_t i)
{
    const struct part *p = &o->part[i];
    struct pl_pair *old = pl_node_pair(map, p->name);
    struct pl_node *value = o->value, *out;

    if (!old && must_exist(o, i)) {
        unknown_part(o, i, map);
        return NULL;
    }
    if (i + 1 == o->n && !value && !old) {
        value = removal(o);
        if (!value)
            return NULL;
    }
    if (i + 1 < o->n) {
        struct pl_node *inner =
            old ? old->value : pl_node_map(o->arena, 0, p->loc);

        value = inner ? set_part(o, inner, i + 1) : NULL;
        if (!value) {
            if (!o->bad)
                out_of_memory(o);
            return NULL;
        }
    }
    out = pl_node_set(o->arena, map, p->name,
                      i + 1 < o->n && old ? old->key_loc : p->loc, value);
    if (!out)
        out_of_memory(o);
    return out;
}

/* True if a scalar may stand for {type: scalar} where part i names a key of
 * it: an optimizer, a schedule, a layer. */
static bool may_be_short(const struct override *o, size_t i)
{
    const char *top = o->part[0].name;

    return o->value && ((strcmp(top, "stages") == 0 && i >= 4) ||
                        (strcmp(top, "models") == 0 && i >= 4) ||
                        (strcmp(top, "defaults") == 0 && i >= 2));
}

/* node with what part i and those behind it name set or removed. */
static struct pl_node *set_part(struct override *o, struct pl_node *node,
                                size_t i)
{
    char words[80];

    if (node->kind == PL_SEQ)
        return set_item(o, node, i);
    if (node->kind == PL_SCALAR && may_be_short(o, i)) /* optimizer: adam */
        node = pl_long_form(o->arena, "type", node);
    if (!node) {
        out_of_memory(o);
        return NULL;
    }
    if (node->kind != PL_MAP) {
        pl_diag_error(o->d, o->part[i].loc, "%s is %s, not a map",
                      path_text(o, i - 1), pl_node_words(node, words));
        o->bad = true;
        return NULL;
    }
    return set_key(o, node, i);
}

static void take_apart(struct override *o, const struct pl_file *f)
{
    const char *equals = strchr(f->text, '=');
    struct pl_loc all = {f, 1, 1, characters(f->text, f->len)};

    if (!pl_yaml_check_text(f, o->d)) {
        o->bad = true;
    } else if (f->text[0] == '~' && !equals) {
        take_path(o, f, 1, f->len);
    } else if (equals) {
        size_t at = (size_t)(equals - f->text);

        take_path(o, f, 0, at);
        if (!o->bad)
            take_value(o, f, at + 1);
    } else {
        pl_diag_error(o->d, all, "this is no override");
        pl_diag_help(o->d, "write path=value, or ~path to remove a key");
        o->bad = true;
    }
}

struct pl_node *pl_override(struct pl_node *root, const char *text,
                            struct arena *arena, struct pl_diag *d)
{
    struct override o = {.arena = arena, .d = d};
    struct pl_file *f = arena_alloc(arena, sizeof *f);
    struct pl_node *out;

    if (f)
        f->text = arena_strdup(arena, text);
    if (!f || !f->text) {
        d->nomem = true;
        return root;
    }
    f->path = "command line";
    f->len = strlen(text);
    take_apart(&o, f);
    if (o.bad)
        return root;
    out = set_part(&o, root, 0);
    return out ? out : root;
}
