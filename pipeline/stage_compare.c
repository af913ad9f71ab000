#include <string.h>

#include "pipeline/compare.h"
#include "pipeline/profile.h"

/* What a show takes, and who does it. In the order of enum pl_compare_show. */
static const struct show {
    const char *name;
    const struct pl_stage_kind *kind;
    const char *takes; /* a kind, in words */
    int (*run)(struct pl_stage_ctx *ctx, const struct pl_compare_cells *cells,
               struct err *err);
} shows[] = {
    {"times", &pl_kind_profile, "profile", pl_compare_times},
    {"kernels", &pl_kind_profile, "profile", pl_compare_kernels},
    {"memory", &pl_kind_profile, "profile", pl_compare_memory},
    {"curves", &pl_kind_train, "train", pl_compare_curves},
};

/* ---- settings and files ---- */

/* The value at the path key of node, which schema was filled from. */
static const char *setting(const struct pl_schema *schema,
                           const struct pl_node *node, const char *key)
{
    size_t len = strcspn(key, "."), i;
    const struct pl_field *f = NULL;
    const struct pl_node *value;

    for (i = 0; !f && schema && i < schema->n_fields; i++)
        if (strlen(schema->fields[i].name) == len &&
            strncmp(schema->fields[i].name, key, len) == 0)
            f = &schema->fields[i];
    if (!f)
        return NULL;
    value = node && node->kind == PL_MAP ? pl_node_get(node, f->name) : NULL;
    if (node && node->kind == PL_SCALAR && schema->short_key &&
        strcmp(schema->short_key, f->name) == 0)
        value = node;
    if (key[len] == '.')
        return setting(f->sub, value, key + len + 1);
    if (value && value->kind == PL_MAP && f->sub && f->sub->short_key)
        value = pl_node_get(value, f->sub->short_key);
    return value && value->kind == PL_SCALAR ? value->text : f->def;
}

const char *pl_compare_setting(const struct pl_stage *s, const char *key)
{
    return setting(s->kind->with, s->node, key);
}

const char *pl_compare_path(const struct pl_compare_cells *cells, size_t i,
                            const char *file)
{
    return arena_printf(cells->arena, "%s/%s", cells->cell[i].dir, file);
}

/* ---- cells ---- */

static bool is_named(const struct pl_stage *s, const char *name)
{
    return !s->implied && pl_stage_is(s, name);
}

/* Calls fn for every stage that `from` names, as it names them. */
static void
each_stage(const struct pl_config *c, const struct pl_compare_with *w,
           void (*fn)(void *user, const struct pl_stage *s, size_t from),
           void *user)
{
    const char *const *name = w->from.items;
    size_t i, k;

    for (i = 0; i < w->from.n; i++)
        for (k = 0; k < c->n_stages; k++)
            if (is_named(&c->stages[k], name[i]))
                fn(user, &c->stages[k], i);
}

struct gather {
    struct pl_stage_ctx *ctx;
    struct arena *arena;
    struct pl_compare_cell *cell;
    size_t n;
    struct err *err;
    int rc;
};

static void on_cell(void *user, const struct pl_stage *s, size_t from)
{
    struct gather *g = user;
    struct pl_compare_cell *out = &g->cell[g->n++];

    (void)from;
    *out = (struct pl_compare_cell){.stage = s, .id = s->id};
    out->dir = pl_stage_file(g->ctx, s->id, NULL, g->err);
    if (!out->dir)
        g->rc = ERR_NOMEM;
}

/* "batch_size=32, execution=eager" of "step@batch_size=32,execution=eager". */
static const char *cell_label(struct arena *arena, const struct pl_stage *s)
{
    const char *p = s->id + strlen(s->group) + 1;
    struct str text = {0};
    char *label;

    for (; *p; p++) {
        str_addc(&text, *p);
        str_add(&text, *p == ',' ? " " : "");
    }
    label = text.failed ? NULL : arena_strdup(arena, text.text);
    str_free(&text);
    return label;
}

static int name_cells(struct gather *g)
{
    const char *group = g->cell[0].stage->group;
    size_t i;

    for (i = 1; group && i < g->n; i++)
        if (!g->cell[i].stage->group ||
            strcmp(g->cell[i].stage->group, group) != 0)
            group = NULL;
    for (i = 0; i < g->n; i++) {
        struct pl_compare_cell *cell = &g->cell[i];

        cell->label = group ? cell_label(g->arena, cell->stage) : cell->id;
        if (!cell->label)
            return ERR_NOMEM;
    }
    return 0;
}

