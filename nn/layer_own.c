/* The layer made from an operator of the user's own. */
#include "nn/custom.h"
#include "nn/layer.h"

/* What NN_DIM_IN is. */
static int64_t features_in(const struct nn_layer *l)
{
    if (l->own->flat || l->in.ndim == 0)
        return nn_shape_numel(&l->in);
    return l->in.dim[l->in.ndim - 1];
}

struct nn_shape nn_own_param_shape(const struct nn_layer *l, int i)
{
    const struct nn_own_param *p = &l->own->param[i];
    struct nn_shape s = {.ndim = p->ndim};
    int k;

    for (k = 0; k < p->ndim; k++)
        s.dim[k] = p->dim[k] == NN_DIM_IN    ? features_in(l)
                   : p->dim[k] == NN_DIM_OUT ? l->features
                                             : p->dim[k];
    return s;
}

/* (batch, sample...) as the operator gets it. */
static struct nn_shape input_shape(const struct nn_layer *l, int64_t batch)
{
    struct nn_shape s = nn_shape2(batch, nn_shape_numel(&l->in));
    int i;

    if (l->own->flat)
        return s;
    s.ndim = l->in.ndim + 1;
    for (i = 0; i < l->in.ndim; i++)
        s.dim[i + 1] = l->in.dim[i];
    return s;
}

static int count_params(struct nn_layer *l, struct nn_shape *in,
                        struct err *err)
{
    const struct nn_own_layer *own = l->own;
    const char *name = own->custom->name;
    char text[96];
    int i, k;

    for (i = 0; i < own->n_param; i++) {
        const struct nn_own_param *p = &own->param[i];

        for (k = 0; k < p->ndim; k++)
            if (p->dim[k] == NN_DIM_OUT && l->features < 1)
                return err_set(err, ERR_CONFIG,
                               "a %s layer needs out: the size of its %s", name,
                               p->name);
        in[i] = nn_own_param_shape(l, i);
        if (nn_shape_check(&in[i], NULL) != 0 || nn_shape_numel(&in[i]) < 1 ||
            nn_shape_numel(&in[i]) > INT32_MAX - l->n_params)
            return err_set(err, ERR_CONFIG, "%s of a %s layer cannot be %s",
                           p->name, name,
                           nn_shape_text(&in[i], text, sizeof text));
        l->n_params += nn_shape_numel(&in[i]);
    }
    return 0;
}

/* The shape of y, tried with a batch of 2, says what a sample becomes. */
static int find_output(struct nn_layer *l, const struct nn_shape *in,
                       struct err *err)
{
    const struct nn_own_layer *own = l->own;
    struct nn_shape y = nn_shape0();
    char text[96];
    int rc = own->shape(own, in, own->custom->n_in, &y, err);
    int i;

    if (rc == ERR_SHAPE && err)
        err->code = ERR_CONFIG; /* a model that cannot be built */
    if (rc != 0)
        return rc == ERR_SHAPE ? ERR_CONFIG : rc;
    if (y.ndim < 1 || y.dim[0] != in[0].dim[0])
        return err_set(err, ERR_CONFIG,
                       "a layer gives one row a sample, and %s gives %s for a "
                       "batch of %lld",
                       own->custom->name, nn_shape_text(&y, text, sizeof text),
                       (long long)in[0].dim[0]);
    l->out = nn_shape0();
    for (i = 1; i < y.ndim; i++)
        l->out.dim[l->out.ndim++] = y.dim[i];
    return 0;
}

int nn_layer_own_init(struct nn_layer *l, const struct nn_layer_spec *spec,
                      struct err *err)
{
    const struct nn_own_layer *own = spec->own;
    struct nn_shape in[NN_MAX_IN];
    int rc;

    l->own = own;
    l->features = spec->out;
    if (own->n_param < 0 || own->n_param + 1 > NN_MAX_IN ||
        own->n_param + 1 != own->custom->n_in)
        return err_set(err, ERR_CONFIG,
                       "a %s layer gives its operator x and %d parameters, and "
                       "it takes %d tensors",
                       own->custom->name, own->n_param, own->custom->n_in);
    if (l->in.ndim + 1 > NN_MAX_DIMS && !own->flat)
        return err_set(err, ERR_CONFIG, "samples of %d dimensions are too many",
                       l->in.ndim);
    in[0] = input_shape(l, 2);
    rc = count_params(l, in + 1, err);
    return rc == 0 ? find_output(l, in, err) : rc;
}

int nn_layer_own_plan(struct nn_layer *l, struct nn_plan *params,
                      struct err *err)
{
    int rc = 0, i;

    l->weight = params->n;
    for (i = 0; rc == 0 && i < l->own->n_param; i++) {
        struct nn_shape shape = nn_own_param_shape(l, i);

        rc = nn_layer_plan_add(params, l, l->own->param[i].name, &shape, NN_F32,
                               err);
    }
    return rc;
}

/* As torch.nn.Linear draws: a matrix as its weight, a vector as its bias. */
static int draw_param(struct nn_tensor *t, int64_t in, struct rng_mt *gen,
                      struct err *err)
{
    double bound =
        t->shape.ndim > 1 ? nn_layer_weight_bound(in) : nn_layer_bias_bound(in);

    return gen ? nn_layer_draw(t, bound, gen, err) : 0;
}

int nn_layer_own_reset(const struct nn_model *m, const struct nn_layer *l,
                       struct rng_mt *gen, struct err *err)
{
    int rc = 0, i;

    for (i = 0; rc == 0 && i < l->own->n_param; i++) {
        struct nn_tensor *t = m->params.t[l->weight + i];

        if (l->own->param[i].init == NN_INIT_UNIFORM)
            rc = draw_param(t, features_in(l), gen, err);
        else
            rc = nn_layer_fill(
                t, l->own->param[i].init == NN_INIT_ONES ? 1.0F : 0.0F, err);
    }
    return rc;
}
