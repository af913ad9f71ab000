#include "nn/step.h"

#include "nn/base/mem.h"
#include "nn/traced.h"

static struct nn_value *value_of(struct nn_step *s, struct nn_tensor *t)
{
    struct nn_value *v;

    if (t->st->value >= 0) {
        v = &s->value[t->st->value];
        if (v->name[0] == '\0')
            v->name = t->name;
        return v;
    }
    t->st->value = s->n_value;
    v = &s->value[s->n_value++];
    v->st = t->st;
    v->name = t->name;
    v->first_write = -1;
    v->last_use = -1;
    return v;
}

static void forget_values(const struct nn_call *c)
{
    int k;

    for (k = 0; k < c->n_in; k++)
        c->in[k]->st->value = -1;
    for (k = 0; k < c->n_out; k++)
        c->out[k]->st->value = -1;
}

/* Each storage lives from the first call that writes it, if nothing read it
 * before, to the last call that names it. */
static int find_live_ranges(struct nn_step *s, struct err *err)
{
    size_t most = 0;
    int i, k;

    for (i = 0; i < s->n_call; i++) {
        forget_values(&s->call[i]);
        most += (size_t)(s->call[i].n_in + s->call[i].n_out);
    }
    s->value = mem_array(most + 1, sizeof *s->value);
    if (!s->value)
        return err_set(err, ERR_NOMEM, "out of memory for a step");
    for (i = 0; i < s->n_call; i++) {
        const struct nn_call *c = &s->call[i];

        for (k = 0; k < c->n_in; k++)
            value_of(s, c->in[k])->last_use = i;
        for (k = 0; k < c->n_out; k++) {
            struct nn_value *v = value_of(s, c->out[k]);

            if (v->last_use < 0 && c->op != NN_OP_ADD_INTO)
                v->first_write = i;
            v->last_use = i;
        }
    }
    return 0;
}

int nn_step_new(struct nn_step **out, struct nn_tape *tape,
                enum nn_execution execution, const struct nn_step_keep *keep,
                struct err *err)
{
    struct nn_step *s = mem_zalloc(sizeof *s);
    int rc;

    *out = NULL;
    if (!s) {
        nn_tape_free(tape);
        return err_set(err, ERR_NOMEM, "out of memory for a step");
    }
    s->be = tape->be;
    s->tape = tape;
    s->call = tape->call;
    s->n_call = (int)tape->n_call;
    if (keep)
        s->keep = *keep;
    rc = find_live_ranges(s, err);
    if (rc == 0 && execution == NN_EXEC_RECORDED && s->be->ops->step_prepare) {
        rc = s->be->ops->step_prepare(s->be, s, err);
        s->prepared = rc == 0;
    }
    if (rc != 0) {
        nn_step_free(s);
        return rc;
    }
    *out = s;
    return 0;
}

void nn_step_free(struct nn_step *s)
{
    if (!s)
        return;
    if (s->prepared && s->be->ops->step_release)
        s->be->ops->step_release(s->be, s);
    nn_tape_free(s->tape);
    mem_free(s->value);
    mem_free(s);
}

int nn_step_run(struct nn_step *s, const struct nn_scalars *scalars,
                struct err *err)
{
    int rc, i;

    nn_traced_phase(s->be, nn_phase_name(NN_PHASE_H2D));
    rc = s->be->ops->set_scalars(s->be, scalars, err);
    if (rc == 0 && s->prepared) {
        rc = s->be->ops->step_run(s->be, s, err);
        nn_traced_phase_end(s->be);
        return rc;
    }
    if (rc == 0 && s->be->prof)
        return nn_traced_calls(s, err);
    for (i = 0; rc == 0 && i < s->n_call; i++)
        rc = s->be->ops->run(s->be, &s->call[i], err);
    return rc;
}
