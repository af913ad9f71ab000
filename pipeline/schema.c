#include "pipeline/schema.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "pipeline/schema_value.h"

const struct pl_field *pl_schema_field(const struct pl_schema *schema,
                                       const char *name)
{
    size_t i;

    for (i = 0; i < schema->n_fields; i++)
        if (strcmp(schema->fields[i].name, name) == 0)
            return &schema->fields[i];
    return NULL;
}

size_t pl_schema_names(const struct pl_schema *schema, const char *type,
                       const char *names[PL_MAX_FIELDS])
{
    size_t i, n = 0;

    for (i = 0; i < schema->n_fields && n < PL_MAX_FIELDS; i++)
        if (!type || pl_field_applies(schema->fields[i].when, type))
            names[n++] = schema->fields[i].name;
    return n;
}

bool pl_field_applies(const char *words, const char *word)
{
    size_t len = strlen(word);

    if (!words)
        return true;
    while (*words) {
        size_t n = strcspn(words, " ");

        if (n == len && memcmp(words, word, n) == 0)
            return true;
        words += n + (words[n] == ' ');
    }
    return false;
}

bool pl_name_check(const char *name, const char *what, struct pl_loc loc,
                   struct pl_diag *d)
{
    static const char rest[] = "abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    size_t len = strlen(name);

    if (len >= 1 && len <= 64 && strspn(name, rest) == len &&
        isalpha((unsigned char)name[0]))
        return true;
    pl_diag_error(d, loc, "'%s' cannot be the name of a %s", name, what);
    pl_diag_help(d, "a name is a letter, then at most 63 letters, digits, _ "
                    "and -");
    return false;
}

size_t pl_type_size(enum pl_type type, const struct pl_schema *sub)
{
    switch (type) {
    case PL_T_BOOL:
        return sizeof(bool);
    case PL_T_INT:
    case PL_T_SIZE:
        return sizeof(int64_t);
    case PL_T_NUMBER:
    case PL_T_DURATION:
        return sizeof(double);
    case PL_T_ENUM:
        return sizeof(int);
    case PL_T_STRUCT:
        return sub->size;
    case PL_T_LIST:
    case PL_T_NAMED:
        return sizeof(struct pl_list);
    default:
        return sizeof(const char *); /* texts and nodes are pointers */
    }
}

static void *allocate(struct reader *r, size_t n, size_t size)
{
    void *p = arena_array(r->arena, n, size);

    if (!p)
        r->d->nomem = true;
    return p;
}

static const char *inner_where(struct reader *r, const char *where,
                               const char *name)
{
    const char *s = arena_printf(r->arena, "%s.%s", where, name);

    if (!s)
        r->d->nomem = true;
    return s ? s : name;
}

/* "models.mlp.layers.2" */
static const char *item_where(struct reader *r, const char *where,
                              const char *name, size_t i)
{
    const char *s = arena_printf(r->arena, "%s.%s.%zu", where, name, i);

    if (!s)
        r->d->nomem = true;
    return s ? s : name;
}

/* --- lists and maps of structs --- */

static void read_struct(struct reader *r, const struct pl_schema *schema,
                        void *out, const struct pl_node *node,
                        const char *where);

static void read_element(struct reader *r, const struct pl_field *f, void *at,
                         const struct pl_node *node, const char *where)
{
    if (node->bad)
        return;
    if (f->elem == PL_T_STRUCT)
        read_struct(r, f->sub, at, node, where);
    else
        pl_value_read(r, f, f->elem, at, node);
}

static void read_list(struct reader *r, const struct pl_field *f,
                      struct pl_list *out, const struct pl_node *node,
                      const char *where)
{
    size_t size = pl_type_size(f->elem, f->sub), i;
    bool bare = (f->flags & PL_F_ONE) && node->kind == PL_SCALAR;
    char words[80];

    if (node->kind != PL_SEQ && !bare) {
        pl_diag_error(r->d, node->loc, "%s must be a list, not %s", f->name,
                      pl_node_words(node, words));
        pl_diag_help(r->d, "write %s: [a, b]", f->name);
        return;
    }
    out->items = allocate(r, bare ? 1 : node->n, size);
    if (!out->items)
        return;
    out->n = bare ? 1 : node->n;
    for (i = 0; i < out->n; i++)
        read_element(r, f, (char *)out->items + i * size,
                     bare ? node : node->items[i],
                     item_where(r, where, f->name, i));
}

static size_t count_words(const char *const *words)
{
    size_t n = 0;

    while (words && words[n])
        n++;
    return n;
}

