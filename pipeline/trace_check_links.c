/* Launches and what they launched, flows, and what waits for what. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/mem.h"
#include "nn/base/str.h"
#include "pipeline/trace_check.h"

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

static void check_gpu_op(struct trace *t, const struct trace_steps *s,
                         const struct trace_slice *x)
{
    struct trace_place p, q;
    const struct trace_link *call;
    size_t n;

    t->faults.checked[RULE_LAUNCH]++;
    call = trace_links(s->call, s->n_calls, x->link, &n);
    if (x->link < 0)
        trace_fault(&t->faults, &t->arena, RULE_LAUNCH, "%s has no correlation",
                    trace_place(&p, t, x));
    else if (n != 1)
        trace_fault(&t->faults, &t->arena, RULE_LAUNCH,
                    "%s has correlation %" PRId64 ", which %zu launches have",
                    trace_place(&p, t, x), x->link, n);
    if (x->link < 0 || n == 0)
        return;
    t->faults.checked[RULE_CAUSALITY]++;
    if (x->ts < call->slice->ts)
        trace_fault(&t->faults, &t->arena, RULE_CAUSALITY,
                    "%s begins %.3f us before its launch, %s",
                    trace_place(&p, t, x),
                    (double)(call->slice->ts - x->ts) / 1e3,
                    trace_place(&q, t, call->slice));
}

static void check_call(struct trace *t, const struct trace_steps *s,
                       const struct trace_slice *x)
{
    const char *name = trace_name(t, x);
    struct trace_place p;
    size_t n = 0;

    if (!trace_is_launch(name))
        return;
    t->faults.checked[RULE_GPU_OP]++;
    if (x->link >= 0)
        (void)trace_links(s->gpu, s->n_gpu, x->link, &n);
    if (n == 1 || (n > 1 && trace_is_graph_launch(name)))
        return;
    trace_fault(&t->faults, &t->arena, RULE_GPU_OP,
                "%s with correlation %" PRId64 " has %zu GPU operations",
                trace_place(&p, t, x), x->link, n);
}

void trace_check_links(struct trace *t, const struct trace_steps *s)
{
    size_t i;

    for (i = 0; i < t->n; i++) {
        const struct trace_slice *x = &t->slice[i];

        if (trace_is_gpu_op(x))
            check_gpu_op(t, s, x);
        else if (x->class == TRACE_CALL)
            check_call(t, s, x);
    }
}

static int by_flow(const void *a, const void *b)
{
    const struct trace_slice *x = *(const struct trace_slice *const *)a,
                             *y = *(const struct trace_slice *const *)b;

    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    if (x->link != y->link)
        return x->link < y->link ? -1 : 1;
    if (x->class != y->class)
        return x->class < y->class ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static void flow_fault(struct trace *t, const struct trace_slice *x,
                       const char *what)
{
    trace_fault(&t->faults, &t->arena, RULE_FLOW,
                "event %" PRIu32 " at offset %" PRIu64
                ": the %s of flow %" PRId64 " '%.100s' %s",
                x->index, x->offset,
                x->class == TRACE_FLOW_OUT ? "beginning (s)" : "end (f)",
                x->link, trace_name(t, x), what);
}

/* The ends of one flow: n of them, beginnings first. */
static void check_flow(struct trace *t, const struct trace_slice *const *x,
                       size_t n)
{
    size_t out = 0, i;

    while (out < n && x[out]->class == TRACE_FLOW_OUT)
        out++;
    t->faults.checked[RULE_FLOW]++;
    if (out == n)
        flow_fault(t, x[0], "has no end (f)");
    else if (out == 0)
        flow_fault(t, x[0], "has no beginning (s)");
    for (i = 1; i < n; i++)
        if (x[i]->class == x[i - 1]->class)
            flow_fault(t, x[i], "stands twice");
}

static bool same_flow(const struct trace_slice *a, const struct trace_slice *b)
{
    return a->name == b->name && a->link == b->link;
}

/* A flow is drawn from and to the slice that it lies in. */
static void check_inside(struct trace *t)
{
    int64_t end = INT64_MIN;
    size_t i;

    for (i = 0; i < t->n; i++) {
        const struct trace_slice *x = &t->slice[i];

        if (i == 0 || x[-1].track != x->track)
            end = INT64_MIN;
        if (!trace_is_flow(x))
            end = x->ts + x->dur > end ? x->ts + x->dur : end;
        else if (end < x->ts)
            flow_fault(t, x, "lies in no slice");
    }
}

