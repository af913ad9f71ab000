#include "nn/layer.h"

#include <math.h>
#include <stdio.h>

#include "nn/base/mem.h"
#include "nn/custom.h"

static const char *const type_names[NN_LAYER_COUNT] = {
    [NN_LAYER_LINEAR] = "linear",
    [NN_LAYER_RELU] = "relu",
    [NN_LAYER_TANH] = "tanh",
    [NN_LAYER_SIGMOID] = "sigmoid",
    [NN_LAYER_GELU] = "gelu",
    [NN_LAYER_DROPOUT] = "dropout",
    [NN_LAYER_FLATTEN] = "flatten",
    [NN_LAYER_CONV2D] = "conv2d",
    [NN_LAYER_MAX_POOL2D] = "max_pool2d",
    [NN_LAYER_AVG_POOL2D] = "avg_pool2d",
    [NN_LAYER_BATCH_NORM] = "batch_norm",
    [NN_LAYER_LAYER_NORM] = "layer_norm",
    [NN_LAYER_SQUEEZE] = "squeeze",
    [NN_LAYER_OWN] = "own",
};

const char *nn_layer_type_name(enum nn_layer_type t)
{
    return type_names[t];
}

const char *nn_layer_kind(const struct nn_layer *l)
{
    return l->own ? l->own->custom->name : type_names[l->type];
}

static int linear_init(struct nn_layer *l, const struct nn_layer_spec *spec,
                       struct err *err)
{
    int64_t in = nn_shape_numel(&l->in);

    if (spec->out < 1 || in < 1 || spec->out > INT32_MAX / in)
        return err_set(err, ERR_CONFIG,
                       "a linear layer from %lld to %lld features cannot be "
                       "built",
                       (long long)in, (long long)spec->out);
    l->has_bias = spec->bias;
    l->n_params = in * spec->out + (spec->bias ? spec->out : 0);
    l->out = nn_shape1(spec->out);
    return 0;
}

static int dropout_init(struct nn_layer *l, const struct nn_layer_spec *spec,
                        struct err *err)
{
    if (!(spec->p >= 0.0 && spec->p < 1.0))
        return err_set(err, ERR_CONFIG,
                       "dropout p must be at least 0 and below 1");
    l->p = spec->p;
    return 0;
}

/* Kernel, stride, padding, and a sample of (H, W) as (1, H, W). */
static int window_init(struct nn_layer *l, const struct nn_layer_spec *spec,
                       int64_t stride, struct err *err)
{
    int64_t most = 1 << 15, *size;
    char text[96];

    if (l->in.ndim == 2)
        l->in = (struct nn_shape){3, {1, l->in.dim[0], l->in.dim[1]}};
    if (l->in.ndim != 3)
        return err_set(err, ERR_CONFIG,
                       "a %s layer takes samples of (channels, height, "
                       "width), not %s",
                       type_names[l->type],
                       nn_shape_text(&l->in, text, sizeof text));
    l->kernel = spec->kernel;
    l->stride = spec->stride ? spec->stride : stride;
    l->padding = spec->padding;
    if (l->kernel < 1 || l->kernel > most || l->stride < 1 ||
        l->stride > most || l->padding < 0 || l->padding > most)
        return err_set(err, ERR_CONFIG,
                       "a %s layer cannot have kernel %lld, stride %lld and "
                       "padding %lld",
                       type_names[l->type], (long long)l->kernel,
                       (long long)l->stride, (long long)l->padding);
    l->out = l->in;
    for (size = &l->out.dim[1]; size <= &l->out.dim[2]; size++) {
        int64_t room = *size + 2 * l->padding - l->kernel;

        if (room < 0)
            return err_set(err, ERR_CONFIG,
                           "a kernel of %lld does not fit into %s with "
                           "padding %lld",
                           (long long)l->kernel,
                           nn_shape_text(&l->in, text, sizeof text),
                           (long long)l->padding);
        *size = room / l->stride + 1;
    }
    return 0;
}

static int conv2d_init(struct nn_layer *l, const struct nn_layer_spec *spec,
                       struct err *err)
{
    int rc = window_init(l, spec, 1, err);
    int64_t terms;

    if (rc != 0)
        return rc;
    terms = l->in.dim[0] * l->kernel * l->kernel;
    if (spec->out < 1 || spec->out > INT32_MAX / terms)
        return err_set(err, ERR_CONFIG,
                       "a conv2d layer from %lld to %lld channels cannot be "
                       "built",
                       (long long)l->in.dim[0], (long long)spec->out);
    l->out.dim[0] = spec->out;
    l->has_bias = spec->bias;
    l->n_params = terms * spec->out + (spec->bias ? spec->out : 0);
    return 0;
}

