/* Values that are one of some words: choices, and names that stand elsewhere in
 * the file. */
#include <string.h>

#include "pipeline/schema_value.h"

static size_t count_choices(const struct pl_field *f)
{
    size_t n = 0;

    while (f->choices[n])
        n++;
    return n;
}

bool pl_value_choice(struct reader *r, const struct pl_field *f,
                     const struct pl_node *node)
{
    char words[80];
    size_t i;

    for (i = 0; f->choices[i]; i++)
        if (strcmp(f->choices[i], node->text) == 0)
            return true;
    pl_diag_error(r->d, node->loc, "%s is not one of the choices for %s",
                  pl_node_words(node, words), f->name);
    pl_diag_suggest(r->d, node->text, f->choices, count_choices(f));
    return false;
}

static bool among(const char *const *list, size_t n, const char *word)
{
    size_t i;

    for (i = 0; i < n; i++)
        if (strcmp(list[i], word) == 0)
            return true;
    return false;
}

/* The choices of f and the operators of the file; *n: how many. NULL: out of
 * memory. */
static const char **with_operators(struct reader *r, const struct pl_field *f,
                                   size_t *n)
{
    const struct pl_names *names = r->names;
    size_t own = names ? names->n_operators : 0, i;
    const char **all;

    *n = f->choices ? count_choices(f) : 0;
    all = arena_array(r->arena, *n + own + 1, sizeof *all);
    if (!all) {
        r->d->nomem = true;
        return NULL;
    }
    for (i = 0; i < *n; i++)
        all[i] = f->choices[i];
    for (i = 0; i < own; i++)
        all[(*n)++] = names->operators[i];
    return all;
}

/* One of the choices, or else the name of an operator: its number. */
static bool is_choice_or_own(struct reader *r, const struct pl_field *f,
                             const struct pl_node *node)
{
    const char **all;
    char words[80];
    size_t n;

    all = with_operators(r, f, &n);
    if (!all || among(all, n, node->text))
        return all != NULL;
    pl_diag_error(r->d, node->loc, "%s is not one of the choices for %s",
                  pl_node_words(node, words), f->name);
    pl_diag_suggest(r->d, node->text, all, n);
    return false;
}

void pl_value_enum(struct reader *r, const struct pl_field *f, int *at,
                   const struct pl_node *node)
{
    int i;

    if (!(f->own ? is_choice_or_own(r, f, node) : pl_value_choice(r, f, node)))
        return;
    for (i = 0; f->choices[i] && strcmp(f->choices[i], node->text) != 0; i++)
        continue;
    *at = i;
    if (!f->choices[i])
        memcpy((char *)at - f->offset + f->own, &node->text, sizeof node->text);
}

static void read_operator(struct reader *r, const struct pl_field *f,
                          const char **at, const struct pl_node *node)
{
    const char **all;
    size_t n;

    *at = node->text;
    all = with_operators(r, f, &n);
    if (!all || among(all, n, node->text))
        return;
    pl_diag_error(r->d, node->loc, "there is no operator '%s'", node->text);
    pl_diag_suggest(r->d, node->text, all, n);
}

/* A stage of one of the kinds that f takes, and a single one unless f takes
 * all the cells of a matrix; i is its number in names. */
static void check_stage(struct reader *r, const struct pl_field *f,
                        const struct pl_node *node, size_t i)
{
    const struct pl_names *names = r->names;
    size_t cells = names->stage_cells ? names->stage_cells[i] : 0, k;

    if (cells > 0 && !(f->flags & PL_F_GROUP)) {
        pl_diag_error(r->d, node->loc,
                      "%s takes one stage; '%s' is a matrix of %zu", f->name,
                      node->text, cells);
        pl_diag_help(r->d, "name one of its cells: %s", names->stages[i + 1]);
        return;
    }
    if (!f->choices || !names->stage_uses || !names->stage_uses[i])
        return;
    for (k = 0; f->choices[k]; k++)
        if (strcmp(f->choices[k], names->stage_uses[i]) == 0)
            return;
    pl_diag_error(r->d, node->loc,
                  "%s takes a stage that uses %s; '%s' uses %s", f->name,
                  f->choices[0], node->text, names->stage_uses[i]);
}

/* An entry of names, and where choices are given, of one of these kinds. */
void pl_value_name(struct reader *r, const struct pl_field *f,
                   enum pl_type type, const char **at,
                   const struct pl_node *node)
{
    const struct pl_names *names = r->names;
    const char *const *list;
    size_t n, i;

    if (type == PL_T_OPERATOR) {
        read_operator(r, f, at, node);
        return;
    }
    *at = node->text;
    if (!names || (type == PL_T_STAGE && names->stages_unknown))
        return;
    list = type == PL_T_DATASET ? names->datasets
           : type == PL_T_MODEL ? names->models
                                : names->stages;
    n = type == PL_T_DATASET ? names->n_datasets
        : type == PL_T_MODEL ? names->n_models
                             : names->n_stages;
    for (i = 0; i < n && strcmp(list[i], node->text) != 0; i++)
        continue;
    if (i < n) {
        if (type == PL_T_STAGE)
            check_stage(r, f, node, i);
        return;
    }
    pl_diag_error(r->d, node->loc, "there is no %s '%s'",
                  type == PL_T_DATASET ? "dataset"
                  : type == PL_T_MODEL ? "model"
                                       : "stage",
                  node->text);
    for (i = 0; i < n; i++)
        if (!node->quoted && strncmp(list[i], node->text, node->len) == 0 &&
            list[i][node->len] == ',')
            break;
    if (i < n) /* cut at the comma of a cell's name */
        pl_diag_help(r->d, "inside of { } and [ ] write '%s' in quotes",
                     list[i]);
    else
        pl_diag_suggest(r->d, node->text, list, n);
}
