/* Downloads that nobody wrote down, and the order of the stages. */
#include <stdlib.h>
#include <string.h>

#include "pipeline/config_load.h"
#include "pipeline/recipe.h"
#include "pipeline/stage.h"

/* A stage's needs while they are collected. */
struct needs {
    struct pl_loader *l;
    struct pl_stage *stage;
    const char **id;
    size_t n, cap;
    bool refs; /* datasets of the stages that it refers to count as well */
};

static void add_need(struct needs *n, const char *id)
{
    size_t i;

    for (i = 0; i < n->n; i++)
        if (strcmp(n->id[i], id) == 0)
            return;
    if (n->n == n->cap) {
        size_t cap = n->cap ? n->cap * 2 : 8;
        const char **more = arena_array(n->l->arena, cap, sizeof *more);

        if (!more) {
            n->l->d->nomem = true;
            return;
        }
        if (n->n)
            memcpy(more, n->id, n->n * sizeof *more);
        n->id = more;
        n->cap = cap;
    }
    n->id[n->n++] = id;
}

static bool is_fetch_of(const struct pl_config *c, const struct pl_stage *s,
                        const char *dataset)
{
    const struct pl_fetch_with *w = s->with;

    return s->kind == &pl_kind_fetch && s->home == c && w->dataset &&
           strcmp(w->dataset, dataset) == 0;
}

/* {dataset: name}, with the defaults of fetch, as if it were in the file. */
static struct pl_stage *imply_fetch(struct pl_loader *l,
                                    const struct pl_dataset *ds)
{
    struct pl_loc loc = ds->node->loc;
    struct pl_draft s = {.id = arena_printf(l->arena, "fetch-%s", ds->name),
                         .kind = &pl_kind_fetch,
                         .loc = loc};
    struct pl_node *name = pl_node_scalar(l->arena, ds->name, loc);
    struct pl_node *own = pl_node_map(l->arena, 1, loc);
    struct pl_node *node = pl_node_map(l->arena, 1, loc);
    struct pl_stage *out = &l->c->stages[l->c->n_stages];

    if (!s.id || !name || !own || !node)
        return NULL;
    pl_node_add(own, "dataset", loc, name);
    pl_node_add(node, "with", loc, own);
    s.node = node;
    s.with_node = own;
    *out = (struct pl_stage){.id = s.id,
                             .dir = s.id,
                             .local = s.id,
                             .home = l->c,
                             .kind = s.kind,
                             .loc = loc,
                             .implied = true};
    s.with = pl_load_with(l, &s);
    out->node = s.with;
    out->with = arena_alloc(l->arena, pl_fetch_schema.size);
    if (!s.with || !out->with)
        return NULL;
    (void)pl_schema_read(&pl_fetch_schema, out->with, s.with, s.id, &l->names,
                         l->arena, l->d);
    l->c->n_stages++;
    return out;
}

/* The id of the stage that fetches a data set; NULL: none does, or an error. */
static const char *fetch_of(struct pl_loader *l, const char *dataset)
{
    const struct pl_dataset *ds = pl_config_dataset(l->c, dataset);
    struct pl_stage *s;
    size_t i;

    if (!ds || !pl_dataset_needs_fetch(ds))
        return NULL;
    for (i = 0; i < l->c->n_stages; i++)
        if (is_fetch_of(l->c, &l->c->stages[i], dataset))
            return l->c->stages[i].id;
    s = imply_fetch(l, ds);
    if (!s) {
        l->d->nomem = true;
        return NULL;
    }
    for (i = 0; i + 1 < l->c->n_stages; i++)
        if (strcmp(l->c->stages[i].id, s->id) == 0)
            pl_diag_error(l->d, l->c->stages[i].loc,
                          "'%s' is the name of the stage that fetches '%s'",
                          s->id, dataset);
    return s->id;
}

static void on_dataset(void *user, const char *value)
{
    struct needs *n = user;
    const char *id = fetch_of(n->l, value);

    if (id)
        add_need(n, id);
}

/* The downloads of a stage of another file. */
static void add_downloads(struct needs *n, const struct pl_stage *s)
{
    size_t i;

    for (i = 0; i < s->n_needs; i++) {
        const struct pl_stage *need = pl_config_stage(n->l->c, s->needs[i]);

        if (need && need->kind == &pl_kind_fetch)
            add_need(n, need->id);
    }
}

/* A stage that is referred to: itself, or the cells that it stands for; and
 * the downloads below it, since what it was made from may be opened again. */
static void add_stage(struct needs *n, const char *id)
{
    const struct pl_stage *s;

    if (!n->refs) {
        add_need(n, id);
        return;
    }
    s = pl_config_stage(n->l->c, id);
    if (s && s->home != n->l->c)
        add_downloads(n, s);
    else if (s)
        pl_schema_visit(s->kind->with, s->with, PL_T_DATASET, on_dataset, n);
}

