/* What the figures of a series say, in sentences. */
#include <math.h>
#include <string.h>

#include "pipeline/compare_times.h"
#include "pipeline/number.h"

/* A series, and its two ends. */
struct ends {
    const struct pl_timed_series *s;
    const struct pl_timed *a, *b;
    const char *x;
};

static const struct pl_timed *other_end(const struct ends *e,
                                        const struct pl_timed *t)
{
    return t == e->a ? e->b : e->a;
}

static void add3(struct str *out, double v)
{
    pl_add_digits(out, v, 3);
}

static void add_percent(struct str *out, double share)
{
    pl_add_digits(out, 100 * share, 3);
    str_add(out, " %");
}

static void add_pair(struct str *out, double a, const char *between, double b,
                     const char *unit)
{
    add3(out, a);
    str_add(out, between);
    add3(out, b);
    str_add(out, unit);
}

/* " at 32 and 2,048": where the figures before it are from. */
static void add_places(struct str *out, const struct ends *e)
{
    str_add(out, " at ");
    pl_add_setting(out, e->a->x);
    str_add(out, " and ");
    pl_add_setting(out, e->b->x);
}

/* ---- time and work ---- */

static const char *verdict(double share)
{
    return share < 0.5    ? "nowhere near it"
           : share < 0.8  ? "behind it"
           : share < 1.25 ? "about in proportion"
                          : "more than in proportion";
}

static void add_ratio(struct str *out, const struct ends *e)
{
    double time = pl_timed_step_ratio(e->s), work = pl_timed_work_ratio(e->s);

    str_addf(out, "- From %s ", e->x);
    pl_add_setting(out, e->a->x);
    str_add(out, " to ");
    pl_add_setting(out, e->b->x);
    str_add(out, " the work of a step grows ");
    add3(out, work);
    str_add(out, " times");
    if (e->a->work.flops > 0) {
        str_add(out, " (");
        add_pair(out, 1e-9 * e->a->work.flops, " to ", 1e-9 * e->b->work.flops,
                 " GFLOP)");
    }
    str_add(out, ", its time ");
    add3(out, time);
    str_add(out, " times (");
    add_pair(out, e->a->median_ms, " to ", e->b->median_ms, " ms): ");
    add3(out, time / work);
    str_addf(out, " of the work's ratio, %s.\n", verdict(time / work));
}

static void add_knee(struct str *out, const struct ends *e)
{
    double knee;

    switch (pl_timed_knee(e->s, &knee)) {
    case PL_KNEE_FOUND:
        str_addf(out, "- The knee is at %s ", e->x);
        add3(out, knee);
        str_add(out, ": from there on the time grows in proportion (the slope "
                     "of log time over log work is above 1/2).\n");
        break;
    case PL_KNEE_BELOW:
        str_add(out, "- There is no knee in this range: the slope of log time "
                     "over log work is above 1/2 from the first point on.\n");
        break;
    case PL_KNEE_ABOVE:
        str_add(out, "- There is no knee in this range: the slope of log time "
                     "over log work is still below 1/2 at its end.\n");
        break;
    default:
        break;
    }
}

static void add_each(struct str *out, const struct ends *e)
{
    if (strcmp(e->x, "batch_size") != 0)
        return;
    str_add(out, "- A sample costs ");
    add_pair(out, pl_timed_us_each(e->a), " and ", pl_timed_us_each(e->b),
             " µs");
    add_places(out, e);
    str_add(out, ".\n");
}

static void add_rate(struct str *out, const struct ends *e)
{
    double a = pl_timed_gflop_s(e->a), b = pl_timed_gflop_s(e->b);

    if (isnan(a) || isnan(b))
        return;
    str_add(out, "- The products run at ");
    add_pair(out, a, " and ", b, " GFLOP/s");
    add_places(out, e);
    if (!isnan(e->b->peak_gflops)) {
        str_add(out, ", ");
        add_percent(out, a / e->a->peak_gflops);
        str_add(out, " and ");
        add_percent(out, b / e->b->peak_gflops);
        str_add(out, " of the device's float32 peak");
    }
    str_add(out, b >= 0.5 * e->b->peak_gflops
                     ? ": in the end arithmetic sets the time (compute-bound)"
                 : b > 1.25 * a
                     ? ": more work at once makes better use of the device"
                 : b < 0.8 * a
                     ? ": more work at once runs at a lower rate"
                     : ": about the same rate, so their time follows the "
                       "work");
    str_add(out, ".\n");
}

