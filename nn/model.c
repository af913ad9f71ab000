#include "nn/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nn/base/mem.h"
#include "nn/tape.h"

static const char *const type_names[NN_LAYER_COUNT] = {
    [NN_LAYER_LINEAR] = "linear",   [NN_LAYER_RELU] = "relu",
    [NN_LAYER_TANH] = "tanh",       [NN_LAYER_SIGMOID] = "sigmoid",
    [NN_LAYER_GELU] = "gelu",       [NN_LAYER_DROPOUT] = "dropout",
    [NN_LAYER_FLATTEN] = "flatten",
};

const char *nn_layer_type_name(enum nn_layer_type t)
{
    return type_names[t];
}

/* Shapes and parameter counts of one layer behind *sample, which it moves on
 * to the layer's output. */
static int layer_init(struct nn_layer *l, const struct nn_layer_spec *spec,
                      size_t index, struct nn_shape *sample, struct err *err)
{
    int64_t in = nn_shape_numel(sample);

    l->type = spec->type;
    l->weight = l->bias = -1;
    l->in = *sample;
    if (spec->name && *spec->name)
        (void)snprintf(l->name, sizeof l->name, "%s", spec->name);
    else
        (void)snprintf(l->name, sizeof l->name, "%zu", index);
    if (spec->type == NN_LAYER_LINEAR) {
        if (spec->out < 1 || in < 1 || spec->out > INT32_MAX / in)
            return err_set(err, ERR_CONFIG,
                           "a linear layer from %lld to %lld features cannot "
                           "be built",
                           (long long)in, (long long)spec->out);
        l->has_bias = spec->bias;
        l->n_params = in * spec->out + (spec->bias ? spec->out : 0);
        *sample = nn_shape1(spec->out);
    } else if (spec->type == NN_LAYER_FLATTEN) {
        *sample = nn_shape1(in);
    } else if (spec->type == NN_LAYER_DROPOUT) {
        if (!(spec->p >= 0.0 && spec->p < 1.0))
            return err_set(err, ERR_CONFIG,
                           "dropout p must be at least 0 and "
                           "below 1");
        l->p = spec->p;
    }
    l->out = *sample;
    return 0;
}

static int init_layers(struct nn_model *m, const struct nn_layer_spec *spec,
                       size_t n, size_t *bad, struct err *err)
{
    struct nn_shape sample = m->in;
    size_t i, j;
    int rc;

    for (i = 0; i < n; i++) {
        if (bad)
            *bad = i;
        rc = layer_init(&m->layer[i], &spec[i], i, &sample, err);
        if (rc != 0)
            return rc;
        for (j = 0; j < i; j++)
            if (strcmp(m->layer[i].name, m->layer[j].name) == 0)
                return err_set(err, ERR_CONFIG, "two layers are named '%s'",
                               m->layer[i].name);
    }
    m->out = sample;
    return 0;
}

/* A parameter to be: its name and how it lies. */
struct param_plan {
    char *name;
    struct nn_shape shape;
    enum nn_layout layout;
};

static size_t plan_layer(struct nn_layer *l, struct param_plan *p, size_t n)
{
    int64_t out = l->out.dim[0];

    if (l->type != NN_LAYER_LINEAR)
        return n;
    l->weight = (int)n;
    p[n].shape = nn_shape2(out, nn_shape_numel(&l->in));
    p[n++].layout = NN_WEIGHT;
    if (!l->has_bias)
        return n;
    l->bias = (int)n;
    p[n].shape = nn_shape1(out);
    p[n++].layout = NN_ROWS;
    return n;
}

