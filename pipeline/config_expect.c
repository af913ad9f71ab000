/* `expect`: one subject, one relation, and what they are worth. */
#include <math.h>
#include <string.h>

#include "pipeline/config_load.h"
#include "pipeline/stage.h"
#include "pipeline/untrusted.h"

/* An entry as its table reads it. */
struct entry {
    const char *metric, *value, *file, *column, *error;
    int order, visibility;
    double gt, ge, lt, le, eq;
    struct pl_list close; /* of numbers */
    const char *close_to, *same_as;
    bool exists, manual;
    double atol, rtol, points;
    const char *why, *text;
    int device;
};

static const char *const devices[] = {"none", "cuda", NULL};
/* In the order of enum pl_order. */
static const char *const orders[] = {"increasing", "decreasing",
                                     "not_decreasing", "not_increasing", NULL};
static const char *const visibilities[] = {
    "visible", "hidden", "after_due_date", "after_published", NULL};

#define AT(m) offsetof(struct entry, m)
static const struct pl_field entry_fields[] = {
    {.name = "metric",
     .type = PL_T_STRING,
     .offset = AT(metric),
     .help = "a number of the stage's metrics.json",
     .example = "test.accuracy"},
    {.name = "value",
     .type = PL_T_STRING,
     .offset = AT(value),
     .help = "a named value of an autograd program",
     .example = "x.grad"},
    {.name = "file",
     .type = PL_T_STRING,
     .offset = AT(file),
     .help = "an artifact of the stage",
     .example = "curve.csv"},
    {.name = "column",
     .type = PL_T_STRING,
     .offset = AT(column),
     .help = "a column of the file, a CSV: its last number counts",
     .example = "loss"},
    {.name = "error",
     .type = PL_T_STRING,
     .offset = AT(error),
     .help = "the stage is to fail, with a message that has this in it",
     .example = "no scalar"},
    {.name = "gt",
     .type = PL_T_NUMBER,
     .offset = AT(gt),
     .help = "the number must be greater"},
    {.name = "ge",
     .type = PL_T_NUMBER,
     .offset = AT(ge),
     .help = "the number must be greater or equal"},
    {.name = "lt",
     .type = PL_T_NUMBER,
     .offset = AT(lt),
     .help = "the number must be less"},
    {.name = "le",
     .type = PL_T_NUMBER,
     .offset = AT(le),
     .help = "the number must be less or equal"},
    {.name = "eq",
     .type = PL_T_NUMBER,
     .offset = AT(eq),
     .help = "the number must be equal"},
    {.name = "close",
     .type = PL_T_LIST,
     .elem = PL_T_NUMBER,
     .flags = PL_F_ONE,
     .offset = AT(close),
     .help = "the number must be within atol + rtol |close| of it; of a value "
             "that is a tensor each number, or a list row by row"},
    {.name = "close_to",
     .type = PL_T_STRING,
     .offset = AT(close_to),
     .help = "the same, of another metric"},
    {.name = "exists",
     .type = PL_T_BOOL,
     .offset = AT(exists),
     .help = "the file must be there"},
    {.name = "order",
     .type = PL_T_ENUM,
     .offset = AT(order),
     .def = "increasing",
     .choices = orders,
     .help = "how each number of the column must lie beside the next"},
    {.name = "same_as",
     .type = PL_T_PATH,
     .offset = AT(same_as),
     .help = "the file must equal this one, byte for byte",
     .example = "${stages.train.dir}/checkpoints/last.safetensors"},
    {.name = "atol",
     .type = PL_T_NUMBER,
     .offset = AT(atol),
     .def = "-1",
     .max = INFINITY,
     .help = "absolute tolerance; 1e-8 if neither is given, else 0"},
    {.name = "rtol",
     .type = PL_T_NUMBER,
     .offset = AT(rtol),
     .def = "-1",
     .max = INFINITY,
     .help = "relative tolerance; 1e-5 if neither is given, else 0"},
    {.name = "points",
     .type = PL_T_NUMBER,
     .offset = AT(points),
     .def = "0",
     .max = 1e6,
     .help = "what it is worth"},
    {.name = "why",
     .type = PL_T_STRING,
     .offset = AT(why),
     .help = "a sentence for whoever does not meet it"},
    {.name = "visibility",
     .type = PL_T_ENUM,
     .offset = AT(visibility),
     .def = "visible",
     .choices = visibilities,
     .help = "when a student sees it, in Gradescope's words"},
    {.name = "requires",
     .type = PL_T_ENUM,
     .offset = AT(device),
     .def = "none",
     .choices = devices,
     .help = "a device; where there is none, it is not assessed"},
    {.name = "manual",
     .type = PL_T_BOOL,
     .offset = AT(manual),
     .def = "false",
     .help = "a person grades it"},
    {.name = "text",
     .type = PL_T_STRING,
     .offset = AT(text),
     .help = "manual: what is graded"},
};
const struct pl_schema pl_expect_schema = {
    .name = "expectation",
    .help = "what must hold at the end of a stage",
    PL_FIELDS(entry_fields),
    .size = sizeof(struct entry),
};
#undef AT

