/* A profile's record as a trace file. */
#include <stdio.h>
#include <unistd.h>

#include "nn/base/mem.h"
#include "pipeline/profile_traced.h"
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

/* Begin, end and threads of the record: spans stand thread by thread. */
static int64_t find_window(const struct pl_traced *t, struct pl_trace_head *h,
                           int32_t tids[PROF_THREADS])
{
    int64_t end = t->n ? t->span[0]->end : 0;
    size_t i;

    h->begin = t->n ? t->span[0]->begin : 0;
    for (i = 0; i < t->n; i++) {
        const struct prof_span *s = t->span[i];

        if (i == 0 || s->tid != t->span[i - 1]->tid)
            tids[h->n_tids++] = s->tid;
        h->begin = s->begin < h->begin ? s->begin : h->begin;
        end = s->end > end ? s->end : end;
    }
    h->tid = tids;
    return end;
}

int pl_traced_write(const struct pl_traced *t, const char *path,
                    const struct pl_trace_fact *fact, size_t n_facts,
                    struct err *err)
{
    struct pl_trace_head head = {
        .pid = getpid(), .name = "pipeline", .fact = fact, .n_facts = n_facts};
    int32_t tids[PROF_THREADS];
    int64_t end = find_window(t, &head, tids);
    struct pl_trace_writer *w;
    size_t i;
    int rc = pl_trace_create(&w, path, &head, err);

    for (i = 0; rc == 0 && i < t->n; i++)
        rc = write_span(w, t->span[i], (int64_t)i + 1, err);
    if (rc == 0)
        return pl_trace_commit(w, end, err);
    pl_trace_abort(w);
    return rc;
}
