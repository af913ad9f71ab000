/* step_times.csv. */
#include <math.h>

#include "nn/step.h"
#include "pipeline/device_settings.h"
#include "pipeline/profile.h"

static const char head[] =
    "step,what,n,median_ms,p10_ms,p90_ms,mean_ms,samples_per_s,flag,method,"
    "batch_size,optimizer,execution,data,fusion,numerics,threads,device,"
    "cpu_mhz_before,cpu_mhz_after,load_before,load_after,steal_percent,"
    "sm_mhz_before,sm_mhz_after,power_cap_w_before,power_cap_w_after,"
    "celsius_before,celsius_after,traced_last_ms,traced_ratio,share_of_"
    "traced\n";
enum { COLUMNS_BEHIND_MEDIAN = 28, COLUMNS_MEAN_TO_SHARE = 25 };

static void add_step(struct str *out, int64_t step, const char *what, int64_t k,
                     double seconds)
{
    int i;

    str_addf(out, "%lld,%s", (long long)step, what);
    if (k >= 0)
        str_addf(out, "%lld", (long long)k);
    str_addf(out, ",1,%.6f", 1e3 * seconds);
    for (i = 0; i < COLUMNS_BEHIND_MEDIAN; i++)
        str_addc(out, ',');
    str_addc(out, '\n');
}

/* What cannot be told is an empty cell. */
static void add_fact(struct str *out, double v, int decimals)
{
    str_addc(out, ',');
    if (isfinite(v))
        str_addf(out, "%.*f", decimals, v);
}

/* What is read in the trace: each step, and the phases in their mean step. */
static void add_traced(const struct pl_traced *t, struct str *out)
{
    size_t i;
    int k, c;

    for (i = 0; i < t->n_steps; i++)
        add_step(out, t->step[i]->step, "ProfilerStep#", t->step[i]->step,
                 1e-9 * (double)(t->step[i]->end - t->step[i]->begin));
    for (k = NN_PHASE_H2D; t->n_steps > 0 && k < NN_PHASE_COUNT; k++) {
        str_addf(out, ",from traced steps: %s,%zu,,,,%.6f",
                 nn_phase_name((enum nn_phase)k), t->n_steps,
                 pl_ms(t->phase_ns[k]) / (double)t->n_steps);
        for (c = 0; c < COLUMNS_MEAN_TO_SHARE; c++)
            str_addc(out, ',');
        str_addf(out, "%.4f\n", (double)t->phase_ns[k] / (double)t->steps_ns);
    }
}

static void add_last_traced(const struct pl_step_times *t, struct str *out)
{
    const struct pl_traced *r = t->traced;
    const struct prof_span *last;

    if (!r || r->n_steps == 0) {
        str_add(out, ",,,");
        return;
    }
    last = r->step[r->n_steps - 1];
    str_addf(out, ",%.6f,%.4f,", pl_ms(last->end - last->begin),
             pl_ms(last->end - last->begin) / (1e3 * t->sum.median));
}

static void add_settings(const struct pl_step_times *t, struct str *out)
{
    const struct pl_profile_with *w = t->with;

    str_addf(out, ",%s,%lld,%s,%s,%s,%s,%s,%d,\"%s\"", t->method,
             (long long)w->batch_size, pl_optimizer_types[w->optimizer.type],
             w->execution == NN_EXEC_EAGER ? "eager" : "recorded",
             pl_data_path_on(t->be, w->data), pl_fusions[w->fusion],
             pl_numerics_on(t->be, w->numerics), t->be->threads,
             t->be->description);
}

static void add_host(const struct pl_step_times *t, struct str *out)
{
    const struct pl_host_state *a = &t->before, *b = &t->after;

    add_fact(out, a->cpu_mhz, 0);
    add_fact(out, b->cpu_mhz, 0);
    add_fact(out, a->load, 2);
    add_fact(out, b->load, 2);
    add_fact(out, pl_host_steal(a, b), 2);
    add_fact(out, a->gpu.sm_mhz, 0);
    add_fact(out, b->gpu.sm_mhz, 0);
    add_fact(out, a->gpu.power_cap_w, 1);
    add_fact(out, b->gpu.power_cap_w, 1);
    add_fact(out, a->gpu.celsius, 0);
    add_fact(out, b->gpu.celsius, 0);
}

void pl_step_times_csv(const struct pl_step_times *t, struct str *out)
{
    const struct pl_profile_with *w = t->with;
    const struct pl_times *s = &t->sum;
    int64_t i;

    str_add(out, head);
    for (i = 0; i < w->n_step; i++)
        add_step(out, i, "first steps", -1, t->first[i]);
    for (i = 0; i < w->repeat; i++)
        add_step(out, w->n_step + w->warmup + i, "timed", -1, t->timed[i]);
    if (t->traced)
        add_traced(t->traced, out);
    str_addf(out, ",all timed,%zu,%.6f,%.6f,%.6f,%.6f,%.1f,%s", s->n,
             1e3 * s->median, 1e3 * s->p10, 1e3 * s->p90, 1e3 * s->mean,
             (double)w->batch_size / s->median, pl_times_flag(s));
    add_settings(t, out);
    add_host(t, out);
    add_last_traced(t, out);
    str_addc(out, '\n');
}
