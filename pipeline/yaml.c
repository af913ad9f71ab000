#include "pipeline/yaml.h"

#include <stdint.h>
#include <string.h>
#include <yaml.h>

#include "nn/base/mem.h"
#include "pipeline/utf8.h"
#include "pipeline/yaml_map.h"

enum { MAX_ANCHORS = 256 };

/* A collection whose end has not come yet. */
struct frame {
    enum pl_node_kind kind;
    struct pl_node *node; /* what aliases find; filled at the end */
    size_t first;         /* of its children in yaml.child */
    const char *key;      /* of a map: read, its value is due; or NULL */
    struct pl_loc key_loc;
};

struct anchor {
    const char *name;
    struct pl_node *node;
};

struct yaml {
    yaml_parser_t parser;
    const struct pl_file *file;
    struct arena *arena;
    struct pl_diag *d;
    struct pl_pair *child; /* children of all open collections */
    size_t n_child, cap_child;
    struct frame frame[PL_MAX_DEPTH];
    int depth;
    struct anchor anchor[MAX_ANCHORS];
    int n_anchor;
    size_t expanded; /* nodes so far, aliases counted in full */
    int before;      /* characters on line 1 before the parsed text */
    int documents;
    struct pl_node *root;
    bool stop; /* no sense in going on */
};

static struct pl_loc loc_at(const struct yaml *y, const yaml_mark_t *start,
                            const yaml_mark_t *end)
{
    struct pl_loc loc = {y->file, (int)start->line + 1, (int)start->column + 1,
                         1};

    if (end->line == start->line && end->column > start->column)
        loc.len = (int)(end->column - start->column);
    if (start->line == 0)
        loc.col += y->before;
    return loc;
}

static void out_of_memory(struct yaml *y)
{
    y->d->nomem = true;
    y->stop = true;
}

/* --- anchors and aliases --- */

static void set_anchor(struct yaml *y, const yaml_char_t *name,
                       struct pl_node *node)
{
    int i;

    if (!name)
        return;
    for (i = 0; i < y->n_anchor; i++)
        if (strcmp(y->anchor[i].name, (const char *)name) == 0)
            break;
    if (i == MAX_ANCHORS) {
        pl_diag_error(y->d, node->loc, "a file may have %d anchors, not more",
                      MAX_ANCHORS);
        y->stop = true;
        return;
    }
    if (i == y->n_anchor) {
        y->anchor[i].name = arena_strdup(y->arena, (const char *)name);
        if (!y->anchor[i].name) {
            out_of_memory(y);
            return;
        }
        y->n_anchor++;
    }
    y->anchor[i].node = node;
}

static void undefined_alias(struct yaml *y, const char *name, struct pl_loc loc)
{
    const char *names[MAX_ANCHORS];
    int i;

    for (i = 0; i < y->n_anchor; i++)
        names[i] = y->anchor[i].name;
    pl_diag_error(y->d, loc, "alias '*%s' has no anchor '&%s' above it", name,
                  name);
    if (y->n_anchor)
        pl_diag_suggest(y->d, name, names, (size_t)y->n_anchor);
    else
        pl_diag_help(y->d, "to mean the text, put it in quotes");
}

/* The node that an alias stands for; NULL after an error. */
static struct pl_node *find_alias(struct yaml *y, const char *name,
                                  struct pl_loc loc)
{
    struct pl_node *node = NULL;
    int i;

    for (i = 0; i < y->n_anchor; i++)
        if (strcmp(y->anchor[i].name, name) == 0)
            node = y->anchor[i].node;
    if (!node) {
        undefined_alias(y, name, loc);
        return NULL;
    }
    for (i = 0; i < y->depth; i++) {
        if (y->frame[i].node == node) {
            pl_diag_error(y->d, loc,
                          "alias '*%s' stands inside of what it "
                          "names: that has no end",
                          name);
            return NULL;
        }
    }
    return node;
}

/* --- the tree --- */

