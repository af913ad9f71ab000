/* `stages`: their table, their kinds, what each is told. */
#include <string.h>

#include "pipeline/config_load.h"
#include "pipeline/interp.h"
#include "pipeline/merge.h"
#include "pipeline/stage.h"

#define AT(m) offsetof(struct pl_draft, m)
static const struct pl_field stage_fields[] = {
    {.name = "uses",
     .type = PL_T_STRING,
     .offset = AT(uses),
     .flags = PL_F_REQUIRED,
     .help = "the stage kind",
     .example = "train"},
    {.name = "with",
     .type = PL_T_NODE,
     .offset = AT(with_node),
     .help = "what the kind is told; see 'pipeline help KIND'"},
    {.name = "needs",
     .type = PL_T_LIST,
     .offset = AT(needs),
     .flags = PL_F_ONE | PL_F_GROUP,
     .elem = PL_T_STAGE,
     .help = "stages that must be done before, besides those named in with",
     .example = "[train]"},
    {.name = "matrix",
     .type = PL_T_NODE,
     .offset = AT(matrix),
     .help = "lists of values for keys of with: a cell for each combination",
     .example = "{batch_size: [32, 128], optimizer.type: [sgd, adam]}"},
    {.name = "expect",
     .type = PL_T_NODE,
     .offset = AT(expect),
     .help = "what must hold at the end",
     .example = "[{metric: test.accuracy, gt: 0.97, points: 20}]"},
    {.name = "retries",
     .type = PL_T_INT,
     .offset = AT(retries),
     .def = "0",
     .max = 100,
     .help = "further tries if it fails"},
    {.name = "timeout",
     .type = PL_T_DURATION,
     .offset = AT(timeout),
     .def = "0",
     .max = 1e9,
     .help = "after which it is stopped; 0: never",
     .example = "15m"},
};
const struct pl_schema pl_stage_schema = {
    .name = "stage",
    .help = "one piece of work",
    PL_FIELDS(stage_fields),
    .size = sizeof(struct pl_draft),
};
#undef AT

/* --- names: what `needs` and `from` may say --- */

static const struct pl_stage_kind *kind_of(const struct pl_node *stage)
{
    const struct pl_node *uses = pl_node_get(stage, "uses");

    return uses && uses->kind == PL_SCALAR ? pl_stage_kind_find(uses->text)
                                           : NULL;
}

static void read_matrix(struct pl_loader *l, struct pl_draft *s,
                        const struct pl_pair *p)
{
    const struct pl_node *matrix = pl_node_get(p->value, "matrix");

    if (matrix && !pl_load_matrix(l, p->key, matrix, &s->cells)) {
        s->bad = true;
        l->names.stages_unknown = true;
    }
}

/* The names while they are collected. */
struct names {
    const char **id, **uses;
    size_t *cells;
    size_t n;
};

static void add_name(struct names *names, const char *id,
                     const struct pl_stage_kind *kind, size_t cells)
{
    names->id[names->n] = id;
    names->uses[names->n] = kind ? kind->name : NULL;
    names->cells[names->n++] = cells;
}

/* A stage, and its cells behind it. */
static bool add_draft_names(struct pl_loader *l, struct names *names,
                            const struct pl_draft *s, const struct pl_pair *p)
{
    const struct pl_stage_kind *kind = kind_of(p->value);
    size_t i;

    add_name(names, p->key, kind, s->cells.n);
    for (i = 0; i < s->cells.n; i++) {
        const char *id =
            arena_printf(l->arena, "%s@%s", p->key, s->cells.cell[i].name);

        if (!id)
            return false;
        add_name(names, id, kind, 0);
    }
    return true;
}

/* An imported stage: before the first cell of a matrix the matrix, and behind
 * it all the other cells. */
static void add_imported_names(struct names *names, const struct pl_config *c,
                               size_t first)
{
    const struct pl_stage *s = &c->stages[first];
    size_t group, i;

    if (!s->group) {
        add_name(names, s->id, s->kind, 0);
        return;
    }
    for (i = 0; i < first; i++)
        if (c->stages[i].group && strcmp(c->stages[i].group, s->group) == 0)
            return;
    group = names->n;
    add_name(names, s->group, s->kind, 0);
    for (i = first; i < c->n_stages; i++) {
        if (!c->stages[i].group || strcmp(c->stages[i].group, s->group) != 0)
            continue;
        add_name(names, c->stages[i].id, s->kind, 0);
        names->cells[group]++;
    }
}

