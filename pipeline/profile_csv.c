/* The tables of a profile's last step, and the cells that they share. */
#include <string.h>

#include "pipeline/profile_gpu.h"

void pl_traced_csv_text(struct str *s, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        str_add(s, text);
        return;
    }
    str_addc(s, '"');
    for (; *text; text++) {
        if (*text == '"')
            str_addc(s, '"');
        str_addc(s, *text);
    }
    str_addc(s, '"');
}

void pl_traced_csv_call(struct str *s, const struct nn_call *call,
                        const char *phase)
{
    if (call) {
        pl_traced_csv_text(s, call->layer);
        str_addf(s, ",%s,%s", nn_op_name(call->op), nn_role_name(call->role));
    } else {
        str_add(s, ",,");
    }
    str_addc(s, ',');
    pl_traced_csv_text(s, phase);
}

static void add_times(struct str *s, int64_t from, int64_t begin, int64_t end)
{
    str_addf(s, ",%.3f,%.3f\n", (double)(begin - from) / 1e3,
             (double)(end - from) / 1e3);
}

static void add_span(struct str *out, const struct prof_span *s, int64_t from)
{
    const struct nn_call *call = s->kind == PROF_OP ? s->arg : NULL;
    const char *phase = s->kind == PROF_PHASE ? s->name
                        : call                ? nn_phase_name(call->phase)
                                              : "";

    str_add(out, s->kind == PROF_STEP    ? "step,"
                 : s->kind == PROF_PHASE ? "phase,"
                 : s->kind == PROF_NOTE  ? "note,"
                                         : "operator,");
    pl_traced_csv_text(out, s->name);
    if (s->kind == PROF_STEP)
        str_addf(out, "#%lld", (long long)s->step);
    str_addc(out, ',');
    pl_traced_csv_call(out, call, phase);
    add_times(out, from, s->begin, s->end);
}

static void add_event(struct str *out, const struct pl_gpu_event *x,
                      int64_t from)
{
    if (x->of->kind == NN_EVENT_CALL)
        str_add(out, "call,");
    else
        str_addf(out, "stream %u,", (unsigned)x->of->stream);
    pl_traced_csv_text(out, x->of->name);
    str_addc(out, ',');
    pl_traced_csv_call(out, x->call, x->phase);
    add_times(out, from, x->begin, x->end);
}

void pl_traced_last_csv(const struct pl_traced *t,
                        const struct pl_traced_gpu *gpu, struct str *out)
{
    size_t n, i;
    const struct prof_span *const *span = pl_traced_last(t, &n);
    int64_t from;

    str_add(out, "track,name,layer,op,role,phase,begin_us,end_us\n");
    if (n == 0)
        return;
    from = span[0]->begin;
    for (i = 0; i < n; i++)
        add_span(out, span[i], from);
    for (i = 0; gpu && i < gpu->n_calls; i++)
        if (gpu->call[i].step == t->n_steps - 1)
            add_event(out, &gpu->call[i], from);
    for (i = 0; gpu && i < gpu->n_ops; i++)
        if (gpu->op[i].step == t->n_steps - 1)
            add_event(out, &gpu->op[i], from);
}
