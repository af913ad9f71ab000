#include "pipeline/operator_report.h"

#include <math.h>
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/table.h"

enum { COLUMNS = 7, ROWS = 1 + PL_OPERATOR_IN };

struct report {
    struct pl_stage_ctx *ctx;
    const struct pl_autograd_with *with;
    struct pl_operator_counts *counts;
    struct pl_operator_opts opts;
    struct arena arena;
    const char **cell; /* of operators.md */
    size_t rows;
};

static void say_head(struct report *r)
{
    pl_say(r->ctx,
           "gradients by backward and by central differences in float64 (eps "
           "%g, at most %g apart)",
           r->opts.eps, r->opts.tolerance);
    pl_say(r->ctx,
           "same_as: values and gradients beside the built-in operator's (rtol "
           "%g, atol %g)",
           r->opts.rtol, r->opts.atol);
}

static const char *mark(bool ok)
{
    return ok ? "\xe2\x9c\x94" : "\xe2\x9c\x98"; /* check mark, cross */
}

static bool passed(const struct pl_operator *o,
                   const struct pl_operator_result *r)
{
    return r->grad_ok && (!o->same_as || (r->compared && r->close));
}

/* ---- what a person sees ---- */

static void say_grad(struct report *r, const char *title,
                     const struct pl_operator_grad *g)
{
    char x[96];

    if (g->ok)
        pl_say(r->ctx, "%-20s %s %-8s largest relative error %.1e%s", title,
               mark(true), g->name, g->max_error,
               g->kinks ? ", corners left out" : "");
    else if (g->why)
        pl_say(r->ctx, "%-20s %s %-8s %s", title, mark(false), g->name, g->why);
    else
        pl_say(r->ctx,
               "%-20s %s %-8s %lld of %lld off: %s is %.4g, by differences "
               "%.4g (x: %s)",
               title, mark(false), g->name, (long long)g->off,
               (long long)g->checked, g->element, g->backward, g->slope,
               nn_shape_text(&g->x, x, sizeof x));
}

static void say_close(struct report *r, const struct pl_operator *o,
                      const struct pl_operator_result *res)
{
    if (!o->same_as || res->broken)
        return;
    if (!res->compared)
        pl_say(r->ctx, "%-20s %s same_as  %s takes no shape that forward takes",
               "", mark(false), o->same_as);
    else if (res->close_error > 0)
        pl_say(r->ctx, "%-20s %s same_as  %s: largest difference %.1e, in %s",
               "", mark(res->close), o->same_as, res->close_error,
               res->differs);
    else
        pl_say(r->ctx, "%-20s %s same_as  %s: no difference", "", mark(true),
               o->same_as);
}

static void say_result(struct report *r, const struct pl_operator *o,
                       const struct pl_operator_result *res)
{
    const char *title = o->name;
    int i;

    if (res->broken)
        pl_say(r->ctx, "%-20s %s backward fails: %s", title, mark(false),
               res->broken);
    for (i = 0; i < res->n_grad && !res->broken; i++) {
        if (!res->grad[i].name)
            continue;
        say_grad(r, title, &res->grad[i]);
        title = "";
    }
    say_close(r, o, res);
}

/* ---- operators.md ---- */

static const char *number(struct report *r, const char *fmt, double v)
{
    struct str s = {0};
    const char *text = NULL;

    if (!isfinite(v))
        return "-";
    str_addf(&s, fmt[1] == 'e' ? "%.1e" : "%.6g", v);
    if (!s.failed)
        text = arena_strdup(&r->arena, s.text);
    str_free(&s);
    return text;
}

static const char **new_row(struct report *r, const char *name,
                            const char *what, bool ok)
{
    const char **c = &r->cell[r->rows++ * COLUMNS];
    int i;

    c[0] = name;
    c[1] = what;
    c[2] = mark(ok);
    for (i = 3; i < COLUMNS; i++)
        c[i] = "";
    return c;
}

static void add_grad_row(struct report *r, const struct pl_operator *o,
                         const struct pl_operator_grad *g)
{
    const char **c = new_row(r, o->name, g->name, g->ok);

    c[3] = number(r, "%e", g->max_error);
    c[4] = g->why ? g->why : g->element ? g->element : "";
    if (!g->element || g->why)
        return;
    c[5] = number(r, "%g", g->backward);
    c[6] = number(r, "%g", g->slope);
}

static void add_rows(struct report *r, const struct pl_operator *o,
                     const struct pl_operator_result *res)
{
    const char **c;
    int i;

    for (i = 0; i < res->n_grad && !res->broken; i++)
        if (res->grad[i].name)
            add_grad_row(r, o, &res->grad[i]);
    if (res->broken) {
        c = new_row(r, o->name, "backward", false);
        c[4] = res->broken;
    }
    if (!o->same_as)
        return;
    c = new_row(r, o->name, arena_printf(&r->arena, "same as %s", o->same_as),
                res->compared && res->close);
    c[3] = res->compared ? number(r, "%e", res->close_error) : "-";
    c[4] = res->differs && res->close_error > 0 ? res->differs : "";
}

static int write_table(struct report *r, struct err *err)
{
    static const char *const head[COLUMNS] = {
        "operator", "what",     "verdict",    "max error",
        "element",  "backward", "difference",
    };
    struct pl_table t = {head, "lllrlrr", r->cell, COLUMNS, r->rows};
    struct str s = {0};
    size_t i;
    int rc;

    for (i = 0; i < r->rows * COLUMNS; i++)
        s.failed = s.failed || !r->cell[i];
    str_addf(&s, "# %s: own operators\n\n", r->ctx->stage->local);
    str_add(&s, "Gradients by backward against central differences in float64, "
                "at the element that differs the most, and values and "
                "gradients against the built-in operator.\n\n");
    if (!s.failed)
        pl_table_add(&s, &t, true);
    rc = s.failed
             ? err_set(err, ERR_NOMEM, "out of memory for operators.md")
             : pl_artifact_write(r->ctx, "operators.md", s.text, s.len, err);
    str_free(&s);
    return rc;
}

