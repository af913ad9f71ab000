/* The layers of a model put on a tape. */
#include <string.h>

#include "nn/custom.h"
#include "nn/model.h"
#include "nn/norm.h"
#include "nn/tape.h"

/* (B, ...) -> (B, sample...), x itself where its shape is already so. */
static int shaped(struct nn_tape *tape, struct nn_tensor *x,
                  const struct nn_shape *sample, struct nn_tensor **out,
                  struct err *err)
{
    struct nn_shape s = {.ndim = sample->ndim + 1, .dim = {x->shape.dim[0]}};

    *out = x;
    if (s.ndim > NN_MAX_DIMS)
        return err_set(err, ERR_SHAPE, "samples of %d dimensions are too many",
                       sample->ndim);
    memcpy(s.dim + 1, sample->dim, (size_t)sample->ndim * sizeof *s.dim);
    if (nn_shape_eq(&x->shape, &s))
        return 0;
    return nn_tape_reshape(tape, x, &s, out, err);
}

/* (B, sample...) -> (B, numel) */
static int flattened(struct nn_tape *tape, struct nn_tensor *x,
                     struct nn_tensor **out, struct err *err)
{
    int64_t rows = x->shape.dim[0];
    struct nn_shape flat = nn_shape1(rows ? nn_tensor_numel(x) / rows : 0);

    return shaped(tape, x, &flat, out, err);
}

/* The activation that layer i + 1 is, if its linear layer i may take it in. */
static enum nn_act fused_act(const struct nn_model *m, int i,
                             enum nn_fusion fusion)
{
    if (fusion == NN_FUSION_NONE || i + 1 >= m->n_layers)
        return NN_ACT_NONE;
    switch (m->layer[i + 1].type) {
    case NN_LAYER_RELU:
        return NN_ACT_RELU;
    case NN_LAYER_TANH:
        return NN_ACT_TANH;
    case NN_LAYER_SIGMOID:
        return NN_ACT_SIGMOID;
    default:
        return NN_ACT_NONE;
    }
}

static int forward_linear(struct nn_model *m, struct nn_tape *tape, int i,
                          enum nn_act act, struct nn_tensor **x,
                          struct err *err)
{
    const struct nn_layer *l = &m->layer[i];
    union nn_attrs attrs = {.linear = {act}};
    struct nn_tensor *in[3];
    int rc = flattened(tape, *x, &in[0], err);

    if (rc != 0)
        return rc;
    in[1] = m->params.t[l->weight];
    in[2] = l->bias >= 0 ? m->params.t[l->bias] : NULL;
    return nn_tape_apply(tape, NN_OP_LINEAR, in, in[2] ? 3 : 2, &attrs, x, err);
}

static int forward_conv2d(struct nn_model *m, struct nn_tape *tape,
                          const struct nn_layer *l, struct nn_tensor **x,
                          struct err *err)
{
    union nn_attrs attrs = {.conv = {l->stride, l->padding}};
    struct nn_tensor *in[3];
    int rc = shaped(tape, *x, &l->in, &in[0], err);

    if (rc != 0)
        return rc;
    in[1] = m->params.t[l->weight];
    in[2] = l->bias >= 0 ? m->params.t[l->bias] : NULL;
    return nn_tape_apply(tape, NN_OP_CONV2D, in, in[2] ? 3 : 2, &attrs, x, err);
}

static int forward_pool(struct nn_tape *tape, const struct nn_layer *l,
                        struct nn_tensor **x, struct err *err)
{
    union nn_attrs attrs = {.pool = {l->kernel, l->stride, l->padding}};
    int rc = shaped(tape, *x, &l->in, x, err);

    if (rc != 0)
        return rc;
    return nn_tape_apply(tape,
                         l->type == NN_LAYER_MAX_POOL2D ? NN_OP_MAX_POOL2D
                                                        : NN_OP_AVG_POOL2D,
                         x, 1, &attrs, x, err);
}

static int forward_batch_norm(struct nn_model *m, struct nn_tape *tape,
                              const struct nn_layer *l, bool train,
                              struct nn_tensor **x, struct err *err)
{
    struct nn_tensor *const *buffer = &m->buffers.t[l->running];
    struct nn_running running = {buffer[0], buffer[1], buffer[2]};
    struct nn_batch_norm_opts opts = {l->eps, l->momentum, train, &running};

    return nn_batch_norm(tape, *x, m->params.t[l->weight], m->params.t[l->bias],
                         &opts, x, err);
}

static int forward_layer_norm(struct nn_model *m, struct nn_tape *tape,
                              const struct nn_layer *l, struct nn_tensor **x,
                              struct err *err)
{
    union nn_attrs attrs = {.norm = {.eps = l->eps}};
    struct nn_tensor *in[3] = {*x, m->params.t[l->weight],
                               m->params.t[l->bias]};