static void on_stage(void *user, const char *value)
{
    struct needs *n = user;
    const struct pl_names *names = &n->l->names;
    size_t i, k;

    for (i = 0; i < names->n_stages; i++)
        if (strcmp(names->stages[i], value) == 0)
            break;
    if (i == names->n_stages || names->stage_cells[i] == 0)
        add_stage(n, value);
    else
        for (k = 1; k <= names->stage_cells[i]; k++)
            add_stage(n, names->stages[i + k]);
}

/* What is written, what `with` refers to, and downloads. */
static void collect(struct pl_loader *l, size_t index)
{
    struct pl_stage *s = &l->c->stages[index];
    struct needs n = {.l = l, .stage = s};
    size_t i;

    for (i = 0; i < s->n_needs; i++)
        on_stage(&n, s->needs[i]);
    pl_schema_visit(s->kind->with, s->with, PL_T_STAGE, on_stage, &n);
    if (s->kind != &pl_kind_fetch)
        pl_schema_visit(s->kind->with, s->with, PL_T_DATASET, on_dataset, &n);
    n.refs = true;
    pl_schema_visit(s->kind->with, s->with, PL_T_STAGE, on_stage, &n);
    s->needs = n.id;
    s->n_needs = n.n;
}

/* --- order --- */

/* A stage by its id, for bisection. */
struct entry {
    const char *id;
    size_t index;
};

struct sorter {
    struct pl_loader *l;
    struct pl_stage *stage; /* as written; implied ones at the end */
    size_t n;
    struct entry *entry; /* by id */
    char *mark;          /* 0 new, 1 on the path, 2 placed */
    size_t *next;        /* of each: the needs before it are placed */
    size_t *path, n_path;
    struct pl_stage *out;
    size_t n_out;
};

static int by_id(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return strcmp(x->id, y->id);
}

static size_t index_of(const struct sorter *s, const char *id)
{
    const struct entry key = {id, 0};
    const struct entry *e =
        bsearch(&key, s->entry, s->n, sizeof *s->entry, by_id);

    return e ? e->index : s->n;
}

static void circle(struct sorter *s, size_t index)
{
    struct str text = {0};
    size_t i = 0;

    while (s->path[i] != index)
        i++;
    for (; i < s->n_path; i++)
        str_addf(&text, "%s -> ", s->stage[s->path[i]].id);
    str_add(&text, s->stage[index].id);
    if (text.failed)
        s->l->d->nomem = true;
    else
        pl_diag_error(s->l->d, s->stage[index].loc,
                      "stages need each other in a circle: %s", text.text);
    str_free(&text);
}

/* The first need of stage i that is not placed yet; n: none. */
static size_t next_need(struct sorter *s, size_t i)
{
    const struct pl_stage *stage = &s->stage[i];

    for (; s->next[i] < stage->n_needs; s->next[i]++) {
        size_t k = index_of(s, stage->needs[s->next[i]]);

        if (k < s->n && s->mark[k] != 2)
            return k;
    }
    return s->n;
}

/* Places a stage behind its needs. false: they form a circle. */
static bool place(struct sorter *s, size_t first)
{
    s->n_path = 0;
    s->path[s->n_path++] = first;
    s->mark[first] = 1;
    while (s->n_path > 0) {
        size_t top = s->path[s->n_path - 1];
        size_t need = next_need(s, top);

        if (need == s->n) {
            s->mark[top] = 2;
            s->out[s->n_out++] = s->stage[top];
            s->n_path--;
        } else if (s->mark[need] == 1) {
            circle(s, need);
            return false;
        } else {
            s->mark[need] = 1;
            s->path[s->n_path++] = need;
        }
    }
    return true;
}

static void sort_stages(struct pl_loader *l)
{
    struct sorter s = {.l = l, .stage = l->c->stages, .n = l->c->n_stages};
    size_t i;

    s.mark = arena_alloc(l->arena, s.n);
    s.path = arena_array(l->arena, s.n, sizeof *s.path);
    s.next = arena_array(l->arena, s.n, sizeof *s.next);
    s.entry = arena_array(l->arena, s.n, sizeof *s.entry);
    s.out = arena_array(l->arena, s.n, sizeof *s.out);
    if (!s.mark || !s.path || !s.next || !s.entry || !s.out) {
        l->d->nomem = true;
        return;
    }
    for (i = 0; i < s.n; i++)
        s.entry[i] = (struct entry){s.stage[i].id, i};
    qsort(s.entry, s.n, sizeof *s.entry, by_id);
    for (i = 0; i < s.n; i++)
        if (s.mark[i] == 0 && !place(&s, i))
            return;
    l->c->stages = s.out;
}

void pl_load_order(struct pl_loader *l)
{
    size_t written = l->c->n_stages, i;

    for (i = 0; i < written && !l->d->nomem; i++)
        if (l->c->stages[i].home == l->c)
            collect(l, i);
    if (!l->d->nomem)
        sort_stages(l);
}
