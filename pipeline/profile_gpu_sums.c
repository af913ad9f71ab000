/* What a device did in a step, in numbers, and kernel by kernel. */
#include <stdlib.h>
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/profile_gpu.h"
#include "pipeline/trace_steps.h"

/* ---- a step ---- */

struct interval {
    int64_t begin, end;
};

static int by_begin(const void *a, const void *b)
{
    const struct interval *x = a, *y = b;

    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static int64_t united(struct interval *x, size_t n)
{
    int64_t sum = 0, until = INT64_MIN;
    size_t i;

    qsort(x, n, sizeof *x, by_begin);
    for (i = 0; i < n; i++) {
        int64_t from = x[i].begin > until ? x[i].begin : until;

        if (x[i].end <= from)
            continue;
        sum += x[i].end - from;
        until = x[i].end;
    }
    return sum;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static void add_op(struct pl_gpu_sums *s, const struct pl_gpu_event *x)
{
    s->end = x->end > s->end ? x->end : s->end;
    s->kernels += x->of->kind == NN_EVENT_KERNEL;
    if (x->of->kind != NN_EVENT_COPY || !begins(x->of->name, "Memcpy HtoD"))
        return;
    s->h2d_bytes += (int64_t)x->of->bytes;
    s->h2d_ns += x->end - x->begin;
}

static void add_call(struct pl_gpu_sums *s, const struct pl_gpu_event *x)
{
    s->launches += trace_is_launch(x->of->name);
    if (strstr(x->of->name, "Synchronize"))
        s->wait_ns += x->end - x->begin;
}

int pl_gpu_sum_up(const struct pl_traced_gpu *g, const struct pl_traced *t,
                  size_t step, struct pl_gpu_sums *out, struct err *err)
{
    struct interval *work = mem_array(g->n_ops, sizeof *work);
    size_t i, n = 0;

    memset(out, 0, sizeof *out);
    if (!work)
        return err_set(err, ERR_NOMEM, "out of memory for a device's records");
    out->begin = t->step[step]->begin;
    out->end = t->step[step]->end;
    for (i = 0; i < g->n_calls; i++)
        if (g->call[i].step == step)
            add_call(out, &g->call[i]);
    for (i = 0; i < g->n_ops; i++)
        if (g->op[i].step == step) {
            add_op(out, &g->op[i]);
            work[n].begin = g->op[i].begin;
            work[n++].end = g->op[i].end;
        }
    out->busy = united(work, n);
    mem_free(work);
    return 0;
}

/* ---- kernels.csv ---- */

/* All runs of one kernel, copy or fill for one operator. Times in ns. */
struct row {
    const struct pl_gpu_event *first;
    int64_t count, total, min, max;
};

static bool same_place(const struct pl_gpu_event *a,
                       const struct pl_gpu_event *b)
{
    if (!a->call || !b->call)
        return a->call == b->call && strcmp(a->phase, b->phase) == 0;
    return pl_traced_same_op(a->call, b->call);
}

static bool same_row(const struct pl_gpu_event *x, const struct pl_gpu_event *y)
{
    const struct nn_device_event *a = x->of, *b = y->of;

    return a->kind == b->kind && a->bytes == b->bytes &&
           memcmp(a->grid, b->grid, sizeof a->grid) == 0 &&
           memcmp(a->block, b->block, sizeof a->block) == 0 &&
           strcmp(a->name, b->name) == 0 && same_place(x, y);
}

/* Steps are alike: the row of what came last time is near. */
static struct row *find_row(struct row *row, size_t n, size_t last,
                            const struct pl_gpu_event *x)
{
    size_t k;

    for (k = 0; k < n; k++) {
        struct row *at = &row[(last + 1 + k) % n];

        if (same_row(at->first, x))
            return at;
    }
    return &row[n];
}

static size_t fill(struct row *row, const struct pl_traced_gpu *g)
{
    size_t i, n = 0, last = 0;

    for (i = 0; i < g->n_ops; i++) {
        const struct pl_gpu_event *x = &g->op[i];
        struct row *r = find_row(row, n, last, x);
        int64_t ns = x->end - x->begin;

        last = (size_t)(r - row);
        if (last == n) {
            r->first = x;
            r->min = ns;
            n++;
        }
        r->count++;
        r->total += ns;
        r->min = ns < r->min ? ns : r->min;
        r->max = ns > r->max ? ns : r->max;
    }
    return n;
}

static void add_row(struct str *out, const struct row *r, int64_t steps_ns)
{
    const struct nn_device_event *e = r->first->of;

    pl_traced_csv_call(out, r->first->call, r->first->phase);
    str_addc(out, ',');
    pl_traced_csv_text(out, e->name);
    str_addf(out, ",%lld,%.3f,%.3f,%.3f,%.3f,%.4f", (long long)r->count,
             (double)r->total / 1e3, (double)r->total / 1e3 / (double)r->count,
             (double)r->min / 1e3, (double)r->max / 1e3,
             (double)r->total / (double)steps_ns);
    if (e->kind != NN_EVENT_KERNEL) {
        str_addf(out, ",,,,,,%llu\n", (unsigned long long)e->bytes);
        return;
    }
    str_addf(out, ",%ux%ux%u,%ux%ux%u,%u,%u,", (unsigned)e->grid[0],
             (unsigned)e->grid[1], (unsigned)e->grid[2], (unsigned)e->block[0],
             (unsigned)e->block[1], (unsigned)e->block[2],
             (unsigned)e->registers, (unsigned)e->shared);
    if (e->blocks_per_sm > 0)
        str_addf(out, "%u", (unsigned)e->blocks_per_sm);
    str_add(out, ",\n");
}

int pl_gpu_kernels_csv(const struct pl_traced_gpu *g, const struct pl_traced *t,
                       struct str *out, struct err *err)
{
    struct row *row = mem_array(g->n_ops, sizeof *row);
    size_t n, i;

    if (!row)
        return err_set(err, ERR_NOMEM, "out of memory for kernels.csv");
    str_add(out, "layer,op,role,phase,kernel,count,total_us,mean_us,min_us,"
                 "max_us,share,grid,block,registers,shared_bytes,"
                 "blocks_per_sm,bytes\n");
    n = fill(row, g);
    for (i = 0; i < n; i++)
        add_row(out, &row[i], t->steps_ns);
    mem_free(row);
    return 0;
}
