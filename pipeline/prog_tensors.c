/* `tensors`: what a program is given. */
#include <math.h>
#include <string.h>

#include "nn/base/mem.h"
#include "nn/base/rng.h"
#include "pipeline/prog_check.h"
#include "pipeline/scalar.h"

enum { MAX_ELEMENTS = 10000000 };

struct reader {
    struct arena *arena;
    struct pl_diag *d;
    struct prog_tensor *t;
    int64_t at; /* numbers read */
};

/* ---- numbers ---- */

static bool read_number(struct reader *r, const struct pl_node *node,
                        double *out)
{
    static const struct {
        const char *word;
        double value;
    } words[] = {
        {"inf", INFINITY},  {"+inf", INFINITY},  {"-inf", -INFINITY},
        {".inf", INFINITY}, {"+.inf", INFINITY}, {"-.inf", -INFINITY},
        {"nan", NAN},       {".nan", NAN},
    };
    bool plain = node->kind == PL_SCALAR && !node->quoted;
    char buf[80];
    size_t i;

    for (i = 0; plain && i < sizeof words / sizeof *words; i++) {
        if (strcmp(node->text, words[i].word) == 0) {
            *out = words[i].value;
            return true;
        }
    }
    if (plain && scalar_double(node->text, out) == SCALAR_OK)
        return true;
    pl_diag_error(r->d, node->loc, "a tensor holds numbers, not %s",
                  pl_node_words(node, buf));
    return false;
}

/* ---- nested lists ---- */

/* The shape that the first numbers have; all others must agree with it. */
static bool first_shape(struct reader *r, const struct pl_node *node)
{
    struct nn_shape *s = &r->t->shape;

    s->ndim = 0;
    while (node->kind == PL_SEQ) {
        if (s->ndim == NN_MAX_DIMS || node->n == 0) {
            pl_diag_error(r->d, node->loc,
                          node->n ? "a tensor has at most %d dimensions"
                                  : "a list of numbers is empty",
                          NN_MAX_DIMS);
            return false;
        }
        s->dim[s->ndim++] = (int64_t)node->n;
        node = node->items[0];
    }
    return true;
}

/* Nodes nest at most PL_MAX_DEPTH levels. */
static bool fill(struct reader *r, const struct pl_node *node, int level)
{
    const struct nn_shape *s = &r->t->shape;
    char buf[80];
    size_t i;

    if (level == s->ndim)
        return read_number(r, node, &r->t->data[r->at++]);
    if (node->kind != PL_SEQ) {
        pl_diag_error(r->d, node->loc, "a list of %lld is due here, not %s",
                      (long long)s->dim[level], pl_node_words(node, buf));
        return false;
    }
    if ((int64_t)node->n != s->dim[level]) {
        pl_diag_error(r->d, node->loc,
                      "this list has %zu entries; the first one has %lld",
                      node->n, (long long)s->dim[level]);
        return false;
    }
    for (i = 0; i < node->n; i++)
        if (!fill(r, node->items[i], level + 1))
            return false;
    return true;
}

static bool make_room(struct reader *r, struct pl_loc loc)
{
    struct err err = {0};
    int64_t n;

    if (nn_shape_check(&r->t->shape, &err) != 0) {
        pl_diag_error(r->d, loc, "%s", err.msg);
        return false;
    }
    n = nn_shape_numel(&r->t->shape);
    if (n > MAX_ELEMENTS) {
        pl_diag_error(r->d, loc, "a tensor has at most %d numbers, not %lld",
                      MAX_ELEMENTS, (long long)n);
        return false;
    }
    r->t->data = arena_array(r->arena, (size_t)n + 1, sizeof *r->t->data);
    if (!r->t->data)
        r->d->nomem = true;
    return r->t->data != NULL;
}

static bool read_lists(struct reader *r, const struct pl_node *node)
{
    r->at = 0;
    return first_shape(r, node) && make_room(r, node->loc) && fill(r, node, 0);
}

/* ---- shapes and random numbers ---- */

