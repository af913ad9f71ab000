#include "pipeline/prog_diff.h"

#include <math.h>
#include <string.h>

#include "nn/base/mem.h"

/* The two one-sided slopes at a corner differ by more than this. */
static const double corner = 1e-3;

struct diff {
    const struct prog_program *p;
    const struct prog_run *base;
    double eps;
    double *low, *high; /* losses of the backwards, at -eps and +eps */
    struct prog_diff *out;
};

/* Runs the program again with element `at` of tensor `leaf` moved by `by`. The
 * losses go to loss. */
static int replay(struct diff *d, const char *leaf, int64_t at, double by,
                  double *loss, struct err *err)
{
    struct prog_frozen frozen = *d->base->frozen;
    struct arena arena = {0};
    struct prog_run r;
    size_t i;
    int rc = prog_run_begin(&r, d->base->be, d->base->source, &arena, err);

    r.replay = true;
    r.frozen = &frozen;
    r.moved = leaf;
    r.moved_at = at;
    r.moved_by = by;
    for (i = 0; rc == 0 && i < d->p->n_tensors; i++) {
        const struct prog_tensor *t = &d->p->tensors[i];
        double *moved =
            leaf && strcmp(t->name, leaf) == 0 ? &t->data[at] : NULL;
        double keep = moved ? *moved : 0.0;

        if (moved)
            *moved = keep + by;
        rc = prog_run_give(&r, t, err);
        if (moved)
            *moved = keep;
    }
    if (rc == 0)
        rc = prog_run_stmts(&r, d->p->stmts, err);
    if (rc == 0 && r.n_backward != d->base->n_backward)
        rc = err_set(err, ERR_CORRUPT,
                     "a second run of a program took "
                     "another way");
    for (i = 0; rc == 0 && i < r.n_backward; i++)
        loss[i] = r.backward[i].loss;
    prog_run_end(&r);
    arena_free(&arena);
    return rc;
}

static void note(struct diff *d, const struct prog_share *s, double back,
                 double slope)
{
    double e = fabs(back - slope) / fmax(1.0, fmax(fabs(back), fabs(slope)));

    if (!s->reached && fabs(slope) <= 0)
        return; /* a leaf that the loss does not depend on */
    d->out->checked++;
    if (e > d->out->max_error || isnan(e)) {
        d->out->max_error = isnan(e) ? HUGE_VAL : e;
        d->out->where = s->leaf->name;
    }
}

/* Element k of share number j, in every backward. */
static int check_element(struct diff *d, size_t j, int64_t k, double value,
                         struct err *err)
{
    const struct prog_backward *b = d->base->backward;
    const char *leaf = b[0].share[j].leaf->name;
    double up = (value + d->eps) - value, down = value - (value - d->eps);
    size_t i;
    int rc = replay(d, leaf, k, d->eps, d->high, err);

    if (rc == 0)
        rc = replay(d, leaf, k, -d->eps, d->low, err);
    for (i = 0; rc == 0 && i < d->base->n_backward; i++) {
        double right = (d->high[i] - b[i].loss) / up;
        double left = (b[i].loss - d->low[i]) / down;
        double scale = fmax(1.0, fmax(fabs(right), fabs(left)));

        if (fabs(right - left) > corner * scale)
            d->out->kinks++;
        else
            note(d, &b[i].share[j], b[i].share[j].grad[k],
                 (d->high[i] - d->low[i]) / (up + down));
    }
    return rc;
}

static const struct prog_tensor *given(const struct prog_program *p,
                                       const char *name)
{
    size_t i;

    for (i = 0; i < p->n_tensors; i++)
        if (strcmp(p->tensors[i].name, name) == 0)
            return &p->tensors[i];
    return NULL;
}

/* Whether a second run that moves nothing gives the same losses: it does not
 * where a detached value was changed in place, which moves its source too. */
static int check_replay(struct diff *d, bool *same, struct err *err)
{
    size_t i;
    int rc = replay(d, NULL, 0, 0, d->low, err);

    *same = true;
    for (i = 0; rc == 0 && i < d->base->n_backward; i++)
        if (!(d->low[i] >= d->base->backward[i].loss &&
              d->low[i] <= d->base->backward[i].loss))
            *same = false;
    return rc;
}

static bool all_float64(const struct prog_run *r)
{
    size_t i;

    for (i = 0; i < r->n_value; i++)
        if (r->value[i]->t && r->value[i]->t->dtype != NN_F64)
            return false;
    return true;
}

static int check_leaves(struct diff *d, bool (*stop)(void *), void *user,
                        struct err *err)
{
    const struct prog_backward *first = &d->base->backward[0];
    int64_t total = 0, step, at = 0;
    size_t j;
    int rc = 0;

    for (j = 0; j < first->n_share; j++)
        total += nn_tensor_numel(first->share[j].leaf->t);
    step = total / PROG_DIFF_MAX + 1;
    for (j = 0; rc == 0 && j < first->n_share; j++) {
        const struct prog_value *leaf = first->share[j].leaf;
        const struct prog_tensor *t = given(d->p, leaf->name);
        int64_t n = nn_tensor_numel(leaf->t), k;

        for (k = 0; rc == 0 && t && k < n; k++) {
            if (at++ % step != 0)
                continue;
            if (stop && stop(user))
                return err_set(err, ERR_INTERRUPTED,
                               "stopped before all gradients were checked");
            rc = check_element(d, j, k, t->data[k], err);
        }
    }
    return rc;
}

int prog_diff_check(struct prog_diff *out, const struct prog_program *p,
                    const struct prog_run *base, double eps,
                    bool (*stop)(void *user), void *user, struct err *err)
{
    struct diff d = {.p = p, .base = base, .eps = eps, .out = out};
    size_t n = base->n_backward;
    bool same = true;
    int rc;

    memset(out, 0, sizeof *out);
    if (n == 0)
        out->not_made = "no backward was run";
    else if (!all_float64(base))
        out->not_made = "differences need float64";
    if (out->not_made)
        return 0;
    d.low = mem_array(n, sizeof *d.low);
    d.high = mem_array(n, sizeof *d.high);
    if (!d.low || !d.high)
        rc = err_set(err, ERR_NOMEM, "out of memory for a program");
    else
        rc = check_replay(&d, &same, err);
    if (rc == 0 && !same)
        out->not_made = "a detached value was changed in place";
    else if (rc == 0)
        rc = check_leaves(&d, stop, user, err);
    mem_free(d.low);
    mem_free(d.high);
    return rc;
}
