/* What memory records say, in figures. */
#include <math.h>
#include <string.h>

#include "pipeline/compare_memory.h"
#include "pipeline/number.h"

static void note_life(struct pl_memory_figures *f,
                      const struct nn_memory_event *e, enum nn_memory_kind k)
{
    struct pl_memory_life *l = &f->life[k];

    if (e->action == NN_MEMORY_DESTROY) {
        l->dies = l->ends ? l->dies : e->phase;
        l->ends = true;
    } else if (!l->ever && e->action != NN_MEMORY_NEW_VERSION) {
        l->ever = true;
        l->before = e->action == NN_MEMORY_PREEXISTING;
        l->step = e->step;
        l->born = e->phase;
    }
}

static void raise(struct pl_memory_figures *f,
                  const int64_t live[NN_MEMORY_KINDS], int64_t all)
{
    int k;

    for (k = 0; k < NN_MEMORY_KINDS; k++)
        if (live[k] > f->steady[k])
            f->steady[k] = live[k];
    if (all > f->steady_peak)
        f->steady_peak = all;
}

static void walk(struct pl_memory_figures *f)
{
    const struct nn_step_memory *m = f->file.memory;
    int last = m->first_step + m->n_step - 1;
    int64_t all = 0;
    size_t i;

    for (i = 0; i < m->n_event; i++) {
        const struct nn_memory_event *e = &m->event[i];
        enum nn_memory_kind k = m->tensor[e->tensor].kind;

        if (e->step == last)
            raise(f, f->kept, all); /* what it begins with counts too */
        f->kept[k] += nn_memory_change(m, i);
        all += nn_memory_change(m, i);
        if (e->step == last)
            raise(f, f->kept, all);
        note_life(f, e, k);
    }
    raise(f, f->kept, all);
}

void pl_memory_figure(struct pl_memory_figures *f)
{
    const struct nn_step_memory *m = f->file.memory;
    size_t i;

    nn_memory_sum_up(m, &f->sums);
    f->parameters = f->steady_peak = 0;
    memset(f->steady, 0, sizeof f->steady);
    memset(f->kept, 0, sizeof f->kept);
    memset(f->life, 0, sizeof f->life);
    for (i = 0; i < m->n_tensor; i++) {
        f->life[m->tensor[i].kind].tensors++;
        if (m->tensor[i].kind == NN_MEMORY_PARAMETER)
            f->parameters += nn_shape_numel(&m->tensor[i].shape);
    }
    walk(f);
}

int64_t pl_memory_difference(const struct pl_memories *all, size_t run,
                             enum nn_memory_kind k)
{
    return all->run[run].steady[k] - all->run[0].steady[k];
}

int64_t pl_memory_others(const struct pl_memories *all, size_t run,
                         enum nn_memory_kind but)
{
    int64_t sum = 0;
    int k;

    for (k = 0; k < NN_MEMORY_KINDS; k++) {
        int64_t d = pl_memory_difference(all, run, (enum nn_memory_kind)k);

        if (k != (int)but)
            sum += d < 0 ? -d : d;
    }
    return sum;
}

double pl_memory_multiple(const struct pl_memory_figures *f,
                          enum nn_memory_kind k)
{
    int64_t p = f->steady[NN_MEMORY_PARAMETER];

    return p > 0 ? (double)f->steady[k] / (double)p : NAN;
}

bool pl_memory_holds(const struct pl_memory_figures *f)
{
    int64_t p = f->steady[NN_MEMORY_PARAMETER];

    return f->blocks >= 0 && f->steady[NN_MEMORY_GRADIENT] == p &&
           f->steady[NN_MEMORY_OPTIMIZER] == f->blocks * p;
}

void pl_memory_add_count(struct str *out, int64_t bytes)
{
    pl_add_number(out, (double)bytes, 0, true);
    str_add(out, bytes == 1 || bytes == -1 ? " byte" : " bytes");
}
