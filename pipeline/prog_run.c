#include "pipeline/prog_run.h"

#include <string.h>

#include "nn/base/mem.h"

/* Room for one more element of size bytes in *array. */
static int reserve(void *array, size_t n, size_t *cap, size_t size,
                   struct err *err)
{
    size_t want = *cap ? *cap * 2 : 32;
    void *old, *p;

    if (n < *cap)
        return 0;
    memcpy(&old, array, sizeof old);
    p = mem_grow(old, want, size);
    if (!p)
        return err_set(err, ERR_NOMEM, "out of memory for a program");
    memcpy(array, &p, sizeof p);
    *cap = want;
    return 0;
}

int prog_run_begin(struct prog_run *r, struct nn_backend *be,
                   const struct prog_source *source, struct arena *arena,
                   struct err *err)
{
    memset(r, 0, sizeof *r);
    r->be = be;
    r->source = source;
    r->arena = arena;
    return nn_tape_new(&r->tape, be, err);
}

void prog_run_borrow(struct prog_run *r, struct nn_tape *tape,
                     const struct prog_source *source, struct arena *arena)
{
    memset(r, 0, sizeof *r);
    r->be = tape->be;
    r->tape = tape;
    r->borrowed = true;
    r->source = source;
    r->arena = arena;
}

void prog_run_end(struct prog_run *r)
{
    size_t i;

    if (!r->borrowed)
        nn_tape_free(r->tape);
    for (i = 0; i < r->n_own; i++)
        nn_tensor_free(r->own[i]);
    mem_free(r->own);
    mem_free(r->var);
    name_index_free(&r->names);
    mem_free(r->value);
    mem_free(r->backward);
    memset(r, 0, sizeof *r);
}

int prog_own(struct prog_run *r, struct nn_tensor *t, struct err *err)
{
    int rc = reserve(&r->own, r->n_own, &r->cap_own, sizeof(*r->own), err);

    if (rc != 0)
        nn_tensor_free(t);
    else
        r->own[r->n_own++] = t;
    return rc;
}

struct prog_value *prog_new_value(struct prog_run *r, enum prog_value_kind kind,
                                  const struct prog_expr *formula,
                                  struct err *err)
{
    struct prog_value *v = arena_alloc(r->arena, sizeof *v);

    if (!v || reserve(&r->value, r->n_value, &r->cap_value, sizeof(*r->value),
                      err) != 0) {
        (void)err_set(err, ERR_NOMEM, "out of memory for a program");
        return NULL;
    }
    v->kind = kind;
    v->formula = formula;
    v->line = formula ? formula->pos.line : 0;
    v->index = r->n_value;
    r->value[r->n_value++] = v;
    return v;
}

int prog_new_backward(struct prog_run *r, struct prog_backward **out,
                      struct err *err)
{
    int rc = reserve(&r->backward, r->n_backward, &r->cap_backward,
                     sizeof *r->backward, err);

    if (rc != 0)
        return rc;
    *out = &r->backward[r->n_backward++];
    memset(*out, 0, sizeof **out);
    return 0;
}

/* ---- names ---- */

static struct prog_var *find_var(const struct prog_run *r, const char *name)
{
    size_t i = name_index_find(&r->names, name);

    return i == NAME_NONE ? NULL : &r->var[i];
}

struct prog_value *prog_run_get(const struct prog_run *r, const char *name)
{
    struct prog_var *var = find_var(r, name);

    return var ? var->value : NULL;
}

/* A value is called by the first name it gets: "z", and what is called z
 * later "z(2)". */
static int give_name(struct prog_run *r, struct prog_value *v, const char *name,
                     int times, struct err *err)
{
    if (v->name)
        return 0;
    v->name = times > 1 ? arena_printf(r->arena, "%s(%d)", name, times) : name;
    return v->name ? 0 : err_set(err, ERR_NOMEM, "out of memory for a program");
}

int prog_set_var(struct prog_run *r, const char *name, struct prog_value *v,
                 struct err *err)
{
    struct prog_var *var = find_var(r, name);

    if (!var) {
        int rc = reserve(&r->var, r->n_var, &r->cap_var, sizeof *r->var, err);

        if (rc == 0 && !name_index_add(&r->names, name))
            rc = err_set(err, ERR_NOMEM, "out of memory for a program");
        if (rc != 0)
            return rc;
        var = &r->var[r->n_var++];
        var->name = name;
        var->times = 0;
    }
    var->value = v;
    if (!v->name)
        var->times++;
    return give_name(r, v, name, var->times, err);
}