static bool read_shape(struct reader *r, const struct pl_node *node)
{
    const struct pl_node *one[1] = {node};
    const struct pl_node *const *item =
        node->kind == PL_SEQ ? (const struct pl_node *const *)node->items : one;
    size_t n = node->kind == PL_SEQ ? node->n : 1, i;
    char buf[80];

    if (n > NN_MAX_DIMS) {
        pl_diag_error(r->d, node->loc, "a tensor has at most %d dimensions",
                      NN_MAX_DIMS);
        return false;
    }
    r->t->shape.ndim = (int)n;
    for (i = 0; i < n; i++) {
        if (item[i]->kind != PL_SCALAR ||
            scalar_int(item[i]->text, &r->t->shape.dim[i]) != SCALAR_OK ||
            r->t->shape.dim[i] < 0) {
            pl_diag_error(r->d, item[i]->loc,
                          "a shape is a list of whole numbers, not %s",
                          pl_node_words(item[i], buf));
            return false;
        }
    }
    return make_room(r, node->loc);
}

static bool fill_random(struct reader *r, bool normal, uint64_t seed)
{
    int64_t n = nn_shape_numel(&r->t->shape), i;
    float *v = mem_array((size_t)n + 1, sizeof *v);
    struct rng_mt g;

    if (!v) {
        r->d->nomem = true;
        return false;
    }
    rng_mt_seed(&g, seed);
    if (normal)
        rng_mt_normal(&g, v, n);
    for (i = 0; i < n; i++)
        r->t->data[i] =
            (double)(normal ? v[i] : rng_mt_uniform(&g, -1.0f, 1.0f));
    mem_free(v);
    return true;
}

/* ---- evenly spaced numbers ---- */

static bool read_end(struct reader *r, const struct pl_node *node, double *out)
{
    if (!read_number(r, node, out))
        return false;
    if (isfinite(*out))
        return true;
    pl_diag_error(r->d, node->loc,
                  "linspace goes between finite numbers, not %s", node->text);
    return false;
}

/* [first, last, count]: from both ends, which are exact. */
static bool read_linspace(struct reader *r, const struct pl_node *node)
{
    double end[2], step;
    int64_t n, i;
    char buf[80];

    if (node->kind != PL_SEQ || node->n != 3) {
        pl_diag_error(r->d, node->loc,
                      "linspace takes [first, last, count], not %s",
                      node->kind == PL_SEQ ? "another number of entries"
                                           : pl_node_words(node, buf));
        return false;
    }
    if (!read_end(r, node->items[0], &end[0]) ||
        !read_end(r, node->items[1], &end[1]))
        return false;
    if (node->items[2]->kind != PL_SCALAR ||
        scalar_int(node->items[2]->text, &n) != SCALAR_OK || n < 1) {
        pl_diag_error(r->d, node->items[2]->loc,
                      "linspace takes a count of 1 or more, not %s",
                      pl_node_words(node->items[2], buf));
        return false;
    }
    r->t->shape = nn_shape1(n);
    if (!make_room(r, node->items[2]->loc))
        return false;
    step = n > 1 ? end[1] / (double)(n - 1) - end[0] / (double)(n - 1) : 0;
    for (i = 0; i < n; i++)
        r->t->data[i] = i < (n + 1) / 2 ? end[0] + (double)i * step
                                        : end[1] - (double)(n - 1 - i) * step;
    return true;
}

/* ---- one tensor ---- */

static const char *const keys[] = {
    "value",    "zeros",         "ones",  "randn", "uniform",
    "linspace", "requires_grad", "dtype", "seed",
};
enum { N_KEYS = 9, N_SOURCES = 6 };

static bool check_keys(struct reader *r, const struct pl_node *map)
{
    size_t i, k, sources = 0;
    bool ok = true;

    for (i = 0; i < map->n; i++) {
        const struct pl_pair *p = &map->pairs[i];

        for (k = 0; k < N_KEYS && strcmp(keys[k], p->key) != 0; k++)
            continue;
        if (k == N_KEYS) {
            pl_diag_error(r->d, p->key_loc, "unknown key '%s' in a tensor",
                          p->key);
            pl_diag_suggest(r->d, p->key, keys, N_KEYS);
            ok = false;
        }
        sources += k < N_SOURCES;
    }
    if (ok && sources != 1) {
        pl_diag_error(r->d, map->loc,
                      "a tensor has one of value, zeros, ones, randn, "
                      "uniform and linspace, not %s",
                      sources ? "several" : "none");
        ok = false;
    }
    return ok;
}

