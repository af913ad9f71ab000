#include "pipeline/expect.h"

#include <math.h>
#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/base/str.h"
#include "pipeline/diag.h"
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

static void describe(struct str *s, const struct pl_expect *e)
{
    if (e->manual) {
        str_add(s, e->text ? e->text : "graded by a person");
        return;
    }
    str_add(s, e->metric ? e->metric : e->file ? e->file : "");
    if (e->relation == PL_REL_EXISTS) {
        str_add(s, " exists");
        return;
    }
    str_addf(s, " %s ", symbol[e->relation]);
    if (e->relation == PL_REL_CLOSE_TO)
        str_add(s, e->other);
    else
        scalar_add(s, e->bound);
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
    }
    return false;
}

/* Says that there is no such metric, and which are near. */
static void add_missing(struct str *s, const char *name,
                        const struct pl_metrics *m)
{
    const char **names = mem_array(m->n + 1, sizeof *names);
    const char *near = NULL;
    size_t i;

    for (i = 0; names && i < m->n; i++)
        names[i] = m->item[i].name;
    if (names)
        near = pl_nearest(name, names, m->n);
    str_addf(s, "there is no metric '%s'", name);
    if (near)
        str_addf(s, "; did you mean '%s'?", near);
    else
        for (i = 0; i < m->n && i < 6; i++)
            str_addf(s, "%s%s", i ? ", " : "; there are: ", m->item[i].name);
    if (!near && m->n > 6)
        str_add(s, ", ...");
    mem_free(names);
}

/* The value of name, shown in s; false if there is none that counts. */
static bool take(double *out, struct str *s, const char *name,
                 const struct pl_metrics *m)
{
    const double *v = pl_metrics_get(m, name);

    if (!v) {
        add_missing(s, name, m);
        return false;
    }
    *out = *v;
    if (isfinite(*v))
        scalar_add(s, *v);
    else
        str_add(s, "null");
    return isfinite(*v);
}

static bool assess_metric(struct str *measured, const struct pl_expect *e,
                          const struct pl_metrics *m)
{
    double a, b = e->bound;

    if (!take(&a, measured, e->metric, m))
        return false;
    if (e->relation == PL_REL_CLOSE_TO) {
        str_add(measured, " and ");
        if (!take(&b, measured, e->other, m))
            return false;
    }
    return holds(e, a, b);
}

static bool assess_file(struct str *measured, const struct pl_expect *e,
                        const char *dir)
{
    char *path = io_join(dir, e->file);
    bool there = path && io_exists(path);

    mem_free(path);
    str_add(measured, there ? "there" : "missing");
    return there;
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
    if (!of->metrics) {
        str_add(measured, "the stage did not end");
        return PL_FAILED;
    }
    if (e->file)
        ok = assess_file(measured, e, of->dir);
    else
        ok = assess_metric(measured, e, of->metrics);
    return ok ? PL_PASSED : PL_FAILED;
}

int pl_expect_assess(struct pl_verdict *v, const struct pl_expect *e,
                     const struct pl_judged *of, struct arena *arena,
                     struct err *err)
{
    struct str text = {0}, measured = {0};

    memset(v, 0, sizeof *v);
    str_add(&measured, "");
    describe(&text, e);
    v->outcome = assess(&measured, e, of);
    v->stage = of->stage;
    v->why = e->why;
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