static int pool_init(struct nn_layer *l, const struct nn_layer_spec *spec,
                     struct err *err)
{
    int rc = window_init(l, spec, spec->kernel, err);

    if (rc == 0 && l->padding > l->kernel / 2)
        rc = err_set(err, ERR_CONFIG,
                     "padding %lld of a %s layer is more than half its kernel "
                     "of %lld",
                     (long long)l->padding, type_names[l->type],
                     (long long)l->kernel);
    return rc;
}

static int norm_init(struct nn_layer *l, const struct nn_layer_spec *spec,
                     struct err *err)
{
    if (!(spec->eps > 0.0) || !(spec->momentum >= 0.0 && spec->momentum <= 1.0))
        return err_set(err, ERR_CONFIG,
                       "eps %g must be above 0, and momentum %g within 0 to 1",
                       spec->eps, spec->momentum);
    if (l->in.ndim < 1 || nn_shape_numel(&l->in) < 1)
        return err_set(err, ERR_CONFIG, "a %s layer needs samples of numbers",
                       type_names[l->type]);
    l->has_bias = true;
    l->eps = spec->eps;
    l->momentum = spec->momentum;
    l->n_params = 2 * (l->type == NN_LAYER_BATCH_NORM ? l->in.dim[0]
                                                      : nn_shape_numel(&l->in));
    return 0;
}

static int squeeze_init(struct nn_layer *l, const struct nn_layer_spec *spec,
                        struct err *err)
{
    char text[96];
    int i;

    (void)spec;
    l->out = nn_shape0();
    for (i = 0; i < l->in.ndim; i++)
        if (l->in.dim[i] != 1)
            l->out.dim[l->out.ndim++] = l->in.dim[i];
    if (l->out.ndim == l->in.ndim)
        return err_set(err, ERR_CONFIG,
                       "a squeeze layer takes samples with a dimension of 1, "
                       "not %s",
                       nn_shape_text(&l->in, text, sizeof text));
    return 0;
}

int nn_layer_init(struct nn_layer *l, const struct nn_layer_spec *spec,
                  size_t index, struct nn_shape *sample, struct err *err)
{
    static int (*const init[NN_LAYER_COUNT])(struct nn_layer * l,
                                             const struct nn_layer_spec *spec,
                                             struct err *err) = {
        [NN_LAYER_LINEAR] = linear_init,    [NN_LAYER_DROPOUT] = dropout_init,
        [NN_LAYER_CONV2D] = conv2d_init,    [NN_LAYER_MAX_POOL2D] = pool_init,
        [NN_LAYER_AVG_POOL2D] = pool_init,  [NN_LAYER_BATCH_NORM] = norm_init,
        [NN_LAYER_LAYER_NORM] = norm_init,  [NN_LAYER_SQUEEZE] = squeeze_init,
        [NN_LAYER_OWN] = nn_layer_own_init,
    };
    int rc = 0;

    l->type = spec->type;
    l->weight = l->bias = l->running = -1;
    l->in = l->out = *sample;
    if (spec->type == NN_LAYER_FLATTEN)
        l->out = nn_shape1(nn_shape_numel(sample));
    if (spec->name && *spec->name)
        (void)snprintf(l->name, sizeof l->name, "%s", spec->name);
    else
        (void)snprintf(l->name, sizeof l->name, "%zu", index);
    if (init[spec->type])
        rc = init[spec->type](l, spec, err);
    *sample = l->out;
    return rc;
}

int nn_layer_plan_add(struct nn_plan *p, const struct nn_layer *l,
                      const char *what, const struct nn_shape *shape,
                      enum nn_dtype dtype, struct err *err)
{
    struct nn_plan_item *item = &p->item[p->n];
    char text[160];

    (void)snprintf(text, sizeof text, "%s.%s", l->name, what);
    item->name = mem_strdup(text);
    if (!item->name)
        return err_set(err, ERR_NOMEM, "out of memory for a model");
    item->shape = *shape;
    item->dtype = dtype;
    item->layout = NN_ROWS;
    p->n++;
    return 0;
}

static struct nn_shape weight_shape(const struct nn_layer *l)
{
    switch (l->type) {
    case NN_LAYER_CONV2D:
        return (struct nn_shape){
            4, {l->out.dim[0], l->in.dim[0], l->kernel, l->kernel}};
    case NN_LAYER_BATCH_NORM:
        return nn_shape1(l->in.dim[0]);
    case NN_LAYER_LAYER_NORM:
        return l->in;
    default:
        return nn_shape2(l->out.dim[0], nn_shape_numel(&l->in));
    }
}