/* Of all stages, those of imported files last. */
static bool make_names(struct pl_loader *l, const struct pl_node *map)
{
    size_t n = l->n_draft + l->n_cells + 2 * l->c->n_stages, i;
    struct names names = {.id = arena_array(l->arena, n, sizeof(char *)),
                          .uses = arena_array(l->arena, n, sizeof(char *)),
                          .cells = arena_array(l->arena, n, sizeof(size_t))};

    if (!names.id || !names.uses || !names.cells)
        return false;
    for (i = 0; map && i < l->n_draft; i++)
        if (!add_draft_names(l, &names, &l->draft[i], &map->pairs[i]))
            return false;
    for (i = 0; i < l->c->n_stages; i++)
        add_imported_names(&names, l->c, i);
    l->names.stages = names.id;
    l->names.n_stages = names.n;
    l->names.stage_uses = names.uses;
    l->names.stage_cells = names.cells;
    return true;
}

/* --- drafts --- */

static void find_kind(struct pl_loader *l, struct pl_draft *s)
{
    const struct pl_node *uses = pl_node_get(s->node, "uses");
    const char *names[32];
    size_t n = 0;

    if (!s->uses || !uses)
        return;
    s->kind = pl_stage_kind_find(s->uses);
    if (s->kind)
        return;
    while (pl_stage_kinds[n] && n < 32) {
        names[n] = pl_stage_kinds[n]->name;
        n++;
    }
    pl_diag_error(l->d, uses->loc, "there is no stage kind '%s'", s->uses);
    pl_diag_suggest(l->d, s->uses, names, n);
}

static void read_draft(struct pl_loader *l, struct pl_draft *out,
                       const struct pl_pair *p)
{
    const char *where = arena_printf(l->arena, "stages.%s", p->key);
    struct pl_draft s;

    if (!where) {
        l->d->nomem = true;
        return;
    }
    if (p->value->bad)
        return;
    (void)pl_schema_read(&pl_stage_schema, &s, p->value, where, &l->names,
                         l->arena, l->d);
    s.cells = out->cells;
    s.bad = out->bad;
    s.id = p->key;
    s.loc = p->key_loc;
    s.node = p->value;
    find_kind(l, &s);
    *out = s;
}

/* The merged `with` of a draft into s->with; false after an error. */
static bool merge_with(struct pl_loader *l, struct pl_draft *s)
{
    char words[80];

    if (s->with_node && s->with_node->kind != PL_MAP) {
        if (!s->with_node->bad)
            pl_diag_error(l->d, s->with_node->loc,
                          "stages.%s.with must be a map, not %s", s->id,
                          pl_node_words(s->with_node, words));
        return false;
    }
    s->with = pl_load_with(l, s);
    l->d->nomem = l->d->nomem || !s->with;
    return s->with != NULL;
}

/* --- stages --- */

/* Collects the stages whose folders stand in node: each is needed. Its own is
 * there when it is judged, and is emptied before it runs. */
static bool add_refs(struct pl_loader *l, struct pl_stage *s,
                     const struct pl_node *node, bool judged)
{
    const char **more;
    size_t i;

    for (i = 0; node->kind != PL_SCALAR && i < node->n; i++)
        if (!add_refs(l, s,
                      node->kind == PL_MAP ? node->pairs[i].value
                                           : node->items[i],
                      judged))
            return false;
    if (!node->stage)
        return true;
    if (strcmp(node->stage, s->id) == 0) {
        if (!judged)
            pl_diag_error(l->d, node->loc,
                          "stage '%s' would read from its own folder, which is "
                          "emptied before it runs",
                          s->id);
        return true;
    }
    for (i = 0; i < l->names.n_stages; i++)
        if (strcmp(l->names.stages[i], node->stage) == 0)
            break;
    if (i == l->names.n_stages && !l->names.stages_unknown) {
        pl_diag_error(l->d, node->loc, "there is no stage '%s'", node->stage);
        pl_diag_suggest(l->d, node->stage, l->names.stages, l->names.n_stages);
        return true;
    }
    more = arena_array(l->arena, s->n_needs + 1, sizeof *more);
    if (!more)
        return false;
    if (s->n_needs)
        memcpy(more, s->needs, s->n_needs * sizeof *more);
    more[s->n_needs] = node->stage;
    s->needs = more;
    s->n_needs++;
    return true;
}

