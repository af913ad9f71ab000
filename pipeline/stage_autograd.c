#include <stdio.h>
#include <string.h>

#include "nn/base/rng.h"
#include "nn/base/str.h"
#include "pipeline/device_settings.h"
#include "pipeline/operator_report.h"
#include "pipeline/optable.h"
#include "pipeline/recipe.h"
#include "pipeline/reference.h"
#include "pipeline/stage.h"
#include "pipeline/stage_program.h"

/* What no reference can be given for: dropout's mask is our own. */
static const struct {
    const char *title;
    struct nn_opcase op;
    int n_in;
    struct nn_shape in[3];
} own_cases[] = {
    {"dropout p=0.5", {.op = "dropout", .p = 0.5}, 1, {{2, {4, 6}}}},
    {"dropout p=0.1", {.op = "dropout", .p = 0.1}, 1, {{3, {2, 3, 4}}}},
};
enum { N_OWN = sizeof own_cases / sizeof *own_cases };

struct autograd {
    struct pl_stage_ctx *ctx;
    const struct pl_autograd_with *with;
    struct pl_opcheck_opts opts;
    const char *source; /* of the reference before; NULL: none so far */
    struct arena arena;
    struct str csv;
    struct pl_operator_counts n;
};

/* Fills t with numbers in [-1, 1] and marks it as wanting its gradient. */
static int random_tensor(struct autograd *a, struct pl_ref_tensor *t,
                         const struct nn_shape *shape, struct rng_mt *g)
{
    int64_t n = nn_shape_numel(shape), i;

    t->name = "";
    t->shape = *shape;
    t->data = arena_array(&a->arena, (size_t)n, sizeof *t->data);
    t->grad = arena_array(&a->arena, (size_t)n, sizeof *t->grad);
    if (!t->data || !t->grad)
        return ERR_NOMEM;
    for (i = 0; i < n; i++)
        t->data[i] = (double)rng_mt_uniform(g, -1.0f, 1.0f);
    return 0;
}

static int own_case(struct autograd *a, int k, struct pl_ref_case *c,
                    struct err *err)
{
    struct rng_mt g;
    int rc = 0, i;

    memset(c, 0, sizeof *c);
    c->op = own_cases[k].op;
    c->title = own_cases[k].title;
    c->n_in = own_cases[k].n_in;
    rng_mt_seed(&g, (uint64_t)a->with->seed + 1 + (uint64_t)k);
    for (i = 0; rc == 0 && i < c->n_in; i++)
        rc = random_tensor(a, &c->in[i], &own_cases[k].in[i], &g);
    return rc == 0 ? 0 : err_set(err, ERR_NOMEM, "out of memory for a check");
}

static void csv_number(struct str *s, bool made, double v)
{
    str_addc(s, ',');
    if (made)
        str_addf(s, "%.3e", v);
}

static void add_row(struct autograd *a, const struct pl_ref_case *c,
                    const struct pl_opcheck *o)
{
    bool ok = pl_opcheck_passed(o);

    str_addf(&a->csv, "%s,%lld", c->title, (long long)o->grad.checked);
    csv_number(&a->csv, true, o->grad.max_error);
    csv_number(&a->csv, o->f64.made, o->f64.max_error);
    csv_number(&a->csv, o->f32.made, o->f32.max_error);
    csv_number(&a->csv, o->forms.made, o->forms.max_error);
    str_addf(&a->csv, ",%s\n", ok ? "pass" : "fail");
    a->n.total++;
    a->n.failed += !ok;
    if (o->grad.max_error > a->n.worst_grad)
        a->n.worst_grad = o->grad.max_error;
    if (o->f64.max_error > a->n.worst_close)
        a->n.worst_close = o->f64.max_error;
}

static int check_case(struct autograd *a, const struct pl_ref_case *c,
                      struct err *err)
{
    struct pl_opcheck o;
    int rc;

    if (pl_stopping(a->ctx))
        return err_set(err, ERR_INTERRUPTED,
                       "stopped before all operators "
                       "were checked");
    rc = pl_opcheck_run(&o, a->ctx->be, c, &a->opts, err);
    if (rc != 0)
        return rc;
    pl_optable_row(a->ctx, c->title, &o);
    add_row(a, c, &o);
    return 0;
}

static int check_reference(struct autograd *a, const char *path,
                           struct err *err)
{
    struct pl_reference ref;
    size_t i;
    int rc = pl_reference_read(&ref, path, err);

    if (rc != 0)
        return rc;
    if (!a->source || strcmp(a->source, ref.source) != 0) {
        a->source = arena_strdup(&a->arena, ref.source);
        pl_optable_head(a->ctx, ref.source, &a->opts);
    }
    for (i = 0; rc == 0 && i < ref.n; i++)
        rc = check_case(a, &ref.cases[i], err);
    pl_reference_free(&ref);
    return rc;
}

