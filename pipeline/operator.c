#include "pipeline/operator.h"

#include <string.h>

#include "pipeline/builtin.h"
#include "pipeline/merge.h"
#include "pipeline/model_build.h"
#include "pipeline/recipe.h"
#include "pipeline/scalar.h"

enum { MAX_SIZE = 1 << 24 };

#define AT(m) offsetof(struct pl_operator, m)
static const struct pl_field operator_fields[] = {
    {.name = "forward",
     .type = PL_T_STRING,
     .offset = AT(forward),
     .flags = PL_F_REQUIRED,
     .help = "a program that sets y; what it reads and does not set is given: "
             "x, the input; t, the target of a loss; parameters by other names",
     .example = "y = x @ transpose(W) + b"},
    {.name = "backward",
     .type = PL_T_STRING,
     .offset = AT(backward),
     .flags = PL_F_REQUIRED,
     .help =
         "a program that sets dx, dW, ...: the gradient of each operand but "
         "t; it sees g, the gradient of y, and all names of forward",
     .example = "dx = g @ W; dW = transpose(g) @ x; db = sum(g, 0)"},
    {.name = "same_as",
     .type = PL_T_STRING,
     .offset = AT(same_as),
     .choices = pl_builtin_names,
     .help = "the built-in operator that it must agree with",
     .example = "linear"},
    {.name = "parameters",
     .type = PL_T_NODE,
     .offset = AT(parameters),
     .help = "sizes of the parameters: numbers, in (features that come in) and "
             "out (the layer's out); init: uniform, zeros or ones. W is "
             "[out, in] and b [out] without being said",
     .example = "{s: {shape: [1], init: ones}}"},
    {.name = "check",
     .type = PL_T_BOOL,
     .offset = AT(check),
     .def = "true",
     .help = "whether training refuses it if its gradients are wrong"},
};
const struct pl_schema pl_operator_schema = {
    .name = "operator",
    .help =
        "an operator of the file's own: what it computes, and its gradients",
    PL_FIELDS(operator_fields),
    .size = sizeof(struct pl_operator),
    .name_offset = AT(name),
    .node_offset = AT(node),
    .has_node = true,
};
#undef AT

/* In the order of enum nn_init. */
static const char *const inits[] = {"uniform", "zeros", "ones", NULL};

struct parameter {
    struct pl_list shape; /* const char * */
    int init;
    const struct pl_node *node;
};

#define AT(m) offsetof(struct parameter, m)
static const struct pl_field parameter_fields[] = {
    {.name = "shape",
     .type = PL_T_LIST,
     .elem = PL_T_STRING,
     .offset = AT(shape),
     .flags = PL_F_REQUIRED,
     .help = "its sizes: numbers, in, out",
     .example = "[out, in]"},
    {.name = "init",
     .type = PL_T_ENUM,
     .offset = AT(init),
     .def = "uniform",
     .choices = inits,
     .help = "its first values"},
};
static const struct pl_schema parameter_schema = {
    .name = "parameter",
    .help = "a parameter of an own operator",
    PL_FIELDS(parameter_fields),
    .size = sizeof(struct parameter),
    .node_offset = AT(node),
    .has_node = true,
};
#undef AT

/* ---- parameters ---- */

static bool read_size(int64_t *out, const char *text, struct pl_loc loc,
                      struct pl_diag *d)
{
    if (strcmp(text, "in") == 0) {
        *out = NN_DIM_IN;
        return true;
    }
    if (strcmp(text, "out") == 0) {
        *out = NN_DIM_OUT;
        return true;
    }
    if (scalar_int(text, out) == SCALAR_OK && *out >= 1 && *out <= MAX_SIZE)
        return true;
    pl_diag_error(d, loc,
                  "a size is in, out or a number from 1 to %d, not '%s'",
                  MAX_SIZE, text);
    return false;
}

static bool read_shape(struct nn_own_param *p, const struct parameter *from,
                       struct pl_diag *d)
{
    const struct pl_node *list = pl_node_get(from->node, "shape");
    const char *const *text = from->shape.items;
    double numbers = 1;
    size_t i;

    if (from->shape.n < 1 || from->shape.n > NN_MAX_DIMS) {
        pl_diag_error(d, list->loc, "a parameter has 1 to %d sizes, not %zu",
                      NN_MAX_DIMS, from->shape.n);
        return false;
    }
    p->ndim = (int)from->shape.n;
    for (i = 0; i < from->shape.n; i++) {
        if (!read_size(&p->dim[i], text[i], list->items[i]->loc, d))
            return false;
        numbers *= p->dim[i] > 0 ? (double)p->dim[i] : 1.0;
    }
    if (numbers <= MAX_SIZE)
        return true;
    pl_diag_error(d, list->loc, "a parameter has at most %d numbers, not %.0f",
                  MAX_SIZE, numbers);
    return false;
}

