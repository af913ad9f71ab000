#include "pipeline/compare_pairs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/io.h"
#include "nn/base/str.h"
#include "pipeline/compare_pairs_read.h"

static int no_memory(struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory comparing stages");
}

/* ---- pairing ---- */

static bool is_of(const struct pl_kernel_pair *p, const struct pl_kernel *k)
{
    return strcmp(p->layer, k->layer) == 0 && strcmp(p->op, k->op) == 0 &&
           strcmp(p->role, k->role) == 0 && strcmp(p->phase, k->phase) == 0;
}

static struct pl_kernel_pair *find_pair(struct pl_pairs *p,
                                        const struct pl_kernel *k)
{
    size_t i;

    for (i = 0; i < p->n; i++)
        if (is_of(&p->pair[i], k))
            return &p->pair[i];
    return NULL;
}

static bool add_pair(struct pl_pairs *p, const struct pl_kernel *k,
                     struct arena *arena)
{
    struct pl_kernel_pair *pair = &p->pair[p->n];

    if (find_pair(p, k))
        return true;
    *pair = (struct pl_kernel_pair){
        .layer = k->layer, .op = k->op, .role = k->role, .phase = k->phase};
    pair->side = arena_array(arena, p->n_profiles, sizeof *pair->side);
    if (!pair->side)
        return false;
    p->n++;
    return true;
}

static bool fill_side(struct pl_side *side, const struct pl_kernel_pair *pair,
                      const struct pl_profiled *f, struct arena *arena)
{
    const struct pl_kernel **list = arena_array(arena, f->n + 1, sizeof *list);
    size_t i;

    if (!list)
        return false;
    for (i = 0; i < f->n; i++) {
        const struct pl_kernel *k = &f->kernel[i];

        if (!is_of(pair, k))
            continue;
        list[side->n++] = k;
        side->us += k->total_us / f->steps;
        side->calls += k->count / f->steps;
    }
    side->kernel = list;
    return true;
}

static bool is_linear(const char *op)
{
    return strncmp(op, "linear", 6) == 0 && (op[6] == '\0' || op[6] == '_');
}

/* A copy or a fill, as the device calls it. */
static bool is_copy(const struct pl_kernel *k)
{
    return k->name && (strncmp(k->name, "Memcpy", 6) == 0 ||
                       strncmp(k->name, "Memset", 6) == 0);
}

static enum pl_pair_group group_of(const struct pl_pairs *p,
                                   const struct pl_kernel_pair *pair)
{
    bool copies = p->kernels;
    size_t i, k;

    if (is_linear(pair->op))
        return PL_PAIR_LINEAR;
    for (i = 0; copies && i < p->n_profiles; i++)
        for (k = 0; k < pair->side[i].n; k++)
            copies = copies && is_copy(pair->side[i].kernel[k]);
    return copies || strcmp(pair->phase, "h2d") == 0 ? PL_PAIR_COPY
                                                     : PL_PAIR_OTHER;
}

static bool make_pairs(struct pl_pairs *p, struct arena *arena)
{
    size_t rows = 0, i, k;

    for (i = 0; i < p->n_profiles; i++)
        rows += p->profile[i].n;
    p->pair = arena_array(arena, rows + 1, sizeof *p->pair);
    if (!p->pair)
        return false;
    for (i = 0; i < p->n_profiles; i++)
        for (k = 0; k < p->profile[i].n; k++)
            if (!add_pair(p, &p->profile[i].kernel[k], arena))
                return false;
    for (i = 0; i < p->n; i++) {
        for (k = 0; k < p->n_profiles; k++) {
            if (!fill_side(&p->pair[i].side[k], &p->pair[i], &p->profile[k],
                           arena))
                return false;
            p->profile[k].us += p->pair[i].side[k].us;
        }
        p->pair[i].group = group_of(p, &p->pair[i]);
    }
    return true;
}

/* Kernels where every profile has them. */
static int find_file(struct pl_pairs *p, const struct pl_compare_cells *cells,
                     struct err *err)
{
    size_t i;

    p->kernels = true;
    for (i = 0; i < cells->n; i++) {
        const char *path = pl_compare_path(cells, i, PL_KERNELS_FILE);

        if (!path)
            return no_memory(err);
        p->kernels = p->kernels && io_exists(path);
    }
    return 0;
}

