#include "pipeline/trace_steps.h"

#include <stdlib.h>
#include <string.h>

#include "nn/base/mem.h"

static int by_ts(const void *a, const void *b)
{
    const struct trace_step *x = a, *y = b;

    if (x->ts != y->ts)
        return x->ts < y->ts ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static int by_link(const void *a, const void *b)
{
    const struct trace_link *x = a, *y = b;

    if (x->link != y->link)
        return x->link < y->link ? -1 : 1;
    if (x->slice->ts != y->slice->ts)
        return x->slice->ts < y->slice->ts ? -1 : 1;
    return x->slice < y->slice ? -1 : x->slice > y->slice;
}

/* The annotations of the step that begins at slice i; phase: room for them, or
 * NULL to count them. */
static size_t find_phases(const struct trace *t, const struct trace_slice *step,
                          struct trace_phase *phase)
{
    const struct trace_slice *s = step + 1, *end = t->slice + t->n;
    int64_t until = step->ts;
    size_t n = 0;

    for (; s < end && s->track == step->track && s->ts < step->ts + step->dur;
         s++) {
        if (s->class == TRACE_STEP)
            break; /* steps do not overlap; where they do, this stays linear */
        if (s->class != TRACE_NOTE && s->class != TRACE_OP)
            continue;
        if (s->ts < until && s->ts + s->dur <= until)
            continue;
        until = s->ts + s->dur;
        if (s->class != TRACE_NOTE)
            continue;
        if (phase) {
            phase[n].ts = s->ts;
            phase[n].end = until;
            phase[n].name = s->name;
            phase[n].slice = s;
        }
        n++;
    }
    return n;
}

static void count(struct trace_steps *s, const struct trace *t)
{
    size_t i;

    for (i = 0; i < t->n; i++) {
        const struct trace_slice *x = &t->slice[i];

        if (x->class == TRACE_STEP) {
            s->n++;
            s->n_phases += find_phases(t, x, NULL);
        }
        s->n_calls += x->class == TRACE_CALL && x->link >= 0;
        s->n_gpu += trace_is_gpu_op(x) && x->link >= 0;
    }
}

static void fill_step(struct trace_step *to, const struct trace_slice *x,
                      const struct trace_phase *phase, size_t n_phases)
{
    to->number = x->link;
    to->ts = x->ts;
    to->end = x->ts + x->dur;
    to->slice = x;
    to->phase = phase;
    to->n_phases = n_phases;
}

static void fill(struct trace_steps *s, const struct trace *t)
{
    size_t i, step = 0, phase = 0, call = 0, gpu = 0;

    for (i = 0; i < t->n; i++) {
        const struct trace_slice *x = &t->slice[i];

        if (x->class == TRACE_STEP) {
            size_t n = find_phases(t, x, s->phase + phase);

            fill_step(&s->step[step++], x, s->phase + phase, n);
            phase += n;
        } else if (x->class == TRACE_CALL && x->link >= 0) {
            s->call[call].link = x->link;
            s->call[call++].slice = x;
        } else if (trace_is_gpu_op(x) && x->link >= 0) {
            s->gpu[gpu].link = x->link;
            s->gpu[gpu++].slice = x;
        }
    }
}

int trace_steps_make(struct trace_steps *s, const struct trace *t,
                     struct err *err)
{
    memset(s, 0, sizeof *s);
    count(s, t);
    s->step = mem_array(s->n + 1, sizeof *s->step);
    s->phase = mem_array(s->n_phases + 1, sizeof *s->phase);
    s->call = mem_array(s->n_calls + 1, sizeof *s->call);
    s->gpu = mem_array(s->n_gpu + 1, sizeof *s->gpu);
    if (!s->step || !s->phase || !s->call || !s->gpu)
        return err_set(err, ERR_NOMEM, "out of memory reading '%s'", t->path);
    fill(s, t);
    qsort(s->step, s->n, sizeof *s->step, by_ts);
    qsort(s->call, s->n_calls, sizeof *s->call, by_link);
    qsort(s->gpu, s->n_gpu, sizeof *s->gpu, by_link);
    return 0;
}

void trace_steps_free(struct trace_steps *s)
{
    mem_free(s->step);
    mem_free(s->phase);
    mem_free(s->call);
    mem_free(s->gpu);
    memset(s, 0, sizeof *s);
}

const struct trace_step *trace_step_at(const struct trace_steps *s, int64_t ts)
{
    size_t low = 0, high = s->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (s->step[mid].ts <= ts)
            low = mid + 1;
        else
            high = mid;
    }
    return low > 0 && ts < s->step[low - 1].end ? &s->step[low - 1] : NULL;
}

/* The first of n that is not below that correlation. */
static size_t lower(const struct trace_link *link, size_t n,
                    int64_t correlation)
{
    size_t low = 0, high = n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (link[mid].link < correlation)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const struct trace_link *trace_links(const struct trace_link *link, size_t n,
                                     int64_t correlation, size_t *found)
{
    size_t from = lower(link, n, correlation);

    *found = lower(link, n, correlation + 1) - from;
    return link + from;
}

size_t trace_phases_at(const struct trace_step *step, int64_t ts,
                       const struct trace_phase **first)
{
    size_t low = 0, high = step->n_phases, n = 0;

    while (low < high) {
        size_t mid = low + (high - low) / 2;

        if (step->phase[mid].ts <= ts)
            low = mid + 1;
        else
            high = mid;
    }
    /* Where phases overlap each other, two are enough to tell. */
    for (high = low; high > 0 && high + 8 > low && n < 2; high--) {
        if (ts >= step->phase[high - 1].end)
            continue;
        *first = &step->phase[high - 1];
        n++;
    }
    return n;
}

const struct trace_slice *trace_launch_of(const struct trace_steps *s,
                                          const struct trace_slice *gpu_op)
{
    size_t n;
    const struct trace_link *l =
        trace_links(s->call, s->n_calls, gpu_op->link, &n);

    return gpu_op->link >= 0 && n == 1 ? l->slice : NULL;
}

static bool begins(const char *s, const char *with)
{
    return strncmp(s, with, strlen(with)) == 0;
}

bool trace_is_launch(const char *call)
{
    static const char *const launch[] = {
        "cudaLaunchKernel",
        "cudaLaunchCooperativeKernel",
        "cudaGraphLaunch",
        "cudaMemcpy",
        "cudaMemset",
        "cuLaunchKernel",
        "cuLaunchCooperativeKernel",
        "cuGraphLaunch",
    };
    size_t i;

    for (i = 0; i < sizeof launch / sizeof *launch; i++)
        if (begins(call, launch[i]))
            return true;
    return false;
}

bool trace_is_graph_launch(const char *call)
{
    return begins(call, "cudaGraphLaunch") || begins(call, "cuGraphLaunch");
}
