#include "pipeline/prog_report.h"

#include <stdio.h>
#include <string.h>

#include "pipeline/table.h"

enum {
    CSV_MAX = 100000, /* numbers of a row */
    SHOWN = 8,        /* numbers of a value that are shown */
    DIGITS = 7,
    SAID_MAX = 24,  /* lines of each half */
    DERIVED_MAX = 4 /* roots */
};

static int no_memory(struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory for a program's report");
}

/* ---- values.csv ---- */

static void csv_numbers(struct str *out, const double *v, int64_t n)
{
    int64_t i;

    for (i = 0; v && i < n && n <= CSV_MAX; i++) {
        str_add(out, i ? " " : "");
        str_add_double(out, v[i]);
    }
}

/* What a leaf holds now, or what came by another value. */
static int gradient_of(const struct prog_value *v, double **out,
                       struct arena *a, struct err *err)
{
    *out = v->grad;
    if (!v->given || !v->t->requires_grad)
        return 0;
    *out = NULL;
    if (!v->t->grad_ready)
        return 0;
    *out = prog_numbers(v->t->grad, a, err);
    return *out ? 0 : no_memory(err);
}

static int csv_row(struct str *out, const struct prog_var *var, struct arena *a,
                   struct err *err)
{
    const struct prog_value *v = var->value;
    double *values, *grad;
    char shape[96];
    int rc;

    if (v->kind != PROG_V_TENSOR) {
        str_addf(out, "%s,\"()\",", var->name);
        str_add_double(out, v->number);
        str_add(out, ",\n");
        return 0;
    }
    values = prog_numbers(v->t, a, err);
    rc = values ? gradient_of(v, &grad, a, err) : no_memory(err);
    if (rc != 0)
        return rc;
    str_addf(out, "%s,\"%s\",", var->name,
             nn_shape_text(&v->t->shape, shape, sizeof shape));
    csv_numbers(out, values, nn_tensor_numel(v->t));
    str_addc(out, ',');
    csv_numbers(out, grad, nn_tensor_numel(v->t));
    str_addc(out, '\n');
    return 0;
}

int prog_values_csv(struct str *out, const struct prog_run *r, struct err *err)
{
    size_t i;
    int rc = 0;

    str_add(out, "name,shape,values,grad\n");
    for (i = 0; rc == 0 && i < r->n_var; i++) {
        struct arena arena = {0};

        rc = csv_row(out, &r->var[i], &arena, err);
        arena_free(&arena);
    }
    return rc != 0 ? rc : out->failed ? no_memory(err) : 0;
}

/* ---- metrics ---- */

static void each(const char *name, const char *suffix,
                 const struct nn_shape *shape, const double *v,
                 void (*fn)(void *user, const char *name, double v), void *user)
{
    int64_t n = nn_shape_numel(shape), i;
    char text[160];
    int d, len;

    for (i = 0; v && i < n; i++) {
        int64_t rest = i, block = n;

        len = snprintf(text, sizeof text, "%s%s", name, suffix);
        for (d = 0; d < shape->ndim; d++) {
            block /= shape->dim[d];
            len += snprintf(text + len, sizeof text - (size_t)len, ".%lld",
                            (long long)(rest / block));
            rest %= block;
        }
        fn(user, text, v[i]);
    }
}

int prog_each_number(const struct prog_run *r, int64_t most,
                     void (*fn)(void *user, const char *name, double v),
                     void *user, struct err *err)
{
    struct arena arena = {0};
    struct nn_shape none = nn_shape0();
    size_t i;
    int rc = 0;

    for (i = 0; rc == 0 && i < r->n_var; i++) {
        const struct prog_value *v = r->var[i].value;
        double *values, *grad = NULL;

        if (v->kind != PROG_V_TENSOR) {
            each(r->var[i].name, "", &none, &v->number, fn, user);
            continue;
        }
        if (nn_tensor_numel(v->t) > most)
            continue;
        values = prog_numbers(v->t, &arena, err);
        rc = values ? gradient_of(v, &grad, &arena, err) : ERR_NOMEM;
        if (rc != 0)
            break;
        each(r->var[i].name, "", &v->t->shape, values, fn, user);
        each(r->var[i].name, ".grad", &v->t->shape, grad, fn, user);
    }
    arena_free(&arena);
    return rc;
}