/* True if key may stand in a PL_T_NAMED. */
static bool check_key(struct reader *r, const struct pl_field *f,
                      const struct pl_pair *p, const char *where)
{
    size_t n = count_words(f->choices), i;

    if (!f->choices)
        return pl_name_check(p->key, f->sub->name, p->key_loc, r->d);
    for (i = 0; i < n; i++)
        if (strcmp(f->choices[i], p->key) == 0)
            return true;
    pl_diag_error(r->d, p->key_loc, "unknown key '%s' in %s", p->key, where);
    pl_diag_suggest(r->d, p->key, f->choices, n);
    return false;
}

static void read_named(struct reader *r, const struct pl_field *f,
                       struct pl_list *out, const struct pl_node *node,
                       const char *where)
{
    const char *inside = inner_where(r, where, f->name);
    char words[80];
    size_t i;

    if (node->kind != PL_MAP) {
        pl_diag_error(r->d, node->loc, "%s must be a map, not %s", inside,
                      pl_node_words(node, words));
        return;
    }
    out->items = allocate(r, node->n, f->sub->size);
    if (!out->items)
        return;
    for (i = 0; i < node->n; i++) {
        const struct pl_pair *p = &node->pairs[i];
        char *at = (char *)out->items + out->n * f->sub->size;

        if (!check_key(r, f, p, inside) || p->value->bad)
            continue;
        read_struct(r, f->sub, at, p->value, inner_where(r, inside, p->key));
        memcpy(at + f->sub->name_offset, &p->key, sizeof p->key);
        out->n++;
    }
}

/* --- fields --- */

/* A field with a node. */
static void read_given(struct reader *r, const struct pl_field *f, char *at,
                       const struct pl_node *node, const char *where)
{
    void *p = at;

    if (node->removed)
        pl_diag_error(r->d, node->loc, "%s has no '%s' to remove", where,
                      f->name);
    if (node->bad || node->removed)
        return;
    switch (f->type) {
    case PL_T_STRUCT:
        if (f->flags & PL_F_POINTER) {
            p = allocate(r, 1, f->sub->size);
            if (!p)
                return;
            memcpy(at, &p, sizeof p);
        }
        read_struct(r, f->sub, p, node, inner_where(r, where, f->name));
        break;
    case PL_T_LIST:
        read_list(r, f, p, node, where);
        break;
    case PL_T_NAMED:
        read_named(r, f, p, node, where);
        break;
    default:
        pl_value_read(r, f, f->type, at, node);
    }
}

/* A list's default: its words as a sequence. */
static struct pl_node *word_list(struct reader *r, const char *words)
{
    struct pl_loc none = {NULL, 0, 0, 0};
    struct pl_node *seq = pl_node_seq(r->arena, strlen(words), none);

    while (seq && *words) {
        size_t n = strcspn(words, " ");
        char *word = arena_strndup(r->arena, words, n);
        struct pl_node *item =
            word ? pl_node_scalar(r->arena, word, none) : NULL;

        if (!item)
            return NULL;
        pl_node_push(seq, item);
        words += n + (words[n] == ' ');
    }
    return seq;
}

/* A field that is not there. */
static void read_default(struct reader *r, const struct pl_field *f, char *at,
                         const char *where)
{
    struct pl_loc none = {NULL, 0, 0, 0};
    struct pl_node *node;

    if (f->type == PL_T_STRUCT && !f->def && !(f->flags & PL_F_POINTER)) {
        read_struct(r, f->sub, at, NULL, inner_where(r, where, f->name));
        return;
    }
    if (!f->def)
        return;
    node = f->type == PL_T_LIST ? word_list(r, f->def)
                                : pl_node_scalar(r->arena, f->def, none);
    if (node)
        read_given(r, f, at, node, where);
    else
        r->d->nomem = true;
}

/* What the fields of one struct are read from. */
struct source {
    const struct pl_schema *schema;
    const struct pl_node *node; /* NULL: defaults only */
    struct pl_loc loc;          /* where a missing key is reported */
    const char *where;
    const char *type; /* the word at `type`; NULL: none, or wrong */
    bool has_type;
    bool own; /* type is the name of an operator of the file */
};

static bool applies(const struct source *s, const struct pl_field *f)
{
    return !s->type || pl_field_applies(f->when, s->type) ||
           (s->own && (f->flags & PL_F_OWN));
}

static void does_not_apply(struct reader *r, const struct source *s,
                           const struct pl_field *f, const struct pl_pair *p)
{
    struct str list = {0};
    const char *c;

    for (c = f->when; *c; c++)
        str_add(&list, *c == ' ' ? ", " : (char[]){*c, '\0'});
    if (list.failed)
        r->d->nomem = true;
    else
        pl_diag_error(r->d, p->key_loc,
                      "%s does not apply to %s; it is used by %s", f->name,
                      s->type, list.text);
    str_free(&list);
    pl_diag_help(r->d, "remove it, or give '~%s.%s' on the command line",
                 s->where, f->name);
}

