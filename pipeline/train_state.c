#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/arena.h"
#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/ckpt.h"
#include "pipeline/train_run.h"

/* A checkpoint being put together; everything ends with the arena. */
struct bundle {
    struct arena arena;
    struct nn_ckpt_entry *entry;
    size_t n;
    struct nn_ckpt_meta meta[24];
    size_t n_meta;
    bool failed; /* out of memory */
};

static void add_entry(struct bundle *b, const char *name, enum nn_dtype dtype,
                      const struct nn_shape *shape, const void *data)
{
    struct nn_ckpt_entry e = {name, dtype, *shape, data};

    if (!name || !data)
        b->failed = true;
    else
        b->entry[b->n++] = e;
}

static void add_meta(struct bundle *b, const char *key, const char *value)
{
    if (!value)
        b->failed = true;
    else {
        b->meta[b->n_meta].key = key;
        b->meta[b->n_meta++].value = value;
    }
}

static void add_meta_int(struct bundle *b, const char *key, int64_t v)
{
    add_meta(b, key, arena_printf(&b->arena, "%lld", (long long)v));
}

/* Hexadecimal: the very bits come back. */
static void add_meta_double(struct bundle *b, const char *key, double v)
{
    add_meta(b, key, arena_printf(&b->arena, "%a", v));
}

/* The tensors of a block under prefix + their names, row-major. */
static int add_params(struct bundle *b, const char *prefix,
                      const struct nn_params *p, struct err *err)
{
    int rc = 0, i;

    for (i = 0; rc == 0 && i < p->n && !b->failed; i++) {
        const struct nn_tensor *t = p->t[i];
        size_t n = (size_t)nn_tensor_numel(t);
        void *v = arena_array(&b->arena, n + 1, nn_dtype_size(t->dtype));

        if (v)
            rc = nn_tensor_get(t, v, err);
        add_entry(b, arena_printf(&b->arena, "%s%s", prefix, t->name), t->dtype,
                  &t->shape, v);
    }
    return rc;
}

/* What evaluation needs: parameters and buffers. */
static int add_model(struct bundle *b, const struct nn_model *m,
                     struct err *err)
{
    int rc = add_params(b, "", &m->params, err);

    return rc == 0 ? add_params(b, "", &m->buffers, err) : rc;
}

static int write_bundle(struct pl_train *t, struct bundle *b, const char *name,
                        struct err *err)
{
    const char *path;
    int rc;

    if (b->failed)
        return err_set(err, ERR_NOMEM, "out of memory for a checkpoint");
    path = pl_artifact_path(t->ctx, name, err);
    if (!path)
        return ERR_NOMEM;
    rc = nn_ckpt_write(path, b->entry, b->n, b->meta, b->n_meta, err);
    return rc == 0 ? pl_artifact_add(t->ctx, name, err) : rc;
}

static bool holds(const struct nn_params *p, const char *name)
{
    int i;

    for (i = 0; i < p->n; i++)
        if (strcmp(p->t[i]->name, name) == 0)
            return true;
    return false;
}

static int load_params(struct nn_params *p, const struct nn_ckpt *c,
                       const char *path, struct err *err)
{
    const struct nn_ckpt_entry *e;
    int rc = 0, i;

    for (i = 0; rc == 0 && i < p->n; i++) {
        struct nn_tensor *t = p->t[i];

        rc = nn_ckpt_need(c, path, t->name, t->dtype, &t->shape, &e, err);
        if (rc == 0)
            rc = nn_tensor_set(t, e->data, err);
    }
    return rc;
}

int pl_model_load(struct nn_model *m, const char *path, struct err *err)
{
    struct nn_ckpt *c;
    size_t k;
    int rc = nn_ckpt_read(&c, path, err);

    if (rc != 0)
        return rc;
    rc = load_params(&m->params, c, path, err);
    if (rc == 0)
        rc = load_params(&m->buffers, c, path, err);
    for (k = 0; rc == 0 && k < c->n; k++)
        if (!holds(&m->params, c->entry[k].name) &&
            !holds(&m->buffers, c->entry[k].name))
            rc = err_set(err, ERR_CORRUPT,
                         "'%s' holds '%s', which the model does not have", path,
                         c->entry[k].name);
    nn_ckpt_free(c);
    return rc;
}

