/* `matrix`: the cells of a stage. The product of the lists, the last key
 * fastest, without what `exclude` matches, then what `include` adds. */
#include <string.h>

#include "pipeline/config_load.h"

enum { NAME_MAX_BYTES = 200 };

struct matrix {
    struct pl_loader *l;
    const char *where; /* "stages.step.matrix" */
    struct pl_loc loc;
    struct pl_pair *axis; /* the keys and their lists */
    size_t n_axes;
    struct pl_node *name, *include, *exclude; /* or NULL */
    struct pl_node **row; /* of the product, then of include: maps */
    bool *gone;           /* by exclude */
    size_t n_rows, n_product;
};

static bool is_reserved(const char *key)
{
    return strcmp(key, "name") == 0 || strcmp(key, "include") == 0 ||
           strcmp(key, "exclude") == 0;
}

/* --- what is written --- */

/* False, after an error, if the node is no value of a cell. */
static bool check_value(struct matrix *m, const char *key,
                        const struct pl_node *value)
{
    if (value->bad)
        return false;
    if (value->kind != PL_NULL)
        return true;
    pl_diag_error(m->l->d, value->loc, "%s.%s has an empty value", m->where,
                  key);
    return false;
}

static bool check_axis(struct matrix *m, const struct pl_pair *p)
{
    const struct pl_node *list = p->value;
    char words[80];
    size_t i;

    if (list->bad)
        return false;
    if (list->kind != PL_SEQ || list->n == 0) {
        pl_diag_error(m->l->d, list->loc, "%s.%s must be a list of values%s%s",
                      m->where, p->key,
                      list->kind == PL_SEQ ? "; here is none" : ", not ",
                      list->kind == PL_SEQ ? "" : pl_node_words(list, words));
        return false;
    }
    for (i = 0; i < list->n; i++)
        if (!check_value(m, p->key, list->items[i]))
            return false;
    return true;
}

/* False, after an error, if a list has a value twice. */
static bool check_twice(struct matrix *m, const struct pl_pair *p)
{
    const struct pl_node *list = p->value;
    size_t i, k;

    for (i = 0; i < list->n; i++) {
        for (k = 0; k < i && !pl_cell_equal(list->items[i], list->items[k]);)
            k++;
        if (k == i)
            continue;
        pl_diag_error(m->l->d, list->items[i]->loc,
                      "%s.%s has this value twice", m->where, p->key);
        return false;
    }
    return true;
}

/* Parts the keys from include, exclude and name. */
static bool take_keys(struct matrix *m, const struct pl_node *node)
{
    size_t i;
    bool good = true;

    m->axis = arena_array(m->l->arena, node->n, sizeof *m->axis);
    if (!m->axis) {
        m->l->d->nomem = true;
        return false;
    }
    for (i = 0; i < node->n; i++) {
        const struct pl_pair *p = &node->pairs[i];

        if (is_reserved(p->key))
            continue;
        good = check_axis(m, p) && good;
        m->axis[m->n_axes++] = *p;
    }
    m->name = pl_node_get(node, "name");
    m->include = pl_node_get(node, "include");
    m->exclude = pl_node_get(node, "exclude");
    return good;
}

/* The list of maps at include or exclude: none is an empty one. */
static bool check_list(struct matrix *m, const char *key,
                       const struct pl_node *list)
{
    char words[80];
    size_t i;

    if (!list)
        return true;
    if (list->bad)
        return false;
    if (list->kind != PL_SEQ) {
        pl_diag_error(m->l->d, list->loc, "%s.%s must be a list, not %s",
                      m->where, key, pl_node_words(list, words));
        return false;
    }
    for (i = 0; i < list->n; i++) {
        if (list->items[i]->kind == PL_MAP)
            continue;
        if (!list->items[i]->bad)
            pl_diag_error(m->l->d, list->items[i]->loc,
                          "%s.%s.%zu must be a map, not %s", m->where, key, i,
                          pl_node_words(list->items[i], words));
        return false;
    }
    return true;
}

