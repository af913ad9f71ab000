/* What the figures of a memory comparison say: each sentence hangs on them. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "pipeline/compare_memory.h"
#include "pipeline/compare_text.h"
#include "pipeline/number.h"

struct why {
    const struct pl_memories *all;
    struct str *out;
};

static void add_count(const struct why *y, int64_t bytes)
{
    pl_memory_add_count(y->out, bytes);
}

/* Whether all runs have as many bytes of it as the first. */
static bool are_same(const struct why *y, enum nn_memory_kind k)
{
    size_t i;

    for (i = 1; i < y->all->n; i++)
        if (pl_memory_difference(y->all, i, k) != 0)
            return false;
    return true;
}

/* "sgd 10 bytes, adam 20 bytes" */
static void add_each(const struct why *y, enum nn_memory_kind k)
{
    size_t i;

    for (i = 0; i < y->all->n; i++) {
        str_addf(y->out, "%s%s ", i ? ", " : "", y->all->run[i].label);
        add_count(y, y->all->run[i].steady[k]);
    }
}

static void say_parameters(const struct why *y)
{
    const struct pl_memory_figures *f = &y->all->run[0];
    int64_t bytes = f->steady[NN_MEMORY_PARAMETER], p = f->parameters;

    if (!are_same(y, NN_MEMORY_PARAMETER)) {
        str_add(y->out, "- The runs differ in their parameters: ");
        add_each(y, NN_MEMORY_PARAMETER);
        str_add(y->out, ".\n");
        return;
    }
    str_add(y->out, "- Every run keeps ");
    add_count(y, bytes);
    str_add(y->out, " of parameters: P = ");
    pl_add_number(y->out, (double)p, 0, true);
    str_add(y->out, " numbers");
    if (p > 0 && bytes % p == 0) {
        str_add(y->out, " at ");
        add_count(y, bytes / p);
        str_add(y->out, " each");
    }
    str_add(y->out, ".\n");
}

static void add_multiple(const struct why *y, const struct pl_memory_figures *f,
                         enum nn_memory_kind k)
{
    double v = pl_memory_multiple(f, k);

    if (!isfinite(v))
        return;
    str_add(y->out, ", ");
    if (v == 1) {
        str_add(y->out, "as much as the parameters");
        return;
    }
    pl_add_times(y->out, v);
    str_add(y->out, " the parameters");
}

/* Where gradients come and go, if it is the same in all runs that have some. */
static void add_life(const struct why *y)
{
    const struct pl_memory_life *l = &y->all->run[0].life[NN_MEMORY_GRADIENT];
    size_t i;

    for (i = 0; i < y->all->n; i++) {
        const struct pl_memory_life *o =
            &y->all->run[i].life[NN_MEMORY_GRADIENT];

        if (!o->ever || o->before || o->born != l->born || o->ends != l->ends ||
            o->dies != l->dies)
            return;
    }
    str_addf(y->out, " They are born in %s and ", nn_phase_name(l->born));
    if (l->ends)
        str_addf(y->out, "go in %s", nn_phase_name(l->dies));
    else
        str_add(y->out, "stay from then on");
    str_add(y->out, ".");
}

static void say_gradients(const struct why *y)
{
    const struct pl_memory_figures *f = &y->all->run[0];
    size_t i;

    if (are_same(y, NN_MEMORY_GRADIENT) && are_same(y, NN_MEMORY_PARAMETER)) {
        str_add(y->out, "- Gradients take ");
        add_count(y, f->steady[NN_MEMORY_GRADIENT]);
        str_add(y->out, " in every run");
        add_multiple(y, f, NN_MEMORY_GRADIENT);
        if (f->steady[NN_MEMORY_GRADIENT] == f->steady[NN_MEMORY_PARAMETER] &&
            f->parameters > 0)
            str_add(y->out, ": one number for each");
        str_add(y->out, ".");
        add_life(y);
        str_add(y->out, "\n");
        return;
    }
    for (i = 0; i < y->all->n; i++) {
        f = &y->all->run[i];
        str_addf(y->out, "- The gradients of %s take ", f->label);
        add_count(y, f->steady[NN_MEMORY_GRADIENT]);
        add_multiple(y, f, NN_MEMORY_GRADIENT);
        str_add(y->out, ".\n");
    }
}

/* ---- optimizer state ---- */

/* "momentum_buffer" of "0.weight.momentum_buffer". */
static const char *last_word(const char *name)
{
    const char *dot = strrchr(name, '.');

    return dot ? dot + 1 : name;
}

static bool is_state(const struct nn_memory_tensor *t)
{
    return t->kind == NN_MEMORY_OPTIMIZER;
}

/* " (exp_avg, exp_avg_sq)": what the state is called, each name once. */
static void add_names(const struct why *y, const struct nn_step_memory *m)
{
    enum { MOST = 4 };
    const char *name[MOST];
    size_t n = 0, i, k;

    for (i = 0; i < m->n_tensor && n < MOST; i++) {
        if (!is_state(&m->tensor[i]))
            continue;
        name[n] = last_word(m->tensor[i].name);
        for (k = 0; strcmp(name[k], name[n]) != 0; k++)
            ;
        n += k == n;
    }
    for (i = 0; i < n; i++)
        str_addf(y->out, "%s%s", i ? ", " : " (", name[i]);
    str_add(y->out, n ? ")" : "");
}

