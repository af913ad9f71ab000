#include "pipeline/expect.h"

#include <math.h>
#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/base/str.h"
#include "pipeline/csv_column.h"
#include "pipeline/diag.h"
#include "pipeline/expect_file.h"
#include "pipeline/expect_tensor.h"
#include "pipeline/scalar.h"

static const char *const symbol[] = {
    [PL_REL_GT] = ">",
    [PL_REL_GE] = ">=",
    [PL_REL_LT] = "<",
    [PL_REL_LE] = "<=",
    [PL_REL_EQ] = "=",
    [PL_REL_CLOSE] = "close to",
    [PL_REL_CLOSE_TO] = "close to",
};

static const char *const order_words[] = {
    [PL_INCREASING] = "increasing",
    [PL_DECREASING] = "decreasing",
    [PL_NOT_DECREASING] = "not decreasing",
    [PL_NOT_INCREASING] = "not increasing",
};

/* "test.accuracy", "last loss of curve.csv" */
static void add_subject(struct str *s, const struct pl_expect *e)
{
    if (e->metric || e->value)
        str_add(s, e->metric ? e->metric : e->value);
    else if (e->column)
        str_addf(s, "%s%s of %s", e->relation == PL_REL_ORDER ? "" : "last ",
                 e->column, e->file);
    else
        str_add(s, e->file ? e->file : "");
}

static void add_bound(struct str *s, const struct pl_expect *e)
{
    size_t i;

    if (e->n_bounds == 0) {
        scalar_add(s, e->bound);
        return;
    }
    str_addc(s, '[');
    for (i = 0; i < e->n_bounds && i < 4; i++) {
        str_add(s, i ? ", " : "");
        scalar_add(s, e->bounds[i]);
    }
    str_add(s, i < e->n_bounds ? ", ...]" : "]");
}

void pl_expect_text(struct str *s, const struct pl_expect *e)
{
    if (e->manual) {
        str_add(s, e->text ? e->text : "graded by a person");
        return;
    }
    if (e->error) {
        str_addf(s, "fails with '%s'", e->error);
        return;
    }
    add_subject(s, e);
    if (e->relation == PL_REL_SAME_AS) {
        str_addf(s, " is the same as %s", e->same_as_shown);
        return;
    }
    if (e->relation == PL_REL_EXISTS) {
        str_add(s, " exists");
        return;
    }
    if (e->relation == PL_REL_ORDER) {
        str_addf(s, " is %s", order_words[e->order]);
        return;
    }
    str_addf(s, " %s ", symbol[e->relation]);
    if (e->relation == PL_REL_CLOSE_TO)
        str_add(s, e->other);
    else
        add_bound(s, e);
    if (e->relation == PL_REL_CLOSE || e->relation == PL_REL_CLOSE_TO) {
        str_add(s, " (atol ");
        scalar_add(s, e->atol);
        str_add(s, ", rtol ");
        scalar_add(s, e->rtol);
        str_add(s, ")");
    }
}

static bool holds(const struct pl_expect *e, double a, double b)
{
    switch (e->relation) {
    case PL_REL_GT:
        return a > b;
    case PL_REL_GE:
        return a >= b;
    case PL_REL_LT:
        return a < b;
    case PL_REL_LE:
        return a <= b;
    case PL_REL_EQ:
        return a >= b && a <= b;
    case PL_REL_CLOSE:
    case PL_REL_CLOSE_TO:
        return fabs(a - b) <= e->atol + e->rtol * fabs(b);
    case PL_REL_EXISTS:
        return isfinite(a);
    case PL_REL_ORDER:   /* a matter of many numbers, */
    case PL_REL_SAME_AS: /* and of files */
        break;
    }
    return false;
}

/* "x.grad" of "x.grad.0.1": an element's name without its place. */
static const char *without_place(const char *name, struct arena *arena)
{
    size_t n = strlen(name);

    while (n > 0 && strchr(".0123456789", name[n - 1]))
        n--;
    if (name[n] == '.' && n > 0)
        return arena_strndup(arena, name, n);
    return name;
}

/* Says that there is no such metric or value, and which are near. */
static void add_missing(struct str *s, const char *what, const char *name,
                        const struct pl_metrics *m)
{
    const char **names = mem_array(m->n + 1, sizeof *names);
    const char *near = NULL;
    struct arena arena = {0};
    size_t i;

    for (i = 0; names && i < m->n; i++) {
        names[i] = without_place(m->item[i].name, &arena);
        if (!names[i])
            names[i] = m->item[i].name;
    }
    if (names)
        near = pl_nearest(name, names, m->n);
    str_addf(s, "there is no %s '%s'", what, name);
    if (near)
        str_addf(s, "; did you mean '%s'?", near);
    else
        for (i = 0; i < m->n && i < 6; i++)
            str_addf(s, "%s%s", i ? ", " : "; there are: ", m->item[i].name);
    if (!near && m->n > 6)
        str_add(s, ", ...");
    mem_free(names);
    arena_free(&arena);
}

/* The value of name, shown in s; false if there is none that counts. */
static bool take(double *out, struct str *s, const char *what, const char *name,
                 const struct pl_metrics *m)
{
    const double *v = pl_metrics_get(m, name);

    if (!v) {
        add_missing(s, what, name, m);
        return false;
    }
    *out = *v;
    if (isfinite(*v))
        scalar_add(s, *v);
    else
        str_add(s, "null");
    return isfinite(*v);
}

