/* Checks of whole stages that no table can make. */
#include <limits.h>
#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/config_load.h"
#include "pipeline/metric_names.h"
#include "pipeline/real_path.h"
#include "pipeline/stage.h"

/* --- metrics --- */

static void check_metric(struct pl_loader *l, const struct pl_stage *s,
                         const char *name, struct pl_loc loc)
{
    char known[PL_METRIC_NAMES][PL_METRIC_LEN];
    const char *names[PL_METRIC_NAMES];
    size_t n, i;

    if (!name || pl_metric_known(s->kind, name))
        return;
    n = pl_metric_names(s->kind, name, known);
    for (i = 0; i < n; i++)
        names[i] = known[i];
    pl_diag_error(l->d, loc, "a stage that uses %s has no metric '%s'",
                  s->kind->name, name);
    pl_diag_suggest(l->d, name, names, n);
}

static void check_metrics(struct pl_loader *l, const struct pl_stage *s)
{
    size_t i;

    for (i = 0; i < s->n_expect; i++) {
        const struct pl_expect *e = &s->expect[i];

        check_metric(l, s, e->metric, e->metric_loc);
        if (e->metric)
            check_metric(l, s, e->other, e->other_loc);
    }
}

/* --- paths --- */

const struct pl_node *pl_load_find_path(struct pl_loader *l,
                                        const struct pl_node *node,
                                        const char *path)
{
    const struct pl_node *found = NULL;
    const char *here;
    size_t i;

    if (node->kind == PL_SCALAR) {
        here = pl_schema_path(node, l->arena);
        l->d->nomem = l->d->nomem || !here;
        return here && strcmp(here, path) == 0 ? node : NULL;
    }
    for (i = 0; !found && i < node->n; i++)
        found = pl_load_find_path(
            l, node->kind == PL_MAP ? node->pairs[i].value : node->items[i],
            path);
    return found;
}

struct own_folder {
    struct pl_loader *l;
    const struct pl_stage *stage;
    const char *dir;
};

static void on_path(void *user, const char *path)
{
    const struct own_folder *own = user;
    const struct pl_node *node;
    char real[PATH_MAX];

    if (!pl_real_path(real, path) || !pl_is_below(real, own->dir))
        return;
    node = pl_load_find_path(own->l, own->stage->node, path);
    pl_diag_error(own->l->d, node ? node->loc : own->stage->loc,
                  "stage '%s' would read '%s' from its own folder, which is "
                  "emptied before it runs",
                  own->stage->id, path);
    pl_diag_help(own->l->d, "copy the file to another place, or name another "
                            "stage's");
}

/* What a stage reads must not be what it is about to replace. */
static void check_own_folder(struct pl_loader *l, const struct pl_stage *s)
{
    struct own_folder own = {.l = l, .stage = s};
    char *home = io_join(l->session->out, l->c->name);
    char *dir = home ? io_join(home, s->dir) : NULL;

    own.dir = dir;
    if (dir)
        pl_schema_visit(s->kind->with, s->with, PL_T_PATH, on_path, &own);
    else
        l->d->nomem = true;
    mem_free(home);
    mem_free(dir);
}

void pl_load_check_stages(struct pl_loader *l)
{
    size_t i;

    for (i = 0; i < l->c->n_stages; i++) {
        const struct pl_stage *s = &l->c->stages[i];

        if (s->home != l->c)
            continue;
        check_metrics(l, s);
        check_own_folder(l, s);
        if (s->kind->check)
            s->kind->check(l->c, s, l->d);
    }
}
