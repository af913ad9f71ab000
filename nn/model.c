#include "nn/model.h"

#include <string.h>

#include "nn/base/mem.h"
#include "nn/layer.h"

static int init_layers(struct nn_model *m, const struct nn_layer_spec *spec,
                       size_t n, size_t *bad, struct err *err)
{
    struct nn_shape sample = m->in;
    size_t i, j;
    int rc;

    for (i = 0; i < n; i++) {
        if (bad)
            *bad = i;
        rc = nn_layer_init(&m->layer[i], &spec[i], i, &sample, err);
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
                      const struct nn_plan *plan, enum nn_category cat,
                      struct err *err)
{
    const struct nn_plan_item *item = plan->item;
    struct nn_storage *st;
    struct nn_shape flat;
    size_t size = 0, at = 0;
    int n = plan->n, rc, i;

    memset(out, 0, sizeof *out);
    for (i = 0; i < n; i++)
        size += aligned(be->ops->layout_bytes(be, &item[i].shape, item[i].dtype,
                                              item[i].layout));
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
        rc = nn_tensor_view(&out->t[i], st, at, &item[i].shape, item[i].dtype,
                            item[i].layout, err);
        if (rc != 0)
            break;
        out->n = i + 1;
        out->t[i]->name = item[i].name;
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
    struct nn_plan plan = {mem_array((size_t)of->n + 1, sizeof *plan.item),
                           of->n};
    int rc, i;

    memset(out, 0, sizeof *out);
    if (!plan.item)
        return err_set(err, ERR_NOMEM, "out of memory for a model");
    for (i = 0; i < of->n; i++) {
        plan.item[i].shape = of->t[i]->shape;
        plan.item[i].dtype = of->t[i]->dtype;
        plan.item[i].layout = of->t[i]->layout;
        plan.item[i].name = (char *)of->t[i]->name;
    }
    rc = params_new(out, of->flat->st->be, &plan, cat, err);
    mem_free(plan.item);
    return rc;
}

/* Counts and names what the layers hold, and says how it lies. */
static int plan_all(struct nn_model *m, struct nn_plan *params,
                    struct nn_plan *buffers, struct err *err)
{
    int rc = 0, i;

    for (i = 0; rc == 0 && i < m->n_layers; i++)
        rc = nn_layer_plan(&m->layer[i], params, buffers, err);
    for (i = 0; i < params->n; i++)
        m->names[m->n_names++] = params->item[i].name;
    for (i = 0; i < buffers->n; i++)
        m->names[m->n_names++] = buffers->item[i].name;
    return rc;
}

static int build_params(struct nn_model *m, struct err *err)
{
    struct nn_plan params = {0}, buffers = {0};
    size_t most = 1;
    int rc, i;

    for (i = 0; i < m->n_layers; i++)
        most += (size_t)nn_layer_room(&m->layer[i]);
    params.item = mem_array(most, sizeof *params.item);
    buffers.item = mem_array(most, sizeof *buffers.item);
    m->names = mem_array(2 * most, sizeof *m->names);
    if (params.item && buffers.item && m->names)
        rc = plan_all(m, &params, &buffers, err);
    else
        rc = err_set(err, ERR_NOMEM, "out of memory for a model");
    if (rc == 0)
        rc = params_new(&m->params, m->be, &params, NN_CAT_PARAMETER, err);
    if (rc == 0)
        rc = params_new(&m->grads, m->be, &params, NN_CAT_GRADIENT, err);
    if (rc == 0)
        rc = params_new(&m->buffers, m->be, &buffers, NN_CAT_PARAMETER, err);
    mem_free(params.item);
    mem_free(buffers.item);
    for (i = 0; rc == 0 && i < m->params.n; i++) {
        m->params.t[i]->requires_grad = true;
        m->params.t[i]->grad = m->grads.t[i];
    }
    return rc;
}

int nn_model_new(struct nn_model **out, struct nn_backend *be,
                 const struct nn_model_spec *spec, struct rng_mt *gen,
                 size_t *bad, struct err *err)
{
    struct nn_model *m = mem_zalloc(sizeof *m);
    int rc, i;

    *out = NULL;
    if (bad)
        *bad = 0;
    if (!m)
        return err_set(err, ERR_NOMEM, "out of memory for a model");
    m->be = be;
    m->in = spec->sample;
    m->n_layers = (int)spec->n;
    m->layer = mem_array(spec->n + 1, sizeof *m->layer);
    rc = m->layer ? init_layers(m, spec->layer, spec->n, bad, err)
                  : err_set(err, ERR_NOMEM, "out of memory for a model");
    if (rc == 0)
        rc = build_params(m, err);
    for (i = 0; rc == 0 && i < m->n_layers; i++)
        rc = nn_layer_reset(m, &m->layer[i], gen, err);
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
    nn_params_free(&m->buffers);
    for (i = 0; i < m->n_names; i++)
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
