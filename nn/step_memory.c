#include "nn/step_memory.h"

#include <string.h>

#include "nn/base/mem.h"
#include "nn/step_access.h"

const char *nn_memory_kind_name(enum nn_memory_kind k)
{
    static const char *const names[] = {
        [NN_MEMORY_PARAMETER] = "parameters",
        [NN_MEMORY_OPTIMIZER] = "optimizer state",
        [NN_MEMORY_INPUT] = "inputs",
        [NN_MEMORY_TEMPORARY] = "temporaries",
        [NN_MEMORY_ACTIVATION] = "activations",
        [NN_MEMORY_GRADIENT] = "gradients",
        [NN_MEMORY_AUTOGRAD] = "autograd detail",
        [NN_MEMORY_BUFFER] = "buffers",
    };

    return names[k];
}

const char *nn_memory_action_name(enum nn_memory_action a)
{
    static const char *const names[] = {
        [NN_MEMORY_PREEXISTING] = "preexisting",
        [NN_MEMORY_CREATE] = "create",
        [NN_MEMORY_NEW_VERSION] = "new version",
        [NN_MEMORY_DESTROY] = "destroy",
    };

    return names[a];
}

/* The walk through all calls of all steps. */
struct walk {
    struct nn_step_memory *m;
    const struct nn_access_list *list;
    const struct nn_step *step;
    const int64_t *ns; /* NULL: calls are counted */
    bool *alive;       /* a tensor each */
    int at_step, at_call;
    int64_t now;
    bool failed; /* out of memory */
};

static void emit(struct walk *w, int tensor, enum nn_memory_action action)
{
    struct nn_step_memory *m = w->m;
    size_t cap = m->cap_event ? m->cap_event * 2 : 256;
    struct nn_memory_event *e;

    if (m->n_event == m->cap_event) {
        e = w->failed ? NULL : mem_grow(m->event, cap, sizeof *e);
        w->failed = !e;
        if (!e)
            return;
        m->event = e;
        m->cap_event = cap;
    }
    e = &m->event[m->n_event++];
    e->at = w->now;
    e->tensor = tensor;
    e->action = action;
    e->step = w->at_step < 0 ? -1 : m->first_step + w->at_step;
    e->call = w->at_call;
    e->phase = w->at_call < 0 ? NN_PHASE_NONE : w->step->call[w->at_call].phase;
    w->alive[tensor] = action != NN_MEMORY_DESTROY;
}

/* edge 0: its begin, 1: its end. */
static void come_to(struct walk *w, int edge)
{
    int64_t k = (int64_t)w->at_step * w->m->n_call + w->at_call;
    int64_t at = w->ns ? w->ns[2 * k + edge] : (k + edge) * 1000;

    if (at > w->now)
        w->now = at;
}

static void note_phase(struct walk *w)
{
    struct nn_step_memory *m = w->m;
    struct nn_memory_span *s = m->n_span ? &m->span[m->n_span - 1] : NULL;
    enum nn_phase phase = w->step->call[w->at_call].phase;
    int step = m->first_step + w->at_step;
    size_t cap = m->cap_span ? m->cap_span * 2 : 32;

    if (s && s->step == step && s->phase == phase)
        return;
    if (!m->span || m->n_span == m->cap_span) {
        s = w->failed ? NULL : mem_grow(m->span, cap, sizeof *s);
        w->failed = !s;
        if (!s)
            return;
        m->span = s;
        m->cap_span = cap;
    }
    m->span[m->n_span++] =
        (struct nn_memory_span){step, phase, w->at_call, 0, w->now, w->now};
}

static void begin_access(struct walk *w, const struct nn_access *x)
{
    bool there = w->alive[x->tensor];

    if (x->what & NN_ACCESS_WRITE)
        emit(w, x->tensor, there ? NN_MEMORY_NEW_VERSION : NN_MEMORY_CREATE);
    else if ((x->what & NN_ACCESS_ZERO) && there)
        emit(w, x->tensor, NN_MEMORY_NEW_VERSION);
}

static void end_access(struct walk *w, const struct nn_access *x)
{
    bool over = w->list->stay[x->tensor] == NN_STAY_USED && x->last;

    if (w->alive[x->tensor] && (over || (x->what & NN_ACCESS_DROP)))
        emit(w, x->tensor, NN_MEMORY_DESTROY);
}

/* Accesses [i, *next) are those of the call that the walk is at. */
static void walk_call(struct walk *w, size_t i, size_t *next)
{
    const struct nn_access_list *a = w->list;
    size_t end = i, k;

    while (end < a->n_access && a->access[end].call == w->at_call)
        end++;
    *next = end;
    come_to(w, 0);
    note_phase(w);
    for (k = i; k < end; k++)
        begin_access(w, &a->access[k]);
    come_to(w, 1);
    if (!w->failed) {
        w->m->span[w->m->n_span - 1].end = w->now;
        w->m->span[w->m->n_span - 1].n_call++;
    }
    for (k = i; k < end; k++)
        end_access(w, &a->access[k]);
}

