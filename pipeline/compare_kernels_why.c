/* What the figures of a kernel comparison say. */
#include <math.h>
#include <string.h>

#include "pipeline/compare_kernels.h"
#include "pipeline/compare_text.h"

/* Ratios within a tenth are the same, but for the optimizer's: one time that
 * ought not to change is allowed a quarter. */
#define NEAR 1.1
#define STEADY 1.25

struct why {
    const struct pl_pairs *p;
    const struct pl_profiled *a, *b; /* the first and the last */
    size_t last;
    double work;
    struct str *out;
};

/* -1, 0, 1: a ratio is less than, near, more than what it is held against. */
static int against(double ratio, double other, double near)
{
    return ratio * near < other ? -1 : ratio > other * near ? 1 : 0;
}

static void add_us(const struct why *y, double us)
{
    pl_add_figure(y->out, us);
    str_add(y->out, " us");
}

/* "12.1 us with A and 30.2 us with B". */
static void add_both_us(const struct why *y, double a, double b)
{
    add_us(y, a);
    str_addf(y->out, " with %s and ", y->a->cell->label);
    add_us(y, b);
    str_addf(y->out, " with %s", y->b->cell->label);
}

static void say_total(const struct why *y)
{
    static const char *const words[] = {"a sample costs less with %s",
                                        "the time grows as the work does",
                                        "a sample costs more with %s"};
    double r = y->b->us / y->a->us;

    if (!(y->a->us > 0) || !(y->b->us > 0))
        return;
    str_addf(y->out, "- The %s of a step take ", pl_pairs_what(y->p));
    add_both_us(y, y->a->us, y->b->us);
    str_add(y->out, ", ");
    pl_add_times(y->out, r);
    str_add(y->out, " as long");
    if (y->work == 1) {
        str_add(y->out, ".\n");
        return;
    }
    str_add(y->out, " for ");
    pl_add_times(y->out, y->work);
    str_add(y->out, " the samples. That is ");
    pl_add_figure(y->out, 1e3 * y->a->us / y->a->batch);
    str_add(y->out, " ns a sample against ");
    pl_add_figure(y->out, 1e3 * y->b->us / y->b->batch);
    str_add(y->out, " ns: ");
    str_addf(y->out, words[1 + against(r, y->work, NEAR)], y->b->cell->label);
    str_add(y->out, ".\n");
}

static void say_share(const struct why *y)
{
    const enum pl_pair_group linear = PL_PAIR_LINEAR;
    double a = pl_pairs_sum(y->p, 0, pl_pair_in_group, &linear) / y->a->us;
    double b =
        pl_pairs_sum(y->p, y->last, pl_pair_in_group, &linear) / y->b->us;

    if (!isfinite(a) || !isfinite(b) || a + b == 0)
        return;
    str_addf(y->out,
             "- Linear has %.0f %% of that time with %s and %.0f %% with %s",
             100 * a, y->a->cell->label, 100 * b, y->b->cell->label);
    if (a > 0.5 && b > 0.5)
        str_add(y->out, ": most of it in both");
    else if (a > 0.5 || b > 0.5)
        str_addf(y->out, ": most of it with %s alone",
                 (a > 0.5 ? y->a : y->b)->cell->label);
    else
        str_add(y->out, ": less than half in both");
    str_add(y->out, ".\n");
}

/* ---- Linear ---- */

static double ratio_of(const struct why *y, pl_pair_test *test,
                       const void *about)
{
    return pl_pairs_sum(y->p, y->last, test, about) /
           pl_pairs_sum(y->p, 0, test, about);
}

/* The pair of linear layers whose time grows most, or (sign -1) least. */
static const struct pl_kernel_pair *extreme(const struct why *y, double sign)
{
    const struct pl_kernel_pair *best = NULL;
    double at = -HUGE_VAL, r;
    size_t i;

    for (i = 0; i < y->p->n; i++) {
        r = sign * pl_pair_ratio(y->p, &y->p->pair[i]);
        if (y->p->pair[i].group != PL_PAIR_LINEAR || !(r > at))
            continue;
        best = &y->p->pair[i];
        at = r;
    }
    return best;
}

static void add_extreme(const struct why *y, const char *words,
                        const struct pl_kernel_pair *pair)
{
    str_addf(y->out, "%s `", words);
    pl_pair_add_label(y->out, pair);
    str_add(y->out, "`, ");
    pl_add_figure(y->out, pl_pair_ratio(y->p, pair));
}

