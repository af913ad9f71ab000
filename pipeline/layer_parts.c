#include "pipeline/layer_parts.h"

#include "nn/custom.h"

/* The weight's shape by what the layer is told to be; none: 0 dimensions. */
static struct nn_shape weight_shape(const struct nn_layer *l)
{
    switch (l->type) {
    case NN_LAYER_LINEAR:
        return nn_shape2(nn_shape_numel(&l->out), nn_shape_numel(&l->in));
    case NN_LAYER_CONV2D:
        return (struct nn_shape){
            4, {l->out.dim[0], l->in.dim[0], l->kernel, l->kernel}};
    case NN_LAYER_BATCH_NORM:
        return nn_shape1(l->in.dim[0]);
    case NN_LAYER_LAYER_NORM:
        return l->in;
    default:
        return nn_shape0();
    }
}

int pl_layer_parts(const struct nn_layer *l,
                   struct pl_layer_part part[NN_MAX_IN])
{
    struct nn_shape w = weight_shape(l);
    int n;

    for (n = 0; l->own && n < l->own->n_param; n++) {
        struct nn_shape s = nn_own_param_shape(l, n);

        part[n] = (struct pl_layer_part){l->own->param[n].name, s, s.ndim < 2};
    }
    if (w.ndim > 0)
        part[n++] = (struct pl_layer_part){"weight", w, false};
    if (l->has_bias) {
        if (l->type != NN_LAYER_LAYER_NORM)
            w = nn_shape1(w.dim[0]);
        part[n++] = (struct pl_layer_part){"bias", w, true};
    }
    return n;
}

int64_t pl_layer_numbers(const struct nn_layer *l, bool bias)
{
    struct pl_layer_part part[NN_MAX_IN];
    int n = pl_layer_parts(l, part), i;
    int64_t sum = 0;

    for (i = 0; i < n; i++)
        sum += part[i].bias == bias ? nn_shape_numel(&part[i].shape) : 0;
    return sum;
}
