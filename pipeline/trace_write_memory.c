/* A memory timeline in Kineto's words: what comes and goes as instants, the
 * sums as a counter of ours. */
#include <stdio.h>

#include "nn/device_trace.h"
#include "nn/step_memory.h"
#include "pipeline/trace_write_parts.h"

struct memory {
    struct pl_trace_writer *w;
    const struct nn_step_memory *m;
    int64_t tid;
    int64_t live[NN_MEMORY_KINDS], all; /* bytes, after the event at hand */
};

static void add_number(struct pl_trace_text *o, const char *key, int64_t v)
{
    pl_trace_add(o, ", ");
    trace_add_key(o, key);
    pl_trace_int(o, v);
}

/* Addr pairs a birth with its death: the tensor's number, from 1. */
static void add_instant(struct memory *k, size_t i, int64_t change)
{
    const struct nn_memory_event *e = &k->m->event[i];
    const struct nn_memory_tensor *t = &k->m->tensor[e->tensor];
    const struct nn_device_info *gpu = k->w->gpu;
    struct pl_trace_text *o = &k->w->out;

    trace_begin_event(k->w);
    pl_trace_add(o, "{\"ph\": \"i\", \"cat\": \"cpu_instant_event\", \"s\": "
                    "\"t\", \"name\": \"[memory]\"");
    trace_add_place(k->w, k->w->pid, k->tid, e->at);
    pl_trace_add(o, ", \"args\": {\"Total Reserved\": ");
    pl_trace_int(o, k->m->held);
    add_number(o, "Total Allocated", k->all);
    add_number(o, "Bytes", change);
    add_number(o, "Addr", e->tensor + 1);
    add_number(o, "Device Id", gpu ? gpu->id : -1);
    add_number(o, "Device Type", gpu ? 1 : 0);
    add_number(o, "Ev Idx", k->w->n_ops++);
    trace_add_label(o, "tensor", t->name);
    trace_add_label(o, "category", nn_memory_kind_name(t->kind));
    pl_trace_add(o, "}}");
}

static void add_counter(struct memory *k, int64_t at)
{
    const struct nn_device_info *gpu = k->w->gpu;
    struct pl_trace_text *o = &k->w->out;
    char name[32] = "CPU memory";
    int i;

    if (gpu)
        (void)snprintf(name, sizeof name, "GPU %d memory", gpu->id);
    trace_begin_event(k->w);
    pl_trace_add(o, "{\"ph\": \"C\", \"name\": ");
    pl_trace_quote(o, name);
    trace_add_place(k->w, gpu ? gpu->id : k->w->pid, 0, at);
    pl_trace_add(o, ", \"args\": {");
    for (i = 0; i < NN_MEMORY_KINDS; i++) {
        pl_trace_add(o, i ? ", " : "");
        trace_add_key(o, nn_memory_kind_name((enum nn_memory_kind)i));
        pl_trace_int(o, k->live[i]);
    }
    pl_trace_add(o, "}}");
}

int pl_trace_memory(struct pl_trace_writer *w, const struct nn_step_memory *m,
                    int64_t tid, struct err *err)
{
    struct memory k = {.w = w, .m = m, .tid = tid};
    size_t i;

    for (i = 0; i < m->n_event; i++) {
        const struct nn_memory_event *e = &m->event[i];
        int64_t change = nn_memory_change(m, i);

        k.live[m->tensor[e->tensor].kind] += change;
        k.all += change;
        if (change != 0)
            add_instant(&k, i, change);
        /* of what happens at one time the sum at its end */
        if (i + 1 == m->n_event || m->event[i + 1].at != e->at)
            add_counter(&k, e->at);
    }
    return pl_trace_text_failed(&w->out, err);
}