static void say_linear(const struct why *y)
{
    double f = ratio_of(y, pl_pair_has_key, "linear.forward");
    double b = ratio_of(y, pl_pair_is_linear_backward, NULL);
    const struct pl_kernel_pair *most = extreme(y, 1), *least = extreme(y, -1);

    if (isfinite(f) && isfinite(b)) {
        str_add(y->out, "- Linear takes ");
        pl_add_times(y->out, f);
        str_add(y->out, " as long forward and ");
        pl_add_times(y->out, b);
        str_add(y->out, " backward");
        str_add(y->out, against(f, b, NEAR) == 0 ? ": about the same.\n"
                        : f > b                  ? ": forward grows more.\n"
                                                 : ": backward grows more.\n");
    }
    if (!most || most == least)
        return;
    add_extreme(y, "- The largest ratio of its operators is that of", most);
    add_extreme(y, ", the smallest that of", least);
    str_add(y->out, ".\n");
}

/* The kernel of a side that takes the longest. */
static const struct pl_kernel *main_kernel(const struct pl_side *s)
{
    const struct pl_kernel *k = s->kernel[0];
    size_t i;

    for (i = 1; i < s->n; i++)
        if (s->kernel[i]->total_us > k->total_us)
            k = s->kernel[i];
    return k;
}

static void add_kernel(const struct why *y, const struct pl_kernel *k)
{
    str_addc(y->out, '`');
    pl_add_kernel_name(y->out, k->name);
    str_addc(y->out, '`');
    if (k->blocks > 0) {
        str_add(y->out, " on ");
        str_addf(y->out, "%.0f %s", k->blocks,
                 k->blocks == 1 ? "block" : "blocks");
    }
}

/* What the number of blocks says of the time. */
static void say_blocks(const struct why *y, const struct pl_kernel_pair *pair,
                       double blocks)
{
    double r = pl_pair_ratio(y->p, pair);

    str_addc(y->out, ' ');
    if (blocks == 1)
        str_add(y->out, "As many blocks");
    else {
        pl_add_times(y->out, blocks);
        str_add(y->out, " the blocks");
    }
    str_add(y->out, " in ");
    pl_add_times(y->out, r);
    str_add(y->out, " the time: ");
    switch (against(r, blocks, NEAR)) {
    case -1:
        str_add(y->out, "more of them ran side by side, which means that "
                        "there was room for them.");
        break;
    case 0:
        str_add(y->out, blocks == 1 ? "a block takes as long."
                                    : "the time grows as the blocks do.");
        break;
    default:
        str_add(y->out, "a block takes longer");
        str_add(y->out, strncmp(pair->role, "grad_", 5) == 0 &&
                                strcmp(pair->role, "grad_input") != 0 &&
                                y->work > 1
                            ? ", since this operator sums over the samples."
                            : ".");
    }
}

static void say_pair(const struct why *y, const struct pl_kernel_pair *pair)
{
    const struct pl_side *a = &pair->side[0], *b = &pair->side[y->last];
    const struct pl_kernel *ka, *kb;

    if (a->n == 0 || b->n == 0)
        return;
    ka = main_kernel(a);
    kb = main_kernel(b);
    str_add(y->out, "- `");
    pl_pair_add_label(y->out, pair);
    str_add(y->out, "`: ");
    if (strcmp(ka->name, kb->name) != 0) {
        str_add(y->out, "another kernel. ");
        add_kernel(y, ka);
        str_addf(y->out, " with %s, ", y->a->cell->label);
        add_kernel(y, kb);
    } else {
        str_add(y->out, "the same kernel, ");
        add_kernel(y, ka);
        str_addf(y->out, " with %s and", y->a->cell->label);
        if (kb->blocks > 0)
            str_addf(y->out, " %.0f", kb->blocks);
    }
    str_addf(y->out, " with %s", y->b->cell->label);
    if (a->n != b->n)
        str_addf(y->out, "; %zu kernels in place of %zu", b->n, a->n);
    str_addc(y->out, '.');
    if (ka->blocks > 0 && kb->blocks > 0 && isfinite(pl_pair_ratio(y->p, pair)))
        say_blocks(y, pair, kb->blocks / ka->blocks);
    str_addc(y->out, '\n');
}

