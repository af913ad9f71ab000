#include "pipeline/trace_sum.h"

#include <stdlib.h>
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/trace_read_parts.h"

/* What is going on, outermost first. */
struct open_slice {
    int64_t end;
    uint32_t name;
};

/* Slices of one kind on one track. Those that begin at the same time wait for
 * each other: the longest comes first, as it encloses the others. */
struct stream {
    struct trace_slice *wait;
    size_t n_waiting, wait_cap;
    struct open_slice *open;
    size_t n_open, open_cap;
};

struct trace_sum_track {
    struct stream stream[TRACE_STREAMS];
    int64_t step_end, until; /* as trace_steps.c finds phases */
    struct trace_interval *busy;
    size_t n_busy, busy_cap;
    uint64_t n_ops;
};

struct trace_sum *trace_sum_new(void)
{
    struct trace_sum *x = mem_zalloc(sizeof *x);

    if (x) {
        x->from = INT64_MAX;
        x->to = INT64_MIN;
    }
    return x;
}

void trace_sum_free(struct trace_sum *x)
{
    size_t i, k;

    if (!x)
        return;
    for (i = 0; i < x->n_tracks; i++) {
        for (k = 0; k < TRACE_STREAMS; k++) {
            mem_free(x->track[i].stream[k].wait);
            mem_free(x->track[i].stream[k].open);
        }
        mem_free(x->track[i].busy);
    }
    for (k = 0; k < TRACE_STREAMS; k++)
        mem_free(x->stat[k]);
    mem_free(x->gpu);
    mem_free(x->track);
    mem_free(x);
}

/* Room for n of them, zeroed where they are new. */
static bool widen(void *list, size_t was, size_t n, size_t size)
{
    void *p;

    memcpy(&p, list, sizeof p);
    p = mem_grow(p, n, size);
    if (!p)
        return false;
    memset((char *)p + was * size, 0, (n - was) * size);
    memcpy(list, &p, sizeof p);
    return true;
}

static bool have_name(struct trace_sum *x, size_t name)
{
    size_t n = name * 2 + 64, k;

    if (name < x->n_names)
        return true;
    for (k = 0; k < TRACE_STREAMS; k++)
        if (!widen(&x->stat[k], x->n_names, n, sizeof **x->stat))
            return false;
    if (!widen(&x->gpu, x->n_names, n, sizeof *x->gpu))
        return false;
    x->n_names = n;
    return true;
}

static bool have_track(struct trace_sum *x, size_t track)
{
    size_t n = track * 2 + 4, i;

    if (track < x->n_tracks)
        return true;
    if (!widen(&x->track, x->n_tracks, n, sizeof *x->track))
        return false;
    for (i = x->n_tracks; i < n; i++)
        x->track[i].step_end = INT64_MIN;
    x->n_tracks = n;
    return true;
}

/* As make_room of the reader. */
static bool have_room(void *list, size_t n, size_t *cap, size_t size)
{
    size_t more = *cap ? *cap * 2 : 8;

    if (n < *cap)
        return true;
    if (!widen(list, *cap, more, size))
        return false;
    *cap = more;
    return true;
}

static void add_stat(struct trace_stat *stat, const struct trace_slice *s)
{
    stat->n++;
    stat->total = trace_plus(stat->total, s->dur);
    stat->self = trace_plus(stat->self, s->dur);
}

static bool add_nested(struct stream *x, struct trace_stat *stat,
                       const struct trace_slice *s)
{
    int64_t end = s->ts + s->dur, inside;

    while (x->n_open && x->open[x->n_open - 1].end <= s->ts)
        x->n_open--;
    add_stat(&stat[s->name], s);
    if (x->n_open) {
        const struct open_slice *outer = &x->open[x->n_open - 1];

        inside = end < outer->end ? end : outer->end;
        stat[outer->name].self =
            trace_plus(stat[outer->name].self, s->ts - inside);
    }
    if (!have_room(&x->open, x->n_open, &x->open_cap, sizeof *x->open))
        return false;
    x->open[x->n_open].end = end;
    x->open[x->n_open++].name = s->name;
    return true;
}

/* Whether find_phases of trace_steps.c has to see it: a step, or an annotation
 * that lies in a step and in no operator. */
static bool is_step_or_phase(struct trace_sum_track *k,
                             const struct trace_slice *s)
{
    int64_t end = s->ts + s->dur;

    if (s->class == TRACE_STEP) {
        k->step_end = end;
        k->until = s->ts;
        return true;
    }
    if (s->ts >= k->step_end || (s->ts < k->until && end <= k->until))
        return false;
    k->until = end;
    return s->class == TRACE_NOTE;
}

