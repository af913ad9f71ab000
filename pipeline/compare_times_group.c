/* Profiles that differ in x alone are one series. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/str.h"
#include "pipeline/compare_times.h"
#include "pipeline/profile.h"

/* Settings that profiles differ in. */
struct keys {
    const char **key;
    size_t n;
    bool stage; /* and the stage, where nothing else tells them apart */
};

/* How many steps are looked at, and what a file is called, is no difference of
 * what was measured. */
static bool is_measured(const char *key)
{
    static const char *const other[] = {"file",   "trace",  "n_step",
                                        "warmup", "repeat", "schedule"};
    size_t i;

    for (i = 0; i < sizeof other / sizeof *other; i++)
        if (strcmp(key, other[i]) == 0)
            return false;
    return true;
}

static const char *value_of(const struct pl_timed *t, const char *key)
{
    const char *v = pl_compare_setting(t->cell->stage, key);

    return v ? v : "";
}

static bool differs(const struct pl_timed_all *all, const char *key)
{
    size_t i;

    for (i = 1; i < all->n; i++)
        if (strcmp(value_of(&all->at[0], key), value_of(&all->at[i], key)) != 0)
            return true;
    return false;
}

static void consider(struct keys *k, const struct pl_timed_all *all,
                     const char *key)
{
    size_t i;

    if (strcmp(key, all->x) == 0 || !is_measured(key) || !differs(all, key))
        return;
    for (i = 0; i < k->n; i++)
        if (strcmp(k->key[i], key) == 0)
            return;
    k->key[k->n++] = key;
}

/* The settings of the kind, then what a matrix names inside of one of them
 * ("optimizer.momentum"). */
static int find_keys(struct keys *k, const struct pl_timed_all *all,
                     struct arena *arena)
{
    size_t most = pl_profile_schema.n_fields + 1, i, j;

    for (i = 0; i < all->n; i++)
        if (all->at[i].cell->stage->cell)
            most += all->at[i].cell->stage->cell->n;
    k->key = arena_array(arena, most, sizeof *k->key);
    if (!k->key)
        return ERR_NOMEM;
    for (i = 0; i < pl_profile_schema.n_fields; i++)
        consider(k, all, pl_profile_schema.fields[i].name);
    for (i = 0; i < all->n; i++) {
        const struct pl_node *cell = all->at[i].cell->stage->cell;

        for (j = 0; cell && j < cell->n; j++)
            consider(k, all, cell->pairs[j].key);
    }
    return 0;
}

/* ---- names ---- */

/* Settings whose values speak for themselves. */
static bool is_plain(const char *key, const char *value)
{
    static const char *const plain[] = {"execution", "optimizer", "data",
                                        "numerics",  "model",     "dataset"};
    size_t i;

    for (i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(key, plain[i]) == 0)
            return *value != '\0';
    return false;
}

/* "adam, eager", or "adam_eager" as a part of a metric's name. */
static void add_name(struct str *out, const struct pl_timed *t,
                     const struct keys *k, bool metric)
{
    const char *gap = "";
    size_t i;

    for (i = 0; i < k->n; i++) {
        const char *value = value_of(t, k->key[i]);

        str_add(out, gap);
        if (!is_plain(k->key[i], value))
            str_addf(out, "%s%s", k->key[i], metric ? "_" : "=");
        str_add(out, value);
        gap = metric ? "_" : ", ";
    }
    if (k->stage)
        str_addf(out, "%s%s", gap,
                 t->cell->stage->group ? t->cell->stage->group : t->cell->id);
}

static const char *name_of(const struct pl_timed *t, const struct keys *k,
                           bool metric, struct arena *arena)
{
    struct str text = {0};
    char *name, *p;

    str_add(&text, "");
    add_name(&text, t, k, metric);
    name = text.failed ? NULL : arena_strdup(arena, text.text);
    str_free(&text);
    for (p = name; metric && p && *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '-')
            *p = '_';
    return name;
}

/* ---- series ---- */

static int by_x(const void *a, const void *b)
{
    const struct pl_timed *p = *(struct pl_timed *const *)a;
    const struct pl_timed *q = *(struct pl_timed *const *)b;

    return (p->x > q->x) - (p->x < q->x);
}

static struct pl_timed_series *find_series(struct pl_timed_all *all,
                                           const char *name)
{
    size_t i;

    for (i = 0; i < all->n_series; i++)
        if (strcmp(all->series[i].name, name) == 0)
            return &all->series[i];
    return NULL;
}

/* Room for all profiles in each: there are few. */
static int add_to_series(struct pl_timed_all *all, struct pl_timed *t,
                         const struct keys *k, struct arena *arena)
{
    const char *name = name_of(t, k, false, arena);
    struct pl_timed_series *s = name ? find_series(all, name) : NULL;

    if (!s) {
        s = &all->series[all->n_series++];
        s->name = name;
        s->key = name_of(t, k, true, arena);
        s->at = arena_array(arena, all->n, sizeof *s->at);
        if (!s->name || !s->key || !s->at)
            return ERR_NOMEM;
    }
    s->at[s->n++] = t;
    return 0;
}

static int make_series(struct pl_timed_all *all, const struct keys *k,
                       struct arena *arena)
{
    size_t i;
    int rc = 0;

    all->n_series = 0;
    all->series = arena_array(arena, all->n + 1, sizeof *all->series);
    if (!all->series)
        return ERR_NOMEM;
    for (i = 0; rc == 0 && i < all->n; i++)
        rc = add_to_series(all, &all->at[i], k, arena);
    for (i = 0; rc == 0 && i < all->n_series; i++)
        qsort(all->series[i].at, all->series[i].n, sizeof *all->series[i].at,
              by_x);
    return rc;
}

/* The second of two profiles that nothing tells apart, or NULL. */
static const struct pl_timed *find_twin(const struct pl_timed_all *all,
                                        const struct pl_timed **other)
{
    size_t i, j;

    for (i = 0; i < all->n_series; i++)
        for (j = 1; j < all->series[i].n; j++)
            if (all->series[i].at[j]->x == all->series[i].at[j - 1]->x) {
                *other = all->series[i].at[j - 1];
                return all->series[i].at[j];
            }
    return NULL;
}

static int check_series(const struct pl_timed_all *all, struct err *err)
{
    const struct pl_timed *other = NULL, *twin = find_twin(all, &other);
    size_t i;

    if (twin)
        return err_set(err, ERR_CONFIG,
                       "x: '%s' and '%s' have the same %s, %s, and no setting "
                       "tells them apart",
                       other->cell->id, twin->cell->id, all->x, twin->x_text);
    for (i = 0; i < all->n_series; i++)
        if (all->series[i].n > 1)
            return 0;
    return err_set(err, ERR_CONFIG,
                   "x: no two profiles differ in %s alone; give the stage a "
                   "matrix with two values of it",
                   all->x);
}

int pl_timed_group(struct pl_timed_all *all, struct arena *arena,
                   struct err *err)
{
    const struct pl_timed *other;
    struct keys k = {0};
    int rc = find_keys(&k, all, arena);

    if (rc == 0)
        rc = make_series(all, &k, arena);
    if (rc == 0 && find_twin(all, &other)) {
        k.stage = true;
        rc = make_series(all, &k, arena);
    }
    if (rc != 0)
        return err_set(err, ERR_NOMEM, "out of memory comparing times");
    if (all->n_series == 1) {
        all->series[0].name = "step time";
        all->series[0].key = "";
    }
    return check_series(all, err);
}