/* The optimizer's pass is over the parameters: the same for every batch. Where
 * the host only gives the work, its phases do not tell how long that takes. */
static void add_fixed_part(struct str *out, const struct ends *e)
{
    bool device = !isnan(e->a->busy) || !isnan(e->b->busy);
    double a = device ? e->a->optimizer : e->a->share[NN_PHASE_OPTIMIZER];
    double b = device ? e->b->optimizer : e->b->share[NN_PHASE_OPTIMIZER];

    if (isnan(a) || isnan(b) || strcmp(e->x, "batch_size") != 0)
        return;
    str_add(out, "- The optimizer has the same work at every batch size; it "
                 "takes ");
    add_percent(out, a);
    str_add(out, " and ");
    add_percent(out, b);
    str_add(out, device ? " of the device's time" : " of the traced steps");
    add_places(out, e);
    str_add(out, a < 0.1     ? ", too little to matter"
                 : b < a / 2 ? ", a part of the time that does not grow"
                             : ", so it is not what keeps the time down");
    str_add(out, ".\n");
}

/* ---- what only a device of its own can tell ---- */

static bool waits_for_host(const struct pl_timed *t)
{
    return t->busy < 0.5 && t->host_us >= 0.5 * 1e3 * t->last_ms;
}

static void add_busy_at(struct str *out, const struct ends *e,
                        const struct pl_timed *t)
{
    if (isnan(t->busy))
        return;
    str_addf(out, "- At %s ", e->x);
    pl_add_setting(out, t->x);
    str_add(out, " the device works ");
    add_percent(out, t->busy);
    str_add(out, " of the last traced step");
    if (!isnan(t->launches) && !isnan(t->host_us)) {
        str_add(out, "; its ");
        pl_add_setting(out, t->launches);
        str_add(out, " launches take the host ");
        add3(out, t->host_us);
        str_add(out, " of ");
        add3(out, 1e3 * t->last_ms);
        str_add(out, " µs");
    }
    str_add(out, waits_for_host(t)
                     ? ": launches set the time, not the work (launch-bound)"
                 : t->busy < 0.5 ? ": it waits for most of the step"
                                 : ": its own work sets the time");
    str_add(out,
            waits_for_host(t) && waits_for_host(other_end(e, t)) && t == e->b
                ? ", still.\n"
                : ".\n");
}

static void add_blocks(struct str *out, const struct ends *e)
{
    double a = e->a->blocks_per_sm, b = e->b->blocks_per_sm;

    if (isnan(a) || isnan(b))
        return;
    str_add(out, "- A kernel has ");
    add_pair(out, a, " and ", b, " blocks for each multiprocessor");
    add_places(out, e);
    str_add(out, " (mean by time)");
    str_add(out, a < 1 && b < 1 ? ": a part of the device is idle even while "
                                  "it works"
                 : a < 1 ? ": only the larger one gives each of them something "
                           "to do"
                         : ": each of them has something to do");
    str_add(out, ".\n");
}

static void add_copy(struct str *out, const struct pl_timed *t)
{
    add3(out, 1e-6 * t->h2d_bytes);
    str_add(out, " MB in ");
    add3(out, t->h2d_us);
    str_add(out, " µs (");
    add3(out, pl_timed_h2d_gb_s(t));
    str_add(out, " GB/s, ");
    add_percent(out, 1e-3 * t->h2d_us / t->last_ms);
    str_add(out, " of the step) at ");
    pl_add_setting(out, t->x);
}