static bool push_child(struct yaml *y, const char *key, struct pl_loc key_loc,
                       struct pl_node *value)
{
    if (y->n_child == y->cap_child) {
        size_t cap = y->cap_child ? y->cap_child * 2 : 64;
        struct pl_pair *p = mem_grow(y->child, cap, sizeof *p);

        if (!p) {
            out_of_memory(y);
            return false;
        }
        y->child = p;
        y->cap_child = cap;
    }
    y->child[y->n_child++] = (struct pl_pair){key, key_loc, value};
    return true;
}

/* Counts nodes against the limits; loc is where the last of them stands. */
static bool count_nodes(struct yaml *y, const struct pl_node *node,
                        struct pl_loc loc)
{
    y->expanded += node->weight < PL_MAX_NODES ? node->weight : PL_MAX_NODES;
    if (y->expanded > PL_MAX_NODES) {
        pl_diag_error(y->d, loc,
                      "the file holds more than %d values, aliases counted in "
                      "full",
                      PL_MAX_NODES);
        y->stop = true;
    } else if (y->depth + node->depth > PL_MAX_DEPTH) {
        pl_diag_error(y->d, loc, "nested deeper than %d levels", PL_MAX_DEPTH);
        y->stop = true;
    }
    return !y->stop;
}

static void take_key(struct yaml *y, struct frame *f,
                     const struct pl_node *node)
{
    f->key_loc = node->loc;
    if (node->kind == PL_NULL && node->len == 0) {
        pl_diag_error(y->d, node->loc, "a key is missing before ':'");
        f->key = "";
    } else if (!node->quoted && strcmp(node->text, "<<") == 0) {
        f->key = pl_yaml_merge_key;
    } else {
        f->key = node->text;
    }
}

/* Puts a node where the open collection wants one. */
static void place(struct yaml *y, struct pl_node *node)
{
    struct frame *f;

    if (y->depth == 0) {
        y->root = node;
        return;
    }
    f = &y->frame[y->depth - 1];
    if (f->kind == PL_SEQ) {
        (void)push_child(y, "", node->loc, node);
        return;
    }
    if (!f->key) {
        take_key(y, f, node);
        return;
    }
    if (node->kind == PL_NULL && node->len == 0)
        node->loc = f->key_loc; /* nothing is there: show the key */
    (void)push_child(y, f->key, f->key_loc, node);
    f->key = NULL;
}

/* True where the next node is a key, which must be a word. */
static bool key_is_due(const struct yaml *y)
{
    return y->depth > 0 && y->frame[y->depth - 1].kind == PL_MAP &&
           !y->frame[y->depth - 1].key;
}

static void refuse_tag(struct yaml *y, const yaml_char_t *tag,
                       struct pl_loc loc)
{
    static const char core[] = "tag:yaml.org,2002:";
    const char *name = (const char *)tag;
    bool short_form = name && strncmp(name, core, sizeof core - 1) == 0;

    if (!name)
        return;
    if (short_form)
        name += sizeof core - 1;
    loc.len = 1;
    pl_diag_error(y->d, loc, "tags are not used here: '%s%s'",
                  short_form ? "!!" : "", name);
    pl_diag_help(y->d, "leave it out; to mean the text, put it in quotes");
}

static bool says_null(const char *text)
{
    static const char *const words[] = {"", "~", "null", "Null", "NULL"};
    size_t i;

    for (i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(text, words[i]) == 0)
            return true;
    return false;
}

static void on_scalar(struct yaml *y, const yaml_event_t *e)
{
    const char *text = (const char *)e->data.scalar.value;
    size_t len = e->data.scalar.length;
    struct pl_loc loc = loc_at(y, &e->start_mark, &e->end_mark);
    char *copy = arena_strndup(y->arena, text, len);
    struct pl_node *n = copy ? pl_node_scalar(y->arena, copy, loc) : NULL;

    if (!n) {
        out_of_memory(y);
        return;
    }
    if (n->len != len)
        pl_diag_error(y->d, loc, "a text must not hold the character NUL");
    n->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    if (!n->quoted && says_null(text))
        n->kind = PL_NULL;
    refuse_tag(y, e->data.scalar.tag, loc);
    set_anchor(y, e->data.scalar.anchor, n);
    if (key_is_due(y) || count_nodes(y, n, loc))
        place(y, n);
}