/* [out, in] stands for {shape: [out, in]}. */
static const struct pl_node *long_form(const struct pl_node *node,
                                       struct arena *arena, struct pl_diag *d)
{
    struct pl_node *map;

    if (node->kind != PL_SEQ)
        return node;
    map = pl_node_map(arena, 1, node->loc);
    if (!map) {
        d->nomem = true;
        return NULL;
    }
    pl_node_add(map, "shape", node->loc, (struct pl_node *)node);
    return map;
}

static bool read_parameter(struct nn_own_param *p, const struct pl_operator *o,
                           const struct pl_pair *entry, struct arena *arena,
                           struct pl_diag *d)
{
    const struct pl_node *node = long_form(entry->value, arena, d);
    const char *where =
        arena_printf(arena, "operators.%s.parameters.%s", o->name, entry->key);
    struct parameter from;

    if (!node || !where || node->bad) {
        d->nomem = d->nomem || !where;
        return false;
    }
    if (pl_schema_read(&parameter_schema, &from, node, where, NULL, arena, d) >
            0 ||
        !read_shape(p, &from, d))
        return false;
    p->init = (enum nn_init)from.init;
    return true;
}

/* W, weight: [out, in]; b, bias: [out]. */
static bool default_parameter(struct nn_own_param *p, const char *name)
{
    bool weight = strcmp(name, "W") == 0 || strcmp(name, "weight") == 0;

    if (!weight && strcmp(name, "b") != 0 && strcmp(name, "bias") != 0)
        return false;
    p->ndim = weight ? 2 : 1;
    p->dim[0] = NN_DIM_OUT;
    p->dim[1] = NN_DIM_IN;
    return true;
}

/* What it is called in a state_dict, as torch.nn.Linear's. */
static const char *state_name(const char *name)
{
    if (strcmp(name, "W") == 0)
        return "weight";
    return strcmp(name, "b") == 0 ? "bias" : name;
}

static void undeclared(const struct pl_operator *o, const struct pl_operand *in,
                       struct pl_diag *d)
{
    pl_diag_error(d, prog_loc(&o->program.source, in->pos),
                  "'%s' is neither set before nor among the parameters",
                  in->name);
    if (prog_fn_find(in->name))
        pl_diag_help(d, "a function is called: %s",
                     prog_fn_find(in->name)->help);
    else
        pl_diag_help(d,
                     "if it is a parameter, say its sizes: parameters: "
                     "{%s: [out]}",
                     in->name);
}

static bool parameter_of(struct pl_operator *o, int i, struct arena *arena,
                         struct pl_diag *d)
{
    const struct pl_operand *in = &o->in[i];
    struct nn_own_param *p = &o->param[i - 1];
    const struct pl_pair *entry = pl_node_pair(o->parameters, in->name);
    int k;

    if (entry && !read_parameter(p, o, entry, arena, d))
        return false;
    if (!entry && !default_parameter(p, in->name)) {
        undeclared(o, in, d);
        return false;
    }
    p->name = state_name(in->name);
    for (k = 0; k < p->ndim; k++) {
        o->sized = o->sized || p->dim[k] == NN_DIM_OUT;
        o->flat = o->flat || p->dim[k] < 0;
    }
    for (k = 0; k < i - 1; k++) {
        if (strcmp(o->param[k].name, p->name) != 0)
            continue;
        pl_diag_error(d, prog_loc(&o->program.source, in->pos),
                      "'%s' and '%s' are both saved as '%s'", o->in[k + 1].name,
                      in->name, p->name);
        return false;
    }
    return true;
}

/* Those that are declared and that forward does not read. */
static void check_unread(const struct pl_operator *o, struct pl_diag *d)
{
    size_t i;
    int k;

    for (i = 0; i < o->parameters->n; i++) {
        const struct pl_pair *p = &o->parameters->pairs[i];

        for (k = 1; k < o->n_in; k++)
            if (strcmp(o->in[k].name, p->key) == 0)
                break;
        if (k >= o->n_in)
            pl_diag_error(d, p->key_loc, "forward does not read '%s'", p->key);
    }
}

static bool read_parameters(struct pl_operator *o, struct arena *arena,
                            struct pl_diag *d)
{
    size_t errors = d->errors;
    char words[80];
    int i;