/* Without lists, the first map of include says which keys there are. */
static bool keys_of_include(struct matrix *m)
{
    const struct pl_node *first;

    if (m->n_axes > 0)
        return true;
    if (!m->include || m->include->n == 0) {
        pl_diag_error(m->l->d, m->loc, "%s has no keys", m->where);
        pl_diag_help(m->l->d, "for example matrix: {batch_size: [32, 128]}");
        return false;
    }
    first = m->include->items[0];
    m->axis = arena_array(m->l->arena, first->n, sizeof *m->axis);
    if (!m->axis) {
        m->l->d->nomem = true;
        return false;
    }
    if (first->n)
        memcpy(m->axis, first->pairs, first->n * sizeof *m->axis);
    m->n_axes = first->n;
    return true;
}

/* --- rows --- */

/* The number of cells that the lists make; PL_MAX_CELLS + 1: too many. */
static size_t product(const struct matrix *m)
{
    size_t n = m->n_axes > 0 ? 1 : 0, i;

    for (i = 0; i < m->n_axes && n <= PL_MAX_CELLS; i++) {
        if (m->axis[i].value->n > PL_MAX_CELLS)
            return PL_MAX_CELLS + 1;
        n *= m->axis[i].value->n;
    }
    return n <= PL_MAX_CELLS ? n : PL_MAX_CELLS + 1;
}

static bool add_product(struct matrix *m)
{
    size_t i, k;

    for (i = 0; i < m->n_product; i++) {
        struct pl_node *row = pl_node_map(m->l->arena, m->n_axes, m->loc);
        size_t rest = i;

        if (!row)
            return false;
        row->n = m->n_axes;
        for (k = m->n_axes; k-- > 0;) {
            const struct pl_node *list = m->axis[k].value;

            row->pairs[k] = m->axis[k];
            row->pairs[k].value = list->items[rest % list->n];
            rest /= list->n;
        }
        m->row[m->n_rows++] = row;
    }
    return true;
}

static size_t axis_index(const struct matrix *m, const char *key)
{
    size_t i = 0;

    while (i < m->n_axes && strcmp(m->axis[i].key, key) != 0)
        i++;
    return i;
}

/* False, after an error, for a key that the matrix does not have. */
static bool check_keys(struct matrix *m, const struct pl_node *map)
{
    const char *names[PL_MAX_DEPTH];
    size_t i, k, n = 0;

    for (i = 0; i < map->n; i++) {
        const struct pl_pair *p = &map->pairs[i];

        if (axis_index(m, p->key) < m->n_axes) {
            if (!check_value(m, p->key, p->value))
                return false;
            continue;
        }
        for (k = 0; k < m->n_axes && n < PL_MAX_DEPTH; k++)
            names[n++] = m->axis[k].key;
        pl_diag_error(m->l->d, p->key_loc, "%s has no '%s'", m->where, p->key);
        pl_diag_suggest(m->l->d, p->key, names, n);
        return false;
    }
    return true;
}

static bool matches(const struct pl_node *row, const struct pl_node *some)
{
    size_t i;

    for (i = 0; i < some->n; i++)
        if (!pl_cell_equal(pl_node_get(row, some->pairs[i].key),
                           some->pairs[i].value))
            return false;
    return true;
}

static bool take_excluded(struct matrix *m, const struct pl_node *some)
{
    bool any = false;
    size_t i;

    if (!check_keys(m, some))
        return false;
    for (i = 0; i < m->n_product; i++)
        if (matches(m->row[i], some))
            m->gone[i] = any = true;
    if (any)
        return true;
    pl_diag_error(m->l->d, some->loc, "no cell is excluded by this");
    return false;
}

/* A map of include with its keys in the order of the matrix. */
static bool take_included(struct matrix *m, const struct pl_node *map)
{
    struct pl_node *row = pl_node_map(m->l->arena, m->n_axes, map->loc);
    size_t i;

    if (!row) {
        m->l->d->nomem = true;
        return false;
    }
    if (!check_keys(m, map))
        return false;
    for (i = 0; i < m->n_axes; i++) {
        const struct pl_pair *p = pl_node_pair(map, m->axis[i].key);

        if (!p) {
            pl_diag_error(m->l->d, map->loc, "the cell lacks '%s'",
                          m->axis[i].key);
            pl_diag_help(m->l->d, "include adds whole cells, with all keys of "
                                  "the matrix");
            return false;
        }
        pl_node_add(row, p->key, p->key_loc, p->value);
    }
    m->row[m->n_rows++] = row;
    return true;
}

