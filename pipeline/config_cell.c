/* What the cells of a matrix are called, and when two values are the same. */
#include <ctype.h>
#include <string.h>

#include "pipeline/config_load.h"
#include "pipeline/interp.h"
#include "pipeline/scalar.h"

static bool is_number(const struct pl_node *n, double *v)
{
    return n->kind == PL_SCALAR && !n->quoted &&
           scalar_double(n->text, v) == SCALAR_OK;
}

bool pl_cell_equal(const struct pl_node *a, const struct pl_node *b)
{
    double x, y;
    size_t i;

    if (a->kind != b->kind)
        return false;
    if (a->kind == PL_SCALAR)
        return strcmp(a->text, b->text) == 0 ||
               (is_number(a, &x) && is_number(b, &y) && x == y);
    for (i = 0; i < a->n && a->n == b->n; i++) {
        if (a->kind == PL_SEQ
                ? !pl_cell_equal(a->items[i], b->items[i])
                : strcmp(a->pairs[i].key, b->pairs[i].key) != 0 ||
                      !pl_cell_equal(a->pairs[i].value, b->pairs[i].value))
            return false;
    }
    return a->n == b->n;
}

/* Bytes that mean something to a shell, a pattern, a path or a cell's name
 * itself become %XX. */
static void add_safe(struct str *out, const char *text, const char *also)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        bool plain =
            isalnum(c) || c >= 0x80 || strchr("_.+-", c) || strchr(also, c);

        if (plain && (c != '.' || out->len > 0))
            str_addc(out, (char)c);
        else
            str_addf(out, "%%%02X", c);
    }
}

/* The number of a value that has no short text: in its list, else behind
 * it. */
static size_t value_index(const struct pl_node *list,
                          const struct pl_node *value, size_t behind)
{
    size_t i;

    for (i = 0; list->kind == PL_SEQ && i < list->n; i++)
        if (pl_cell_equal(list->items[i], value))
            return i;
    return (list->kind == PL_SEQ ? list->n : 0) + behind;
}

static void add_value(struct str *out, const struct pl_node *list,
                      const struct pl_node *v, size_t behind)
{
    int64_t whole;
    double number;

    if (v->kind != PL_SCALAR || v->written)
        str_addf(out, "%zu", value_index(list, v, behind));
    else if (!v->quoted && scalar_int(v->text, &whole) == SCALAR_OK)
        str_addf(out, "%lld", (long long)whole);
    else if (is_number(v, &number))
        scalar_add(out, number);
    else
        add_safe(out, v->text, "");
}

/* A template that made no text. */
static const char *bad_name(struct pl_loader *l, const struct pl_node *given)
{
    char words[80];

    if (given && !given->bad)
        pl_diag_error(l->d, given->loc,
                      "the name of a cell must be a text, not "
                      "%s",
                      pl_node_words(given, words));
    return NULL;
}

const char *pl_cell_name(struct pl_loader *l, const struct pl_pair *axis,
                         const struct pl_node *row, struct pl_node *template,
                         size_t behind)
{
    struct str s = {0};
    const struct pl_node *given = NULL;
    const char *name;
    size_t i;

    if (template) {
        given = pl_interp_cell(template, row, l->arena, l->d);
        if (!given || given->kind != PL_SCALAR)
            return bad_name(l, given);
        add_safe(&s, given->text, "=,");
    }
    str_add(&s, "");
    for (i = 0; !template && i < row->n; i++) {
        str_add(&s, i ? "," : "");
        add_safe(&s, row->pairs[i].key, "");
        str_addc(&s, '=');
        add_value(&s, axis[i].value, row->pairs[i].value, behind);
    }
    name = s.failed ? NULL : arena_strndup(l->arena, s.text, s.len);
    l->d->nomem = l->d->nomem || !name;
    str_free(&s);
    return name;
}