/* A metric or a value, against a bound or another one. */
static bool assess_number(struct str *measured, const struct pl_expect *e,
                          const struct pl_judged *of)
{
    static const struct pl_metrics none;
    const struct pl_metrics *m = of->metrics;
    const char *what = "metric";
    double a, b = e->bound;

    if (e->value) {
        m = of->values ? of->values : &none;
        what = "value";
        if (pl_expect_is_tensor(m, e->value))
            return pl_expect_tensor(measured, e, m, holds);
    }
    if (e->n_bounds) {
        str_addf(measured, "no tensor '%s' beside %zu numbers", e->value,
                 e->n_bounds);
        return false;
    }
    if (!take(&a, measured, what, e->value ? e->value : e->metric, m))
        return false;
    if (e->relation == PL_REL_CLOSE_TO) {
        str_add(measured, " and ");
        if (!take(&b, measured, what, e->other, m))
            return false;
    }
    return holds(e, a, b);
}

/* --- columns --- */

static bool in_order(enum pl_order order, double a, double b)
{
    switch (order) {
    case PL_INCREASING:
        return a < b;
    case PL_DECREASING:
        return a > b;
    case PL_NOT_DECREASING:
        return a <= b;
    case PL_NOT_INCREASING:
        return a >= b;
    }
    return false;
}

/* Each number beside the next; the first two that are out of order are
 * shown. */
static bool assess_order(struct str *measured, enum pl_order order,
                         const double *v, size_t n)
{
    size_t i;

    for (i = 0; i + 1 < n; i++)
        if (!in_order(order, v[i], v[i + 1]))
            break;
    if (n < 2) {
        str_addf(measured, "%zu number%s: no order", n, n == 1 ? "" : "s");
        return false;
    }
    if (i + 1 == n) {
        str_addf(measured, "%zu numbers", n);
        return true;
    }
    scalar_add(measured, v[i]);
    str_add(measured, " before ");
    scalar_add(measured, v[i + 1]);
    str_addf(measured, " (numbers %zu and %zu of %zu)", i + 1, i + 2, n);
    return false;
}

/* The last number of a column against a bound or a metric. */
static bool assess_last(struct str *measured, const struct pl_expect *e,
                        const struct pl_judged *of, const double *v, size_t n)
{
    double b = e->bound;

    if (n == 0) {
        str_add(measured, "the column is empty");
        return false;
    }
    scalar_add(measured, v[n - 1]);
    if (e->relation == PL_REL_CLOSE_TO) {
        str_add(measured, " and ");
        if (!take(&b, measured, "metric", e->other, of->metrics))
            return false;
    }
    return holds(e, v[n - 1], b);
}

static bool assess_column(struct str *measured, const struct pl_expect *e,
                          const struct pl_judged *of)
{
    char *path = io_join(of->dir, e->file);
    struct err err = {0};
    double *v = NULL;
    size_t n = 0;
    bool ok = false;
    int rc = path ? pl_csv_column(&v, &n, path, e->column, &err) : ERR_NOMEM;

    if (rc == ERR_NOMEM)
        measured->failed = true;
    else if (rc != 0)
        str_add(measured, err.msg);
    else if (e->relation == PL_REL_ORDER)
        ok = assess_order(measured, e->order, v, n);
    else
        ok = assess_last(measured, e, of, v, n);
    mem_free(v);
    mem_free(path);
    return ok;
}

static bool assess_error(struct str *measured, const struct pl_expect *e,
                         const char *error)
{
    if (error && error[0])
        str_add(measured, error);
    else
        str_addf(measured,
                 "ran without an error; one that says '%s' was to come",
                 e->error);
    return error && strstr(error, e->error);
}

static enum pl_outcome assess(struct str *measured, const struct pl_expect *e,
                              const struct pl_judged *of)
{
    bool ok;

    if (e->manual) {
        str_add(measured, "graded by a person");
        return PL_BY_HAND;
    }
    if (e->requires_device && strcmp(e->requires_device, of->device) != 0) {
        str_addf(measured, "not assessed: no %s", e->requires_device);
        return PL_NOT_ASSESSED;
    }
    if (of->simulated && (e->points > 0 || e->requires_device)) {
        str_add(measured, "not assessed: the device is simulated");
        return PL_NOT_ASSESSED;
    }
    if (!of->metrics) {
        str_add(measured, of->became ? of->became : "the stage did not end");
        return PL_FAILED;
    }
    if (e->error)
        ok = assess_error(measured, e, of->error);
    else if (e->column)
        ok = assess_column(measured, e, of);
    else if (e->file)
        ok = pl_expect_file(measured, e, of->dir);
    else
        ok = assess_number(measured, e, of);
    return ok ? PL_PASSED : PL_FAILED;
}

int pl_expect_assess(struct pl_verdict *v, const struct pl_expect *e,
                     const struct pl_judged *of, struct arena *arena,
                     struct err *err)
{
    struct str text = {0}, measured = {0};

    memset(v, 0, sizeof *v);
    str_add(&measured, "");
    pl_expect_text(&text, e);
    v->outcome = assess(&measured, e, of);
    v->stage = of->stage;
    v->why = e->why;
    v->visibility = e->visibility ? e->visibility : "visible";
    v->of = e->points;
    v->points = v->outcome == PL_PASSED ? e->points : 0;
    if (!text.failed && !measured.failed) {
        v->expectation = arena_strdup(arena, text.text);
        v->measured = arena_strdup(arena, measured.text);
    }
    str_free(&text);
    str_free(&measured);
    if (!v->expectation || !v->measured)
        return err_set(err, ERR_NOMEM, "out of memory judging stage '%s'",
                       of->stage);
    return 0;
}