static int settle(struct trace *t, enum trace_stream which,
                  const struct trace_slice *s, struct err *err)
{
    struct trace_sum_track *k = &t->sum->track[s->track];

    if (which != STREAM_OPS || s->class == TRACE_OP)
        if (!add_nested(&k->stream[which], t->sum->stat[which], s))
            return trace_no_memory(t, err);
    if (which == STREAM_OPS && is_step_or_phase(k, s))
        return trace_add_slice(t, s, err);
    return 0;
}

static int longest_first(const void *a, const void *b)
{
    const struct trace_slice *x = a, *y = b;

    if (x->dur != y->dur)
        return x->dur > y->dur ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static int settle_all(struct trace *t, enum trace_stream which, size_t track,
                      struct err *err)
{
    struct stream *x = &t->sum->track[track].stream[which];
    size_t i;
    int rc = 0;

    if (x->n_waiting > 1)
        qsort(x->wait, x->n_waiting, sizeof *x->wait, longest_first);
    for (i = 0; rc == 0 && i < x->n_waiting; i++)
        rc = settle(t, which, &x->wait[i], err);
    x->n_waiting = 0;
    return rc;
}

static int add_in_order(struct trace *t, enum trace_stream which,
                        const struct trace_slice *s, struct err *err)
{
    struct stream *x = &t->sum->track[s->track].stream[which];
    /* Never empty once there was one: the last one waits for the next. */
    int64_t last = x->n_waiting ? x->wait[0].ts : INT64_MIN;
    int rc = 0;

    if (s->ts < last) {
        t->sum->disorder = true;
        return err_set(err, ERR_CORRUPT, "'%s' is not in order of time",
                       t->path);
    }
    if (s->ts > last)
        rc = settle_all(t, which, s->track, err);
    if (rc != 0)
        return rc;
    if (!have_room(&x->wait, x->n_waiting, &x->wait_cap, sizeof *x->wait))
        return trace_no_memory(t, err);
    x->wait[x->n_waiting++] = *s;
    return 0;
}

static int add_busy(struct trace *t, const struct trace_slice *s,
                    struct err *err)
{
    struct trace_sum_track *k = &t->sum->track[s->track];
    struct trace_interval *last = k->n_busy ? &k->busy[k->n_busy - 1] : NULL;
    int64_t end = s->ts + s->dur;

    add_stat(&t->sum->gpu[s->name], s);
    k->n_ops++;
    if (last && s->ts >= last->from && s->ts <= last->to) {
        last->to = end > last->to ? end : last->to;
        return 0;
    }
    if (!have_room(&k->busy, k->n_busy, &k->busy_cap, sizeof *k->busy))
        return trace_no_memory(t, err);
    k->busy[k->n_busy].from = s->ts;
    k->busy[k->n_busy++].to = end;
    return 0;
}

int trace_sum_add(struct trace *t, const struct trace_slice *s, struct err *err)
{
    struct trace_sum *x = t->sum;
    int64_t end = s->ts + s->dur;

    if (!have_name(x, s->name) || !have_track(x, s->track))
        return trace_no_memory(t, err);
    x->from = s->ts < x->from ? s->ts : x->from;
    x->to = end > x->to ? end : x->to;
    switch (s->class) {
    case TRACE_STEP:
    case TRACE_NOTE:
    case TRACE_OP:
        return add_in_order(t, STREAM_OPS, s, err);
    case TRACE_CALL:
        return add_in_order(t, STREAM_CALLS, s, err);
    case TRACE_OTHER:
        return add_in_order(t, STREAM_OTHER, s, err);
    case TRACE_KERNEL:
    case TRACE_COPY:
        return add_busy(t, s, err);
    default:
        return 0;
    }
}

int trace_sum_end(struct trace *t, struct err *err)
{
    size_t i, k;
    int rc = 0;

    for (i = 0; i < t->sum->n_tracks; i++)
        for (k = 0; rc == 0 && k < TRACE_STREAMS; k++)
            rc = settle_all(t, (enum trace_stream)k, i, err);
    return rc;
}

const struct trace_interval *trace_sum_busy(const struct trace_sum *x,
                                            size_t track, size_t *n,
                                            uint64_t *ops)
{
    *n = track < x->n_tracks ? x->track[track].n_busy : 0;
    *ops = *n ? x->track[track].n_ops : 0;
    return *n ? x->track[track].busy : NULL;
}
