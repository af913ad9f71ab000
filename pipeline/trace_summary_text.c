#include <inttypes.h>

#include "nn/base/mem.h"
#include "pipeline/table.h"
#include "pipeline/trace_summary.h"

enum { STEPS_SHOWN = 12 };

static const char *us(struct trace_summary *s, double ns)
{
    return trace_number(s, ns / 1e3, 3);
}

static const char *percent(struct trace_summary *s, double part, double of)
{
    return of > 0 ? trace_printf(s, "%.1f%%", 100 * part / of) : "-";
}

static void add_facts(struct str *out, struct trace_summary *s)
{
    const struct trace *t = s->t;
    const char *key, *value;
    size_t i;

    for (i = 0; i < t->n_facts; i++) {
        key = trace_shown(s, t->fact[i].key);
        value = trace_shown(s, t->fact[i].value);
        str_addf(out, "%s%s %s", i ? ", " : "keys: ", key, value);
    }
    if (t->n_facts)
        str_add(out, "\n");
}

static void add_head(struct str *out, struct trace_summary *s)
{
    const struct trace *t = s->t;

    str_addf(out, "%s: %s, %s events, ", t->path, trace_writer(t),
             trace_number(s, (double)t->n_events, 0));
    str_addf(out, "%s bytes of JSON\n", trace_number(s, (double)t->n_bytes, 0));
    if (t->simulated)
        str_add(out, "SIMULATED: no GPU took part, its times mean nothing\n");
    add_facts(out, s);
    if (t->faults.broken[RULE_JSON])
        str_addf(out, "note: %s\n", t->faults.text[RULE_JSON][0]);
    if (t->n_skipped)
        str_addf(out,
                 "note: %" PRIu64 " events without a usable time are "
                 "left out\n",
                 t->n_skipped);
    if (t->n_unfinished)
        str_addf(out,
                 "note: %" PRIu64 " slices that begin (B) and do not end "
                 "(E) are left out\n",
                 t->n_unfinished);
}

static void add_steps(struct str *out, struct trace_summary *s)
{
    const struct trace_steps *steps = &s->steps;
    const char *cell[STEPS_SHOWN * 2];
    static const char *const head[] = {"step", "us"};
    struct pl_table t = {
        .head = head, .right = "lr", .cell = cell, .columns = 2};
    size_t i;

    if (steps->n == 0) {
        str_add(out, "\nno steps (ProfilerStep#N)\n");
        return;
    }
    t.rows = steps->n < STEPS_SHOWN ? steps->n : STEPS_SHOWN;
    for (i = 0; i < t.rows; i++) {
        const struct trace_step *x = &steps->step[i];

        cell[2 * i] = trace_printf(s, "ProfilerStep#%" PRId64, x->number);
        cell[2 * i + 1] = us(s, (double)(x->end - x->ts));
    }
    str_addf(out, "\n%zu step%s, mean %s us\n", steps->n,
             steps->n == 1 ? "" : "s", us(s, trace_step_mean(s)));
    pl_table_add(out, &t, false);
    if (steps->n > t.rows)
        str_addf(out, "and %zu more, the last one ProfilerStep#%" PRId64 "\n",
                 steps->n - t.rows, steps->step[steps->n - 1].number);
}

static void add_top(struct str *out, struct trace_summary *s,
                    enum trace_group g)
{
    static const char *const head[] = {"name",    "count",   "total us",
                                       "self us", "mean us", "share"};
    const struct trace_top *top = &s->top[g];
    const char *cell[TRACE_TOP * 6], **c = cell;
    struct pl_table t = {
        .head = head, .right = "lrrrrr", .cell = cell, .columns = 6};
    size_t i;

    if (top->n == 0)
        return;
    t.rows = top->n < TRACE_TOP ? top->n : TRACE_TOP;
    for (i = 0; i < t.rows; i++, c += 6) {
        const struct trace_stat *x = &top->row[i];

        c[0] = trace_shown(s, x->name);
        c[1] = trace_number(s, (double)x->n, 0);
        c[2] = us(s, (double)x->total);
        c[3] = us(s, (double)x->self);
        c[4] = us(s, (double)x->total / (double)x->n);
        c[5] = percent(s, (double)x->self, (double)top->self);
    }
    str_addf(out, "\n%s (share of %s)\n", trace_group_name[g],
             g == GROUP_PHASES ? "the steps" : "all self times");
    pl_table_add(out, &t, false);
    if (top->n > t.rows)
        str_addf(out, "and %zu more names\n", top->n - t.rows);
}

static void add_gpus(struct str *out, struct trace_summary *s)
{
    const char *name, *device;
    double window = (double)(s->to - s->from);
    size_t i;

    for (i = 0; i < s->n_gpus; i++) {
        const struct trace_gpu *g = &s->gpu[i];

        device = trace_shown(s, g->device);
        name = trace_shown(s, trace_gpu_name(s->t, g->device));
        str_addf(out, "%sGPU %s%s%s: ", i ? "" : "\n", device, *name ? " " : "",
                 name);
        str_addf(out, "busy %s us (%s), ", us(s, (double)g->busy),
                 percent(s, (double)g->busy, window));
        str_addf(out, "idle %s us ", us(s, window - (double)g->busy));
        str_addf(out, "of the %s us %s\n", us(s, window),
                 s->steps.n ? "from the first step's begin to the last one's "
                              "end"
                            : "of the trace");
    }
}

static void add_memory(struct str *out, struct trace_summary *s)
{
    const struct trace *t = s->t;
    size_t i;

    for (i = 0; i < t->n_memories; i++) {
        const struct trace_memory *m = &t->memory[i];

        str_addf(out, "%smemory of %s", i ? "" : "\n",
                 m->type == 0 ? "the CPU" : "GPU");
        if (m->type != 0)
            str_addf(out, " %" PRId64, m->id);
        str_addf(out, ": peak %s bytes allocated",
                 trace_number(s, (double)m->peak_allocated, 0));
        str_addf(out, " (%s us into the window), ",
                 us(s, (double)(m->peak_ts - s->from)));
        str_addf(out, "%s reserved, ",
                 trace_number(s, (double)m->peak_reserved, 0));
        str_addf(out, "%s event%s\n", trace_number(s, (double)m->n, 0),
                 m->n == 1 ? "" : "s");
    }
}

void trace_summary_text(struct str *out, struct trace_summary *s)
{
    size_t g;

    add_head(out, s);
    add_steps(out, s);
    for (g = 0; g < TRACE_GROUPS; g++)
        add_top(out, s, (enum trace_group)g);
    add_gpus(out, s);
    add_memory(out, s);
    out->failed = out->failed || s->failed;
}
