#include "pipeline/profile_traced.h"

#include <string.h>

#include "nn/base/mem.h"

bool pl_traced_same_op(const struct nn_call *a, const struct nn_call *b)
{
    return a == b || (a->op == b->op && a->role == b->role &&
                      a->phase == b->phase && strcmp(a->layer, b->layer) == 0);
}

static void add_op(struct pl_traced *t, const struct prof_span *s)
{
    int64_t ns = s->end - s->begin;
    struct pl_traced_op *op = t->op;

    while (op < t->op + t->n_ops && !pl_traced_same_op(op->call, s->arg))
        op++;
    if (op == t->op + t->n_ops) {
        t->n_ops++;
        op->call = s->arg;
        op->min = ns;
    }
    op->count++;
    op->total += ns;
    op->min = ns < op->min ? ns : op->min;
    op->max = ns > op->max ? ns : op->max;
}

static void add_phase(struct pl_traced *t, const struct prof_span *s)
{
    int i;

    for (i = 0; i < NN_PHASE_COUNT; i++)
        if (strcmp(s->name, nn_phase_name((enum nn_phase)i)) == 0)
            t->phase_ns[i] += s->end - s->begin;
}

static void add_span(struct pl_traced *t, const struct prof_span *s)
{
    if (s->kind == PROF_STEP) {
        t->step[t->n_steps++] = s;
        t->steps_ns += s->end - s->begin;
    } else if (s->kind == PROF_PHASE)
        add_phase(t, s);
    else if (s->kind == PROF_OP && s->arg)
        add_op(t, s);
}

int pl_traced_read(struct pl_traced *out, const struct prof *p, struct err *err)
{
    size_t i, steps = 0, ops = 0;
    int rc;

    memset(out, 0, sizeof *out);
    rc = prof_spans(p, &out->span, &out->n, err);
    if (rc != 0)
        return rc;
    out->lost = prof_lost(p);
    for (i = 0; i < out->n; i++) {
        steps += out->span[i]->kind == PROF_STEP;
        ops += out->span[i]->kind == PROF_OP;
    }
    out->step = mem_array(steps, sizeof *out->step);
    out->op = mem_array(ops, sizeof *out->op);
    if (!out->step || !out->op) {
        pl_traced_clear(out);
        return err_set(err, ERR_NOMEM, "out of memory for a profile");
    }
    for (i = 0; i < out->n; i++)
        add_span(out, out->span[i]);
    return 0;
}

void pl_traced_clear(struct pl_traced *t)
{
    mem_free(t->span);
    mem_free(t->step);
    mem_free(t->op);
    memset(t, 0, sizeof *t);
}

const struct prof_span *const *pl_traced_last(const struct pl_traced *t,
                                              size_t *n)
{
    const struct prof_span *last;
    size_t first = 0, end;

    *n = 0;
    if (t->n_steps == 0)
        return t->span;
    last = t->step[t->n_steps - 1];
    while (t->span[first] != last)
        first++;
    for (end = first; end < t->n && t->span[end]->tid == last->tid;)
        end++;
    *n = end - first;
    return t->span + first;
}

double pl_ms(int64_t ns)
{
    return (double)ns / 1e6;
}

void pl_add_duration(struct str *s, int64_t ns)
{
    double us = (double)ns / 1e3;

    if (us < 1e3)
        str_addf(s, us < 10 ? "%.2f us" : us < 100 ? "%.1f us" : "%.0f us", us);
    else
        str_addf(s, us < 1e5 ? "%.2f ms" : "%.0f ms", us / 1e3);
}

void pl_traced_ops_csv(const struct pl_traced *t, struct str *out)
{
    const struct pl_traced_op *op;

    str_add(out, "layer,op,role,phase,count,total_us,mean_us,min_us,max_us,"
                 "share\n");
    for (op = t->op; op < t->op + t->n_ops; op++) {
        pl_traced_csv_text(out, op->call->layer);
        str_addf(out, ",%s,%s,%s,%lld,%.3f,%.3f,%.3f,%.3f,%.4f\n",
                 nn_op_name(op->call->op), nn_role_name(op->call->role),
                 nn_phase_name(op->call->phase), (long long)op->count,
                 (double)op->total / 1e3,
                 (double)op->total / 1e3 / (double)op->count,
                 (double)op->min / 1e3, (double)op->max / 1e3,
                 (double)op->total / (double)t->steps_ns);
    }
}