/* Reads what one stage or cell is told. */
static void add_stage(struct pl_loader *l, const struct pl_draft *s,
                      struct pl_stage stage, const struct pl_node *with,
                      const struct pl_node *expect)
{
    struct pl_stage *out = &l->c->stages[l->c->n_stages];
    const char *where = arena_printf(l->arena, "stages.%s.with", s->id);

    stage.kind = s->kind;
    stage.node = with;
    stage.loc = s->loc;
    stage.local = stage.id;
    stage.home = l->c;
    stage.needs = s->needs.items;
    stage.n_needs = s->needs.n;
    stage.retries = s->retries;
    stage.timeout = s->timeout;
    stage.with = arena_alloc(l->arena, s->kind->with->size);
    if (!where || !stage.with) {
        l->d->nomem = true;
        return;
    }
    (void)pl_schema_read(s->kind->with, stage.with, with, where, &l->names,
                         l->arena, l->d);
    pl_load_expect(l, s->id, expect, &stage);
    if (!add_refs(l, &stage, with, false) ||
        (expect && !add_refs(l, &stage, expect, true)))
        l->d->nomem = true;
    *out = stage;
    l->c->n_stages++;
}

/* node with what a cell says at path ("optimizer.type") in it. */
static struct pl_node *set_path(struct pl_loader *l,
                                const struct pl_schema *schema,
                                struct pl_node *node, const char *path,
                                const struct pl_pair *cell)
{
    size_t len = strcspn(path, ".");
    const char *key = arena_strndup(l->arena, path, len);
    struct pl_node *value = cell->value, *inner;
    const struct pl_field *f;

    if (!key)
        return NULL;
    if (path[len] == '.') {
        f = schema ? pl_schema_field(schema, key) : NULL;
        schema = f ? f->sub : NULL;
        inner = pl_node_get(node, key);
        if (inner && schema && schema->short_key)
            inner = pl_long_form(l->arena, schema->short_key, inner);
        if (!inner || inner->kind != PL_MAP)
            inner = pl_node_map(l->arena, 0, cell->key_loc);
        if (!inner)
            return NULL;
        value = set_path(l, schema, inner, path + len + 1, cell);
        if (!value)
            return NULL;
    }
    return pl_node_set(l->arena, node, key, cell->key_loc, value);
}

static void add_cell(struct pl_loader *l, const struct pl_draft *s,
                     const struct pl_cell *cell)
{
    struct pl_stage stage = {.group = s->id, .cell = cell->values};
    struct pl_node *with = s->with, *expect = NULL;
    size_t i;

    stage.id = arena_printf(l->arena, "%s@%s", s->id, cell->name);
    stage.dir = arena_printf(l->arena, "%s/%s", s->id, cell->name);
    for (i = 0; with && i < cell->values->n; i++)
        with = set_path(l, s->kind->with, with, cell->values->pairs[i].key,
                        &cell->values->pairs[i]);
    if (!stage.id || !stage.dir || !with) {
        l->d->nomem = true;
        return;
    }
    with = pl_interp_cell(with, cell->values, l->arena, l->d);
    if (s->expect)
        expect = pl_interp_cell(pl_node_get(s->node, "expect"), cell->values,
                                l->arena, l->d);
    if (with)
        add_stage(l, s, stage, with, expect);
}

static void finish_stage(struct pl_loader *l, struct pl_draft *s)
{
    struct pl_stage alone = {.id = s->id, .dir = s->id};
    size_t weight, i;

    if (!s->kind || s->bad || !merge_with(l, s))
        return;
    if (s->cells.n == 0) {
        add_stage(l, s, alone, s->with, s->expect);
        return;
    }
    weight = s->with->weight + (s->expect ? s->expect->weight : 0);
    if (weight > PL_MAX_NODES / s->cells.n) {
        pl_diag_error(l->d, s->loc,
                      "the cells of '%s' together hold more than %d values",
                      s->id, PL_MAX_NODES);
        return;
    }
    for (i = 0; i < s->cells.n && !l->d->nomem; i++)
        add_cell(l, s, &s->cells.cell[i]);
}

void pl_load_stages(struct pl_loader *l)
{
    const struct pl_node *map = pl_node_get(l->c->root, "stages");
    size_t i;

    l->n_draft = map ? map->n : 0;
    l->draft = arena_array(l->arena, l->n_draft, sizeof *l->draft);
    for (i = 0; l->draft && i < l->n_draft; i++)
        read_matrix(l, &l->draft[i], &map->pairs[i]);
    /* every data set may bring a download with it */
    l->c->stages = arena_array(l->arena,
                               l->n_draft + l->n_cells + l->c->n_datasets +
                                   pl_imported_stages(l),
                               sizeof *l->c->stages);
    if (!l->draft || !l->c->stages) {
        l->d->nomem = true;
        return;
    }
    pl_take_imported(l);
    if (l->d->nomem || !make_names(l, map)) {
        l->d->nomem = true;
        return;
    }
    for (i = 0; map && i < l->n_draft; i++)
        read_draft(l, &l->draft[i], &map->pairs[i]);
    for (i = 0; i < l->n_draft && !l->d->nomem; i++)
        finish_stage(l, &l->draft[i]);
}