/* ---- what does not hang on the kernels ---- */

static void say_optimizer(const struct why *y)
{
    double a = pl_pairs_sum(y->p, 0, pl_pair_in_phase, "optimizer");
    double b = pl_pairs_sum(y->p, y->last, pl_pair_in_phase, "optimizer");

    if (!(a > 0) || !(b > 0) || y->work == 1 ||
        strcmp(y->a->optimizer, y->b->optimizer) != 0)
        return;
    str_add(y->out, "- The optimizer takes ");
    add_both_us(y, a, b);
    str_add(y->out, " (");
    pl_add_times(y->out, b / a);
    if (against(b / a, 1, STEADY) == 0)
        str_add(y->out, "): its work is set by the parameters, not by the "
                        "batch.\n");
    else
        str_add(y->out, "), though its work is set by the parameters, not by "
                        "the batch: caches, clocks and other work of the "
                        "machine have to do with it.\n");
}

/* Copies of the batch to the device, a step. */
static void sum_copies(const struct pl_profiled *f, double *bytes, double *us)
{
    size_t i;

    *bytes = *us = 0;
    for (i = 0; i < f->n; i++) {
        const struct pl_kernel *k = &f->kernel[i];

        if (!k->name || strcmp(k->phase, "h2d") != 0 ||
            strncmp(k->name, "Memcpy HtoD", 11) != 0)
            continue;
        *bytes += k->bytes * k->count / f->steps;
        *us += k->total_us / f->steps;
    }
}

static void add_rate(const struct why *y, double bytes, double us)
{
    pl_add_figure(y->out, bytes);
    str_add(y->out, " bytes in ");
    add_us(y, us);
    str_add(y->out, ", ");
    pl_add_figure(y->out, bytes / us * 1e-3);
    str_add(y->out, " GB/s");
}

static void say_copies(const struct why *y)
{
    double a, b, na, nb;

    sum_copies(y->a, &na, &a);
    sum_copies(y->b, &nb, &b);
    if (!(a > 0) || !(b > 0) || !(na > 0) || !(nb > 0))
        return;
    str_addf(y->out, "- The batch is copied to the device with %s: ",
             y->a->cell->label);
    add_rate(y, na, a);
    str_addf(y->out, "; with %s: ", y->b->cell->label);
    add_rate(y, nb, b);
    switch (against(nb / b, na / a, NEAR)) {
    case -1:
        str_add(y->out, ": more slowly.\n");
        break;
    case 0:
        str_add(y->out, ": at the same rate.\n");
        break;
    default:
        str_add(y->out, ": what a copy costs at any size weighs less.\n");
    }
}

static void add_busy(const struct why *y, const struct pl_profiled *f)
{
    str_addf(y->out, "%.0f %% of the last step with %s", 100 * f->busy,
             f->cell->label);
}

static void say_busy(const struct why *y)
{
    bool a = y->a->busy < 0.5, b = y->b->busy < 0.5;

    if (!isfinite(y->a->busy) || !isfinite(y->b->busy))
        return;
    str_add(y->out, "- The device works in ");
    add_busy(y, y->a);
    str_add(y->out, " and in ");
    add_busy(y, y->b);
    if (a && b)
        str_add(y->out, ": it waits for the host in most of both, so the "
                        "step's length is not that of its kernels.\n");
    else if (a || b)
        str_addf(y->out,
                 ": with %s it waits for the host in most of the step, so the "
                 "step's length is not that of its kernels.\n",
                 (a ? y->a : y->b)->cell->label);
    else
        str_add(y->out, ": the kernels make up most of the step's length.\n");
}

void pl_kernels_why(const struct pl_pairs *p, struct str *out)
{
    struct why y = {.p = p,
                    .a = &p->profile[0],
                    .b = &p->profile[p->n_profiles - 1],
                    .last = p->n_profiles - 1,
                    .work = pl_pairs_work(p),
                    .out = out};
    size_t i;

    say_total(&y);
    say_share(&y);
    say_linear(&y);
    for (i = 0; p->kernels && i < p->n; i++)
        if (p->pair[i].group == PL_PAIR_LINEAR)
            say_pair(&y, &p->pair[i]);
    say_optimizer(&y);
    say_copies(&y);
    say_busy(&y);
}