static void read_field(struct reader *r, const struct source *s,
                       const struct pl_field *f, char *out)
{
    struct pl_pair *p = pl_node_pair(s->node, f->name);
    bool due = (f->flags & PL_F_REQUIRED) && !(s->own && f->when);

    if (p && applies(s, f)) {
        read_given(r, f, out + f->offset, p->value, s->where);
        return;
    }
    if (p)
        does_not_apply(r, s, f, p);
    if (due && applies(s, f) && s->node &&
        !(f->when && s->has_type && !s->type)) {
        pl_diag_error(r->d, s->loc, "%s lacks '%s'", s->where, f->name);
        if (f->help)
            pl_diag_help(r->d, "%s: %s%s%s", f->name, f->help,
                         f->example ? "; for example " : "",
                         f->example ? f->example : "");
        return;
    }
    read_default(r, f, out + f->offset, s->where);
}

static void check_keys(struct reader *r, const struct source *s)
{
    const char *names[PL_MAX_FIELDS];
    size_t i, n = pl_schema_names(s->schema, s->type, names);

    for (i = 0; i < s->node->n; i++) {
        const struct pl_pair *p = &s->node->pairs[i];

        if (pl_schema_field(s->schema, p->key))
            continue;
        pl_diag_error(r->d, p->key_loc, "unknown key '%s' in %s", p->key,
                      s->where);
        pl_diag_suggest(r->d, p->key, names, n);
    }
}

static void read_fields(struct reader *r, struct source *s, char *out)
{
    const struct pl_field *type = pl_schema_field(s->schema, "type");
    size_t errors = r->d->errors, i;
    int choice;

    if (type && type->type == PL_T_ENUM) {
        s->has_type = true;
        read_field(r, s, type, out);
        if (r->d->errors == errors) {
            memcpy(&choice, out + type->offset, sizeof choice);
            s->type = type->choices[choice];
            s->own = !s->type;
            if (s->own)
                memcpy(&s->type, out + type->own, sizeof s->type);
        }
    } else {
        type = NULL;
    }
    if (s->node)
        check_keys(r, s);
    for (i = 0; i < s->schema->n_fields; i++)
        if (&s->schema->fields[i] != type)
            read_field(r, s, &s->schema->fields[i], out);
}

/* {short_key: node} for a bare node. */
static struct pl_node *long_form(struct reader *r, const char *short_key,
                                 const struct pl_node *node)
{
    struct pl_node *map = pl_node_map(r->arena, 1, node->loc);
    struct pl_node *copy = arena_alloc(r->arena, sizeof *copy);

    if (!map || !copy) {
        r->d->nomem = true;
        return NULL;
    }
    *copy = *node;
    pl_node_add(map, short_key, node->loc, copy);
    return map;
}

static void not_a_map(struct reader *r, const struct pl_schema *schema,
                      const struct pl_node *node, const char *where)
{
    char words[80];

    if (node->kind == PL_NULL) {
        pl_diag_error(r->d, node->loc, "%s is empty", where);
        pl_diag_help(r->d, "are the lines below indented too little? else "
                           "remove it");
        return;
    }
    pl_diag_error(r->d, node->loc, "%s must be a map, not %s", where,
                  pl_node_words(node, words));
    if (schema->short_key)
        pl_diag_help(r->d, "or one word: its %s", schema->short_key);
}

static void read_struct(struct reader *r, const struct pl_schema *schema,
                        void *out, const struct pl_node *node,
                        const char *where)
{
    struct source s = {.schema = schema, .node = node, .where = where};

    memset(out, 0, schema->size);
    if (schema->has_node)
        memcpy((char *)out + schema->node_offset, &node, sizeof node);
    if (node && node->kind == PL_SCALAR && schema->short_key)
        s.node = long_form(r, schema->short_key, node);
    else if (node && node->kind != PL_MAP) {
        not_a_map(r, schema, node, where);
        return;
    }
    if (node)
        s.loc = node->loc;
    read_fields(r, &s, out);
}

size_t pl_schema_read(const struct pl_schema *schema, void *out,
                      const struct pl_node *node, const char *where,
                      const struct pl_names *names, struct arena *arena,
                      struct pl_diag *d)
{
    struct reader r = {names, arena, d};
    size_t before = d->errors;

    read_struct(&r, schema, out, node, where);
    return d->errors - before + (d->nomem ? 1 : 0);
}
