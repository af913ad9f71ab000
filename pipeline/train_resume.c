#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/ckpt.h"
#include "pipeline/train_run.h"

/* A resume file being read. */
struct reading {
    const struct nn_ckpt *c;
    const char *path;
    struct err *err;
    int rc; /* the first failure */
};

static const char *need_meta(struct reading *r, const char *key)
{
    const char *v = nn_ckpt_meta(r->c, key);

    if (!v && r->rc == 0)
        r->rc = err_set(r->err, ERR_CORRUPT, "'%s' has no '%s' in its metadata",
                        r->path, key);
    return v;
}

static int64_t need_int(struct reading *r, const char *key)
{
    const char *v = need_meta(r, key);
    char *end = NULL;
    long long n = v ? strtoll(v, &end, 10) : 0;

    if (v && (end == v || *end != '\0' || n < 0) && r->rc == 0)
        r->rc = err_set(r->err, ERR_CORRUPT, "'%s': %s is '%s', no count",
                        r->path, key, v);
    return n;
}

static double need_double(struct reading *r, const char *key)
{
    const char *v = need_meta(r, key);
    char *end = NULL;
    double d = v ? strtod(v, &end) : 0.0;

    if (v && (end == v || *end != '\0') && r->rc == 0)
        r->rc = err_set(r->err, ERR_CORRUPT, "'%s': %s is '%s', no number",
                        r->path, key, v);
    return d;
}

static void read_params(struct reading *r, const char *prefix,
                        struct nn_params *p)
{
    const struct nn_ckpt_entry *e;
    char name[192];
    int i;

    for (i = 0; r->rc == 0 && i < p->n; i++) {
        (void)snprintf(name, sizeof name, "%s%s", prefix, p->t[i]->name);
        r->rc = nn_ckpt_need(r->c, r->path, name, p->t[i]->dtype,
                             &p->t[i]->shape, &e, r->err);
        if (r->rc == 0)
            r->rc = nn_tensor_set(p->t[i], e->data, r->err);
    }
}

static void read_optimizer(struct reading *r, struct nn_optim *o)
{
    char prefix[64];
    int i;

    for (i = 0; i < o->n_state; i++) {
        (void)snprintf(prefix, sizeof prefix, "optimizer.%s.",
                       nn_optim_state_name(&o->spec, i));
        read_params(r, prefix, &o->state[i]);
    }
    o->steps = need_int(r, "optimizer.steps");
    o->beta1_power = need_double(r, "optimizer.beta1_power");
    o->beta2_power = need_double(r, "optimizer.beta2_power");
}

/* Of a run whose steps carry gradients over. */
static void read_gradients(struct reading *r, struct pl_train *t)
{
    if (!t->trainer->plan.carries || t->trainer->step == 0)
        return;
    read_params(r, "gradient.", &t->model->grads);
    t->trainer->held = r->rc == 0;
}

static void read_generator(struct reading *r, struct pl_train *t)
{
    struct nn_shape shape = nn_shape1(RNG_MT_WORDS);
    const struct nn_ckpt_entry *e;
    struct rng_mt g;

    if (r->rc == 0)
        r->rc = nn_ckpt_need(r->c, r->path, "generator", NN_I32, &shape, &e,
                             r->err);
    if (r->rc == 0)
        r->rc = rng_mt_load(&g, e->data, r->err);
    if (r->rc == 0)
        nn_loader_restore(t->loader, &g);
}

static void read_curve(struct reading *r, struct pl_train *t)
{
    struct nn_shape shape = nn_shape2(t->trainer->step, PL_CURVE_COLUMNS);
    const struct nn_ckpt_entry *e;

    if (r->rc != 0 || t->trainer->step == 0)
        return;
    r->rc = nn_ckpt_need(r->c, r->path, "curve", NN_F64, &shape, &e, r->err);
    if (r->rc == 0)
        r->rc = pl_curve_restore(&t->curve, e->data, (size_t)t->trainer->step,
                                 r->err);
}

static void read_progress(struct reading *r, struct pl_train *t)
{
    t->epoch = need_int(r, "epoch");
    t->step_in_epoch = need_int(r, "step_in_epoch");
    t->trainer->step = need_int(r, "step");
    t->loss_sum = need_double(r, "loss_sum");
    t->loss_samples = need_int(r, "loss_samples");
    t->train_loss = need_double(r, "train_loss");
    t->best = need_double(r, "best");
    t->best_epoch = need_int(r, "best_epoch");
    if (r->rc == 0 &&
        (t->epoch > t->with->epochs || t->step_in_epoch > t->steps_per_epoch ||
         t->trainer->step != t->epoch * t->steps_per_epoch + t->step_in_epoch))
        r->rc =
            err_set(r->err, ERR_CORRUPT,
                    "'%s': epoch %lld, step %lld and %lld do not fit this "
                    "recipe",
                    r->path, (long long)t->epoch, (long long)t->step_in_epoch,
                    (long long)t->trainer->step);
}

bool pl_train_keeps(const struct pl_train *t, int64_t e, char name[64])
{
    const struct pl_checkpointing *c = &t->with->checkpoint;
    int64_t every = c->every_n_epochs;

    if (e == 0) {
        (void)snprintf(name, 64, "checkpoints/best.safetensors");
        return t->best_epoch > 0;
    }
    (void)snprintf(name, 64, "checkpoints/epoch-%lld.safetensors",
                   (long long)e);
    if (every == 0 || e % every != 0)
        return false;
    return c->keep_last_n == 0 ||
           e > t->epoch / every * every - c->keep_last_n * every;
}