static int compare(struct pl_stage_ctx *ctx, struct err *err)
{
    const struct pl_compare_with *w = ctx->stage->with;
    struct arena arena = {0};
    struct gather g = {.ctx = ctx, .arena = &arena, .err = err};
    struct pl_compare_cells cells = {.arena = &arena};

    g.cell = arena_array(&arena, ctx->config->n_stages * w->from.n + 1,
                         sizeof *g.cell);
    if (!g.cell)
        g.rc = ERR_NOMEM;
    else
        each_stage(ctx->config, w, on_cell, &g);
    if (g.rc == 0)
        g.rc = name_cells(&g);
    if (g.rc == ERR_NOMEM)
        (void)err_set(err, ERR_NOMEM, "out of memory comparing stages");
    cells.cell = g.cell;
    cells.n = g.n;
    if (g.rc == 0)
        g.rc = shows[w->show].run(ctx, &cells, err);
    arena_free(&arena);
    return g.rc;
}

/* ---- check ---- */

struct check {
    const struct pl_config *config;
    const struct pl_stage *stage;
    struct pl_diag *d;
    const struct pl_stage *last; /* the cell that was looked at */
    size_t n;
    bool bad;
};

/* Where item i of `from` stands. */
static struct pl_loc from_loc(const struct check *k, size_t i)
{
    const struct pl_compare_with *w = k->stage->with;
    const struct pl_node *from = w->node ? pl_node_get(w->node, "from") : NULL;

    if (from && from->kind == PL_SEQ && i < from->n)
        return from->items[i]->loc;
    return from ? from->loc : k->stage->loc;
}

/* False, after an error, if s is named by an item of `from` before that one. */
static bool check_once(struct check *k, const struct pl_stage *s, size_t from)
{
    const struct pl_compare_with *w = k->stage->with;
    const char *const *name = w->from.items;
    size_t i = 0;

    while (i < from && !is_named(s, name[i]))
        i++;
    if (i == from)
        return true;
    pl_diag_error(k->d, from_loc(k, from), "from names '%s' twice", s->id);
    return false;
}

static void on_check(void *user, const struct pl_stage *s, size_t from)
{
    struct check *k = user;
    const struct pl_compare_with *w = k->stage->with;
    const struct show *show = &shows[w->show];
    const struct pl_profile_with *profile = s->with;

    k->last = s;
    k->n++;
    if (k->bad)
        return;
    k->bad = true;
    if (s->kind != show->kind) {
        pl_diag_error(k->d, from_loc(k, from),
                      "show: %s compares stages that use %s; '%s' uses %s",
                      show->name, show->takes, s->id, s->kind->name);
    } else if (w->show == PL_SHOW_KERNELS && !profile->trace) {
        pl_diag_error(k->d, from_loc(k, from),
                      "show: kernels needs what a trace records; '%s' has "
                      "trace: false",
                      s->id);
    } else if (w->show != PL_SHOW_TIMES ||
               pl_compare_times_check(k->stage, s, k->d)) {
        k->bad = !check_once(k, s, from);
    }
}

static void check_compare(const struct pl_config *c, const struct pl_stage *s,
                          struct pl_diag *d)
{
    const struct pl_compare_with *w = s->with;
    struct check k = {.config = c, .stage = s, .d = d};

    each_stage(c, w, on_check, &k);
    if (!k.bad && w->show == PL_SHOW_MEMORY && k.n > PL_COMPARED_RUNS)
        pl_diag_error(d, from_loc(&k, 0),
                      "show: memory compares %d stages or fewer, not %zu",
                      (int)PL_COMPARED_RUNS, k.n);
    if (k.bad || k.n > 1 || (k.n == 0 && w->from.n > 0))
        return;
    if (k.n == 0) {
        pl_diag_error(d, from_loc(&k, 0), "from names no stage");
        return;
    }
    pl_diag_error(d, from_loc(&k, 0),
                  "there is nothing to compare '%s' with: from names one stage",
                  k.last->id);
    pl_diag_help(d, "name two or more, as from: [a, b], or one that has a "
                    "matrix");
}

const struct pl_stage_kind pl_kind_compare = {
    .name = "compare",
    .help = "tables and pictures of what stages and cells left, side by side",
    .with = &pl_compare_schema,
    .version = 1,
    .check = check_compare,
    .run = compare,
};