static void add_birth(const struct why *y, const struct pl_memory_life *l)
{
    if (l->before)
        str_add(y->out, ". It was there before the first step recorded");
    else
        str_addf(y->out, ". It first appears in step %d, phase %s", l->step,
                 nn_phase_name(l->born));
    if (l->ends)
        str_addf(y->out, ", and some of it goes in %s", nn_phase_name(l->dies));
    else
        str_add(y->out, ", and stays");
}

static void say_state(const struct why *y, const struct pl_memory_figures *f)
{
    const struct pl_memory_life *l = &f->life[NN_MEMORY_OPTIMIZER];
    int64_t bytes = f->steady[NN_MEMORY_OPTIMIZER];

    str_addf(y->out, "- %s keeps ", f->label);
    add_count(y, bytes);
    str_add(y->out, " of optimizer state");
    if (bytes > 0) {
        add_multiple(y, f, NN_MEMORY_OPTIMIZER);
        str_addf(y->out, ", in %zu tensor%s", l->tensors,
                 l->tensors == 1 ? "" : "s");
        add_names(y, f->file.memory);
        add_birth(y, l);
    }
    if (pl_memory_holds(f)) {
        str_add(y->out, bytes > 0 ? ".\n"
                                  : ": its step is made of the gradient "
                                    "alone.\n");
        return;
    }
    str_add(y->out, f->blocks < 0 ? ".\n" : "; ");
    if (f->blocks >= 0)
        str_addf(y->out,
                 "parameters : gradients : state is **not** P : P : %d P, "
                 "as %s would have it.\n",
                 f->blocks, f->optimizer);
}

/* ---- differences ---- */

static void add_signed(const struct why *y, int64_t bytes)
{
    str_add(y->out, bytes > 0 ? "+" : "");
    add_count(y, bytes);
}

static void say_difference(const struct why *y, size_t run)
{
    const struct pl_memories *all = y->all;
    int64_t d = pl_memory_difference(all, run, NN_MEMORY_OPTIMIZER);
    int64_t others = pl_memory_others(all, run, NN_MEMORY_OPTIMIZER);
    const char *sep = "";
    int k;

    str_addf(y->out, "- Against %s, %s has ", all->run[0].label,
             all->run[run].label);
    if (d == 0) {
        str_add(y->out, "as much optimizer state");
    } else {
        add_count(y, d < 0 ? -d : d);
        str_addf(y->out, " %s of optimizer state", d < 0 ? "less" : "more");
    }
    if (others == 0) {
        str_add(y->out, "; every other category differs by 0 bytes.\n");
        return;
    }
    str_add(y->out, "; other categories differ too: ");
    for (k = 0; k < NN_MEMORY_KINDS; k++) {
        int64_t by = pl_memory_difference(all, run, (enum nn_memory_kind)k);

        if (k == NN_MEMORY_OPTIMIZER || by == 0)
            continue;
        str_addf(y->out, "%s%s ", sep,
                 nn_memory_kind_name((enum nn_memory_kind)k));
        add_signed(y, by);
        sep = ", ";
    }
    str_add(y->out, ".\n");
}

static void say_peak(const struct why *y, size_t run)
{
    const struct pl_memory_figures *a = &y->all->run[0], *b = &y->all->run[run];
    int64_t by = b->sums.peak - a->sums.peak;
    int64_t state =
        b->sums.live[NN_MEMORY_OPTIMIZER] - a->sums.live[NN_MEMORY_OPTIMIZER];

    str_add(y->out, "- The peak of the run is ");
    add_count(y, a->sums.peak);
    str_addf(y->out, " with %s and ", a->label);
    add_count(y, b->sums.peak);
    str_addf(y->out, " with %s", b->label);
    if (by == 0) {
        str_add(y->out, ": the same");
    } else {
        str_add(y->out, ": ");
        add_signed(y, by);
    }
    if (by == state && by != 0) {
        str_add(y->out, ", which is what lies in optimizer state then");
    } else if (state != 0) {
        str_add(y->out, ", of optimizer state alone ");
        add_signed(y, state);
    }
    str_add(y->out, ".\n");
}

/* ---- activations ---- */

static void say_activations(const struct why *y)
{
    const struct pl_memory_figures *f = &y->all->run[0];
    int64_t most = f->steady[NN_MEMORY_ACTIVATION];
    size_t i;

    if (!are_same(y, NN_MEMORY_ACTIVATION)) {
        str_add(y->out, "- Activations differ: ");
        add_each(y, NN_MEMORY_ACTIVATION);
        str_add(y->out, " at most in the last step.\n");
        return;
    }
    for (i = 1; i < y->all->n; i++)
        if (y->all->run[i].kept[NN_MEMORY_ACTIVATION] !=
            f->kept[NN_MEMORY_ACTIVATION])
            return;
    str_add(y->out, "- Activations take ");
    add_count(y, most);
    str_add(y->out, " at most in the last step of every run, and ");
    add_count(y, f->kept[NN_MEMORY_ACTIVATION]);
    str_add(y->out, " when it is over.\n");
}

void pl_memory_reasons(struct str *out, const struct pl_memories *all)
{
    struct why y = {all, out};
    size_t i;

    say_parameters(&y);
    say_gradients(&y);
    for (i = 0; i < all->n; i++)
        say_state(&y, &all->run[i]);
    for (i = 1; i < all->n; i++) {
        say_difference(&y, i);
        say_peak(&y, i);
    }
    say_activations(&y);
}