/* Whether every checkpoint that belongs to where t stands is in dir, whole. If
 * one is not, nothing there can be gone on from without a gap. */
static int checkpoints_whole(bool *whole, const struct pl_train *t,
                             const char *dir, struct err *err)
{
    char name[64];
    int64_t e;
    int rc = 0;

    for (e = 0; rc == 0 && e <= t->epoch; e++) {
        struct nn_ckpt *c = NULL;
        struct err none = {0};
        char *path;

        if (!pl_train_keeps(t, e, name))
            continue;
        path = io_join(dir, name);
        rc = path ? nn_ckpt_read(&c, path, &none) : ERR_NOMEM;
        nn_ckpt_free(c);
        mem_free(path);
    }
    *whole = rc == 0;
    if (rc == ERR_NOMEM)
        return err_set(err, ERR_NOMEM, "out of memory resuming");
    if (rc != 0)
        pl_log(t->ctx, "%s is missing or damaged: nothing goes on from it",
               name);
    return 0;
}

static void forget_progress(struct pl_train *t)
{
    t->epoch = t->step_in_epoch = t->trainer->step = 0;
    t->loss_sum = t->train_loss = 0.0;
    t->loss_samples = t->best_epoch = 0;
    t->best = NAN;
}

static void read_all(struct reading *r, struct pl_train *t)
{
    read_params(r, "", &t->model->params);
    read_params(r, "", &t->model->buffers);
    read_optimizer(r, t->trainer->optim);
    read_gradients(r, t);
    read_generator(r, t);
    read_curve(r, t);
}

/* Goes on from dir/PL_RESUME_FILE if it is of t's recipe and the other
 * checkpoints are with it. */
static int load_from(struct pl_train *t, const char *dir, bool *loaded,
                     struct err *err)
{
    struct reading r = {.err = err};
    char *path = io_join(dir, PL_RESUME_FILE);
    struct nn_ckpt *c = NULL;
    const char *is;

    *loaded = false;
    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory resuming");
    r.path = path;
    if (io_exists(path))
        r.rc = nn_ckpt_read(&c, path, err);
    is = c ? nn_ckpt_meta(c, "recipe") : NULL;
    r.c = c;
    if (c && (!is || strcmp(is, t->recipe) != 0))
        pl_log(t->ctx, "%s is of another recipe: nothing goes on from it",
               path);
    else if (c) {
        read_progress(&r, t);
        if (r.rc == 0)
            r.rc = checkpoints_whole(loaded, t, dir, err);
        if (*loaded)
            read_all(&r, t);
        else
            forget_progress(t);
    }
    nn_ckpt_free(c);
    mem_free(path);
    *loaded = *loaded && r.rc == 0;
    return r.rc;
}

/* Copies checkpoints/<name> of the run in dir, if it has one. */
static int take_over(struct pl_train *t, const char *dir, const char *name,
                     struct err *err)
{
    char file[160];
    const char *to;
    char *from, *data = NULL;
    size_t len;
    int rc = 0;

    (void)snprintf(file, sizeof file, "checkpoints/%s.safetensors", name);
    to = pl_artifact_path(t->ctx, file, err);
    from = io_join(dir, file);
    if (!to || !from)
        rc = err_set(err, ERR_NOMEM, "out of memory taking over %s", file);
    else if (io_exists(from)) {
        rc = io_read_file(&data, &len, from, SIZE_MAX / 2, err);
        if (rc == 0)
            rc = io_write_file(to, data, len, err);
    }
    mem_free(data);
    mem_free(from);
    return rc;
}

/* Goes on from a run in another folder. */
static int load_other(struct pl_train *t, const char *dir, bool *loaded,
                      struct err *err)
{
    char name[64];
    int64_t e;
    int rc = load_from(t, dir, loaded, err);

    if (rc != 0 || !*loaded)
        return rc;
    rc = take_over(t, dir, "best", err);
    for (e = 1; rc == 0 && e <= t->epoch; e++) {
        (void)snprintf(name, sizeof name, "epoch-%lld", (long long)e);
        rc = take_over(t, dir, name, err);
    }
    return rc;
}

/* The stage's own last results, of fewer epochs. An evaluation that only their
 * end had brought about would not be in a longer run: they are left alone. */
static int load_previous(struct pl_train *t, bool *loaded, struct err *err)
{
    if (!t->ctx->previous || t->with->eval_every_n_epochs != 1)
        return 0;
    return load_other(t, t->ctx->previous, loaded, err);
}

/* The stage that resume_from names, whose recipe the config was checked for. */
static int load_named(struct pl_train *t, bool *loaded, struct err *err)
{
    const char *dir = pl_stage_file(t->ctx, t->with->resume_from, NULL, err);
    int rc = dir ? load_other(t, dir, loaded, err) : ERR_NOMEM;

    if (rc == 0 && !*loaded)
        rc = err_set(err, ERR_CORRUPT,
                     "stage '%s' left nothing that can be resumed from; "
                     "--force=%s makes it again",
                     t->with->resume_from, t->with->resume_from);
    return rc;
}

int pl_train_load_state(struct pl_train *t, bool *resumed, struct err *err)
{
    int rc = 0;

    *resumed = false;
    if (!t->ctx->fresh)
        rc = load_from(t, t->ctx->dir, resumed, err);
    if (rc == 0 && !*resumed)
        rc = load_previous(t, resumed, err);
    if (rc == ERR_CORRUPT)
        pl_log(t->ctx, "--fresh begins this stage anew");
    if (rc == 0 && !*resumed && t->with->resume_from)
        rc = load_named(t, resumed, err);
    return rc;
}