static bool is_product(const struct nn_layer *l)
{
    return l->type == NN_LAYER_LINEAR || l->type == NN_LAYER_CONV2D;
}

static int plan_running(struct nn_layer *l, struct nn_plan *buffers,
                        struct err *err)
{
    struct nn_shape channels = nn_shape1(l->in.dim[0]), one = nn_shape0();
    int rc;

    l->running = buffers->n;
    rc = nn_layer_plan_add(buffers, l, "running_mean", &channels, NN_F32, err);
    if (rc == 0)
        rc = nn_layer_plan_add(buffers, l, "running_var", &channels, NN_F32,
                               err);
    if (rc == 0)
        rc = nn_layer_plan_add(buffers, l, "num_batches_tracked", &one, NN_I64,
                               err);
    return rc;
}

int nn_layer_room(const struct nn_layer *l)
{
    return l->own ? l->own->n_param : 3;
}

int nn_layer_plan(struct nn_layer *l, struct nn_plan *params,
                  struct nn_plan *buffers, struct err *err)
{
    struct nn_shape weight, bias;
    int rc;

    if (l->n_params == 0)
        return 0;
    if (l->own)
        return nn_layer_own_plan(l, params, err);
    l->weight = params->n;
    weight = weight_shape(l);
    rc = nn_layer_plan_add(params, l, "weight", &weight, NN_F32, err);
    if (rc != 0)
        return rc;
    if (is_product(l))
        params->item[l->weight].layout = NN_WEIGHT;
    if (l->has_bias) {
        l->bias = params->n;
        bias = is_product(l) ? nn_shape1(weight.dim[0]) : weight;
        rc = nn_layer_plan_add(params, l, "bias", &bias, NN_F32, err);
    }
    if (rc == 0 && l->type == NN_LAYER_BATCH_NORM)
        rc = plan_running(l, buffers, err);
    return rc;
}

/* Sets t to values drawn row by row, or all to high where gen is NULL. */
static int set_values(struct nn_tensor *t, float low, float high,
                      struct rng_mt *gen, struct err *err)
{
    int64_t n = nn_tensor_numel(t), i;
    float *v = mem_array((size_t)n, sizeof *v);
    int rc;

    if (!v)
        return err_set(err, ERR_NOMEM, "out of memory initialising a model");
    for (i = 0; i < n; i++)
        v[i] = gen ? rng_mt_uniform(gen, low, high) : high;
    rc = nn_tensor_set(t, v, err);
    mem_free(v);
    return rc;
}

int nn_layer_draw(struct nn_tensor *t, double bound, struct rng_mt *gen,
                  struct err *err)
{
    return set_values(t, (float)-bound, (float)bound, gen, err);
}

int nn_layer_fill(struct nn_tensor *t, float value, struct err *err)
{
    return set_values(t, value, value, NULL, err);
}

double nn_layer_weight_bound(int64_t in)
{
    return sqrt(3.0) * (sqrt(2.0 / 6.0) / sqrt((double)in));
}

double nn_layer_bias_bound(int64_t in)
{
    return 1.0 / sqrt((double)in);
}

/* reset_parameters of torch.nn.Linear and Conv2d. */
static int reset_product(const struct nn_model *m, const struct nn_layer *l,
                         struct rng_mt *gen, struct err *err)
{
    struct nn_tensor *w = m->params.t[l->weight];
    int64_t in = nn_tensor_numel(w) / w->shape.dim[0];
    int rc = nn_layer_draw(w, nn_layer_weight_bound(in), gen, err);

    if (rc == 0 && l->bias >= 0)
        rc = nn_layer_draw(m->params.t[l->bias], nn_layer_bias_bound(in), gen,
                           err);
    return rc;
}

int nn_layer_reset(const struct nn_model *m, const struct nn_layer *l,
                   struct rng_mt *gen, struct err *err)
{
    int rc;

    if (l->weight < 0)
        return 0;
    if (l->own)
        return nn_layer_own_reset(m, l, gen, err);
    if (is_product(l))
        return gen ? reset_product(m, l, gen, err) : 0;
    rc = nn_layer_fill(m->params.t[l->weight], 1.0F, err);
    if (rc == 0 && l->running >= 0)
        rc = nn_layer_fill(m->buffers.t[l->running + 1], 1.0F, err);
    return rc;
}