/* ---- the derivation ---- */

const struct prog_backward *prog_main_backward(const struct prog_run *r)
{
    const struct prog_backward *found = NULL;
    size_t i;

    for (i = 0; i < r->n_backward; i++)
        if (r->backward[i].root == r->backward[0].root)
            found = &r->backward[i];
    return found;
}

static const char *shape_of(const struct prog_value *v, struct arena *a)
{
    char shape[96];

    return v->t ? arena_strdup(a,
                               nn_shape_text(&v->t->shape, shape, sizeof shape))
                : "()";
}

static const char *numbers_of(const struct prog_value *v, const double *n,
                              struct arena *a)
{
    struct str s = {0};
    const char *text = NULL;

    if (v->kind == PROG_V_TRUTH)
        return v->number > 0 ? "true" : "false";
    if (!n)
        return "";
    prog_numbers_add(&s, &v->t->shape, n, SHOWN, DIGITS);
    if (!s.failed && s.text)
        text = arena_strdup(a, s.text);
    str_free(&s);
    return text;
}

/* The gradient that b gave v: of a leaf its share of what the leaf holds. */
static const double *given_by(const struct prog_backward *b,
                              const struct prog_value *v)
{
    size_t i;

    for (i = 0; i < b->n_share; i++)
        if (b->share[i].leaf == v)
            return b->share[i].grad;
    return v->grad;
}

static bool is_shown(const struct prog_value *v)
{
    return (v->name || v->change) && v->kind != PROG_V_NUMBER;
}

static int forward_table(struct str *out, const struct prog_run *r,
                         struct arena *a, struct err *err)
{
    static const char *const head[] = {"value", "shape", "numbers"};
    const char **cell = arena_array(a, 3 * r->n_value + 1, sizeof *cell);
    struct pl_table t = {head, "lll", cell, 3, 0};
    size_t i;

    if (!cell)
        return no_memory(err);
    for (i = 0; i < r->n_value; i++) {
        const struct prog_value *v = r->value[i];
        const char **row = &cell[3 * t.rows];
        struct str s = {0};
        const double *n;

        if (!is_shown(v))
            continue;
        n = v->t ? prog_first_numbers(v, a, err) : NULL;
        prog_value_formula(&s, v);
        row[0] = s.failed ? NULL : arena_strdup(a, s.text);
        row[1] = shape_of(v, a);
        row[2] = numbers_of(v, n, a);
        str_free(&s);
        if (!row[0] || !row[1] || !row[2] || (v->t && !n))
            return no_memory(err);
        t.rows++;
    }
    pl_table_add(out, &t, true);
    return 0;
}

static int backward_table(struct str *out, const struct prog_derivation *d,
                          struct arena *a, struct err *err)
{
    static const char *const head[] = {"gradient", "by the chain rule", "shape",
                                       "numbers"};
    const char **cell = arena_array(a, 4 * d->n + 1, sizeof *cell);
    struct pl_table t = {head, "llll", cell, 4, d->n};
    size_t i;

    if (!cell)
        return no_memory(err);
    for (i = 0; i < d->n; i++) {
        const struct prog_step *s = &d->step[i];
        const char **row = &cell[4 * i];

        row[0] = arena_printf(a, "d%s/d%s", d->root, s->label);
        row[1] = s->text;
        row[2] = shape_of(s->of, a);
        row[3] = numbers_of(s->of, given_by(d->backward, s->of), a);
        if (!row[0] || !row[2] || !row[3])
            return no_memory(err);
    }
    pl_table_add(out, &t, true);
    for (i = 0; i < d->n; i++) {
        if (d->step[i].of->name || !d->step[i].of->formula)
            continue;
        str_addf(out, "\n%s = ", d->step[i].label);
        prog_expr_add(out, d->step[i].of->formula);
        str_addc(out, '\n');
    }
    return 0;
}

/* What the words mean that stand in the text from byte `from` on. */
static void add_words(struct str *out, size_t from)
{
    const char *name, *text;
    struct str words = {0};
    size_t i;

    for (i = 0; out->text && (text = prog_derive_word(i, &name)); i++)
        if (strstr(out->text + from, name))
            str_addf(&words, "- %s\n", text);
    if (words.failed)
        out->failed = true;
    else if (words.text)
        str_addf(out, "\n%s", words.text);
    str_free(&words);
}