static void walk_step(struct walk *w)
{
    size_t i = 0;
    int t;

    for (w->at_call = 0; w->at_call < w->m->n_call; w->at_call++)
        walk_call(w, i, &i);
    w->at_call = w->m->n_call - 1;
    for (t = 0; t < (int)w->m->n_tensor; t++)
        if (w->alive[t] && w->list->stay[t] == NN_STAY_STEP)
            emit(w, t, NN_MEMORY_DESTROY);
}

static int walk_all(struct nn_step_memory *m, const struct nn_access_list *a,
                    const struct nn_step *step, const int64_t *ns,
                    struct err *err)
{
    struct walk w = {.m = m, .list = a, .step = step, .ns = ns};
    int t;

    w.alive = mem_array(m->n_tensor + 1, sizeof *w.alive);
    if (!w.alive)
        return err_set(err, ERR_NOMEM, "out of memory for a memory timeline");
    w.at_step = w.at_call = -1;
    w.now = m->begin = ns && m->n_call > 0 ? ns[0] : 0;
    for (t = 0; t < (int)m->n_tensor; t++)
        if (a->stay[t] == NN_STAY_BEFORE)
            emit(&w, t, NN_MEMORY_PREEXISTING);
    for (w.at_step = 0; !w.failed && w.at_step < m->n_step; w.at_step++)
        walk_step(&w);
    m->end = w.now;
    mem_free(w.alive);
    return w.failed
               ? err_set(err, ERR_NOMEM, "out of memory for a memory timeline")
               : 0;
}

static int fill(struct nn_step_memory *m, const struct nn_trainer *t,
                const struct nn_step *step,
                const struct nn_step_memory_opts *opts, struct err *err)
{
    struct nn_access_list a;
    int rc = nn_access_find(&a, t, step, opts->first_step > 0, err);

    if (rc != 0)
        return rc;
    m->first_step = opts->first_step;
    m->n_step = opts->n_step;
    m->n_call = step->n_call;
    m->timed = opts->ns != NULL;
    m->padding = a.padding;
    m->held = (int64_t)step->be->live_bytes;
    m->tensor = a.tensor;
    m->n_tensor = a.n_tensor;
    rc = walk_all(m, &a, step, opts->ns, err);
    a.tensor = NULL; /* m's now */
    nn_access_free(&a);
    return rc;
}

int nn_step_memory_new(struct nn_step_memory **out, const struct nn_trainer *t,
                       const struct nn_step_memory_opts *opts, struct err *err)
{
    const struct nn_step *step = nn_trainer_recorded(t, opts->batch);
    struct nn_step_memory *m;
    int rc;

    *out = NULL;
    if (!step)
        return err_set(err, ERR_CONFIG,
                       "no step of batch size %lld was recorded yet",
                       (long long)opts->batch);
    if (opts->n_step < 1 || opts->first_step < 0)
        return err_set(err, ERR_CONFIG,
                       "a memory timeline takes 1 step or more from step 0 or "
                       "later, not %d from %d",
                       opts->n_step, opts->first_step);
    m = mem_zalloc(sizeof *m);
    if (!m)
        return err_set(err, ERR_NOMEM, "out of memory for a memory timeline");
    rc = fill(m, t, step, opts, err);
    if (rc != 0) {
        nn_step_memory_free(m);
        return rc;
    }
    *out = m;
    return 0;
}

void nn_step_memory_free(struct nn_step_memory *m)
{
    if (!m)
        return;
    mem_free(m->tensor);
    mem_free(m->event);
    mem_free(m->span);
    mem_free(m);
}

int64_t nn_memory_change(const struct nn_step_memory *m, size_t event)
{
    const struct nn_memory_event *e = &m->event[event];
    int64_t bytes = m->tensor[e->tensor].bytes;

    return e->action == NN_MEMORY_NEW_VERSION ? 0
           : e->action == NN_MEMORY_DESTROY   ? -bytes
                                              : bytes;
}

void nn_memory_sum_up(const struct nn_step_memory *m,
                      struct nn_memory_sums *out)
{
    int64_t live[NN_MEMORY_KINDS] = {0}, all = 0;
    int last = m->first_step + m->n_step - 1;
    size_t i;

    memset(out, 0, sizeof *out);
    for (i = 0; i < m->n_event; i++) {
        const struct nn_memory_event *e = &m->event[i];
        enum nn_memory_kind k = m->tensor[e->tensor].kind;

        if (e->step < last)
            out->first = all + nn_memory_change(m, i);
        live[k] += nn_memory_change(m, i);
        all += nn_memory_change(m, i);
        if (live[k] > out->most[k])
            out->most[k] = live[k];
        if (all > out->peak) {
            out->peak = all;
            out->peak_event = i;
            memcpy(out->live, live, sizeof live);
        }
    }
    out->last = all;
}