    if (o->parameters && o->parameters->kind != PL_MAP) {
        if (!o->parameters->bad)
            pl_diag_error(d, o->parameters->loc,
                          "operators.%s.parameters must be a map, not %s",
                          o->name, pl_node_words(o->parameters, words));
        return false;
    }
    for (i = o->loss ? 2 : 1; i < o->n_in; i++)
        if (!parameter_of(o, i, arena, d))
            return false;
    if (o->parameters)
        check_unread(o, d);
    return d->errors == errors;
}

/* ---- names ---- */

static bool is_word(const char *const *list, const char *word)
{
    size_t i;

    for (i = 0; list && list[i]; i++)
        if (strcmp(list[i], word) == 0)
            return true;
    return false;
}

/* A name that means something else where operators are named. */
static bool name_is_free(const struct pl_pair *entry, struct pl_diag *d)
{
    const struct {
        const char *what;
        const char *const *words;
    } taken[] = {
        {"a built-in layer",
         pl_schema_field(pl_schema_field(&pl_model_schema, "layers")->sub,
                         "type")
             ->choices},
        {"a built-in loss", pl_schema_field(&pl_train_schema, "loss")->choices},
        {"a built-in operator", pl_builtin_names},
        {"a word for a set of operators",
         pl_schema_field(&pl_autograd_schema, "operators")->choices},
    };
    size_t i;

    for (i = 0; i < sizeof taken / sizeof *taken; i++) {
        if (!is_word(taken[i].words, entry->key))
            continue;
        pl_diag_error(d, entry->key_loc, "'%s' is %s", entry->key,
                      taken[i].what);
        pl_diag_help(d, "call yours my_%s", entry->key);
        return false;
    }
    return true;
}

/* ---- same_as ---- */

static bool has_operand(const struct pl_operator *o, const char *name)
{
    int i;

    for (i = 0; i < o->n_in; i++)
        if (pl_builtin_is(name, o->in[i].name))
            return true;
    return false;
}

/* The operands of the built-in operator, by their names. */
static void check_same_as(const struct pl_operator *o, struct pl_diag *d)
{
    const struct pl_builtin *b = pl_builtin_find(o->same_as);
    struct pl_loc loc = pl_node_key_loc(o->node, "same_as", o->node->loc);
    int i, n = 0;

    for (i = 0; i < b->n_in; i++) {
        n += has_operand(o, b->in[i]);
        if (i < b->least && !has_operand(o, b->in[i])) {
            pl_diag_error(d, loc,
                          "%s works on '%s', which forward does not "
                          "read",
                          o->same_as, b->in[i]);
            return;
        }
    }
    if (n < o->n_in)
        pl_diag_error(d, loc, "%s works on %s alone; forward reads more",
                      o->same_as, b->operands);
}

bool pl_operator_read(struct pl_operator *out, const struct pl_pair *entry,
                      struct arena *arena, struct pl_diag *d)
{
    const char *where = arena_printf(arena, "operators.%s", entry->key);
    size_t errors = d->errors;

    if (!where) {
        d->nomem = true;
        return false;
    }
    if (entry->value->bad || !name_is_free(entry, d) ||
        pl_schema_read(&pl_operator_schema, out, entry->value, where, NULL,
                       arena, d) > 0)
        return false;
    out->name = entry->key;
    if (!pl_operator_programs(out, arena, d) || !read_parameters(out, arena, d))
        return false;
    if (out->same_as)
        check_same_as(out, d);
    pl_operator_ready(out);
    return d->errors == errors && !d->nomem;
}

void pl_operator_check_layer(const struct pl_operator *o,
                             const struct pl_layer *l, struct pl_diag *d)
{
    struct pl_loc out = pl_node_key_loc(l->node, "out", l->node->loc);
    struct pl_loc type = pl_node_key_loc(l->node, "type", l->node->loc);

    if (o->loss) {
        pl_diag_error(d, type, "'%s' reads a target t: it is a loss, no layer",
                      o->name);
    } else if (o->sized && l->out == 0) {
        pl_diag_error(d, l->node->loc, "a layer of type %s lacks 'out'",
                      o->name);
        pl_diag_help(d,
                     "its parameters have the size out; for example {type: "
                     "%s, out: 256}",
                     o->name);
    } else if (!o->sized && l->out != 0) {
        pl_diag_error(d, out,
                      "out does not apply to %s: no parameter of it "
                      "has that size",
                      o->name);
    }
}

void pl_operator_check_loss(const struct pl_operator *o, struct pl_loc loc,
                            struct pl_diag *d)
{
    if (o->loss)
        return;
    pl_diag_error(d, loc,
                  "'%s' cannot be a loss: its forward reads no target t",
                  o->name);
}
