#include "pipeline/prog_derive.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pipeline/prog_rule.h"

enum { LONG_FORMULA = 16 }; /* words: longer ones get a step of their own */

struct walk {
    const struct prog_run *r;
    struct prog_derivation *out;
    const struct prog_expr **grad; /* of each value so far, or NULL */
    struct arena *arena;
    int unnamed; /* steps without a name so far */
};

static int no_memory(struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory for a derivation");
}

static int rank_of(const struct prog_value *v)
{
    return v->t ? v->t->shape.ndim : 0;
}

/* Writes the step d root / d v = g; *symbol is what later steps call it. */
static int add_step(struct walk *w, const struct prog_value *v,
                    const struct prog_expr *g, const struct prog_expr **symbol,
                    struct err *err)
{
    struct prog_step *s = &w->out->step[w->out->n++];
    struct str text = {0};
    const char *name;

    s->of = v;
    s->label = v->name ? v->name : arena_printf(w->arena, "v%d", ++w->unnamed);
    if (w->out->n == 1)
        w->out->root = s->label;
    prog_math_add(&text, g);
    if (!text.failed)
        s->text = arena_strdup(w->arena, text.text);
    str_free(&text);
    name = s->label ? arena_printf(w->arena, "d%s/d%s", w->out->root, s->label)
                    : NULL;
    *symbol = name ? prog_rule_name(name, rank_of(v), w->arena) : NULL;
    return *symbol && s->text ? 0 : no_memory(err);
}

/* Rules of elementwise operators speak of equal shapes: what was broadcast is
 * summed. */
static const struct prog_expr *broadcast(struct walk *w,
                                         const struct prog_value *v,
                                         const struct prog_value *of,
                                         const struct prog_expr *e)
{
    static const enum nn_op_id elementwise[] = {NN_OP_ADD, NN_OP_SUB, NN_OP_MUL,
                                                NN_OP_DIV, NN_OP_MAXIMUM};
    struct prog_expr *sum;
    size_t i;

    for (i = 0; i < sizeof elementwise / sizeof *elementwise; i++)
        if (v->fn->op == elementwise[i] &&
            !nn_shape_eq(&v->t->shape, &of->t->shape))
            break;
    if (i == sizeof elementwise / sizeof *elementwise)
        return e;
    sum = (struct prog_expr *)prog_rule_call("sum_to", e, w->arena);
    if (sum)
        sum->rank = rank_of(of);
    return sum;
}

/* Hands v's gradient, called g, on to what v was made from. */
static int spread(struct walk *w, const struct prog_value *v,
                  const struct prog_expr *g, struct err *err)
{
    int rc = 0, k;

    for (k = 0; rc == 0 && k < v->n_in; k++) {
        const struct prog_value *of = v->in[k];
        const struct prog_expr *e;

        if (of->kind != PROG_V_TENSOR || !of->t->requires_grad)
            continue;
        rc = prog_rule_grad(&e, v, k, g, w->arena, err);
        if (rc != 0 || !e)
            continue;
        e = broadcast(w, v, of, e);
        w->grad[of->index] =
            e ? prog_rule_sum(w->grad[of->index], e, w->arena) : NULL;
        if (!w->grad[of->index])
            rc = no_memory(err);
    }
    return rc;
}

static bool has_own_step(const struct walk *w, const struct prog_value *v,
                         const struct prog_expr *g)
{
    return v->name || v == w->out->backward->root ||
           prog_rule_size(g) > LONG_FORMULA ||
           (v->formula && prog_rule_size(v->formula) > LONG_FORMULA);
}

int prog_derive(struct prog_derivation *out, const struct prog_run *r,
                const struct prog_backward *b, struct arena *arena,
                struct err *err)
{
    struct walk w = {.r = r, .out = out, .arena = arena};
    size_t i;
    int rc = 0;