static void on_alias(struct yaml *y, const yaml_event_t *e)
{
    struct pl_loc loc = loc_at(y, &e->start_mark, &e->end_mark);
    struct pl_node *n;

    if (key_is_due(y)) {
        pl_diag_error(y->d, loc, "a key must be a word, not an alias");
        y->stop = true;
        return;
    }
    n = find_alias(y, (const char *)e->data.alias.anchor, loc);
    if (!n) { /* something must stand there */
        n = pl_node_scalar(y->arena, "", loc);
        if (!n) {
            out_of_memory(y);
            return;
        }
    }
    if (count_nodes(y, n, loc))
        place(y, n);
}

static void open_collection(struct yaml *y, enum pl_node_kind kind,
                            const yaml_event_t *e, const yaml_char_t *tag,
                            const yaml_char_t *anchor)
{
    struct pl_loc loc = loc_at(y, &e->start_mark, &e->end_mark);
    struct pl_node *n;

    if (key_is_due(y)) {
        pl_diag_error(y->d, loc, "a key must be a word, not %s",
                      kind == PL_MAP ? "a map" : "a list");
        pl_diag_help(y->d, "a text that begins with '[' or '{' needs quotes");
        y->stop = true;
        return;
    }
    n = arena_alloc(y->arena, sizeof *n);
    if (!n) {
        out_of_memory(y);
        return;
    }
    *n = (struct pl_node){.kind = kind, .loc = loc, .weight = 1, .depth = 1};
    refuse_tag(y, tag, loc);
    set_anchor(y, anchor, n);
    if (!count_nodes(y, n, loc))
        return;
    y->frame[y->depth++] =
        (struct frame){kind, n, y->n_child, NULL, {NULL, 0, 0, 0}};
}

/* The children of the collection that ends become its pairs or items. */
static bool take_children(struct yaml *y, const struct frame *f)
{
    size_t n = y->n_child - f->first, i;
    struct pl_node *node = f->node, *room;

    room = f->kind == PL_MAP ? pl_node_map(y->arena, n, node->loc)
                             : pl_node_seq(y->arena, n, node->loc);
    if (!room)
        return false;
    *node = *room;
    for (i = f->first; i < y->n_child; i++) {
        const struct pl_pair *c = &y->child[i];

        if (f->kind == PL_MAP)
            pl_node_add(node, c->key, c->key_loc, c->value);
        else
            pl_node_push(node, c->value);
    }
    y->n_child = f->first;
    return true;
}

static void close_collection(struct yaml *y, const yaml_event_t *e)
{
    struct frame *f = &y->frame[y->depth - 1];
    struct pl_loc end = loc_at(y, &e->end_mark, &e->end_mark);

    if (end.line == f->node->loc.line && end.col > f->node->loc.col)
        f->node->loc.len = end.col - f->node->loc.col;
    if (!take_children(y, f) ||
        !(f->kind == PL_MAP ? pl_yaml_finish_map(f->node, y->arena, y->d)
                            : pl_node_finish(f->node, y->arena))) {
        out_of_memory(y);
        return;
    }
    y->depth--;
    place(y, f->node);
}

static void on_document(struct yaml *y, const yaml_event_t *e)
{
    struct pl_loc loc = loc_at(y, &e->start_mark, &e->end_mark);

    if (y->documents++ == 0)
        return;
    pl_diag_error(y->d, loc, "a second document begins here; a file holds one");
    y->stop = true;
}

