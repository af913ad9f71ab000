#include "nn/norm.h"

/* mean and var of x over all but its second dimension */
static int statistics(struct nn_tape *tape, struct nn_tensor *x,
                      struct nn_tensor **mean, struct nn_tensor **var,
                      struct err *err)
{
    struct nn_call c = {
        .op = NN_OP_BATCH_STATS, .n_in = 1, .n_out = 2, .in = {x}};
    struct nn_shape channels = nn_shape1(x->shape.dim[1]);
    int rc, i;

    for (i = 0; i < 2; i++) {
        rc = nn_tape_tensor(tape, &channels, x->dtype, NN_CAT_ACTIVATION,
                            &c.out[i], err);
        if (rc != 0)
            return rc;
    }
    *mean = c.out[0];
    *var = c.out[1];
    return nn_tape_call(tape, &c, err);
}

static int update(struct nn_tape *tape, const struct nn_running *r,
                  struct nn_tensor *mean, struct nn_tensor *var, int64_t n,
                  double momentum, struct err *err)
{
    struct nn_call c = {.op = NN_OP_BATCH_NORM_UPDATE,
                        .n_in = 2,
                        .n_out = 3,
                        .in = {mean, var},
                        .out = {r->mean, r->var, r->batches},
                        .attrs = {.running = {momentum, n}}};

    return nn_tape_call(tape, &c, err);
}

int nn_batch_norm(struct nn_tape *tape, struct nn_tensor *x,
                  struct nn_tensor *w, struct nn_tensor *b,
                  const struct nn_batch_norm_opts *opts, struct nn_tensor **out,
                  struct err *err)
{
    const struct nn_running *running = opts->running;
    union nn_attrs attrs = {.norm = {opts->eps, opts->train}};
    struct nn_tensor *in[5] = {x, w, b, NULL, NULL};
    int64_t channels;
    int rc;

    *out = NULL;
    if (x->shape.ndim < 2)
        return err_set(err, ERR_SHAPE,
                       "batch_norm takes x (B, C, ...), not %d dimensions",
                       x->shape.ndim);
    channels = x->shape.dim[1];
    if (!opts->train && !running)
        return err_set(err, ERR_SHAPE,
                       "batch_norm has no running statistics to evaluate by");
    if (opts->train) {
        rc = statistics(tape, x, &in[3], &in[4], err);
        if (rc == 0 && running)
            rc = update(tape, running, in[3], in[4],
                        nn_tensor_numel(x) / (channels ? channels : 1),
                        opts->momentum, err);
        if (rc != 0)
            return rc;
    } else {
        in[3] = running->mean;
        in[4] = running->var;
    }
    return nn_tape_apply(tape, NN_OP_BATCH_NORM, in, 5, &attrs, out, err);
}
