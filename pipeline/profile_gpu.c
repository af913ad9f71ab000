#include "pipeline/profile_gpu.h"

#include <stdlib.h>
#include <string.h>

#include "nn/base/mem.h"
#include "nn/traced.h"
#include "pipeline/profile_gpu_spans.h"
#include "pipeline/trace_steps.h"

/* Which call has a correlation. */
struct link {
    uint32_t correlation;
    bool outside; /* of the traced steps */
    size_t call;  /* in out->call, once they are in order */
    const struct nn_device_event *of;
};

struct reader {
    struct pl_traced_gpu *out;
    const struct pl_traced *t;
    const struct nn_device_trace *trace;
    struct gpu_spans spans;
    struct link *link; /* of all calls, by correlation */
    size_t n_links;
};

static int no_memory(struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory for a device's records");
}

/* ---- calls ---- */

static int by_thread(const void *a, const void *b)
{
    const struct pl_gpu_event *x = a, *y = b;

    if (x->of->tid != y->of->tid)
        return x->of->tid < y->of->tid ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end > y->end ? -1 : 1;
    return x->of < y->of ? -1 : x->of > y->of;
}

static int by_correlation(const void *a, const void *b)
{
    const struct link *x = a, *y = b;

    if (x->correlation != y->correlation)
        return x->correlation < y->correlation ? -1 : 1;
    return x->of < y->of ? -1 : x->of > y->of;
}

/* The step at that time, PL_GPU_NONE: none. */
static size_t step_at(const struct pl_traced *t, int64_t time)
{
    size_t low = 0, high = t->n_steps;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (t->step[mid]->begin <= time)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 && time < t->step[low - 1]->end ? low - 1 : PL_GPU_NONE;
}

static struct pl_gpu_event place_call(const struct reader *r,
                                      const struct nn_device_event *e)
{
    struct pl_gpu_event x = {.of = e, .begin = e->begin, .end = e->end};
    size_t phase;

    x.launch = PL_GPU_NONE;
    x.span = gpu_spans_find(&r->spans, e->span);
    gpu_spans_fit(&r->spans, x.span, (int32_t)e->tid, &x.begin, &x.end);
    x.step = step_at(r->t, x.begin);
    x.call = x.span == PL_GPU_NONE ? NULL : r->t->span[x.span]->arg;
    phase = gpu_spans_phase(&r->spans, x.begin);
    x.phase = phase == PL_GPU_NONE ? "" : r->t->span[phase]->name;
    return x;
}

/* Calls of one thread come one after the other, or one within the other. */
static void part_calls(struct pl_gpu_event *call, size_t n)
{
    size_t i;

    for (i = 1; i < n; i++) {
        const struct pl_gpu_event *last = &call[i - 1];

        if (call[i].of->tid == last->of->tid && call[i].begin < last->end &&
            call[i].end > last->end)
            call[i].begin = last->end;
    }
}

static int read_calls(struct reader *r, struct err *err)
{
    struct pl_traced_gpu *g = r->out;
    size_t i, n = 0;

    for (i = 0; i < r->trace->n; i++)
        n += r->trace->event[i].kind == NN_EVENT_CALL;
    g->call = mem_array(n, sizeof *g->call);
    r->link = mem_array(n, sizeof *r->link);
    if (!g->call || !r->link)
        return no_memory(err);
    for (i = 0; i < r->trace->n; i++) {
        const struct nn_device_event *e = &r->trace->event[i];
        struct pl_gpu_event x;

        if (e->kind != NN_EVENT_CALL)
            continue;
        x = place_call(r, e);
        r->link[r->n_links].correlation = e->correlation;
        r->link[r->n_links].outside = x.step == PL_GPU_NONE;
        r->link[r->n_links++].of = e;
        if (x.step != PL_GPU_NONE)
            g->call[g->n_calls++] = x;
    }
    qsort(g->call, g->n_calls, sizeof *g->call, by_thread);
    part_calls(g->call, g->n_calls);
    qsort(r->link, r->n_links, sizeof *r->link, by_correlation);
    return 0;
}

static struct link *find_link(const struct reader *r, uint32_t correlation)
{
    size_t low = 0, high = r->n_links;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (r->link[mid].correlation < correlation)
            low = mid + 1;
        else
            high = mid;
    }
    return low < r->n_links && r->link[low].correlation == correlation
               ? &r->link[low]
               : NULL;
}

/* Tells each link where its call stands now. */
static void number_calls(const struct reader *r)
{
    size_t i;

    for (i = 0; i < r->out->n_calls; i++) {
        struct link *l = find_link(r, r->out->call[i].of->correlation);

        if (l && l->of == r->out->call[i].of)
            l->call = i;
    }
}

/* ---- the device's work ---- */

bool pl_gpu_same_stream(const struct pl_gpu_event *a,
                        const struct pl_gpu_event *b)
{
    return a->of->device == b->of->device && a->of->stream == b->of->stream;
}

static int by_stream(const void *a, const void *b)
{
    const struct pl_gpu_event *x = a, *y = b;

    if (x->of->device != y->of->device)
        return x->of->device < y->of->device ? -1 : 1;
    if (x->of->stream != y->of->stream)
        return x->of->stream < y->of->stream ? -1 : 1;
    if (x->of->begin != y->of->begin)
        return x->of->begin < y->of->begin ? -1 : 1;
    if (x->of->end != y->of->end)
        return x->of->end < y->of->end ? -1 : 1;
    return x->of < y->of ? -1 : x->of > y->of;
}

static bool in_steps(const struct pl_traced *t, int64_t time)
{
    return t->n_steps > 0 && time >= t->step[0]->begin &&
           time < t->step[t->n_steps - 1]->end;
}