static const char *const subjects[] = {"metric", "value", "file"};
/* In the order of enum pl_relation. */
static const char *const relations[] = {"gt",    "ge",     "lt",       "le",
                                        "eq",    "close",  "close_to", "exists",
                                        "order", "same_as"};
enum { N_SUBJECTS = 3, N_RELATIONS = 10 };

/* How many of the keys stand in map; *found is the index of the last. */
static size_t count_keys(const struct pl_node *map, const char *const *keys,
                         size_t n, size_t *found)
{
    size_t count = 0, i;

    for (i = 0; i < n; i++) {
        if (!pl_node_get(map, keys[i]))
            continue;
        *found = i;
        count++;
    }
    return count;
}

static double bound(const struct entry *e, enum pl_relation r)
{
    switch (r) {
    case PL_REL_GT:
        return e->gt;
    case PL_REL_GE:
        return e->ge;
    case PL_REL_LT:
        return e->lt;
    case PL_REL_LE:
        return e->le;
    case PL_REL_EQ:
        return e->eq;
    case PL_REL_CLOSE:
        return e->close.n == 1 ? *(const double *)e->close.items : 0;
    default:
        return 0;
    }
}

/* NumPy's tolerances if none is given; else what is given, and 0. */
static void set_tolerances(struct pl_expect *out, const struct entry *e)
{
    bool none = e->atol < 0 && e->rtol < 0;

    out->atol = none ? 1e-8 : e->atol < 0 ? 0 : e->atol;
    out->rtol = none ? 1e-5 : e->rtol < 0 ? 0 : e->rtol;
}

static void check_manual(struct pl_loader *l, const struct pl_node *node,
                         const struct entry *e)
{
    static const char *const other[] = {
        "metric", "value", "file", "column", "gt",       "ge",
        "lt",     "le",    "eq",   "close",  "close_to", "exists",
        "order",  "atol",  "rtol", "same_as"};
    size_t at;

    if (count_keys(node, other, sizeof other / sizeof *other, &at) > 0)
        pl_diag_error(l->d, pl_node_pair(node, other[at])->key_loc,
                      "what a person grades has no '%s'", other[at]);
    if (!e->text)
        pl_diag_error(l->d, node->loc,
                      "manual: true needs 'text': what is graded");
}

/* A stage that is meant to fail leaves nothing that could be measured. */
static void check_error(struct pl_loader *l, const struct pl_node *node,
                        const struct entry *e)
{
    static const char *const with_it[] = {"error", "points", "why",
                                          "visibility"};
    size_t i, k;

    for (i = 0; i < node->n; i++) {
        const struct pl_pair *p = &node->pairs[i];

        for (k = 0; k < 4; k++)
            if (strcmp(p->key, with_it[k]) == 0)
                break;
        if (k == 4)
            pl_diag_error(l->d, p->key_loc,
                          "%s cannot stand with 'error': a stage that fails "
                          "has nothing else to be judged by",
                          p->key);
    }
    if (e->error[0] == '\0')
        pl_diag_error(l->d, pl_node_get(node, "error")->loc,
                      "error is empty; it is a part of the message");
}