/* ---- checking ---- */

static void add_metrics(struct report *r, const struct pl_operator *o,
                        const struct pl_operator_result *res)
{
    struct pl_operator_counts *n = r->counts;
    const char *grad =
        arena_printf(&r->arena, "operators.%s.gradcheck", o->name);
    const char *close =
        arena_printf(&r->arena, "operators.%s.allclose", o->name);

    n->total++;
    n->failed += !passed(o, res);
    n->worst_grad = fmax(n->worst_grad, res->grad_error);
    n->worst_close = fmax(n->worst_close, res->close_error);
    if (grad)
        pl_metric(r->ctx, grad, res->grad_error);
    if (close && o->same_as)
        pl_metric(r->ctx, close, res->compared ? res->close_error : HUGE_VAL);
}

/* Says where in the file o stands, if the error has no place. */
static void place(struct err *err, const struct pl_operator *o)
{
    const struct pl_loc *loc = &o->node->loc;

    if (loc->file)
        err_at(err, "%s:%d:%d", loc->file->path, loc->line, loc->col);
}

static bool stopping(void *user)
{
    return pl_stopping(user);
}

static int check_one(struct report *r, const struct pl_operator *o,
                     struct err *err)
{
    struct pl_operator_result res;
    int rc;

    if (pl_stopping(r->ctx))
        return err_set(err, ERR_INTERRUPTED,
                       "stopped before all operators were checked");
    rc = pl_operator_test(&res, o, r->ctx->be, &r->opts, &r->arena, err);
    if (rc != 0) {
        place(err, o);
        return rc;
    }
    say_result(r, o, &res);
    add_rows(r, o, &res);
    add_metrics(r, o, &res);
    return 0;
}

/* Whether the stage asks for o. */
static bool asked_for(const struct pl_autograd_with *with,
                      const struct pl_operator *o)
{
    const char *const *name = with->operators.items;
    size_t i;

    for (i = 0; i < with->operators.n; i++)
        if (strcmp(name[i], PL_OPERATORS_OWN) == 0 ||
            strcmp(name[i], o->name) == 0)
            return true;
    return false;
}

int pl_operators_check(struct pl_stage_ctx *ctx,
                       const struct pl_autograd_with *with,
                       struct pl_operator_counts *counts, struct err *err)
{
    const struct pl_config *c = ctx->config;
    struct report r = {.ctx = ctx, .with = with, .counts = counts};
    size_t i;
    int rc = 0;

    r.opts = pl_operator_opts();
    r.opts.eps = with->eps;
    r.opts.tolerance = with->gradcheck_tolerance;
    r.opts.seed = (uint64_t)with->seed;
    r.opts.stop = stopping;
    r.opts.user = ctx;
    r.cell = arena_array(&r.arena, c->n_operators * ROWS * COLUMNS + 1,
                         sizeof *r.cell);
    if (!r.cell)
        rc = err_set(err, ERR_NOMEM, "out of memory for a check");
    for (i = 0; rc == 0 && i < c->n_operators; i++) {
        if (!asked_for(with, &c->operators[i]))
            continue;
        if (r.rows == 0)
            say_head(&r);
        rc = check_one(&r, &c->operators[i], err);
    }
    if (rc == 0 && r.rows > 0)
        rc = write_table(&r, err);
    arena_free(&r.arena);
    return rc;
}

/* ---- before training ---- */

static int must_hold(struct pl_stage_ctx *ctx, const struct pl_operator *o,
                     struct nn_backend *be, struct err *err)
{
    struct pl_operator_opts opts = pl_operator_opts();
    struct pl_operator_result res;
    struct arena arena = {0};
    const char *fault;
    int rc;

    opts.stop = stopping;
    opts.user = ctx;
    rc = pl_operator_test(&res, o, be, &opts, &arena, err);
    if (rc == ERR_SHAPE && !o->check) {
        pl_log(ctx, "warning: operator %s could not be checked: %s", o->name,
               err->msg);
        err_clear(err);
        rc = 0;
    } else if (rc == 0 && !res.grad_ok) {
        fault = pl_operator_fault(&res, &arena);
        if (!fault)
            rc = err_set(err, ERR_NOMEM, "out of memory for a check");
        else if (o->check)
            rc = err_set(err, ERR_CONFIG,
                         "operator %s does not hold: %s (check: false "
                         "trains with it all the same)",
                         o->name, fault);
        else
            pl_log(ctx, "warning: operator %s does not hold: %s", o->name,
                   fault);
    }
    if (rc != 0)
        place(err, o);
    arena_free(&arena);
    return rc;
}

/* Whether an earlier layer is of the same type. */
static bool seen(const struct pl_layer *l, size_t i)
{
    size_t k;

    for (k = 0; k < i; k++)
        if (l[k].own == l[i].own)
            return true;
    return false;
}

int pl_operators_must_hold(struct pl_stage_ctx *ctx, const struct pl_model *m,
                           const struct pl_operator *loss, struct err *err)
{
    const struct pl_layer *l = m->layers.items;
    struct nn_backend *be;
    size_t i;
    int rc = nn_cpu_open(&be, 1, NULL, err);

    for (i = 0; rc == 0 && i < m->layers.n; i++)
        if (l[i].own && !seen(l, i))
            rc = must_hold(ctx, l[i].own, be, err);
    if (rc == 0 && loss)
        rc = must_hold(ctx, loss, be, err);
    nn_backend_close(be);
    return rc;
}
