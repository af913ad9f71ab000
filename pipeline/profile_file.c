/* A profile's record as a trace file. */
#include <stdio.h>
#include <unistd.h>

#include "nn/base/mem.h"
#include "pipeline/profile_gpu.h"
#include "pipeline/trace_write.h"

/* What an operator reads, or, where it reads nothing, what it writes. */
static void give_inputs(struct pl_trace_event *e, const struct nn_call *call)
{
    bool reads = call->n_in > 0;

    e->input = (const struct nn_tensor *const *)(reads ? call->in : call->out);
    e->n_inputs = reads ? call->n_in : call->n_out;
    e->layer = call->layer;
    e->role = nn_role_name(call->role);
    e->phase = nn_phase_name(call->phase);
}

static int write_span(struct pl_trace_writer *w, const struct prof_span *s,
                      int64_t id, struct err *err)
{
    struct pl_trace_event e = {
        .category = s->kind == PROF_OP ? "cpu_op" : "user_annotation",
        .name = s->name,
        .number = s->kind == PROF_STEP ? s->step : -1,
        .tid = s->tid,
        .begin = s->begin,
        .end = s->end,
        .external_id = id,
        .n_inputs = -1,
    };
    char name[96];

    if (s->kind == PROF_OP) {
        (void)snprintf(name, sizeof name, "pipeline::%s", s->name);
        e.name = name;
        if (s->arg)
            give_inputs(&e, s->arg);
    }
    return pl_trace_event(w, &e, err);
}

/* What the trace is made of; the rows that it has. */
struct file {
    const struct pl_traced *t;
    const struct pl_traced_gpu *gpu; /* NULL: none */
    struct pl_trace_writer *w;
    struct pl_trace_head head;
    int64_t end;
    int32_t *tid;
    struct pl_trace_stream *stream;
    bool *drawn; /* a flow from that call has its end */
};

static int64_t call_id(const struct pl_gpu_event *x)
{
    return x->span == PL_GPU_NONE ? 0 : (int64_t)x->span + 1;
}

static int write_call(struct file *f, const struct pl_gpu_event *x,
                      struct err *err)
{
    const struct pl_trace_record r = {.of = x->of,
                                      .begin = x->begin,
                                      .end = x->end,
                                      .external_id = call_id(x),
                                      .call = x->call,
                                      .phase = x->phase,
                                      .flows = x->gave > 0};

    return pl_trace_record(f->w, &r, err);
}

/* A graph's work has one launch and one flow, to the first of it. */
static int write_op(struct file *f, const struct pl_gpu_event *x,
                    struct err *err)
{
    const struct pl_trace_record r = {.of = x->of,
                                      .begin = x->begin,
                                      .end = x->end,
                                      .external_id = call_id(x),
                                      .call = x->call,
                                      .phase = x->phase,
                                      .flows = !f->drawn[x->launch]};

    f->drawn[x->launch] = true;
    return pl_trace_record(f->w, &r, err);
}

static int write_phase(struct file *f, const struct pl_gpu_phase *p,
                       struct err *err)
{
    const struct nn_device_event *of = f->gpu->op[p->first].of;
    const struct pl_trace_event e = {
        .category = "gpu_user_annotation",
        .name = p->name,
        .number = -1,
        .tid = of->stream,
        .begin = p->begin,
        .end = p->end,
        .external_id = p->span == PL_GPU_NONE ? 0 : (int64_t)p->span + 1,
        .on_gpu = true,
        .device = of->device,
    };

    return pl_trace_event(f->w, &e, err);
}

/* Whether a span comes before a call: what encloses goes first. */
static bool is_before(const struct prof_span *s, const struct pl_gpu_event *x)
{
    if ((uint32_t)s->tid != x->of->tid)
        return (uint32_t)s->tid < x->of->tid;
    return s->begin <= x->begin;
}

static int write_threads(struct file *f, struct err *err)
{
    const struct pl_traced *t = f->t;
    size_t n_calls = f->gpu ? f->gpu->n_calls : 0, i = 0, k = 0;
    int rc = 0;

    while (rc == 0 && (i < t->n || k < n_calls)) {
        bool span = i < t->n &&
                    (k == n_calls || is_before(t->span[i], &f->gpu->call[k]));

        if (span) {
            rc = write_span(f->w, t->span[i], (int64_t)i + 1, err);
            i++;
        } else {
            rc = write_call(f, &f->gpu->call[k++], err);
        }
    }
    return rc;
}