static void on_event(struct yaml *y, const yaml_event_t *e)
{
    switch (e->type) {
    case YAML_DOCUMENT_START_EVENT:
        on_document(y, e);
        break;
    case YAML_SCALAR_EVENT:
        on_scalar(y, e);
        break;
    case YAML_ALIAS_EVENT:
        on_alias(y, e);
        break;
    case YAML_SEQUENCE_START_EVENT:
        open_collection(y, PL_SEQ, e, e->data.sequence_start.tag,
                        e->data.sequence_start.anchor);
        break;
    case YAML_MAPPING_START_EVENT:
        open_collection(y, PL_MAP, e, e->data.mapping_start.tag,
                        e->data.mapping_start.anchor);
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        close_collection(y, e);
        break;
    default: /* the stream's begin and end, a document's end */
        break;
    }
}

/* --- syntax errors --- */

/* The character that a place begins with. */
static const char *text_at(struct pl_loc loc)
{
    const char *p = pl_file_line(loc.file, loc.line);
    int col;

    for (col = 1; col < loc.col && *p; col++)
        do
            p++;
        while (((unsigned char)*p & 0xc0) == 0x80);
    return p;
}

static void syntax_error(struct yaml *y)
{
    const yaml_parser_t *p = &y->parser;
    const yaml_mark_t *mark = &p->problem_mark;
    struct pl_loc loc = loc_at(y, mark, mark);
    struct pl_yaml_advice advice;
    bool at_end;

    if (p->error == YAML_MEMORY_ERROR) {
        out_of_memory(y);
        return;
    }
    advice = pl_yaml_advise(p->problem ? p->problem : "this is not YAML",
                            text_at(loc), pl_file_line(y->file, loc.line));
    at_end = *text_at(loc) == '\0';
    if ((advice.at_begin || at_end) && p->context) {
        pl_diag_error(y->d, loc_at(y, &p->context_mark, &p->context_mark), "%s",
                      advice.at_begin
                          ? advice.msg
                          : "this is not closed before the file ends");
        return;
    }
    pl_diag_error(y->d, loc, "%s", advice.msg);
    if (advice.help)
        pl_diag_help(y->d, "%s", advice.help);
    if (p->context && p->context_mark.line != mark->line)
        pl_diag_help(y->d, "found %s that begins in line %zu", p->context,
                     p->context_mark.line + 1);
}

static void run_parser(struct yaml *y)
{
    yaml_event_t e;
    bool more = true;

    while (more && !y->stop) {
        if (!yaml_parser_parse(&y->parser, &e)) {
            syntax_error(y);
            return;
        }
        more = e.type != YAML_STREAM_END_EVENT;
        on_event(y, &e);
        yaml_event_delete(&e);
    }
}

static void check_found(struct yaml *y)
{
    struct pl_loc loc = {y->file, 1, 1 + y->before, 1};

    if (!y->root || (y->root->kind == PL_NULL && y->root->len == 0))
        pl_diag_error(y->d, loc,
                      y->before ? "nothing stands behind '='"
                                : "the file is empty");
}

struct pl_node *pl_yaml_parse(const struct pl_file *file, size_t from,
                              struct arena *arena, struct pl_diag *d)
{
    size_t errors = d->errors, i;
    struct pl_node *root = NULL;
    struct yaml *y;

    if (!pl_yaml_check_text(file, d))
        return NULL;
    y = mem_zalloc(sizeof *y);
    if (!y || !yaml_parser_initialize(&y->parser)) {
        mem_free(y);
        d->nomem = true;
        return NULL;
    }
    y->file = file;
    y->arena = arena;
    y->d = d;
    for (i = 0; i < from; i++)
        y->before += ((unsigned char)file->text[i] & 0xc0) != 0x80;
    yaml_parser_set_encoding(&y->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(
        &y->parser, (const unsigned char *)file->text + from, file->len - from);
    run_parser(y);
    if (d->errors == errors && !d->nomem)
        check_found(y);
    if (d->errors == errors && !d->nomem)
        root = y->root;
    yaml_parser_delete(&y->parser);
    mem_free(y->child);
    mem_free(y);
    return root;
}