    memset(out, 0, sizeof *out);
    out->backward = b;
    out->step = arena_array(arena, b->n_values + 1, sizeof *out->step);
    w.grad = arena_array(arena, r->n_value + 1, sizeof(struct prog_expr *));
    if (!out->step || !w.grad)
        return no_memory(err);
    w.grad[b->root->index] = prog_rule_number(1.0, arena);
    for (i = b->root->index + 1; rc == 0 && i-- > 0;) {
        const struct prog_value *v = r->value[i];
        const struct prog_expr *g = w.grad[i];

        if (!g)
            continue;
        if (has_own_step(&w, v, g))
            rc = add_step(&w, v, g, &g, err);
        if (v == b->root)
            g = prog_rule_number(1.0, arena);
        if (rc == 0 && v->fn && v->t->node)
            rc = g ? spread(&w, v, g, err) : no_memory(err);
    }
    return rc;
}

const char *prog_derive_word(size_t i, const char **name)
{
    static const struct {
        const char *name, *text;
    } words[] = {
        {"sum_to(", "sum_to(...): summed over the dimensions that were "
                    "broadcast"},
        {"step(", "step(x): 1 where x > 0, else 0"},
        {"sign(", "sign(x): 1, -1, or 0 where x is 0"},
        {"Phi(", "Phi, phi: the normal distribution and its density"},
        {"share(",
         "share(a, b): 1 where a is larger, 0.5 where both are equal, "
         "else 0"},
        {"largest(", "largest(x): 1 at the first largest, else 0"},
        {"expand(", "expand(...): repeated along what was summed"},
        {"onehot(", "onehot(t): 1 in the column of the class, else 0"},
        {"pad(", "pad(...): 0 around the slice"},
        {"part(", "part(g, i): the rows or columns that came from operand i"},
        {"conv2d_input(", "conv2d_input(g, W): each number of g times the "
                          "kernel, added where its window lay"},
        {"conv2d_weight(", "conv2d_weight(g, x): x times g, summed over "
                           "samples and windows"},
        {"unpool(", "unpool(g): each number in every place of its window"},
        {"xhat(", "xhat(x), r(x): x less its mean, times r(x) = 1 / sqrt(var "
                  "+ eps); mean and var of a channel (batch_norm) or a row "
                  "(layer_norm)"},
        {"scatter(", "scatter(g, i): added to the rows that were looked up"},
        {"\u2299", "\u2299: element by element"},
        {"\u1d40", "\u1d40: transposed; a vector is a column"},
    };

    if (i >= sizeof words / sizeof *words)
        return NULL;
    *name = words[i].name;
    return words[i].text;
}

void prog_value_formula(struct str *out, const struct prog_value *v)
{
    if (v->change) { /* "h += 1", and what it is called from there on */
        str_addf(out, "%s %s= ", v->change->name, v->change->op);
        prog_expr_add(out, v->change->expr);
        if (v->name && strcmp(v->name, v->change->name) != 0)
            str_addf(out, ", now %s", v->name);
        return;
    }
    if (v->name)
        str_add(out, v->name);
    if (v->name && v->formula)
        str_add(out, " = ");
    if (v->formula)
        prog_expr_add(out, v->formula);
}

/* ---- numbers ---- */

static void add_number(struct str *out, double v, int digits)
{
    char buf[40];

    if (digits >= 17 || !isfinite(v)) {
        str_add_double(out, v);
        return;
    }
    (void)snprintf(buf, sizeof buf, "%.*g", digits, v + 0.0);
    str_add(out, buf);
}

void prog_numbers_add(struct str *out, const struct nn_shape *shape,
                      const double *v, int64_t most, int digits)
{
    int64_t n = nn_shape_numel(shape), i;
    int d;

    if (shape->ndim == 0) {
        add_number(out, v[0], digits);
        return;
    }
    for (i = 0; i < n && i < most; i++) {
        int64_t block = n;

        str_add(out, i ? ", " : "");
        for (d = 0; d < shape->ndim; d++) { /* brackets that open here */
            if (i % block == 0)
                str_addc(out, '[');
            block /= shape->dim[d];
        }
        add_number(out, v[i], digits);
        for (d = 0, block = 1; d < shape->ndim; d++) {
            block *= shape->dim[shape->ndim - 1 - d];
            if ((i + 1) % block == 0)
                str_addc(out, ']');
        }
    }
    if (n == 0)
        str_add(out, "[]");
    else if (i < n)
        str_add(out, ", ...");
}
