#include "nn/optim.h"

#include <math.h>

#include "nn/base/mem.h"

int nn_optim_state_blocks(const struct nn_optim_spec *spec)
{
    if (spec->type == NN_OPTIM_SGD)
        return spec->momentum != 0.0 ? 1 : 0;
    return 2;
}

const char *nn_optim_state_name(const struct nn_optim_spec *spec, int block)
{
    if (spec->type == NN_OPTIM_SGD)
        return "momentum_buffer";
    return block == 0 ? "exp_avg" : "exp_avg_sq";
}

int nn_optim_new(struct nn_optim **out, struct nn_model *model,
                 const struct nn_optim_spec *spec, struct err *err)
{
    struct nn_optim *o = mem_zalloc(sizeof *o);
    struct nn_shape one = nn_shape1(1);
    int rc, i;

    *out = NULL;
    if (!o)
        return err_set(err, ERR_NOMEM, "out of memory for an optimizer");
    o->spec = *spec;
    o->model = model;
    o->beta1_power = o->beta2_power = 1.0;
    rc = nn_tensor_new(&o->flag, model->be, &one, NN_I32, NN_ROWS,
                       NN_CAT_TEMPORARY, err);
    for (i = 0; rc == 0 && i < nn_optim_state_blocks(spec); i++) {
        rc =
            nn_params_like(&o->state[i], &model->params, NN_CAT_OPTIMIZER, err);
        if (rc == 0)
            o->n_state = i + 1;
    }
    if (rc != 0) {
        nn_optim_free(o);
        return rc;
    }
    *out = o;
    return 0;
}

void nn_optim_free(struct nn_optim *o)
{
    int i;

    if (!o)
        return;
    for (i = 0; i < o->n_state; i++)
        nn_params_free(&o->state[i]);
    nn_tensor_free(o->flag);
    mem_free(o);
}

/* Adam as in Kingma & Ba 2015 with torch's placing of eps: bias corrections
 * in double, handed to the kernel as two float32 factors. */
void nn_optim_advance(struct nn_optim *o, double lr, struct nn_scalars *s)
{
    o->steps++;
    s->lr = (float)lr;
    s->decay = (float)(1.0 - lr * o->spec.weight_decay);
    if (o->spec.type == NN_OPTIM_SGD)
        return;
    o->beta1_power *= o->spec.beta1;
    o->beta2_power *= o->spec.beta2;
    s->adam_step = (float)(lr / (1.0 - o->beta1_power));
    s->adam_rsqrt_bias2 = (float)(1.0 / sqrt(1.0 - o->beta2_power));
}

int nn_optim_record(struct nn_optim *o, struct nn_tape *tape, struct err *err)
{
    struct nn_call c = {.n_out = 1, .role = NN_ROLE_UPDATE, .layer = ""};
    int rc, i;

    c.in[0] = o->model->params.flat;
    c.in[1] = o->model->grads.flat;
    for (i = 0; i < o->n_state; i++)
        c.in[2 + i] = o->state[i].flat;
    c.n_in = 2 + o->n_state;
    c.out[0] = o->flag;
    if (o->spec.type == NN_OPTIM_SGD) {
        c.op = NN_OP_SGD;
        c.attrs.sgd.momentum = o->spec.momentum;
        c.attrs.sgd.weight_decay = o->spec.weight_decay;
        c.attrs.sgd.nesterov = o->spec.nesterov;
    } else {
        c.op = NN_OP_ADAM;
        c.attrs.adam.beta1 = o->spec.beta1;
        c.attrs.adam.beta2 = o->spec.beta2;
        c.attrs.adam.eps = o->spec.eps;
        c.attrs.adam.weight_decay = o->spec.weight_decay;
        c.attrs.adam.decoupled = o->spec.type == NN_OPTIM_ADAMW;
    }
    rc = nn_tape_call(tape, &c, err);
    /* What changed in place are the inputs too: parameters and state. */
    for (i = 0; rc == 0 && i < c.n_in; i++)
        if (i != 1)
            c.in[i]->st->version++;
    return rc;
}
