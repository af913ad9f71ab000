#include "pipeline/profile_gpu_spans.h"

#include <stdlib.h>
#include <string.h>

#include "nn/base/mem.h"

static int by_id(const void *a, const void *b)
{
    const struct gpu_span_id *x = a, *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

/* Spans come by thread and time, what encloses first. */
static void find_parents(struct gpu_spans *s)
{
    const struct prof_span *const *span = s->t->span;
    size_t i, open = SIZE_MAX;

    for (i = 0; i < s->t->n; i++) {
        while (open != SIZE_MAX && (span[open]->tid != span[i]->tid ||
                                    span[open]->end <= span[i]->begin))
            open = s->parent[open];
        s->parent[i] = open;
        open = i;
    }
}

int gpu_spans_make(struct gpu_spans *s, const struct pl_traced *t,
                   struct err *err)
{
    size_t i;

    memset(s, 0, sizeof *s);
    s->t = t;
    s->parent = mem_array(t->n, sizeof *s->parent);
    s->id = mem_array(t->n, sizeof *s->id);
    if (!s->parent || !s->id)
        return err_set(err, ERR_NOMEM, "out of memory for %zu spans", t->n);
    find_parents(s);
    for (i = 0; i < t->n; i++)
        if (t->span[i]->id > 0) {
            s->id[s->n_ids].id = t->span[i]->id;
            s->id[s->n_ids++].span = i;
        }
    qsort(s->id, s->n_ids, sizeof *s->id, by_id);
    return 0;
}

void gpu_spans_free(struct gpu_spans *s)
{
    mem_free(s->parent);
    mem_free(s->id);
    memset(s, 0, sizeof *s);
}

size_t gpu_spans_find(const struct gpu_spans *s, int64_t id)
{
    const struct gpu_span_id key = {.id = id}, *at = NULL;

    if (id > 0 && s->n_ids > 0)
        at = bsearch(&key, s->id, s->n_ids, sizeof key, by_id);
    return at ? at->span : SIZE_MAX;
}

/* How many spans come before or with that time of a thread. */
static size_t begun_by(const struct gpu_spans *s, int32_t tid, int64_t time)
{
    size_t low = 0, high = s->t->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct prof_span *x = s->t->span[mid];

        if (x->tid < tid || (x->tid == tid && x->begin <= time))
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* The innermost span at a time. *before: the end of the last one within it
 * that is over; *after: the begin of the next one of the thread. */
static size_t innermost(const struct gpu_spans *s, int32_t tid, int64_t time,
                        int64_t *before, int64_t *after)
{
    const struct prof_span *const *span = s->t->span;
    size_t next = begun_by(s, tid, time), i;

    *before = INT64_MIN;
    *after = next < s->t->n && span[next]->tid == tid ? span[next]->begin
                                                      : INT64_MAX;
    if (next == 0 || span[next - 1]->tid != tid)
        return SIZE_MAX;
    for (i = next - 1; i != SIZE_MAX && span[i]->end <= time;) {
        *before = span[i]->end;
        i = s->parent[i];
    }
    return i;
}

size_t gpu_spans_phase(const struct gpu_spans *s, int64_t time)
{
    const struct pl_traced *t = s->t;
    int64_t before, after;
    size_t i;

    if (t->n_steps == 0)
        return SIZE_MAX;
    i = innermost(s, t->step[0]->tid, time, &before, &after);
    while (i != SIZE_MAX && t->span[i]->kind != PROF_PHASE)
        i = s->parent[i];
    return i;
}

static void cut(int64_t *begin, int64_t *end, int64_t from, int64_t to)
{
    *begin = *begin < from ? from : *begin;
    *end = *end > to ? to : *end;
    *begin = *begin >= to && to > from ? to - 1 : *begin;
    *end = *end < *begin ? *begin : *end;
}

void gpu_spans_fit(const struct gpu_spans *s, size_t span, int32_t tid,
                   int64_t *begin, int64_t *end)
{
    int64_t before, after;
    size_t at;

    if (span != SIZE_MAX && s->t->span[span]->tid == tid)
        cut(begin, end, s->t->span[span]->begin, s->t->span[span]->end);
    at = innermost(s, tid, *begin + (*end - *begin) / 2, &before, &after);
    if (at != SIZE_MAX)
        cut(begin, end, s->t->span[at]->begin, s->t->span[at]->end);
    cut(begin, end, before, after);
}