/* A file exists; a column may have an order; what is a number has one beside
 * it. */
static void check_fit(struct pl_loader *l, const struct pl_node *node,
                      const struct entry *e, size_t relation)
{
    const char *name = relations[relation];
    struct pl_loc loc = pl_node_pair(node, name)->key_loc;
    bool close = relation == PL_REL_CLOSE || relation == PL_REL_CLOSE_TO;
    bool whole = relation == PL_REL_EXISTS || relation == PL_REL_SAME_AS;
    const struct pl_pair *p;

    if (e->column && !e->file)
        pl_diag_error(l->d, pl_node_pair(node, "column")->key_loc,
                      "column goes with 'file': the CSV that has it");
    else if (e->column && whole)
        pl_diag_error(l->d, loc, "%s goes with a file, without a column", name);
    else if (e->file && !e->column && !whole)
        pl_diag_error(l->d, loc,
                      "a file goes with 'exists: true', 'same_as' or a column, "
                      "not '%s'",
                      name);
    else if (!e->file && whole)
        pl_diag_error(l->d, loc, "%s goes with a file", name);
    else if (!e->column && relation == PL_REL_ORDER)
        pl_diag_error(l->d, loc, "order goes with a column of a file");
    if (relation == PL_REL_EXISTS && !e->exists)
        pl_diag_error(l->d, loc, "exists can only be true");
    p = pl_node_pair(node, "atol");
    if (!p)
        p = pl_node_pair(node, "rtol");
    if (p && !close)
        pl_diag_error(l->d, p->key_loc, "%s goes with close and close_to",
                      p->key);
}

/* An artifact lies in the folder of its stage. */
static void check_file(struct pl_loader *l, const struct pl_node *node,
                       const char *file)
{
    const char *p = file;

    while (p && *p != '/' && *p != '\0' && strncmp(p, "../", 3) != 0 &&
           strcmp(p, "..") != 0) {
        p = strchr(p, '/');
        if (!p)
            return;
        p++;
    }
    pl_diag_error(l->d, pl_node_get(node, "file")->loc,
                  "'%s' is no artifact: it leaves the folder of the stage",
                  file);
}

/* Only some kinds leave values. */
static void check_value(struct pl_loader *l, const struct pl_node *node,
                        const struct pl_stage *s)
{
    if (!s->kind->has_values)
        pl_diag_error(l->d, pl_node_pair(node, "value")->key_loc,
                      "a stage that uses %s has no values", s->kind->name);
}

static void check_measured(struct pl_loader *l, const struct pl_node *node,
                           const struct entry *e, size_t *relation)
{
    size_t at = 0;
    size_t n_subjects = count_keys(node, subjects, N_SUBJECTS, &at);
    size_t n_relations = count_keys(node, relations, N_RELATIONS, relation);

    if (n_subjects != 1) {
        pl_diag_error(l->d, node->loc,
                      "an expectation has one of metric, value, file and "
                      "error, not %s",
                      n_subjects ? "several" : "none");
        return;
    }
    if (n_relations != 1) {
        pl_diag_error(l->d, node->loc,
                      "an expectation has one of gt, ge, lt, le, eq, close, "
                      "close_to, order, exists and same_as, not %s",
                      n_relations ? "several" : "none");
        if (n_relations)
            pl_diag_help(l->d, "write one entry for each");
        return;
    }
    check_fit(l, node, e, *relation);
    if (e->text)
        pl_diag_error(l->d, pl_node_pair(node, "text")->key_loc,
                      "text goes with 'manual: true'");
}

