/* Which stages a stage may go on from, and the mark of a recipe. */
#include <string.h>

#include "nn/base/arena.h"
#include "pipeline/inputs.h"
#include "pipeline/train_run.h"

/* Whether an input is no part of the recipe: it says where a run begins or
 * ends, or leaves every number as it is. */
static bool stands_beside(const char *key)
{
    static const char *const keys[] = {
        "with.epochs",      "with.init_from",
        "with.resume_from", "with.eval_batch_size",
        "with.fusion",      "with.checkpoint.every_n_steps",
    };
    size_t i;

    for (i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(keys[i], key) == 0)
            return true;
    return false;
}

/* The inputs of s that make its recipe. */
static int collect(struct pl_inputs *out, const struct pl_stage *s,
                   struct err *err)
{
    struct pl_inputs all = {.arena = out->arena};
    int rc = pl_inputs_collect(&all, s->home, s, err);
    size_t i;

    for (i = 0; rc == 0 && i < all.n; i++)
        if (!stands_beside(all.item[i].key))
            pl_inputs_add(out, all.item[i].key, all.item[i].value);
    if (rc == 0 && out->failed)
        rc = err_set(err, ERR_NOMEM, "out of memory for the recipe of '%s'",
                     s->id);
    return rc;
}

int pl_train_recipe(char hex[65], const struct pl_stage *s, struct err *err)
{
    struct arena arena = {0};
    struct pl_inputs in = {.arena = &arena};
    int rc = collect(&in, s, err);

    if (rc == 0)
        rc = pl_inputs_hash(hex, &in, err);
    arena_free(&arena);
    return rc;
}

/* A stage that is to go on from another. */
struct resuming {
    const struct pl_stage *stage;
    const struct pl_train_with *with, *from;
    struct pl_loc loc; /* of resume_from */
    struct pl_diag *d;
};

/* Where path ("optimizer.type") stands in map, as far as it is written. */
static struct pl_loc place_of(const struct pl_node *map, const char *path,
                              struct pl_loc other)
{
    char key[64];
    size_t len;

    while (map && map->kind == PL_MAP) {
        len = strcspn(path, ".");
        if (len >= sizeof key)
            break;
        memcpy(key, path, len);
        key[len] = '\0';
        other = pl_node_key_loc(map, key, other);
        map = pl_node_get(map, key);
        path += len + (path[len] == '.');
    }
    return other;
}

/* value NULL: the stage has no such setting. */
static void tell_difference(const struct resuming *r, const char *key,
                            const char *there, const char *here)
{
    bool with = strncmp(key, "with.", 5) == 0;
    struct pl_loc loc =
        with ? place_of(r->with->node, key + 5, r->loc) : r->loc;

    pl_diag_error(r->d, loc,
                  "stage '%s' has %s %s, this one %s: resume_from goes on with "
                  "the same recipe",
                  r->with->resume_from, with ? key + 5 : key,
                  there ? there : "none", here ? here : "none");
    pl_diag_help(r->d, "only epochs, eval_batch_size, fusion and "
                       "checkpoint.every_n_steps may differ");
}

/* Tells the first setting in which the recipes differ: others may follow from
 * it, as the data set's own from another data set. */
static void compare(const struct resuming *r, const struct pl_inputs *there,
                    const struct pl_inputs *here)
{
    size_t i;

    for (i = 0; i < here->n; i++) {
        const struct pl_input *p = &here->item[i];
        const char *was = pl_inputs_get(there, p->key);

        if (was && strcmp(was, p->value) == 0)
            continue;
        tell_difference(r, p->key, was, p->value);
        return;
    }
    for (i = 0; i < there->n; i++)
        if (!pl_inputs_get(here, there->item[i].key)) {
            tell_difference(r, there->item[i].key, there->item[i].value, NULL);
            return;
        }
}

static void check_same_recipe(const struct resuming *r,
                              const struct pl_stage *from)
{
    struct pl_inputs there = {.arena = r->d->arena};
    struct pl_inputs here = {.arena = r->d->arena};
    struct err err = {0};

    if (collect(&there, from, &err) == 0 && collect(&here, r->stage, &err) == 0)
        compare(r, &there, &here);
    else
        r->d->nomem = true;
}

/* What an unbroken run of all the epochs would not have done. */
static void check_unbroken(const struct resuming *r)
{
    const struct pl_train_with *w = r->with;
    long long done = (long long)r->from->epochs;

    if (w->epochs <= done)
        pl_diag_error(r->d, pl_node_key_loc(w->node, "epochs", r->loc),
                      "epochs must be more than the %lld of stage '%s', not "
                      "%lld: they count from the start",
                      done, w->resume_from, (long long)w->epochs);
    if (w->schedule.type == PL_SCHED_COSINE)
        pl_diag_error(r->d, pl_node_key_loc(w->node, "schedule", r->loc),
                      "a cosine is stretched over all epochs: stage '%s' is "
                      "not the beginning of a longer run",
                      w->resume_from);
    if (done % w->eval_every_n_epochs != 0)
        pl_diag_error(
            r->d, pl_node_key_loc(w->node, "eval_every_n_epochs", r->loc),
            "stage '%s' is evaluated after its last epoch, %lld, and a run "
            "with eval_every_n_epochs %lld would not be",
            w->resume_from, done, (long long)w->eval_every_n_epochs);
}

void pl_train_check_resume(const struct pl_config *c, const struct pl_stage *s,
                           struct pl_diag *d)
{
    const struct pl_train_with *w = s->with;
    const struct pl_stage *from =
        w->resume_from ? pl_config_stage(c, w->resume_from) : NULL;
    struct resuming r = {.stage = s, .with = w, .d = d};

    if (!from)
        return;
    r.from = from->with;
    r.loc = pl_node_key_loc(w->node, "resume_from", s->loc);
    if (w->init_from)
        pl_diag_error(d, pl_node_key_loc(w->node, "init_from", s->loc),
                      "init_from and resume_from both say what to begin from; "
                      "leave one out");
    check_same_recipe(&r, from);
    check_unbroken(&r);
}