int trace_check_flows(struct trace *t, struct err *err)
{
    const struct trace_slice **flow;
    size_t n = 0, i, from;

    for (i = 0; i < t->n; i++)
        n += trace_is_flow(&t->slice[i]);
    if (n == 0)
        return 0;
    flow = mem_array(n, sizeof *flow);
    if (!flow)
        return err_set(err, ERR_NOMEM, "out of memory checking '%s'", t->path);
    for (i = 0, n = 0; i < t->n; i++)
        if (trace_is_flow(&t->slice[i]))
            flow[n++] = &t->slice[i];
    qsort(flow, n, sizeof *flow, by_flow);
    for (from = 0, i = 1; i <= n; i++) {
        if (i < n && same_flow(flow[i], flow[from]))
            continue;
        check_flow(t, flow + from, i - from);
        from = i;
    }
    mem_free(flow);
    check_inside(t);
    return 0;
}

static void wait_fault(struct trace *t, const struct trace_wait *w,
                       enum trace_rule rule, const char *what)
{
    trace_fault(&t->faults, &t->arena, rule,
                "event %" PRIu32 " at offset %" PRIu64 " '%.60s': %.400s",
                w->index, w->offset, w->kind, what);
}

/* How many slices come before that time in a row. */
static size_t slices_before(const struct trace *t, size_t track, int64_t ts)
{
    size_t low = 0, high = t->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct trace_slice *s = &t->slice[mid];

        if (s->track < track || (s->track == track && s->ts < ts))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The kernel that began last before ts in a row; NULL: none that is near. */
static const struct trace_slice *last_kernel(const struct trace *t,
                                             size_t track, int64_t ts)
{
    enum { NEAR = 256 };
    size_t i = slices_before(t, track, ts), left;

    for (left = NEAR; i > 0 && left > 0; left--) {
        const struct trace_slice *s = &t->slice[--i];

        if (s->track != track)
            break;
        if (s->class == TRACE_KERNEL)
            return s;
    }
    return NULL;
}

static void check_stream_sync(struct trace *t, const struct trace_wait *w)
{
    const struct trace_slice *s;
    struct str text = {0};
    struct trace_place p;
    size_t track;

    t->faults.checked[RULE_STREAM_SYNC]++;
    str_addf(&text, "%s\t%s", w->device, w->stream);
    track =
        text.failed ? NAME_NONE : name_index_find(&t->track_names, text.text);
    s = track == NAME_NONE ? NULL : last_kernel(t, track, w->ts);
    if (s && s->ts + s->dur > w->ts) {
        str_clear(&text);
        str_addf(&text, "%s still runs on stream %s", trace_place(&p, t, s),
                 w->stream);
        wait_fault(t, w, RULE_STREAM_SYNC, text.failed ? "" : text.text);
    }
    t->faults.failed = t->faults.failed || text.failed;
    str_free(&text);
}

static void check_record(struct trace *t, const struct trace_steps *s,
                         const struct trace_wait *w)
{
    const struct trace_link *l;
    size_t n, i;

    t->faults.checked[RULE_WAIT]++;
    if (w->record < 0) {
        wait_fault(t, w, RULE_WAIT, "does not say which cudaEventRecord");
        return;
    }
    l = trace_links(s->call, s->n_calls, w->record, &n);
    n = n < 16 ? n : 16;
    for (i = 0; i < n; i++)
        if (begins(trace_name(t, l[i].slice), "cudaEventRecord"))
            break;
    if (i == n)
        wait_fault(t, w, RULE_WAIT,
                   "the cudaEventRecord that it names is not "
                   "there");
    else if (l[i].slice->ts > w->ts)
        wait_fault(t, w, RULE_WAIT,
                   "the cudaEventRecord that it names comes "
                   "later");
}

void trace_check_waits(struct trace *t, const struct trace_steps *s)
{
    size_t i;

    for (i = 0; i < t->n_waits; i++) {
        const struct trace_wait *w = &t->wait[i];

        if (strcmp(w->kind, "Stream Sync") == 0)
            check_stream_sync(t, w);
        else if (strcmp(w->kind, "Stream Wait Event") == 0 ||
                 strcmp(w->kind, "Event Sync") == 0)
            check_record(t, s, w);
    }
}
