/* `stages`: their table, their kinds, what each is told. */
#include <string.h>

#include "pipeline/config_load.h"
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
     .flags = PL_F_ONE,
     .elem = PL_T_STAGE,
     .help = "stages that must be done before, besides those named in with",
     .example = "[train]"},
    {.name = "matrix",
     .type = PL_T_NODE,
     .offset = AT(matrix),
     .help = "values that the stage is run with in turn"},
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
    struct pl_draft s = {0};

    if (!where) {
        l->d->nomem = true;
        return;
    }
    if (p->value->bad)
        return;
    (void)pl_schema_read(&pl_stage_schema, &s, p->value, where, &l->names,
                         l->arena, l->d);
    s.id = p->key;
    s.loc = p->key_loc;
    s.node = p->value;
    find_kind(l, &s);
    if (s.matrix)
        pl_diag_error(l->d, s.matrix->loc,
                      "matrix is not supported by this version");
    *out = s;
}

/* Reads `with` by the table of the kind. */
static void read_with(struct pl_loader *l, struct pl_draft *s,
                      struct pl_stage *out)
{
    const char *where = arena_printf(l->arena, "stages.%s.with", s->id);
    const struct pl_schema *with = s->kind->with;
    char words[80];

    if (s->with_node && s->with_node->kind != PL_MAP) {
        if (s->with_node->bad)
            return;
        pl_diag_error(l->d, s->with_node->loc,
                      "stages.%s.with must be a map, not %s", s->id,
                      pl_node_words(s->with_node, words));
        return;
    }
    s->with = pl_load_with(l, s);
    out->with = arena_alloc(l->arena, with->size);
    if (!where || !s->with || !out->with) {
        l->d->nomem = true;
        return;
    }
    (void)pl_schema_read(with, out->with, s->with, where, &l->names, l->arena,
                         l->d);
}

static void finish_stage(struct pl_loader *l, struct pl_draft *s)
{
    struct pl_stage *out = &l->c->stages[l->c->n_stages];

    if (!s->kind)
        return;
    *out = (struct pl_stage){.id = s->id,
                             .kind = s->kind,
                             .loc = s->loc,
                             .needs = s->needs.items,
                             .n_needs = s->needs.n,
                             .retries = s->retries,
                             .timeout = s->timeout};
    read_with(l, s, out);
    pl_load_expect(l, s->expect, out);
    if (out->with)
        l->c->n_stages++;
}

void pl_load_stages(struct pl_loader *l)
{
    const struct pl_node *map = pl_node_get(l->c->root, "stages");
    const char **uses;
    size_t i;

    l->n_draft = map ? map->n : 0;
    l->draft = arena_array(l->arena, l->n_draft, sizeof *l->draft);
    uses = arena_array(l->arena, l->n_draft, sizeof *uses);
    /* every data set may bring a download with it */
    l->c->stages = arena_array(l->arena, l->n_draft + l->c->n_datasets,
                               sizeof *l->c->stages);
    if (!l->draft || !uses || !l->c->stages) {
        l->d->nomem = true;
        return;
    }
    for (i = 0; i < l->n_draft; i++) {
        read_draft(l, &l->draft[i], &map->pairs[i]);
        uses[i] = l->draft[i].kind ? l->draft[i].kind->name : NULL;
    }
    l->names.stage_uses = uses;
    for (i = 0; i < l->n_draft; i++)
        finish_stage(l, &l->draft[i]);
}
