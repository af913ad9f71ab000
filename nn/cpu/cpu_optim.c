/* The optimizers. A parameter, its gradient and its state share a layout, so
 * each is one pass over flat memory; the zeros of the padding stay zeros. */
#include "nn/cpu/cpu_ops.h"

#include <stdatomic.h>

#include "nn/cpu/cpu_layout.h"

enum { GRAIN = 2048 };

struct optim_job {
    const struct cpu_optim_kernels *k;
    float *p, *m, *v;
    const float *g;
    struct cpu_sgd sgd;
    struct cpu_adam adam;
    _Atomic int64_t non_finite;
};

/* Floats in memory, padding included; -1: the operands differ. */
static int64_t flat_size(const struct nn_call *call)
{
    const struct nn_tensor *p = call->in[0];

    for (int i = 1; i < call->n_in; i++)
        if (call->in[i]->layout != p->layout ||
            !nn_shape_eq(&call->in[i]->shape, &p->shape))
            return -1;
    if (nn_tensor_numel(call->out[0]) != 1)
        return -1;
    return (int64_t)(nn_tensor_bytes(p) / sizeof(float));
}

static void write_flag(const struct nn_call *call, struct optim_job *j)
{
    int64_t n = atomic_load(&j->non_finite);

    *(int32_t *)cpu_data(call->out[0]) = n < INT32_MAX ? (int32_t)n : INT32_MAX;
}

static void sgd_range(void *arg, int64_t begin, int64_t end)
{
    struct optim_job *j = arg;
    int64_t n = j->k->sgd(j->p + begin, j->g + begin,
                          j->m ? j->m + begin : NULL, end - begin, &j->sgd);

    atomic_fetch_add(&j->non_finite, n);
}

CPU_OP(sgd)
{
    int64_t n = flat_size(call);
    struct optim_job j = {
        .k = cpu->f32->optim,
        .p = cpu_data(call->in[0]),
        .g = cpu_data(call->in[1]),
        .m = call->n_in > 2 ? cpu_data(call->in[2]) : NULL,
        .sgd = {.minus_lr = -cpu->scalars.lr,
                .momentum = (float)call->attrs.sgd.momentum,
                .weight_decay = (float)call->attrs.sgd.weight_decay,
                .nesterov = call->attrs.sgd.nesterov},
    };

    if (n < 0)
        return cpu_shape_error(call, err);
    cpu_parallel(cpu, n, GRAIN, 2, sgd_range, &j);
    write_flag(call, &j);
    return 0;
}

static void adam_range(void *arg, int64_t begin, int64_t end)
{
    struct optim_job *j = arg;
    int64_t n = j->k->adam(j->p + begin, j->g + begin, j->m + begin,
                           j->v + begin, end - begin, &j->adam);

    atomic_fetch_add(&j->non_finite, n);
}

static void init_adam(struct cpu_adam *a, const struct nn_call *call,
                      const struct nn_scalars *s)
{
    double beta1 = call->attrs.adam.beta1, beta2 = call->attrs.adam.beta2;

    a->beta1 = (float)beta1;
    a->one_minus_beta1 = (float)(1.0 - beta1);
    a->beta2 = (float)beta2;
    a->one_minus_beta2 = (float)(1.0 - beta2);
    a->minus_step = -s->adam_step;
    a->rsqrt_bias2 = s->adam_rsqrt_bias2;
    a->eps = (float)call->attrs.adam.eps;
    a->weight_decay = (float)call->attrs.adam.weight_decay;
    a->decoupled = call->attrs.adam.decoupled;
    a->decay = s->decay;
}

/* Without eps the update of a zero with zero state is 0 / 0, which must not
 * reach the padding: the last panel row by row, its padding left out. */
static void adam_last_panel(struct optim_job *j, const struct nn_tensor *p)
{
    int64_t out = p->shape.dim[0], in = p->shape.dim[1];
    int64_t at = out / CPU_PANEL * CPU_PANEL * in;

    for (int64_t i = 0; i < in; i++, at += CPU_PANEL)
        adam_range(j, at, at + out % CPU_PANEL);
}

CPU_OP(adam)
{
    const struct nn_tensor *p = call->in[0];
    int64_t n = flat_size(call);
    struct optim_job j = {.k = cpu->f32->optim,
                          .p = cpu_data(p),
                          .g = cpu_data(call->in[1]),
                          .m = cpu_data(call->in[2]),
                          .v = cpu_data(call->in[3])};
    bool apart;

    if (n < 0)
        return cpu_shape_error(call, err);
    init_adam(&j.adam, call, &cpu->scalars);
    apart = j.adam.eps == 0.0f &&
            cpu_is_panels(&p->shape, p->dtype, p->layout) &&
            p->shape.dim[0] % CPU_PANEL != 0;
    if (apart)
        n = p->shape.dim[0] / CPU_PANEL * CPU_PANEL * p->shape.dim[1];
    cpu_parallel(cpu, n, GRAIN, 8, adam_range, &j);
    if (apart)
        adam_last_panel(&j, p);
    write_flag(call, &j);
    return 0;
}
