/* Steps, their phases, and what is launched in them. */
#include <inttypes.h>

#include "nn/base/mem.h"
#include "pipeline/trace_check.h"

static void steps_fault(struct trace *t, const struct trace_step *x,
                        const char *what, int64_t number)
{
    struct trace_place p;

    trace_fault(&t->faults, &t->arena, RULE_STEPS, "%s %s#%" PRId64,
                trace_place(&p, t, x->slice), what, number);
}

/* As many steps without a gap as follow step i, itself among them. */
static size_t run_length(const struct trace_steps *s, size_t i)
{
    size_t from = i;

    while (i + 1 < s->n && s->step[i + 1].number == s->step[i].number + 1)
        i++;
    return i + 1 - from;
}

/* Whether the steps come in cycles of as many, equally far apart. */
static bool are_cycles(const struct trace_steps *s)
{
    size_t length = run_length(s, 0), i;
    int64_t apart =
        length < s->n ? s->step[length].number - s->step[0].number : 0;

    for (i = length; i < s->n; i += length)
        if (run_length(s, i) != length ||
            s->step[i].number - s->step[i - length].number != apart)
            return false;
    return apart > 0;
}

static void check_numbers(struct trace *t, const struct trace_steps *s)
{
    bool cycles = are_cycles(s);
    size_t i;

    for (i = 1; i < s->n; i++) {
        const struct trace_step *x = &s->step[i];

        if (!cycles && x->number != x[-1].number + 1)
            steps_fault(t, x, "does not follow ProfilerStep", x[-1].number);
    }
}

static void check_schedule(struct trace *t, const struct trace_steps *s,
                           const struct trace_schedule *schedule)
{
    size_t next = 0;
    int64_t k;

    for (k = 0; k < schedule->n_steps; k++) {
        if (prof_schedule_at(&schedule->schedule, k) != PROF_ACTIVE)
            continue;
        t->faults.checked[RULE_STEPS]++;
        for (; next < s->n && s->step[next].number < k; next++)
            steps_fault(t, &s->step[next], "is not due before ProfilerStep", k);
        if (next < s->n && s->step[next].number == k)
            next++;
        else
            trace_fault(&t->faults, &t->arena, RULE_STEPS,
                        "ProfilerStep#%" PRId64 " is missing", k);
    }
    for (; next < s->n; next++)
        steps_fault(t, &s->step[next],
                    "is more than the schedule has: "
                    "ProfilerStep",
                    s->step[next].number);
}

void trace_check_steps(struct trace *t, const struct trace_steps *s,
                       const struct trace_schedule *schedule)
{
    size_t i;

    for (i = 0; i < s->n; i++) {
        t->faults.checked[RULE_STEPS]++;
        if (i > 0 && s->step[i].ts < s->step[i - 1].end)
            steps_fault(t, &s->step[i], "begins in ProfilerStep",
                        s->step[i - 1].number);
    }
    if (schedule)
        check_schedule(t, s, schedule);
    else
        check_numbers(t, s);
}

static void check_sum(struct trace *t, const struct trace_step *x)
{
    struct trace_place p;
    int64_t sum = 0;
    size_t i;

    for (i = 0; i < x->n_phases; i++)
        sum = trace_plus(sum, x->phase[i].end - x->phase[i].ts);
    if (x->n_phases)
        t->faults.checked[RULE_PHASES]++;
    if (sum > x->end - x->ts)
        trace_fault(&t->faults, &t->arena, RULE_PHASES,
                    "%s takes %.3f us, its phases %.3f us",
                    trace_place(&p, t, x->slice),
                    (double)(x->end - x->ts) / 1e3, (double)sum / 1e3);
}

static void check_phase_of(struct trace *t, const struct trace_step *x,
                           const struct trace_slice *op, int64_t launched)
{
    const struct trace_phase *phase;
    struct trace_place p;
    size_t n = trace_phases_at(x, launched, &phase);

    t->faults.checked[RULE_PHASE_OF]++;
    if (n != 1)
        trace_fault(&t->faults, &t->arena, RULE_PHASE_OF,
                    "%s was launched in %s of ProfilerStep#%" PRId64,
                    trace_place(&p, t, op),
                    n == 0 ? "no phase" : "several phases", x->number);
}

/* The first step makes what later ones find ready, so it may differ. */
static void check_kernels(struct trace *t, const struct trace_steps *s,
                          const uint64_t *kernels)
{
    struct trace_place p;
    size_t i;

    for (i = 2; i < s->n; i++) {
        t->faults.checked[RULE_KERNELS]++;
        if (kernels[i] != kernels[1])
            trace_fault(&t->faults, &t->arena, RULE_KERNELS,
                        "%s has %" PRIu64 " kernels, ProfilerStep#%" PRId64
                        " has %" PRIu64,
                        trace_place(&p, t, s->step[i].slice), kernels[i],
                        s->step[1].number, kernels[1]);
    }
}

int trace_check_phases(struct trace *t, const struct trace_steps *s,
                       struct err *err)
{
    uint64_t *kernels = mem_array(s->n + 1, sizeof *kernels), any = 0;
    size_t i;

    if (!kernels)
        return err_set(err, ERR_NOMEM, "out of memory checking '%s'", t->path);
    for (i = 0; i < s->n; i++)
        check_sum(t, &s->step[i]);
    for (i = 0; i < s->n_gpu; i++) {
        const struct trace_slice *op = s->gpu[i].slice;
        const struct trace_slice *launch = trace_launch_of(s, op);
        const struct trace_step *x =
            launch ? trace_step_at(s, launch->ts) : NULL;

        if (!x)
            continue;
        kernels[x - s->step] += op->class == TRACE_KERNEL;
        any += op->class == TRACE_KERNEL;
        if (x->n_phases)
            check_phase_of(t, x, op, launch->ts);
    }
    if (any)
        check_kernels(t, s, kernels);
    mem_free(kernels);
    return 0;
}