/* Whether an earlier backward started at the same value. */
static bool is_repeat(const struct prog_run *r, size_t i)
{
    size_t k;

    for (k = 0; k < i; k++)
        if (r->backward[k].root == r->backward[i].root)
            return true;
    return false;
}

static int add_backward(struct str *out, const struct prog_run *r, size_t i,
                        struct arena *a, struct err *err)
{
    const struct prog_backward *b = &r->backward[i];
    struct prog_derivation d;
    size_t from = out->len;
    int rc = prog_derive(&d, r, b, a, err);

    if (rc != 0)
        return rc;
    if (is_repeat(r, i)) {
        str_addf(out,
                 "\n## backward(%s) again, line %d\n\nThe same gradients are "
                 "added to what the leaves hold.\n",
                 d.root, b->pos.line + 1);
        return 0;
    }
    str_addf(out, "\n## backward(%s), line %d\n\n", d.root, b->pos.line + 1);
    rc = backward_table(out, &d, a, err);
    add_words(out, from);
    return rc;
}

static void add_check(struct str *out, const struct prog_diff *diff)
{
    str_add(out, "\n## Central differences\n\n");
    if (diff->not_made) {
        str_addf(out, "Not compared: %s.\n", diff->not_made);
        return;
    }
    str_addf(out,
             "%lld gradients compared with central differences: largest "
             "relative error %.1e",
             (long long)diff->checked, diff->max_error);
    if (diff->where)
        str_addf(out, " (in %s)", diff->where);
    if (diff->kinks)
        str_addf(out, "; %lld left out, where the function has a corner",
                 (long long)diff->kinks);
    str_add(out, ".\n");
}

int prog_derivation_md(struct str *out, const char *title,
                       const struct prog_run *r, const struct prog_diff *diff,
                       struct err *err)
{
    struct arena arena = {0};
    size_t i, shown = 0;
    int rc;

    str_addf(out, "# Derivation: %s\n\n## Forward\n\n", title);
    rc = forward_table(out, r, &arena, err);
    for (i = 0; rc == 0 && i < r->n_backward && shown < DERIVED_MAX; i++) {
        shown += !is_repeat(r, i);
        rc = add_backward(out, r, i, &arena, err);
    }
    add_check(out, diff);
    arena_free(&arena);
    return rc != 0 ? rc : out->failed ? no_memory(err) : 0;
}

/* ---- in short ---- */

static int say_line(struct str *s, void (*fn)(void *user, const char *line),
                    void *user, struct err *err)
{
    if (s->failed)
        return no_memory(err);
    fn(user, s->text);
    str_clear(s);
    return 0;
}

static int say_forward(const struct prog_run *r, struct str *s,
                       void (*fn)(void *user, const char *line), void *user,
                       struct arena *a, struct err *err)
{
    size_t i, said = 0;
    int rc = 0;

    for (i = 0; rc == 0 && i < r->n_value && said < SAID_MAX; i++) {
        const struct prog_value *v = r->value[i];
        const double *n;

        if (!is_shown(v) || !v->formula)
            continue;
        n = v->t ? prog_first_numbers(v, a, err) : NULL;
        prog_value_formula(s, v);
        str_addf(s, " = %s", numbers_of(v, n, a) ? numbers_of(v, n, a) : "");
        rc = say_line(s, fn, user, err);
        said++;
    }
    return rc;
}

int prog_derivation_say(const struct prog_run *r,
                        void (*fn)(void *user, const char *line), void *user,
                        struct err *err)
{
    const struct prog_backward *b = prog_main_backward(r);
    struct prog_derivation d = {0};
    struct arena arena = {0};
    struct str s = {0};
    int rc = say_forward(r, &s, fn, user, &arena, err);
    size_t i;

    if (rc == 0 && b)
        rc = prog_derive(&d, r, b, &arena, err);
    for (i = 0; rc == 0 && i < d.n && i < SAID_MAX; i++) {
        const struct prog_value *v = d.step[i].of;
        const char *n = numbers_of(v, given_by(b, v), &arena);

        str_addf(&s, "d%s/d%s = %s = %s", d.root, d.step[i].label,
                 d.step[i].text, n ? n : "");
        rc = say_line(&s, fn, user, err);
    }
    str_free(&s);
    arena_free(&arena);
    return rc;
}
