#include "pipeline/model_build.h"

#include <stdio.h>
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/operator.h"

/* In the order of enum nn_layer_type. */
static const char *const layer_types[NN_LAYER_OWN + 1] = {
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
};

enum { MAX_WINDOW = 1 << 15 };

#define AT(m) offsetof(struct pl_layer, m)
static const struct pl_field layer_fields[] = {
    {.name = "type",
     .type = PL_T_ENUM,
     .offset = AT(type),
     .flags = PL_F_REQUIRED,
     .choices = layer_types,
     .own = AT(own_type),
     .help = "what the layer does",
     .example = "linear"},
    {.name = "name",
     .type = PL_T_STRING,
     .offset = AT(name),
     .def = "",
     .help = "begins the names of its parameters; without it, its index does"},
    {.name = "out",
     .type = PL_T_INT,
     .offset = AT(out),
     .flags = PL_F_REQUIRED | PL_F_OWN,
     .min = 1,
     .max = 1 << 24,
     .when = "linear conv2d",
     .help = "output features; of a conv2d layer, output channels",
     .example = "256"},
    {.name = "bias",
     .type = PL_T_BOOL,
     .offset = AT(bias),
     .def = "true",
     .when = "linear conv2d",
     .help = "whether a bias is added"},
    {.name = "kernel",
     .type = PL_T_INT,
     .offset = AT(kernel),
     .flags = PL_F_REQUIRED,
     .min = 1,
     .max = MAX_WINDOW,
     .when = "conv2d max_pool2d avg_pool2d",
     .help = "height and width of the window",
     .example = "5"},
    {.name = "stride",
     .type = PL_T_INT,
     .offset = AT(stride),
     .def = "0",
     .max = MAX_WINDOW,
     .when = "conv2d max_pool2d avg_pool2d",
     .help = "how far apart windows are; 0: 1, or the kernel of a pool"},
    {.name = "padding",
     .type = PL_T_INT,
     .offset = AT(padding),
     .def = "0",
     .max = MAX_WINDOW,
     .when = "conv2d max_pool2d avg_pool2d",
     .help = "what is added around the image; a pool takes no more than half "
             "its kernel"},
    {.name = "eps",
     .type = PL_T_NUMBER,
     .offset = AT(eps),
     .def = "1e-5",
     .flags = PL_F_OPEN_MIN,
     .max = 1,
     .when = "batch_norm layer_norm",
     .help = "added to the variance so that it is never 0"},
    {.name = "momentum",
     .type = PL_T_NUMBER,
     .offset = AT(momentum),
     .def = "0.1",
     .max = 1,
     .when = "batch_norm",
     .help = "weight of a batch in the running statistics"},
    {.name = "p",
     .type = PL_T_NUMBER,
     .offset = AT(p),
     .def = "0.5",
     .flags = PL_F_OPEN_MAX,
     .max = 1,
     .when = "dropout",
     .help = "the probability of a zero"},
};
static const struct pl_schema layer_schema = {
    .name = "layer",
    .help = "one layer of a model",
    PL_FIELDS(layer_fields),
    .size = sizeof(struct pl_layer),
    .short_key = "type",
    .node_offset = AT(node),
    .has_node = true,
};
#undef AT

#define AT(m) offsetof(struct pl_model, m)
static const struct pl_field model_fields[] = {
    {.name = "layers",
     .type = PL_T_LIST,
     .offset = AT(layers),
     .flags = PL_F_REQUIRED,
     .elem = PL_T_STRUCT,
     .sub = &layer_schema,
     .help = "one after the other, as torch.nn.Sequential",
     .example = "[{type: linear, out: 256}, relu, {type: linear, out: 10}]"},
};
const struct pl_schema pl_model_schema = {
    .name = "model",
    .help = "layers in a row",
    PL_FIELDS(model_fields),
    .size = sizeof(struct pl_model),
    .name_offset = AT(name),
    .node_offset = AT(node),
    .has_node = true,
};
#undef AT

/* What the names of a layer's parameters begin with. */
static const char *effective_name(const struct pl_layer *l, size_t index,
                                  char buf[24])
{
    if (l->name && l->name[0])
        return l->name;
    (void)snprintf(buf, 24, "%zu", index);
    return buf;
}

static struct pl_loc name_loc(const struct pl_layer *l)
{
    const struct pl_node *n = pl_node_get(l->node, "name");

    return n ? n->loc : l->node->loc;
}

static void check_layer(const struct pl_layer *layers, size_t i,
                        struct pl_diag *d)
{
    const struct pl_layer *l = &layers[i];
    char mine[24], other[24];
    const char *name = effective_name(l, i, mine);
    size_t j;

    if (l->name && l->name[0]) {
        if (strlen(name) > 63 || strpbrk(name, "./ \t\n")) {
            pl_diag_error(d, name_loc(l), "'%s' cannot be a layer's name",
                          name);
            pl_diag_help(d, "at most 63 characters without '.', '/' and "
                            "blanks");
            return;
        }
    }
    for (j = 0; j < i; j++) {
        if (strcmp(name, effective_name(&layers[j], j, other)) != 0)
            continue;
        pl_diag_error(d, name_loc(l), "two layers are called '%s'", name);
        pl_diag_help(d, "the other one is in line %d",
                     layers[j].node->loc.line);
        return;
    }
}

enum { MAX_LAYERS = 1000 };

void pl_model_check(const struct pl_model *m, struct pl_diag *d)
{
    const struct pl_layer *layers = m->layers.items;
    size_t i;

    if (m->layers.n == 0 || m->layers.n > MAX_LAYERS) {
        pl_diag_error(d, m->node->loc,
                      "model '%s' must have 1 to %d layers, not %zu", m->name,
                      MAX_LAYERS, m->layers.n);
        return;
    }
    for (i = 0; i < m->layers.n; i++)
        check_layer(layers, i, d);
}

int pl_model_layers(struct nn_layer_spec **out, size_t *n,
                    const struct pl_model *m, struct err *err)
{
    const struct pl_layer *l = m->layers.items;
    struct nn_layer_spec *spec;
    size_t i;

    *n = 0;
    *out = spec = mem_array(m->layers.n, sizeof *spec);
    if (!spec)
        return err_set(err, ERR_NOMEM, "out of memory for %zu layers",
                       m->layers.n);
    for (i = 0; i < m->layers.n; i++)
        spec[i] =
            (struct nn_layer_spec){.type = (enum nn_layer_type)l[i].type,
                                   .name = l[i].name,
                                   .out = l[i].out,
                                   .bias = l[i].bias,
                                   .p = l[i].p,
                                   .kernel = l[i].kernel,
                                   .stride = l[i].stride,
                                   .padding = l[i].padding,
                                   .eps = l[i].eps,
                                   .momentum = l[i].momentum,
                                   .own = l[i].own ? &l[i].own->layer : NULL};
    *n = m->layers.n;
    return 0;
}
