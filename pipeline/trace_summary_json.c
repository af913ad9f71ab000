#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "pipeline/json_file.h"
#include "pipeline/trace_summary.h"

static void add_key(struct str *out, const char *key)
{
    pl_json_add_text(out, key);
    str_add(out, ": ");
}

static void add_us(struct str *out, const char *key, double ns)
{
    add_key(out, key);
    str_add_double(out, ns / 1e3);
}

static void add_facts(struct str *out, const struct trace_fact *f, size_t n)
{
    size_t i;

    str_addc(out, '{');
    for (i = 0; i < n; i++) {
        str_add(out, i ? ", " : "");
        add_key(out, f[i].key);
        pl_json_add_text(out, f[i].value);
    }
    str_addc(out, '}');
}

static void add_steps(struct str *out, const struct trace_summary *s)
{
    size_t i, k;

    str_add(out, "[");
    for (i = 0; i < s->steps.n; i++) {
        const struct trace_step *x = &s->steps.step[i];

        str_addf(out, "%s\n  {\"step\": %" PRId64 ", ", i ? "," : "",
                 x->number);
        add_us(out, "ts_us", (double)x->ts);
        str_add(out, ", ");
        add_us(out, "us", (double)(x->end - x->ts));
        str_add(out, ", \"phases\": [");
        for (k = 0; k < x->n_phases; k++) {
            const struct trace_phase *p = &x->phase[k];

            str_add(out, k ? ", {" : "{");
            add_key(out, "name");
            pl_json_add_text(out, s->t->names.name[p->name]);
            str_add(out, ", ");
            add_us(out, "us", (double)(p->end - p->ts));
            str_addc(out, '}');
        }
        str_add(out, "]}");
    }
    str_add(out, "]");
}

static void add_top(struct str *out, const struct trace_top *top)
{
    size_t i;

    str_add(out, "[");
    for (i = 0; i < top->n; i++) {
        const struct trace_stat *x = &top->row[i];

        str_add(out, i ? ",\n  {" : "\n  {");
        add_key(out, "name");
        pl_json_add_text(out, x->name);
        str_addf(out, ", \"count\": %" PRIu64 ", ", x->n);
        add_us(out, "total_us", (double)x->total);
        str_add(out, ", ");
        add_us(out, "self_us", (double)x->self);
        str_add(out, ", ");
        add_us(out, "mean_us", (double)x->total / (double)x->n);
        str_add(out, ", \"share\": ");
        if (top->self > 0)
            str_add_double(out, (double)x->self / (double)top->self);
        else
            str_add(out, "null");
        str_addc(out, '}');
    }
    str_add(out, "]");
}

static void add_gpus(struct str *out, const struct trace_summary *s)
{
    size_t i;

    str_add(out, "[");
    for (i = 0; i < s->n_gpus; i++) {
        const struct trace_gpu *g = &s->gpu[i];

        str_add(out, i ? ", {" : "{");
        add_key(out, "device");
        pl_json_add_text(out, g->device);
        str_add(out, ", ");
        add_key(out, "name");
        pl_json_add_text(out, trace_gpu_name(s->t, g->device));
        str_addf(out, ", \"operations\": %" PRIu64 ", ", g->n);
        add_us(out, "busy_us", (double)g->busy);
        str_add(out, ", ");
        add_us(out, "idle_us", (double)(s->to - s->from - g->busy));
        str_addc(out, '}');
    }
    str_add(out, "]");
}

static void add_memory(struct str *out, const struct trace *t)
{
    size_t i;

    str_add(out, "[");
    for (i = 0; i < t->n_memories; i++) {
        const struct trace_memory *m = &t->memory[i];

        str_addf(out,
                 "%s{\"device_type\": %" PRId64 ", \"device_id\": %" PRId64
                 ", \"peak_allocated\": %" PRId64
                 ", \"peak_reserved\": %" PRId64 ", \"events\": %" PRIu64 ", ",
                 i ? ", " : "", m->type, m->id, m->peak_allocated,
                 m->peak_reserved, m->n);
        add_us(out, "peak_ts_us", (double)m->peak_ts);
        str_addc(out, '}');
    }
    str_add(out, "]");
}

void trace_summary_json(struct str *out, const struct trace_summary *s)
{
    static const char *const key[TRACE_GROUPS] = {
        [GROUP_PHASES] = "phases", [GROUP_OPS] = "operators",
        [GROUP_GPU] = "kernels",   [GROUP_CALLS] = "calls",
        [GROUP_OTHER] = "other",
    };
    const struct trace *t = s->t;
    size_t g;

    str_add(out, "{");
    add_key(out, "file");
    pl_json_add_text(out, t->path);
    str_add(out, ",\n");
    add_key(out, "writer");
    pl_json_add_text(out, trace_writer(t));
    str_addf(out,
             ",\n\"simulated\": %s,\n\"events\": %" PRIu64
             ",\n\"skipped\": %" PRIu64 ",\n\"unfinished\": %" PRIu64
             ",\n\"keys\": ",
             t->simulated ? "true" : "false", t->n_events, t->n_skipped,
             t->n_unfinished);
    add_facts(out, t->fact, t->n_facts);
    str_add(out, ",\n");
    add_us(out, "window_us", (double)(s->to - s->from));
    str_add(out, ",\n\"steps\": ");
    add_steps(out, s);
    for (g = 0; g < TRACE_GROUPS; g++) {
        str_addf(out, ",\n\"%s\": ", key[g]);
        add_top(out, &s->top[g]);
    }
    str_add(out, ",\n\"gpus\": ");
    add_gpus(out, s);
    str_add(out, ",\n\"memory\": ");
    add_memory(out, t);
    str_add(out, "}\n");
}
