#include "nn/traced.h"

#include "nn/base/prof.h"

int nn_traced_run(struct nn_backend *be, const struct nn_call *call,
                  const struct nn_call *arg, struct err *err)
{
    struct prof *p = be->prof;
    int64_t begin = prof_now(p);
    int rc;

    prof_phase(p, nn_phase_name(call->phase), begin);
    be->at_span = prof_id(p);
    rc = be->ops->run(be, call, err);
    prof_add_as(p, PROF_OP, nn_op_name(call->op), arg, begin, prof_now(p),
                be->at_span);
    be->at_span = 0;
    return rc;
}

int nn_traced_calls(const struct nn_step *s, struct err *err)
{
    int i, rc = 0;

    for (i = 0; rc == 0 && i < s->n_call; i++)
        rc = nn_traced_run(s->be, &s->call[i], &s->call[i], err);
    nn_traced_phase_end(s->be);
    return rc;
}

int nn_traced_first(struct nn_backend *be, const struct nn_call *call,
                    struct err *err)
{
    if (!prof_active(be->prof) || !be->ops->supports(be, call))
        return nn_backend_run(be, call, err);
    return nn_traced_run(be, call, prof_keep(be->prof, call, sizeof *call),
                         err);
}

const char nn_traced_prepare[] = "prepare";
const char nn_traced_replay[] = "replay";
const char nn_traced_read[] = "read loss";

void nn_traced_phase(struct nn_backend *be, const char *name)
{
    if (be->prof)
        prof_phase(be->prof, name, prof_now(be->prof));
}

void nn_traced_phase_end(struct nn_backend *be)
{
    nn_traced_phase(be, NULL);
}