int pl_pairs_read(struct pl_pairs *out, const struct pl_compare_cells *cells,
                  struct err *err)
{
    size_t i;
    int rc;

    memset(out, 0, sizeof *out);
    out->n_profiles = cells->n;
    out->profile = arena_array(cells->arena, cells->n, sizeof *out->profile);
    if (!out->profile)
        return no_memory(err);
    rc = find_file(out, cells, err);
    for (i = 0; rc == 0 && i < cells->n; i++)
        rc = pl_profiled_read(&out->profile[i], cells, i, out->kernels, err);
    if (rc == 0 && !make_pairs(out, cells->arena))
        rc = no_memory(err);
    return rc;
}

/* ---- figures ---- */

double pl_pair_ratio(const struct pl_pairs *p,
                     const struct pl_kernel_pair *pair)
{
    const struct pl_side *a = &pair->side[0];
    const struct pl_side *b = &pair->side[p->n_profiles - 1];

    return a->n > 0 && b->n > 0 && a->us > 0 ? b->us / a->us : NAN;
}

double pl_pairs_work(const struct pl_pairs *p)
{
    double w = p->profile[p->n_profiles - 1].batch / p->profile[0].batch;

    return isfinite(w) && w > 0 ? w : 1;
}

double pl_pairs_sum(const struct pl_pairs *p, size_t profile,
                    pl_pair_test *test, const void *about)
{
    double us = 0;
    size_t i;

    for (i = 0; i < p->n; i++)
        if (test(&p->pair[i], about))
            us += p->pair[i].side[profile].us;
    return us;
}

bool pl_pair_in_phase(const struct pl_kernel_pair *pair, const void *phase)
{
    return strcmp(pair->phase, phase) == 0;
}

bool pl_pair_in_group(const struct pl_kernel_pair *pair, const void *group)
{
    return pair->group == *(const enum pl_pair_group *)group;
}

bool pl_pair_has_key(const struct pl_kernel_pair *pair, const void *key)
{
    struct str text = {0};
    bool same;

    pl_pair_add_key(&text, pair);
    same = !text.failed && strcmp(text.text, key) == 0;
    str_free(&text);
    return same;
}

bool pl_pair_is_linear_backward(const struct pl_kernel_pair *pair,
                                const void *unused)
{
    (void)unused;
    return pair->group == PL_PAIR_LINEAR &&
           strcmp(pair->phase, "backward") == 0;
}

/* Blanks would be in the way on a command line. */
static void add_word(struct str *out, const char *word)
{
    for (; *word; word++)
        str_addn(out, *word == ' ' ? "_" : word, 1);
}

void pl_pair_add_key(struct str *out, const struct pl_kernel_pair *pair)
{
    bool backward = strcmp(pair->phase, "backward") == 0;
    const char *grad = backward ? strstr(pair->op, "_grad") : NULL;
    size_t len = grad ? (size_t)(grad - pair->op) : strlen(pair->op);

    if (len > 0)
        str_addn(out, pair->op, len);
    else
        str_add(out, "other");
    str_addc(out, '.');
    if (pair->role[0])
        add_word(out, pair->role);
    else
        add_word(out, pair->phase[0] ? pair->phase : "step");
}

void pl_pair_add_label(struct str *out, const struct pl_kernel_pair *pair)
{
    const struct pl_kernel *k;
    size_t i = 0;

    if (pair->op[0]) {
        str_add(out, pair->op);
    } else { /* outside of every operator: its name says what it is */
        while (pair->side[i].n == 0)
            i++;
        k = pair->side[i].kernel[0];
        str_addf(out, "%s, %s", k->name ? k->name : "other",
                 pair->phase[0] ? pair->phase : "outside of phases");
    }
    if (pair->layer[0])
        str_addf(out, " %s", pair->layer);
}

const char *pl_pairs_first_layer(const struct pl_pairs *p)
{
    size_t i;

    for (i = 0; i < p->n; i++)
        if (p->pair[i].group == PL_PAIR_LINEAR &&
            strcmp(p->pair[i].phase, "forward") == 0)
            return p->pair[i].layer;
    return NULL;
}