static bool read_flag(struct reader *r, const struct pl_node *node)
{
    char buf[80];

    if (node->kind == PL_SCALAR && strcmp(node->text, "true") == 0)
        r->t->requires_grad = true;
    else if (node->kind != PL_SCALAR || strcmp(node->text, "false") != 0) {
        pl_diag_error(r->d, node->loc,
                      "requires_grad must be true or false, not %s",
                      pl_node_words(node, buf));
        return false;
    }
    return true;
}

static bool read_dtype(struct reader *r, const struct pl_node *node)
{
    char buf[80];

    if (node->kind == PL_SCALAR && strcmp(node->text, "float32") == 0)
        r->t->dtype = NN_F32;
    else if (node->kind != PL_SCALAR || strcmp(node->text, "float64") != 0) {
        pl_diag_error(r->d, node->loc,
                      "dtype must be float64 or float32, not %s",
                      pl_node_words(node, buf));
        return false;
    }
    return true;
}

static bool read_seed(struct reader *r, const struct pl_node *node,
                      uint64_t *out)
{
    int64_t v;

    if (node->kind != PL_SCALAR || scalar_int(node->text, &v) != SCALAR_OK ||
        v < 0 || v > UINT32_MAX) {
        pl_diag_error(r->d, node->loc,
                      "seed must be a whole number from 0 to %lld",
                      (long long)UINT32_MAX);
        return false;
    }
    *out = (uint64_t)v;
    return true;
}

static bool read_source(struct reader *r, const struct pl_node *map,
                        uint64_t seed)
{
    const struct pl_node *node;
    int64_t i;
    size_t k;

    for (k = 0; k < N_SOURCES && !pl_node_get(map, keys[k]); k++)
        continue;
    node = pl_node_get(map, keys[k]);
    if (k == 0)
        return read_lists(r, node);
    if (k == N_SOURCES - 1)
        return read_linspace(r, node);
    if (!read_shape(r, node))
        return false;
    if (k >= 3)
        return fill_random(r, k == 3, seed);
    for (i = 0; i < nn_shape_numel(&r->t->shape); i++)
        r->t->data[i] = k == 2 ? 1.0 : 0.0;
    return true;
}

static bool read_map(struct reader *r, const struct pl_node *map)
{
    const struct pl_node *flag, *dtype, *seed_node;
    uint64_t seed = 0;

    if (!check_keys(r, map))
        return false;
    flag = pl_node_get(map, "requires_grad");
    dtype = pl_node_get(map, "dtype");
    seed_node = pl_node_get(map, "seed");
    if ((flag && !read_flag(r, flag)) || (dtype && !read_dtype(r, dtype)) ||
        (seed_node && !read_seed(r, seed_node, &seed)))
        return false;
    return read_source(r, map, seed);
}

static bool check_tensor_name(struct reader *r, const struct pl_pair *p)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
    size_t n = strlen(p->key);

    if (n > 0 && n <= 64 && strspn(p->key, letters) == n &&
        (p->key[0] < '0' || p->key[0] > '9'))
        return true;
    pl_diag_error(r->d, p->key_loc,
                  "'%s' is no name: letters, digits and '_', no digit first",
                  p->key);
    return false;
}

void prog_read_tensors(struct prog_program *p, const struct pl_node *tensors,
                       struct arena *arena, struct pl_diag *d)
{
    struct reader r = {.arena = arena, .d = d};
    char buf[80];
    size_t i;

    if (!tensors || tensors->bad)
        return;
    if (tensors->kind != PL_MAP) {
        pl_diag_error(d, tensors->loc, "tensors must be a map of names, not %s",
                      pl_node_words(tensors, buf));
        return;
    }
    p->tensors = arena_array(arena, tensors->n + 1, sizeof *p->tensors);
    if (!p->tensors) {
        d->nomem = true;
        return;
    }
    for (i = 0; i < tensors->n; i++) {
        const struct pl_pair *pair = &tensors->pairs[i];

        r.t = &p->tensors[p->n_tensors++];
        r.t->name = pair->key;
        r.t->dtype = NN_F64;
        if (!check_tensor_name(&r, pair))
            continue;
        (void)(pair->value->kind == PL_MAP ? read_map(&r, pair->value)
                                           : read_lists(&r, pair->value));
    }
}