/* A list of numbers is for a tensor. */
static void check_close(struct pl_loader *l, const struct pl_node *node,
                        const struct entry *e)
{
    const struct pl_node *close = pl_node_get(node, "close");

    if (!close || e->close.n == 1)
        return;
    if (e->close.n == 0)
        pl_diag_error(l->d, close->loc,
                      "close must be a number, or a list of "
                      "them");
    else if (!e->value)
        pl_diag_error(l->d, close->loc, "a list of numbers goes with a value");
}

static struct pl_loc loc_of(const struct pl_node *map, const char *key)
{
    const struct pl_node *value = pl_node_get(map, key);

    return value ? value->loc : map->loc;
}

/* Without the place where results lie. */
static const char *as_written(const struct pl_node *path)
{
    return path->written ? path->written : path->text;
}

static void read_entry(struct pl_loader *l, const struct pl_stage *s,
                       const struct pl_node *node, const char *where,
                       struct pl_expect *out)
{
    struct entry e;
    size_t relation = 0;

    if (!where) {
        l->d->nomem = true;
        return;
    }
    if (node->bad || pl_schema_read(&pl_expect_schema, &e, node, where,
                                    &l->names, l->arena, l->d) > 0)
        return;
    if (e.error)
        check_error(l, node, &e);
    else if (e.manual)
        check_manual(l, node, &e);
    else
        check_measured(l, node, &e, &relation);
    if (e.value && !e.manual)
        check_value(l, node, s);
    if (e.file)
        check_file(l, node, e.file);
    if (e.same_as)
        (void)pl_untrusted_path(l, e.same_as,
                                pl_node_get(node, "same_as")->loc);
    check_close(l, node, &e);
    *out = (struct pl_expect){
        .loc = node->loc,
        .metric_loc = loc_of(node, "metric"),
        .other_loc = loc_of(node, "close_to"),
        .metric = e.metric,
        .value = e.value,
        .file = e.file,
        .column = e.column,
        .error = e.error,
        .relation = (enum pl_relation)relation,
        .bound = bound(&e, (enum pl_relation)relation),
        .bounds = e.close.items,
        .n_bounds = e.close.n > 1 ? e.close.n : 0,
        .other = e.close_to,
        .order = (enum pl_order)e.order,
        .same_as = e.same_as,
        .same_as_shown =
            e.same_as ? as_written(pl_node_get(node, "same_as")) : NULL,
        .points = e.points,
        .why = e.why,
        .visibility = visibilities[e.visibility],
        .requires_device = e.device ? devices[e.device] : NULL,
        .manual = e.manual,
        .text = e.text,
    };
    set_tolerances(out, &e);
}

/* Beside an error that is to come nothing else can hold. */
static void check_beside(struct pl_loader *l, const struct pl_stage *s)
{
    const struct pl_expect *error = NULL;
    size_t i;

    for (i = 0; !error && i < s->n_expect; i++)
        if (s->expect[i].error)
            error = &s->expect[i];
    for (i = 0; error && i < s->n_expect; i++)
        if (&s->expect[i] != error)
            pl_diag_error(l->d, s->expect[i].loc,
                          "beside 'error' nothing else can be expected: the "
                          "stage is to fail");
}

void pl_load_expect(struct pl_loader *l, const char *id,
                    const struct pl_node *list, struct pl_stage *s)
{
    const char *where = arena_printf(l->arena, "stages.%s.expect", id);
    char words[80];
    size_t i;

    if (!list || list->bad)
        return;
    if (list->kind != PL_SEQ) {
        pl_diag_error(l->d, list->loc, "%s must be a list, not %s",
                      where ? where : "expect", pl_node_words(list, words));
        pl_diag_help(l->d, "begin each entry with '- '");
        return;
    }
    s->expect = arena_array(l->arena, list->n, sizeof *s->expect);
    if (!s->expect || !where) {
        l->d->nomem = true;
        return;
    }
    s->n_expect = list->n;
    for (i = 0; i < list->n; i++)
        read_entry(l, s, list->items[i],
                   arena_printf(l->arena, "%s.%zu", where, i), &s->expect[i]);
    check_beside(l, s);
}