/* ---- numbers ---- */

int prog_set_numbers(struct nn_tensor *t, const double *v, struct err *err)
{
    int64_t n = nn_tensor_numel(t), i;
    float *f;
    int rc;

    if (t->dtype == NN_F64)
        return nn_tensor_set(t, v, err);
    f = mem_array((size_t)n + 1, sizeof *f);
    if (!f)
        return err_set(err, ERR_NOMEM, "out of memory for a program");
    for (i = 0; i < n; i++)
        f[i] = (float)v[i];
    rc = nn_tensor_set(t, f, err);
    mem_free(f);
    return rc;
}

double *prog_numbers(const struct nn_tensor *t, struct arena *a,
                     struct err *err)
{
    int64_t n = nn_tensor_numel(t), i;
    double *v = arena_array(a, (size_t)n + 1, sizeof *v);
    float *f;

    if (!v) {
        (void)err_set(err, ERR_NOMEM, "out of memory for a program");
        return NULL;
    }
    if (t->dtype == NN_F64)
        return nn_tensor_get(t, v, err) == 0 ? v : NULL;
    f = arena_array(a, (size_t)n + 1, sizeof *f);
    if (!f || nn_tensor_get(t, f, err) != 0) {
        (void)err_set(err, ERR_NOMEM, "out of memory for a program");
        return NULL;
    }
    for (i = 0; i < n; i++)
        v[i] = (double)f[i];
    return v;
}

const double *prog_first_numbers(const struct prog_value *v, struct arena *a,
                                 struct err *err)
{
    return v->first ? v->first : prog_numbers(v->t, a, err);
}

static int keep_first(struct prog_run *r, struct prog_value *v, struct err *err)
{
    int64_t n = nn_tensor_numel(v->t);
    struct arena arena = {0};
    const double *now = prog_numbers(v->t, &arena, err);
    size_t kept = (size_t)(n < PROG_MAX_SHOWN ? n : PROG_MAX_SHOWN);

    if (now) {
        v->first = arena_array(r->arena, kept + 1, sizeof *v->first);
        if (v->first)
            memcpy(v->first, now, kept * sizeof *now);
    }
    arena_free(&arena);
    return v->first ? 0
                    : err_set(err, ERR_NOMEM, "out of memory for a program");
}

int prog_keep_first(struct prog_run *r, const struct nn_storage *st,
                    struct err *err)
{
    size_t i;
    int rc = 0;

    if (r->replay || r->borrowed)
        return 0;
    for (i = 0; rc == 0 && i < r->n_value; i++) {
        struct prog_value *v = r->value[i];

        if (v->t && v->t->st == st && !v->first)
            rc = keep_first(r, v, err);
    }
    return rc;
}

int prog_run_give(struct prog_run *r, const struct prog_tensor *t,
                  struct err *err)
{
    struct prog_value *v = prog_new_value(r, PROG_V_TENSOR, NULL, err);
    int rc;

    if (!v)
        return ERR_NOMEM;
    v->given = true;
    rc = nn_tensor_new(&v->t, r->be, &t->shape, t->dtype, NN_ROWS,
                       t->requires_grad ? NN_CAT_PARAMETER : NN_CAT_INPUT, err);
    if (rc == 0)
        rc = prog_own(r, v->t, err);
    if (rc == 0)
        rc = prog_set_numbers(v->t, t->data, err);
    if (rc == 0 && t->requires_grad) {
        rc = nn_tensor_require_grad(v->t, err);
        if (rc == 0)
            rc = prog_own(r, v->t->grad, err);
    }
    return rc != 0 ? rc : prog_set_var(r, t->name, v, err);
}

int prog_run_bind(struct prog_run *r, const char *name, struct nn_tensor *t,
                  struct err *err)
{
    struct prog_value *v = prog_new_value(r, PROG_V_TENSOR, NULL, err);

    if (!v)
        return ERR_NOMEM;
    v->given = true;
    v->t = t;
    return prog_set_var(r, name, v, err);
}

/* ---- statements ---- */

