#include "pipeline/trace_check.h"

#include <inttypes.h>
#include <stdio.h>

#include "nn/base/mem.h"

const char *trace_place(struct trace_place *p, const struct trace *t,
                        const struct trace_slice *s)
{
    char number[32] = "";

    if (s->class == TRACE_STEP)
        (void)snprintf(number, sizeof number, "#%" PRId64, s->link);
    (void)snprintf(p->text, sizeof p->text,
                   "event %" PRIu32 " at offset %" PRIu64 " '%.200s%s'",
                   s->index, s->offset, trace_name(t, s), number);
    return p->text;
}

static void overlap(struct trace *t, const struct trace_slice *s,
                    const struct trace_slice *with)
{
    struct trace_place a, b;

    trace_fault(&t->faults, &t->arena, RULE_NESTING,
                "%s begins in %s and ends %.3f us behind it",
                trace_place(&a, t, s), trace_place(&b, t, with),
                (double)(s->ts + s->dur - with->ts - with->dur) / 1e3);
}

/* Slices come by row, time, and what encloses first; those that enclose the
 * one at hand are on the stack. */
static int check_nesting(struct trace *t, struct err *err)
{
    const struct trace_slice **stack = NULL;
    size_t depth = 0, cap = 0, i;

    for (i = 0; i < t->n; i++) {
        const struct trace_slice *s = &t->slice[i], **grown;

        if (trace_is_flow(s))
            continue;
        t->faults.checked[RULE_NESTING]++;
        while (depth > 0 &&
               (stack[depth - 1]->track != s->track ||
                stack[depth - 1]->ts + stack[depth - 1]->dur <= s->ts))
            depth--;
        if (depth > 0 &&
            stack[depth - 1]->ts + stack[depth - 1]->dur < s->ts + s->dur) {
            overlap(t, s, stack[depth - 1]);
            continue;
        }
        if (depth == cap) {
            cap = cap ? cap * 2 : 64;
            grown = mem_grow(stack, cap, sizeof *stack);
            if (!grown) {
                mem_free(stack);
                return err_set(err, ERR_NOMEM, "out of memory checking '%s'",
                               t->path);
            }
            stack = grown;
        }
        stack[depth++] = s;
    }
    mem_free(stack);
    return 0;
}

int pl_trace_check(struct trace *t, const struct trace_schedule *schedule,
                   struct err *err)
{
    struct trace_steps s;
    int rc = trace_steps_make(&s, t, err);

    if (rc == 0)
        rc = check_nesting(t, err);
    if (rc == 0)
        rc = trace_check_flows(t, err);
    if (rc == 0)
        rc = trace_check_phases(t, &s, err);
    if (rc == 0) {
        trace_check_links(t, &s);
        trace_check_waits(t, &s);
        trace_check_steps(t, &s, schedule);
    }
    trace_steps_free(&s);
    if (rc == 0 && t->faults.failed)
        rc = err_set(err, ERR_NOMEM, "out of memory checking '%s'", t->path);
    return rc;
}

uint64_t pl_trace_broken(const struct trace *t)
{
    uint64_t n = 0;
    size_t i;

    for (i = 0; i < TRACE_RULES; i++)
        n += t->faults.broken[i];
    return n;
}