static int write_streams(struct file *f, struct err *err)
{
    const struct pl_traced_gpu *g = f->gpu;
    size_t i, k = 0;
    int rc = 0;

    for (i = 0; rc == 0 && i < g->n_ops; i++) {
        if (k < g->n_phases && g->phase[k].first == i)
            rc = write_phase(f, &g->phase[k++], err);
        if (rc == 0)
            rc = write_op(f, &g->op[i], err);
    }
    return rc;
}

static void add_tid(struct file *f, int32_t tid)
{
    size_t i;

    for (i = 0; i < f->head.n_tids; i++)
        if (f->tid[i] == tid)
            return;
    f->tid[f->head.n_tids++] = tid;
}

/* Begin, end and rows of the record. */
static int find_window(struct file *f, struct err *err)
{
    const struct pl_traced *t = f->t;
    const struct pl_traced_gpu *g = f->gpu;
    size_t i, most = PROF_THREADS + (g ? g->n_calls : 0);

    f->tid = mem_array(most, sizeof *f->tid);
    f->stream = mem_array(g ? g->n_ops : 1, sizeof *f->stream);
    f->drawn = mem_array(g ? g->n_calls : 1, sizeof *f->drawn);
    if (!f->tid || !f->stream || !f->drawn)
        return err_set(err, ERR_NOMEM, "out of memory for a trace");
    f->head.begin = t->n ? t->span[0]->begin : 0;
    for (i = 0; i < t->n; i++) {
        const struct prof_span *s = t->span[i];

        if (i == 0 || s->tid != t->span[i - 1]->tid)
            add_tid(f, s->tid);
        f->head.begin = s->begin < f->head.begin ? s->begin : f->head.begin;
        f->end = s->end > f->end ? s->end : f->end;
    }
    for (i = 0; g && i < g->n_calls; i++)
        if (i == 0 || g->call[i].of->tid != g->call[i - 1].of->tid)
            add_tid(f, (int32_t)g->call[i].of->tid);
    for (i = 0; g && i < g->n_ops; i++) {
        const struct nn_device_event *e = g->op[i].of;

        f->end = g->op[i].end > f->end ? g->op[i].end : f->end;
        if (i > 0 && pl_gpu_same_stream(&g->op[i], &g->op[i - 1]))
            continue;
        f->stream[f->head.n_streams].device = e->device;
        f->stream[f->head.n_streams++].stream = e->stream;
    }
    f->head.tid = f->tid;
    f->head.stream = f->stream;
    return 0;
}

static int write_memory(struct file *f, const struct nn_step_memory *m,
                        struct err *err)
{
    return f->t->n_steps > 0 ? pl_trace_memory(f->w, m, f->t->step[0]->tid, err)
                             : 0;
}

int pl_traced_write(const struct pl_traced *t, const struct pl_traced_more *m,
                    const char *path, const struct pl_trace_fact *fact,
                    size_t n_facts, struct err *err)
{
    struct file f = {
        .t = t,
        .gpu = m->gpu,
        .head = {.pid = getpid(),
                 .name = "pipeline",
                 .gpu = m->gpu ? &m->gpu->trace->device : NULL,
                 .fact = fact,
                 .n_facts = n_facts,
                 .memory = m->memory != NULL},
    };
    int rc = find_window(&f, err);

    if (rc == 0)
        rc = pl_trace_create(&f.w, path, &f.head, err);
    if (rc == 0)
        rc = write_threads(&f, err);
    if (rc == 0 && m->memory)
        rc = write_memory(&f, m->memory, err);
    if (rc == 0 && m->gpu)
        rc = write_streams(&f, err);
    if (rc == 0)
        rc = pl_trace_commit(f.w, f.end, err);
    else
        pl_trace_abort(f.w);
    mem_free(f.tid);
    mem_free(f.stream);
    mem_free(f.drawn);
    return rc;
}