/* A number as it is shown. */
static void add_shown(struct str *s, const struct prog_value *v,
                      struct arena *a, struct err *err)
{
    const double *n;
    int64_t i, count;

    if (v->kind == PROG_V_TRUTH) {
        str_add(s, v->number > 0 ? "true" : "false");
        return;
    }
    if (v->kind == PROG_V_NUMBER) {
        str_add_double(s, v->number);
        return;
    }
    n = prog_numbers(v->t, a, err);
    count = nn_tensor_numel(v->t);
    if (v->t->shape.ndim > 0)
        str_addc(s, '[');
    for (i = 0; n && i < count && i < 16; i++) {
        str_add(s, i ? ", " : "");
        str_add_double(s, n[i]);
    }
    if (v->t->shape.ndim > 0)
        str_add(s, i < count ? ", ...]" : "]");
}

static int say_value(struct prog_run *r, const struct prog_expr *e,
                     const struct prog_value *v, struct err *err)
{
    struct arena arena = {0};
    struct str s = {0};
    char shape[96];
    int rc = 0;

    prog_expr_add(&s, e);
    if (v->kind == PROG_V_TENSOR && v->t->shape.ndim > 0)
        str_addf(&s, " %s", nn_shape_text(&v->t->shape, shape, sizeof shape));
    str_add(&s, " = ");
    add_shown(&s, v, &arena, err);
    if (s.failed)
        rc = err_set(err, ERR_NOMEM, "out of memory for a program");
    else
        r->say(r->user, s.text);
    arena_free(&arena);
    str_free(&s);
    return rc;
}

static int run_expr(struct prog_run *r, const struct prog_stmt *s,
                    struct err *err)
{
    struct prog_value *v;
    int rc = prog_eval(r, s->expr, &v, err);

    if (rc != 0)
        return rc;
    if (s->kind == PROG_ASSIGN)
        return prog_set_var(r, s->name, v, err);
    return v && r->say ? say_value(r, s->expr, v, err) : 0;
}

static int run_no_grad(struct prog_run *r, const struct prog_stmt *s,
                       struct err *err)
{
    bool enabled = r->tape->grad_enabled;
    int rc;

    r->tape->grad_enabled = false;
    rc = prog_run_stmts(r, s->body, err);
    r->tape->grad_enabled = enabled;
    return rc;
}

/* The failure that must come. A second run leaves it out. */
static int run_raises(struct prog_run *r, const struct prog_stmt *s,
                      struct err *err)
{
    size_t frozen = r->frozen ? r->frozen->n : 0;
    struct err e = {0};
    struct str line = {0};
    int rc;

    if (r->replay)
        return 0;
    rc = prog_run_stmts(r, s->body, &e);
    if (rc == ERR_NOMEM)
        return err_set(err, rc, "%s", e.msg);
    r->where = s->pos;
    if (rc == 0)
        return err_set(err, ERR_SHAPE,
                       "this ran without an error; one that says '%s' was to "
                       "come",
                       s->text);
    if (!strstr(e.msg, s->text))
        return err_set(err, ERR_SHAPE, "the error does not say '%s'; it is: %s",
                       s->text, e.msg);
    if (r->frozen)
        r->frozen->n = frozen;
    str_addf(&line, "line %d: an error, as expected: %s", s->pos.line + 1,
             e.msg);
    if (r->say && !line.failed)
        r->say(r->user, line.text);
    str_free(&line);
    return 0;
}

static int run_stmt(struct prog_run *r, const struct prog_stmt *s,
                    struct err *err)
{
    r->where = s->pos;
    switch (s->kind) {
    case PROG_NO_GRAD:
        return run_no_grad(r, s, err);
    case PROG_RAISES:
        return run_raises(r, s, err);
    case PROG_INPLACE:
        return prog_do_inplace(r, s, err);
    default:
        return run_expr(r, s, err);
    }
}

int prog_run_stmts(struct prog_run *r, const struct prog_stmt *s,
                   struct err *err)
{
    int rc = 0;

    for (; rc == 0 && s; s = s->next) {
        rc = run_stmt(r, s, err);
        if (rc != 0 && r->source->loc.file) {
            struct pl_loc loc = prog_loc(r->source, r->where);

            err_at(err, "%s:%d:%d", loc.file->path, loc.line, loc.col);
        }
    }
    return rc;
}