static int write_csv(struct autograd *a, struct err *err)
{
    if (a->csv.failed)
        return err_set(err, ERR_NOMEM, "out of memory for operators.csv");
    return pl_artifact_write(a->ctx, "operators.csv", a->csv.text, a->csv.len,
                             err);
}

static int check_all(struct autograd *a, struct err *err)
{
    const char *const *path = a->with->reference.items;
    struct pl_ref_case own;
    size_t i;
    int rc = 0, k;

    if (a->with->reference.n == 0)
        return err_set(err, ERR_CONFIG,
                       "operators need `reference`: files of numbers to agree "
                       "with");
    str_add(&a->csv, "operator,elements,gradcheck_error,allclose_error,"
                     "float32_error,forms_error,verdict\n");
    for (i = 0; rc == 0 && i < a->with->reference.n; i++)
        rc = check_reference(a, path[i], err);
    for (k = 0; rc == 0 && k < N_OWN; k++) {
        rc = own_case(a, k, &own, err);
        if (rc == 0)
            rc = check_case(a, &own, err);
    }
    return rc == 0 ? write_csv(a, err) : rc;
}

static void report(struct autograd *a)
{
    const struct pl_operator_counts *n = &a->n;

    pl_say(a->ctx, "%d of %d operators hold", n->total - n->failed, n->total);
    pl_metric(a->ctx, "operators.total", n->total);
    pl_metric(a->ctx, "operators.passed", n->total - n->failed);
    pl_metric(a->ctx, "operators.failed", n->failed);
    pl_metric(a->ctx, "gradcheck.max_error", n->worst_grad);
    pl_metric(a->ctx, "allclose.max_error", n->worst_close);
}

static bool asks_for(const struct pl_autograd_with *with, const char *word)
{
    const char *const *name = with->operators.items;
    size_t i;

    for (i = 0; i < with->operators.n; i++)
        if (strcmp(name[i], word) == 0)
            return true;
    return false;
}

static int check_operators(struct pl_stage_ctx *ctx, struct err *err)
{
    struct autograd a = {.ctx = ctx, .with = ctx->stage->with};
    int rc;

    a.opts.eps = a.with->eps;
    a.opts.gradcheck_tolerance = a.with->gradcheck_tolerance;
    a.opts.rtol = a.with->rtol;
    a.opts.atol = a.with->atol;
    a.opts.rtol32 = 1e-5;
    a.opts.atol32 = 1e-6;
    a.opts.seed = (uint64_t)a.with->seed;
    rc = asks_for(a.with, "all") ? check_all(&a, err) : 0;
    if (rc == 0)
        rc = pl_operators_check(ctx, a.with, &a.n, err);
    if (rc == 0)
        report(&a);
    arena_free(&a.arena);
    str_free(&a.csv);
    return rc;
}

static int autograd(struct pl_stage_ctx *ctx, struct err *err)
{
    const struct pl_autograd_with *with = ctx->stage->with;
    const struct nn_backend_config device = {.numerics = NN_NUMERICS_STRICT};
    int rc = pl_device_configure(ctx->be, &device, err);

    if (rc != 0)
        return rc;
    return with->program ? pl_program_run(ctx, with, err)
                         : check_operators(ctx, err);
}

static void check(const struct pl_config *c, const struct pl_stage *s,
                  struct pl_diag *d)
{
    const struct pl_autograd_with *with = s->with;

    if (with->program && with->operators.n > 0)
        pl_diag_error(d, pl_node_key_loc(with->node, "operators", s->loc),
                      "a stage has a program or checks operators, not both");
    else if (with->program)
        pl_program_check(with, d);
    else if (with->operators.n == 0)
        pl_diag_error(d, s->loc,
                      "an autograd stage needs 'program' or 'operators: all' "
                      "(or own, or names)");
    else if (asks_for(with, PL_OPERATORS_OWN) && c->n_operators == 0)
        pl_diag_error(d, pl_node_key_loc(with->node, "operators", s->loc),
                      "the file has no operators of its own");
    else if (with->tensors)
        pl_diag_error(d, pl_node_key_loc(with->node, "tensors", s->loc),
                      "tensors go with a program");
    else if (with->table.n > 0 || with->plots.n > 0)
        pl_diag_error(d,
                      pl_node_key_loc(with->node,
                                      with->table.n > 0 ? "table" : "plots",
                                      s->loc),
                      "a table or a plot goes with a program");
}

const struct pl_stage_kind pl_kind_autograd = {
    .name = "autograd",
    .help = "run a program on the tape and derive its gradients, or check "
            "operators: gradients against central differences, numbers against "
            "a reference",
    .with = &pl_autograd_schema,
    .needs_device = true,
    .has_values = true,
    .version = 2,
    .check = check,
    .run = autograd,
};