int pl_train_save_model(struct pl_train *t, const char *name, struct err *err)
{
    struct bundle b = {.n = 0};
    char file[128];
    int rc;

    (void)snprintf(file, sizeof file, "checkpoints/%s.safetensors", name);
    b.entry = arena_array(
        &b.arena, (size_t)(t->model->params.n + t->model->buffers.n) + 1,
        sizeof *b.entry);
    b.failed = !b.entry;
    add_meta(&b, "format", "pt"); /* what torch's own writer says */
    add_meta_int(&b, "epoch", t->epoch);
    add_meta_int(&b, "step", t->trainer->step);
    rc = add_model(&b, t->model, err);
    if (rc == 0)
        rc = write_bundle(t, &b, file, err);
    arena_free(&b.arena);
    return rc;
}

static void add_progress(struct bundle *b, const struct pl_train *t)
{
    const struct nn_optim *o = t->trainer->optim;

    add_meta(b, "recipe", t->recipe);
    add_meta_int(b, "epoch", t->epoch);
    add_meta_int(b, "step_in_epoch", t->step_in_epoch);
    add_meta_int(b, "step", t->trainer->step);
    add_meta_int(b, "optimizer.steps", o->steps);
    add_meta_double(b, "optimizer.beta1_power", o->beta1_power);
    add_meta_double(b, "optimizer.beta2_power", o->beta2_power);
    add_meta_double(b, "loss_sum", t->loss_sum);
    add_meta_int(b, "loss_samples", t->loss_samples);
    add_meta_double(b, "train_loss", t->train_loss);
    add_meta_double(b, "best", t->best);
    add_meta_int(b, "best_epoch", t->best_epoch);
}

static int add_optimizer(struct bundle *b, const struct pl_train *t,
                         struct err *err)
{
    const struct nn_optim *o = t->trainer->optim;
    const char *prefix;
    int rc = 0, i;

    for (i = 0; rc == 0 && i < o->n_state; i++) {
        prefix = arena_printf(&b->arena, "optimizer.%s.",
                              nn_optim_state_name(&o->spec, i));
        if (!prefix)
            b->failed = true;
        else
            rc = add_params(b, prefix, &o->state[i], err);
    }
    return rc;
}

static void add_generator(struct bundle *b, const struct pl_train *t)
{
    struct nn_shape shape = nn_shape1(RNG_MT_WORDS);
    uint32_t *v = arena_array(&b->arena, RNG_MT_WORDS, sizeof *v);

    if (v)
        rng_mt_save(nn_loader_state(t->loader), v);
    add_entry(b, "generator", NN_I32, &shape, v);
}

int pl_train_save_state(struct pl_train *t, struct err *err)
{
    struct bundle b = {.n = 0};
    struct nn_shape curve = nn_shape2((int64_t)t->curve.n, PL_CURVE_COLUMNS);
    size_t most =
        (size_t)t->model->params.n * (size_t)(2 + t->trainer->optim->n_state) +
        (size_t)t->model->buffers.n + 3;
    int rc;

    b.entry = arena_array(&b.arena, most, sizeof *b.entry);
    b.failed = !b.entry;
    add_progress(&b, t);
    rc = add_model(&b, t->model, err);
    if (rc == 0)
        rc = add_optimizer(&b, t, err);
    if (rc == 0 && t->trainer->held)
        rc = add_params(&b, "gradient.", &t->model->grads, err);
    if (rc == 0 && !b.failed) {
        add_generator(&b, t);
        if (t->curve.n > 0)
            add_entry(&b, "curve", NN_F64, &curve, t->curve.row);
    }
    if (rc == 0)
        rc = write_bundle(t, &b, PL_RESUME_FILE, err);
    arena_free(&b.arena);
    return rc;
}
