#include "pipeline/trace_summary.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/number.h"
#include "pipeline/utf8.h"

const char *const trace_group_name[TRACE_GROUPS] = {
    [GROUP_PHASES] = "phases",      [GROUP_OPS] = "operators",
    [GROUP_GPU] = "kernels",        [GROUP_CALLS] = "calls",
    [GROUP_OTHER] = "other slices",
};

static bool is_in(const struct trace_slice *s, enum trace_group g)
{
    switch (g) {
    case GROUP_OPS:
        return s->class == TRACE_OP;
    case GROUP_GPU:
        return trace_is_gpu_op(s);
    case GROUP_CALLS:
        return s->class == TRACE_CALL;
    case GROUP_OTHER:
        return s->class == TRACE_OTHER;
    default:
        return false;
    }
}

static int64_t end_of(const struct trace_slice *s)
{
    return s->ts + s->dur;
}

/* Slices that enclose the one at hand, innermost last. */
struct enclosing {
    const struct trace_slice **s;
    size_t n, cap;
};

static bool push(struct enclosing *e, const struct trace_slice *s)
{
    const struct trace_slice **grown;

    if (e->n == e->cap) {
        e->cap = e->cap ? e->cap * 2 : 64;
        grown = mem_grow(e->s, e->cap, sizeof *e->s);
        if (!grown)
            return false;
        e->s = grown;
    }
    e->s[e->n++] = s;
    return true;
}

/* Adds up the slices of a group; sum has a place for every name. */
static bool add_up(const struct trace *t, enum trace_group g,
                   struct trace_stat *sum)
{
    struct enclosing e = {0};
    bool ok = true;
    size_t i;

    for (i = 0; ok && i < t->n; i++) {
        const struct trace_slice *s = &t->slice[i], *outer;
        int64_t inside;

        if (!is_in(s, g))
            continue;
        while (e.n > 0 && (e.s[e.n - 1]->track != s->track ||
                           end_of(e.s[e.n - 1]) <= s->ts))
            e.n--;
        sum[s->name].n++;
        sum[s->name].total = trace_plus(sum[s->name].total, s->dur);
        sum[s->name].self = trace_plus(sum[s->name].self, s->dur);
        if (e.n > 0 && g != GROUP_GPU) {
            outer = e.s[e.n - 1];
            inside = end_of(s) < end_of(outer) ? end_of(s) : end_of(outer);
            sum[outer->name].self =
                trace_plus(sum[outer->name].self, s->ts - inside);
        }
        ok = push(&e, s);
    }
    mem_free(e.s);
    return ok;
}