static void add_data(struct str *out, const struct ends *e)
{
    double share = 1e-3 * e->b->h2d_us / e->b->last_ms;

    if (!(e->a->h2d_us > 0) || !(e->b->h2d_us > 0) || isnan(share))
        return;
    str_add(out, "- Copies from the host move ");
    add_copy(out, e->a);
    str_add(out, ", ");
    add_copy(out, e->b);
    str_add(out, share >= 0.3 ? ": they are a large part of the time there"
                              : ": they are a small part of the time");
    str_add(out, ".\n");
}

static void add_wait(struct str *out, const struct ends *e)
{
    if (isnan(e->a->sync_us) || isnan(e->b->sync_us))
        return;
    str_add(out, "- The host waits for the device for ");
    add_pair(out, e->a->sync_us, " and ", e->b->sync_us, " µs of a step");
    add_places(out, e);
    str_add(out, ".\n");
}

/* Operands moved once each against what the memory could move meanwhile. */
static void add_memory(struct str *out, const struct ends *e)
{
    const struct pl_card *card = pl_card_find(e->b->device);
    double gb_s = 1e-6 * e->b->work.bytes / e->b->median_ms;

    if (!card)
        return;
    str_add(out, "- At ");
    pl_add_setting(out, e->b->x);
    str_add(out, " the operators read and write at least ");
    add3(out, 1e-6 * e->b->work.bytes);
    str_add(out, " MB a step, ");
    add3(out, gb_s);
    str_add(out, " GB/s, ");
    add_percent(out, gb_s / card->memory_gb_s);
    str_addf(out, " of the memory's bandwidth%s.\n",
             gb_s >= 0.5 * card->memory_gb_s
                 ? ": it is a large part of the time (memory-bound)"
                 : ": it does not set the time");
}

static void add_flags(struct str *out, const struct pl_timed_series *s)
{
    const char *gap = "- To be read with care, as the machine was uneven "
                      "meanwhile: ";
    size_t i;

    for (i = 0; i < s->n; i++) {
        if (!s->at[i]->flag[0])
            continue;
        str_add(out, gap);
        pl_add_setting(out, s->at[i]->x);
        str_addf(out, " (%s)", s->at[i]->flag);
        gap = ", ";
    }
    if (gap[0] == ',')
        str_add(out, ".\n");
}

void pl_timed_reasons(struct str *out, const struct pl_timed_series *s,
                      const char *x)
{
    const struct ends e = {s, s->at[0], s->at[s->n - 1], x};

    if (s->n > 1) {
        add_ratio(out, &e);
        add_knee(out, &e);
        add_each(out, &e);
        add_rate(out, &e);
        add_fixed_part(out, &e);
        add_busy_at(out, &e, e.a);
        add_busy_at(out, &e, e.b);
        add_blocks(out, &e);
        add_data(out, &e);
        add_wait(out, &e);
        add_memory(out, &e);
    }
    add_flags(out, s);
}

/* At x, or NULL. */
static const struct pl_timed *find_x(const struct pl_timed_series *s, double x)
{
    size_t i;

    for (i = 0; i < s->n; i++)
        if (s->at[i]->x == x)
            return s->at[i];
    return NULL;
}

static bool on_cpu(const struct pl_timed *t)
{
    return strncmp(t->device, "cpu", 3) == 0;
}

void pl_timed_between(struct str *out, const struct pl_timed_series *base,
                      const struct pl_timed_series *s, const char *x)
{
    size_t i;

    for (i = 0; i < s->n; i++) {
        const struct pl_timed *b = find_x(base, s->at[i]->x);

        if (!b)
            continue;
        str_addf(out, "- At %s ", x);
        pl_add_setting(out, b->x);
        str_addf(out, " %s takes ", s->name);
        add3(out, s->at[i]->median_ms / b->median_ms);
        str_addf(out, " of the time of %s (", base->name);
        add_pair(out, s->at[i]->median_ms, " and ", b->median_ms, " ms).\n");
    }
    if (on_cpu(base->at[0]) && on_cpu(s->at[0]) &&
        strcmp(base->at[0]->execution, s->at[0]->execution) != 0)
        str_add(out, "- A CPU has no replay: a recorded step runs operator by "
                     "operator, as an eager one does.\n");
}