    return nn_tape_apply(tape, NN_OP_LAYER_NORM, in, 3, &attrs, x, err);
}

static int forward_dropout(const struct nn_layer *l, struct nn_tape *tape,
                           int i, const struct nn_forward_opts *opts,
                           struct nn_tensor **x, struct err *err)
{
    union nn_attrs attrs = {.dropout = {.p = l->p,
                                        .seed = opts->dropout_seed,
                                        .layer = (uint32_t)i,
                                        .first = opts->first}};

    if (!opts->train || l->p == 0.0)
        return 0;
    return nn_tape_apply(tape, NN_OP_DROPOUT, x, 1, &attrs, x, err);
}

/* x, then the parameters, into the operator. */
static int forward_own(struct nn_model *m, struct nn_tape *tape,
                       const struct nn_layer *l, struct nn_tensor **x,
                       struct err *err)
{
    const struct nn_own_layer *own = l->own;
    struct nn_tensor *in[NN_MAX_IN] = {*x};
    struct nn_shape want = {l->out.ndim + 1, {(*x)->shape.dim[0]}};
    char got_text[96], want_text[96];
    int rc = own->flat ? flattened(tape, *x, &in[0], err) : 0;
    int i;

    for (i = 0; i < own->n_param; i++)
        in[i + 1] = m->params.t[l->weight + i];
    if (rc == 0)
        rc = nn_tape_custom(tape, own->custom, in, x, err);
    if (rc != 0)
        return rc;
    memcpy(want.dim + 1, l->out.dim, (size_t)l->out.ndim * sizeof *want.dim);
    if (nn_shape_eq(&(*x)->shape, &want) && (*x)->dtype == NN_F32)
        return 0;
    return err_set(err, ERR_SHAPE, "%s gives %s %s where float32 %s is due",
                   own->custom->name, nn_dtype_name((*x)->dtype),
                   nn_shape_text(&(*x)->shape, got_text, sizeof got_text),
                   nn_shape_text(&want, want_text, sizeof want_text));
}

/* Layer *i, and what it takes in, on *x. */
static int forward_layer(struct nn_model *m, struct nn_tape *tape, int *i,
                         const struct nn_forward_opts *opts,
                         struct nn_tensor **x, struct err *err)
{
    static const enum nn_op_id act_op[NN_LAYER_COUNT] = {
        [NN_LAYER_RELU] = NN_OP_RELU,
        [NN_LAYER_TANH] = NN_OP_TANH,
        [NN_LAYER_SIGMOID] = NN_OP_SIGMOID,
        [NN_LAYER_GELU] = NN_OP_GELU,
    };
    const struct nn_layer *l = &m->layer[*i];
    enum nn_act act;
    int at = *i;

    switch (l->type) {
    case NN_LAYER_LINEAR:
        act = fused_act(m, at, opts->fusion);
        *i += act != NN_ACT_NONE;
        return forward_linear(m, tape, at, act, x, err);
    case NN_LAYER_FLATTEN:
        return flattened(tape, *x, x, err);
    case NN_LAYER_DROPOUT:
        return forward_dropout(l, tape, at, opts, x, err);
    case NN_LAYER_CONV2D:
        return forward_conv2d(m, tape, l, x, err);
    case NN_LAYER_MAX_POOL2D:
    case NN_LAYER_AVG_POOL2D:
        return forward_pool(tape, l, x, err);
    case NN_LAYER_BATCH_NORM:
        return forward_batch_norm(m, tape, l, opts->train, x, err);
    case NN_LAYER_LAYER_NORM:
        return forward_layer_norm(m, tape, l, x, err);
    case NN_LAYER_SQUEEZE:
        return shaped(tape, *x, &l->out, x, err);
    case NN_LAYER_OWN:
        return forward_own(m, tape, l, x, err);
    default:
        return nn_tape_apply(tape, act_op[l->type], x, 1, NULL, x, err);
    }
}

int nn_model_forward(struct nn_model *m, struct nn_tape *tape,
                     struct nn_tensor *x, const struct nn_forward_opts *opts,
                     struct nn_tensor **out, struct err *err)
{
    int rc = 0, i;

    tape->role = NN_ROLE_FORWARD;
    for (i = 0; rc == 0 && i < m->n_layers; i++) {
        tape->layer = m->layer[i].name;
        rc = forward_layer(m, tape, &i, opts, &x, err);
    }
    tape->layer = "";
    tape->role = NN_ROLE_NONE;
    *out = rc == 0 ? x : NULL;
    return rc;
}