/* Counts the cells towards what a file may have, and makes room for them. */
static bool count_rows(struct matrix *m)
{
    size_t all = m->include ? m->include->n : 0;

    m->n_product = product(m);
    all += m->n_product;
    if (all + m->l->n_cells > PL_MAX_CELLS ||
        (m->exclude && m->exclude->n > PL_MAX_CELLS)) {
        pl_diag_error(m->l->d, m->loc,
                      "the file's matrices make more than %d cells",
                      PL_MAX_CELLS);
        return false;
    }
    m->l->n_cells += all;
    m->row = arena_array(m->l->arena, all, sizeof(struct pl_node *));
    m->gone = arena_array(m->l->arena, all, sizeof *m->gone);
    if (m->row && m->gone)
        return true;
    m->l->d->nomem = true;
    return false;
}

static bool make_rows(struct matrix *m)
{
    size_t included = m->include ? m->include->n : 0, i;

    if (!count_rows(m) || !keys_of_include(m))
        return false;
    for (i = 0; m->n_product > 0 && i < m->n_axes; i++)
        if (!check_twice(m, &m->axis[i]))
            return false;
    if (!add_product(m)) {
        m->l->d->nomem = true;
        return false;
    }
    for (i = 0; m->exclude && i < m->exclude->n; i++)
        if (!take_excluded(m, m->exclude->items[i]))
            return false;
    for (i = 0; i < included; i++)
        if (!take_included(m, m->include->items[i]))
            return false;
    return true;
}

/* --- names --- */

/* False, after an error, if the cell cannot be called that. */
static bool check_name(struct matrix *m, const struct pl_cells *cells,
                       const char *name, size_t row)
{
    struct pl_loc loc = m->name ? m->name->loc : m->row[row]->loc;
    size_t i;

    if (strlen(name) > NAME_MAX_BYTES || name[0] == '\0') {
        pl_diag_error(m->l->d, loc,
                      "the name of a cell must have 1 to %d bytes, not %zu",
                      NAME_MAX_BYTES, strlen(name));
        pl_diag_help(m->l->d, "give the matrix a short one, as "
                              "name: \"h${matrix.hidden_dim}\"");
        return false;
    }
    for (i = 0; i < cells->n; i++) {
        if (strcmp(cells->cell[i].name, name) != 0)
            continue;
        pl_diag_error(m->l->d, loc, "two cells are called '%s'", name);
        return false;
    }
    return true;
}

static bool name_rows(struct matrix *m, struct pl_cells *out)
{
    size_t i;

    out->cell = arena_array(m->l->arena, m->n_rows, sizeof *out->cell);
    if (!out->cell) {
        m->l->d->nomem = true;
        return false;
    }
    for (i = 0; i < m->n_rows; i++) {
        const char *name;

        if (m->gone[i])
            continue;
        name = pl_cell_name(m->l, m->axis, m->row[i], m->name,
                            m->n_product ? i - m->n_product : i);
        if (!name || !check_name(m, out, name, i))
            return false;
        out->cell[out->n++] = (struct pl_cell){name, m->row[i]};
    }
    if (out->n == 0)
        pl_diag_error(m->l->d, m->loc, "every cell is excluded");
    return out->n > 0;
}

bool pl_load_matrix(struct pl_loader *l, const char *id,
                    const struct pl_node *node, struct pl_cells *out)
{
    struct matrix m = {.l = l, .loc = node->loc};
    char words[80];

    m.where = arena_printf(l->arena, "stages.%s.matrix", id);
    if (!m.where) {
        l->d->nomem = true;
        return false;
    }
    if (node->kind != PL_MAP) {
        if (!node->bad)
            pl_diag_error(l->d, node->loc, "%s must be a map, not %s", m.where,
                          pl_node_words(node, words));
        return false;
    }
    return take_keys(&m, node) && check_list(&m, "include", m.include) &&
           check_list(&m, "exclude", m.exclude) && make_rows(&m) &&
           name_rows(&m, out);
}