static void add_op(struct reader *r, const struct nn_device_event *e)
{
    struct pl_traced_gpu *g = r->out;
    const struct link *l = find_link(r, e->correlation);
    struct pl_gpu_event *x = &g->op[g->n_ops];
    struct pl_gpu_event *from;

    if (!l) {
        g->unmatched += in_steps(r->t, e->begin);
        return;
    }
    if (l->outside)
        return;
    from = &g->call[l->call];
    from->gave++;
    *x = (struct pl_gpu_event){.of = e, .begin = e->begin, .end = e->end};
    x->launch = l->call;
    x->step = from->step;
    x->span = from->span;
    x->call = e->call ? e->call : from->call;
    x->phase = x->call && x->call->phase != NN_PHASE_NONE
                   ? nn_phase_name(x->call->phase)
                   : from->phase;
    g->n_ops++;
}

/* No earlier than its launch, and behind what its stream did before. */
static void order_ops(struct pl_traced_gpu *g)
{
    size_t i;

    for (i = 0; i < g->n_ops; i++) {
        struct pl_gpu_event *x = &g->op[i];
        int64_t after = g->call[x->launch].begin;

        if (i > 0 && pl_gpu_same_stream(x, x - 1) && x[-1].end > after)
            after = x[-1].end;
        x->begin = x->begin < after ? after : x->begin;
        x->end = x->end < x->begin ? x->begin : x->end;
    }
}

static int read_ops(struct reader *r, struct err *err)
{
    struct pl_traced_gpu *g = r->out;
    size_t i;

    g->op = mem_array(r->trace->n, sizeof *g->op);
    if (!g->op)
        return no_memory(err);
    for (i = 0; i < r->trace->n; i++)
        if (r->trace->event[i].kind != NN_EVENT_CALL)
            add_op(r, &r->trace->event[i]);
    qsort(g->op, g->n_ops, sizeof *g->op, by_stream);
    order_ops(g);
    return 0;
}

/* Takes launches without work out; the others move up. */
static int drop_empty_launches(struct pl_traced_gpu *g, struct err *err)
{
    size_t *now = mem_array(g->n_calls, sizeof *now), i, n = 0;

    if (!now)
        return no_memory(err);
    for (i = 0; i < g->n_calls; i++) {
        const struct pl_gpu_event x = g->call[i];
        bool empty = x.gave == 0 && trace_is_launch(x.of->name);

        now[i] = n;
        if (!empty)
            g->call[n++] = x;
        else if (x.phase != nn_traced_prepare)
            g->unmatched++;
    }
    g->n_calls = n;
    for (i = 0; i < g->n_ops; i++)
        g->op[i].launch = now[g->op[i].launch];
    mem_free(now);
    return 0;
}

/* ---- phases ---- */

static bool same_phase(const struct pl_gpu_event *a,
                       const struct pl_gpu_event *b)
{
    return pl_gpu_same_stream(a, b) && a->step == b->step &&
           strcmp(a->phase, b->phase) == 0;
}

/* A nanosecond wider on each side, so that it encloses a lone piece of work,
 * where the neighbours leave it that. */
static void widen(const struct pl_traced_gpu *g, struct pl_gpu_phase *p)
{
    size_t end = p->first + p->n;
    const struct pl_gpu_event *a = &g->op[p->first], *z = &g->op[end - 1];
    bool before = p->first > 0 && pl_gpu_same_stream(a, a - 1);
    bool after = end < g->n_ops && pl_gpu_same_stream(z, z + 1);

    p->begin = a->begin - (!before || a[-1].end + 1 < a->begin);
    p->end = z->end + (!after || z[1].begin > z->end);
}

static int find_phases(struct reader *r, struct err *err)
{
    struct pl_traced_gpu *g = r->out;
    size_t i, n;

    g->phase = mem_array(g->n_ops, sizeof *g->phase);
    if (!g->phase)
        return no_memory(err);
    for (i = 0; i < g->n_ops; i += n) {
        struct pl_gpu_phase *p = &g->phase[g->n_phases];
        size_t cpu = gpu_spans_phase(&r->spans, g->call[g->op[i].launch].begin);

        for (n = 1; i + n < g->n_ops && same_phase(&g->op[i], &g->op[i + n]);)
            n++;
        if (g->op[i].phase[0] == '\0')
            continue;
        p->name = g->op[i].phase;
        p->first = i;
        p->n = n;
        p->span =
            cpu != PL_GPU_NONE && strcmp(r->t->span[cpu]->name, p->name) == 0
                ? cpu
                : PL_GPU_NONE;
        widen(g, p);
        g->n_phases++;
    }
    return 0;
}

int pl_gpu_read(struct pl_traced_gpu *out, const struct pl_traced *t,
                const struct nn_device_trace *trace, struct err *err)
{
    struct reader r = {.out = out, .t = t, .trace = trace};
    int rc;

    memset(out, 0, sizeof *out);
    out->trace = trace;
    rc = gpu_spans_make(&r.spans, t, err);
    if (rc == 0)
        rc = read_calls(&r, err);
    if (rc == 0) {
        number_calls(&r);
        rc = read_ops(&r, err);
    }
    if (rc == 0)
        rc = drop_empty_launches(out, err);
    if (rc == 0)
        rc = find_phases(&r, err);
    gpu_spans_free(&r.spans);
    mem_free(r.link);
    if (rc != 0)
        pl_gpu_clear(out);
    return rc;
}

void pl_gpu_clear(struct pl_traced_gpu *g)
{
    mem_free(g->call);
    mem_free(g->op);
    mem_free(g->phase);
    memset(g, 0, sizeof *g);
}