static int by_self(const void *a, const void *b)
{
    const struct trace_stat *x = a, *y = b;

    if (x->self != y->self)
        return x->self > y->self ? -1 : 1;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void add_up_phases(const struct trace_steps *s, struct trace_stat *sum)
{
    size_t i;

    for (i = 0; i < s->n_phases; i++) {
        const struct trace_phase *p = &s->phase[i];

        sum[p->name].n++;
        sum[p->name].total = trace_plus(sum[p->name].total, p->end - p->ts);
        sum[p->name].self = sum[p->name].total;
    }
}

/* What was summed up while reading. */
static void take_sum(const struct trace_sum *x, enum trace_group g, size_t n,
                     struct trace_stat *sum)
{
    const struct trace_stat *from = g == GROUP_OPS     ? x->stat[STREAM_OPS]
                                    : g == GROUP_CALLS ? x->stat[STREAM_CALLS]
                                    : g == GROUP_OTHER ? x->stat[STREAM_OTHER]
                                                       : x->gpu;

    n = n < x->n_names ? n : x->n_names;
    if (n)
        memcpy(sum, from, n * sizeof *sum);
}

static int make_top(struct trace_summary *s, enum trace_group g,
                    struct err *err)
{
    const struct name_index *names = &s->t->names;
    struct trace_top *top = &s->top[g];
    bool ok = true;
    size_t i;

    top->row = mem_array(names->n + 1, sizeof *top->row);
    if (top->row && g == GROUP_PHASES)
        add_up_phases(&s->steps, top->row);
    else if (top->row && s->t->sum)
        take_sum(s->t->sum, g, names->n, top->row);
    else if (top->row)
        ok = add_up(s->t, g, top->row);
    if (!top->row || !ok)
        return err_set(err, ERR_NOMEM, "out of memory reading '%s'",
                       s->t->path);
    for (i = 0; i < names->n; i++) {
        if (top->row[i].n == 0)
            continue;
        top->self = trace_plus(top->self, top->row[i].self);
        top->row[top->n] = top->row[i];
        top->row[top->n++].name = names->name[i];
    }
    qsort(top->row, top->n, sizeof *top->row, by_self);
    return 0;
}

static void find_window(struct trace_summary *s)
{
    const struct trace *t = s->t;
    bool steps = s->steps.n > 0;
    size_t i;

    s->from = t->sum && !steps ? t->sum->from : INT64_MAX;
    s->to = t->sum && !steps ? t->sum->to : INT64_MIN;
    for (i = 0; i < t->n; i++) {
        const struct trace_slice *x = &t->slice[i];

        if (trace_is_flow(x) || (steps && x->class != TRACE_STEP))
            continue;
        s->from = x->ts < s->from ? x->ts : s->from;
        s->to = end_of(x) > s->to ? end_of(x) : s->to;
    }
    if (s->from > s->to)
        s->from = s->to = 0;
}

static int by_from(const void *a, const void *b)
{
    const struct trace_interval *x = a, *y = b;

    return x->from < y->from ? -1 : x->from > y->from;
}

/* How long at least one of n intervals was going on. */
static int64_t covered(struct trace_interval *x, size_t n)
{
    int64_t sum = 0, until = INT64_MIN;
    size_t i;

    qsort(x, n, sizeof *x, by_from);
    for (i = 0; i < n; i++) {
        int64_t from = x[i].from > until ? x[i].from : until;

        if (x[i].to <= until)
            continue;
        sum += x[i].to - from;
        until = x[i].to;
    }
    return sum;
}

/* Adds what of an interval lies in the window. */
static void clip(const struct trace_summary *s, struct trace_interval x,
                 struct trace_interval *room, size_t *n)
{
    x.from = x.from > s->from ? x.from : s->from;
    x.to = x.to < s->to ? x.to : s->to;
    room[*n] = x;
    *n += x.from < x.to;
}

static bool is_on(const struct trace *t, size_t track, const char *device)
{
    return strcmp(t->track[track].pid, device) == 0;
}

static void add_gpu(struct trace_summary *s, const char *device,
                    struct trace_interval *room)
{
    const struct trace *t = s->t;
    struct trace_gpu *g = &s->gpu[s->n_gpus++];
    size_t i, k, n = 0, n_busy;
    uint64_t ops;

    g->device = device;
    for (i = 0; i < t->n; i++) {
        const struct trace_slice *x = &t->slice[i];
        struct trace_interval at = {.from = x->ts, .to = end_of(x)};

        if (!trace_is_gpu_op(x) || !is_on(t, x->track, device))
            continue;
        g->n++;
        clip(s, at, room, &n);
    }
    for (i = 0; t->sum && i < t->track_names.n; i++) {
        const struct trace_interval *x =
            trace_sum_busy(t->sum, i, &n_busy, &ops);

        if (!is_on(t, i, device))
            continue;
        g->n += ops;
        for (k = 0; k < n_busy; k++)
            clip(s, x[k], room, &n);
    }
    g->busy = n ? covered(room, n) : 0;
}

/* How many intervals the GPUs' work may be. */
static size_t count_gpu(const struct trace *t)
{
    size_t i, n = 0, more;
    uint64_t ops;

    for (i = 0; i < t->n; i++)
        n += trace_is_gpu_op(&t->slice[i]);
    for (i = 0; t->sum && i < t->track_names.n; i++) {
        (void)trace_sum_busy(t->sum, i, &more, &ops);
        n += more;
    }
    return n;
}

static int find_gpus(struct trace_summary *s, struct err *err)
{
    const struct trace *t = s->t;
    struct trace_interval *room;
    size_t n = count_gpu(t), i, k;

    if (n == 0)
        return 0;
    room = mem_array(n + 1, sizeof *room);
    if (!room)
        return err_set(err, ERR_NOMEM, "out of memory reading '%s'", t->path);
    for (i = 0; i < t->track_names.n; i++) {
        if (!t->track[i].gpu || s->n_gpus == TRACE_DEVICES_MAX)
            continue;
        for (k = 0; k < s->n_gpus; k++)
            if (strcmp(s->gpu[k].device, t->track[i].pid) == 0)
                break;
        if (k == s->n_gpus)
            add_gpu(s, t->track[i].pid, room);
    }
    mem_free(room);
    return 0;
}

int trace_summary_make(struct trace_summary *s, const char *path,
                       struct err *err)
{
    size_t i;
    int rc;

    memset(s, 0, sizeof *s);
    rc = pl_trace_read_summed(&s->t, path, err);
    if (rc == 0)
        rc = trace_steps_make(&s->steps, s->t, err);
    for (i = 0; rc == 0 && i < TRACE_GROUPS; i++)
        rc = make_top(s, (enum trace_group)i, err);
    if (rc != 0)
        return rc;
    s->top[GROUP_PHASES].self = 0;
    for (i = 0; i < s->steps.n; i++)
        s->top[GROUP_PHASES].self =
            trace_plus(s->top[GROUP_PHASES].self,
                       s->steps.step[i].end - s->steps.step[i].ts);
    find_window(s);
    return find_gpus(s, err);
}

void trace_summary_free(struct trace_summary *s)
{
    size_t i;

    for (i = 0; i < TRACE_GROUPS; i++)
        mem_free(s->top[i].row);
    trace_steps_free(&s->steps);
    pl_trace_free(s->t);
    arena_free(&s->arena);
    memset(s, 0, sizeof *s);
}

const char *trace_writer(const struct trace *t)
{
    size_t i;

    if (strcmp(t->process, "pipeline") == 0)
        return "pipeline";
    for (i = 0; i < t->n_facts; i++)
        if (strcmp(t->fact[i].key, "schemaVersion") == 0)
            return "torch.profiler (Kineto)";
    for (i = 0; i < t->track_names.n; i++)
        if (strcmp(t->track[i].pid, "CPU functions") == 0)
            return "torch.profiler (without Kineto)";
    return "Chrome trace events";
}

const char *trace_gpu_name(const struct trace *t, const char *device)
{
    size_t i;

    for (i = 0; i < t->n_devices; i++)
        if (strcmp(t->device[i].key, device) == 0)
            return t->device[i].value;
    return "";
}

double trace_step_mean(const struct trace_summary *s)
{
    if (s->steps.n == 0)
        return 0;
    return (double)s->top[GROUP_PHASES].self / (double)s->steps.n;
}

/* Ends a text; it is kept with the summary. */
static const char *keep(struct trace_summary *s, struct str *text)
{
    const char *out = NULL;

    if (!text->failed)
        out = arena_strdup(&s->arena, text->text ? text->text : "");
    str_free(text);
    s->failed = s->failed || !out;
    return out ? out : "";
}

const char *trace_shown(struct trace_summary *s, const char *text)
{
    enum { SHOWN_MAX = 160 };
    size_t left = strlen(text), n, len;
    struct str out = {0};
    uint32_t cp;

    for (; left > 0 && out.len < SHOWN_MAX; text += n, left -= n) {
        len = utf8_decode(text, left, &cp);
        n = len ? len : 1;
        if (len == 0 || cp < ' ' || (cp >= 0x7f && cp < 0xa0))
            str_addc(&out, '?');
        else
            str_addn(&out, text, n);
    }
    if (left > 0)
        str_add(&out, "...");
    return keep(s, &out);
}

const char *trace_number(struct trace_summary *s, double v, int decimals)
{
    struct str out = {0};

    pl_add_number(&out, v, decimals, true);
    return keep(s, &out);
}

const char *trace_printf(struct trace_summary *s, const char *fmt, ...)
{
    struct str out = {0};
    va_list ap;

    va_start(ap, fmt);
    str_addv(&out, fmt, ap);
    va_end(ap);
    return keep(s, &out);
}