static size_t aligned(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

void nn_params_free(struct nn_params *p)
{
    int i;

    for (i = 0; i < p->n && p->t; i++)
        nn_tensor_free(p->t[i]);
    mem_free(p->t);
    nn_tensor_free(p->flat);
    memset(p, 0, sizeof *p);
}

/* One storage for all of plan, with a view for each. */
static int params_new(struct nn_params *out, struct nn_backend *be,
                      const struct param_plan *plan, int n,
                      enum nn_category cat, struct err *err)
{
    struct nn_storage *st;
    struct nn_shape flat;
    size_t size = 0, at = 0;
    int rc, i;

    memset(out, 0, sizeof *out);
    for (i = 0; i < n; i++)
        size += aligned(
            be->ops->layout_bytes(be, &plan[i].shape, NN_F32, plan[i].layout));
    out->t = mem_array((size_t)n + 1, sizeof(struct nn_tensor *));
    if (!out->t)
        return err_set(err, ERR_NOMEM, "out of memory for a model");
    rc = nn_storage_new(&st, be, size, cat, err);
    if (rc != 0) {
        nn_params_free(out);
        return rc;
    }
    flat = nn_shape1((int64_t)(size / 4));
    rc = nn_tensor_view(&out->flat, st, 0, &flat, NN_F32, NN_ROWS, err);
    for (i = 0; rc == 0 && i < n; i++) {
        rc = nn_tensor_view(&out->t[i], st, at, &plan[i].shape, NN_F32,
                            plan[i].layout, err);
        if (rc != 0)
            break;
        out->n = i + 1;
        out->t[i]->name = plan[i].name;
        at += aligned(nn_tensor_bytes(out->t[i]));
    }
    nn_storage_unref(st);
    if (rc != 0)
        nn_params_free(out);
    return rc;
}

int nn_params_like(struct nn_params *out, const struct nn_params *of,
                   enum nn_category cat, struct err *err)
{
    struct param_plan *plan = mem_array((size_t)of->n + 1, sizeof *plan);
    int rc, i;

    memset(out, 0, sizeof *out);
    if (!plan)
        return err_set(err, ERR_NOMEM, "out of memory for a model");
    for (i = 0; i < of->n; i++) {
        plan[i].shape = of->t[i]->shape;
        plan[i].layout = of->t[i]->layout;
        plan[i].name = (char *)of->t[i]->name;
    }
    rc = params_new(out, of->flat->st->be, plan, of->n, cat, err);
    mem_free(plan);
    return rc;
}

/* "0.weight", "0.bias": the names of torch.nn.Sequential's state_dict. */
static int name_params(struct nn_model *m, struct param_plan *plan,
                       struct err *err)
{
    char text[80];
    int i;

    for (i = 0; i < m->n_layers; i++) {
        const struct nn_layer *l = &m->layer[i];

        if (l->weight >= 0) {
            (void)snprintf(text, sizeof text, "%s.weight", l->name);
            plan[l->weight].name = m->names[l->weight] = mem_strdup(text);
            if (!m->names[l->weight])
                return err_set(err, ERR_NOMEM, "out of memory for a model");
        }
        if (l->bias >= 0) {
            (void)snprintf(text, sizeof text, "%s.bias", l->name);
            plan[l->bias].name = m->names[l->bias] = mem_strdup(text);
            if (!m->names[l->bias])
                return err_set(err, ERR_NOMEM, "out of memory for a model");
        }
    }
    return 0;
}

static int build_params(struct nn_model *m, struct err *err)
{
    struct param_plan *plan;
    size_t n = 0;
    int rc, i;

    plan = mem_array(2 * (size_t)m->n_layers + 1, sizeof *plan);
    m->names = mem_array(2 * (size_t)m->n_layers + 1, sizeof *m->names);
    if (!plan || !m->names) {
        mem_free(plan);
        return err_set(err, ERR_NOMEM, "out of memory for a model");
    }
    for (i = 0; i < m->n_layers; i++)
        n = plan_layer(&m->layer[i], plan, n);
    rc = name_params(m, plan, err);
    if (rc == 0)
        rc = params_new(&m->params, m->be, plan, (int)n, NN_CAT_PARAMETER, err);
    if (rc == 0)
        rc = params_new(&m->grads, m->be, plan, (int)n, NN_CAT_GRADIENT, err);
    mem_free(plan);
    for (i = 0; rc == 0 && i < m->params.n; i++) {
        m->params.t[i]->requires_grad = true;
        m->params.t[i]->grad = m->grads.t[i];
    }
    return rc;
}

/* Uniform in +-bound, drawn row by row. */
static int init_uniform(struct nn_tensor *t, double bound, struct rng_mt *gen,
                        struct err *err)
{
    int64_t n = nn_tensor_numel(t), i;
    float *v = mem_array((size_t)n, sizeof *v);
    int rc;

    if (!v)
        return err_set(err, ERR_NOMEM, "out of memory initialising a model");
    for (i = 0; i < n; i++)
        v[i] = rng_mt_uniform(gen, (float)-bound, (float)bound);
    rc = nn_tensor_set(t, v, err);
    mem_free(v);
    return rc;
}

/* torch.nn.Linear.reset_parameters: kaiming_uniform_ with a = sqrt(5) for the
 * weight, then the bias in +-1/sqrt(fan_in). */
static int init_params(struct nn_model *m, struct rng_mt *gen, struct err *err)
{
    int rc = 0, i;

    for (i = 0; rc == 0 && i < m->n_layers; i++) {
        const struct nn_layer *l = &m->layer[i];
        double root = sqrt((double)nn_shape_numel(&l->in));

        if (l->weight >= 0)
            rc = init_uniform(m->params.t[l->weight],
                              sqrt(3.0) * (sqrt(2.0 / 6.0) / root), gen, err);
        if (rc == 0 && l->bias >= 0)
            rc = init_uniform(m->params.t[l->bias], 1.0 / root, gen, err);
    }
    return rc;
}

int nn_model_new(struct nn_model **out, struct nn_backend *be,
                 const struct nn_layer_spec *spec, size_t n,
                 const struct nn_shape *sample, struct rng_mt *gen, size_t *bad,
                 struct err *err)
{
    struct nn_model *m = mem_zalloc(sizeof *m);
    int rc;

    *out = NULL;
    if (bad)
        *bad = 0;
    if (!m)
        return err_set(err, ERR_NOMEM, "out of memory for a model");
    m->be = be;
    m->in = *sample;
    m->n_layers = (int)n;
    m->layer = mem_array(n + 1, sizeof *m->layer);
    rc = m->layer ? init_layers(m, spec, n, bad, err)
                  : err_set(err, ERR_NOMEM, "out of memory for a model");
    if (rc == 0)
        rc = build_params(m, err);
    if (rc == 0 && gen)
        rc = init_params(m, gen, err);
    if (rc != 0) {
        nn_model_free(m);
        return rc;
    }
    *out = m;
    return 0;
}

void nn_model_free(struct nn_model *m)
{
    int i;

    if (!m)
        return;
    nn_params_free(&m->params);
    nn_params_free(&m->grads);
    for (i = 0; m->names && i < 2 * m->n_layers; i++)
        mem_free(m->names[i]);
    mem_free(m->names);
    mem_free(m->layer);
    mem_free(m);
}

int64_t nn_model_count(const struct nn_model *m)
{
    int64_t n = 0;
    int i;

    for (i = 0; i < m->params.n; i++)
        n += nn_tensor_numel(m->params.t[i]);
    return n;
}

/* (B, sample...) -> (B, numel), a view where the shape is already so. */
static int flattened(struct nn_tape *tape, struct nn_tensor *x,
                     struct nn_tensor **out, struct err *err)
{
    struct nn_shape flat;
    int64_t rows = x->shape.dim[0];

    *out = x;
    if (x->shape.ndim == 2)
        return 0;
    flat = nn_shape2(rows, rows ? nn_tensor_numel(x) / rows : 0);
    return nn_tape_reshape(tape, x, &flat, out, err);
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

int nn_model_forward(struct nn_model *m, struct nn_tape *tape,
                     struct nn_tensor *x, const struct nn_forward_opts *opts,
                     struct nn_tensor **out, struct err *err)
{
    static const enum nn_op_id act_op[NN_LAYER_COUNT] = {
        [NN_LAYER_RELU] = NN_OP_RELU,
        [NN_LAYER_TANH] = NN_OP_TANH,
        [NN_LAYER_SIGMOID] = NN_OP_SIGMOID,
        [NN_LAYER_GELU] = NN_OP_GELU,
    };
    int rc = 0, i;

    tape->role = NN_ROLE_FORWARD;
    for (i = 0; rc == 0 && i < m->n_layers; i++) {
        struct nn_layer *l = &m->layer[i];
        enum nn_act act;

        tape->layer = l->name;
        switch (l->type) {
        case NN_LAYER_LINEAR:
            act = fused_act(m, i, opts->fusion);
            rc = forward_linear(m, tape, i, act, &x, err);
            i += act != NN_ACT_NONE;
            break;
        case NN_LAYER_FLATTEN:
            rc = flattened(tape, x, &x, err);
            break;
        case NN_LAYER_DROPOUT:
            rc = forward_dropout(l, tape, i, opts, &x, err);
            break;
        default:
            rc = nn_tape_apply(tape, act_op[l->type], &x, 1, NULL, &x, err);
        }
    }
    tape->layer = "";
    tape->role = NN_ROLE_NONE;
    *out = rc == 0 ? x : NULL;
    return rc;
}
