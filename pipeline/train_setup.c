#include <math.h>
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/device_settings.h"
#include "pipeline/operator_report.h"
#include "pipeline/train_run.h"

struct nn_optim_spec pl_optimizer_spec(const struct pl_optimizer *o)
{
    struct nn_optim_spec s = {.nesterov = o->nesterov,
                              .beta1 = o->beta1,
                              .beta2 = o->beta2,
                              .eps = o->eps};

    s.weight_decay = o->weight_decay;
    if (o->weight_decay < 0.0)
        s.weight_decay = o->type == PL_OPT_ADAMW ? 0.01 : 0.0;
    switch (o->type) {
    case PL_OPT_ADAM:
        s.type = NN_OPTIM_ADAM;
        break;
    case PL_OPT_ADAMW:
        s.type = NN_OPTIM_ADAMW;
        break;
    default:
        s.type = NN_OPTIM_SGD;
        s.momentum = o->momentum;
        if (o->momentum < 0.0)
            s.momentum = o->type == PL_OPT_SGD_MOMENTUM ? 0.9 : 0.0;
    }
    return s;
}

struct nn_loss pl_loss_of(const struct pl_config *config,
                          const struct pl_train_with *w,
                          const struct nn_data *data)
{
    struct nn_loss loss = {.label_smoothing = w->label_smoothing,
                           .pos_weight = w->pos_weight};

    switch (w->loss) {
    case PL_LOSS_CROSS_ENTROPY:
        loss.type = NN_LOSS_CROSS_ENTROPY;
        break;
    case PL_LOSS_BCE:
        loss.type = NN_LOSS_BCE_WITH_LOGITS;
        break;
    case PL_LOSS_MSE:
        loss.type = NN_LOSS_MSE;
        break;
    case PL_LOSS_OWN:
        loss.type = NN_LOSS_CUSTOM;
        loss.custom = &pl_config_operator(config, w->own_loss)->custom;
        break;
    default:
        loss.type = nn_loss_default(data);
    }
    return loss;
}

void pl_err_at_node(struct err *err, const struct pl_node *node)
{
    if (node && node->loc.file)
        err_at(err, "%s:%d:%d", node->loc.file->path, node->loc.line,
               node->loc.col);
}

int pl_model_new(struct nn_model **out, const struct pl_config *config,
                 const char *model, struct nn_backend *be,
                 const struct nn_shape *sample, struct rng_mt *gen,
                 struct err *err)
{
    const struct pl_model *m = pl_config_model(config, model);
    struct nn_layer_spec *spec;
    size_t n, bad;
    int rc;

    *out = NULL;
    rc = pl_model_layers(&spec, &n, m, err);
    if (rc != 0)
        return rc;
    rc = nn_model_new(out, be, &(struct nn_model_spec){spec, n, *sample}, gen,
                      &bad, err);
    if (rc == ERR_CONFIG && bad < m->layers.n)
        pl_err_at_node(err,
                       ((const struct pl_layer *)m->layers.items)[bad].node);
    mem_free(spec);
    return rc;
}

static int open_trainer(struct pl_train *t, struct err *err)
{
    const struct pl_train_with *w = t->with;
    struct nn_trainer_opts opts = {
        .loss = t->loss,
        .optim = pl_optimizer_spec(&w->optimizer),
        .microbatches = w->microbatches,
        .clip_grad_norm = w->clip_grad_norm,
        .fusion = w->fusion ? NN_FUSION_ALL : NN_FUSION_NONE,
        .execution = NN_EXEC_RECORDED,
        .dropout_seed = (uint64_t)w->seed,
        .order = pl_step_order(w),
    };
    int rc = nn_trainer_new(&t->trainer, t->model, t->sets.train, &opts, err);

    if (rc == ERR_CONFIG)
        pl_err_at_node(err, pl_config_model(t->ctx->config, w->model)->node);
    return rc;
}

static void set_schedule(struct pl_train *t)
{
    const struct pl_schedule *s = &t->with->schedule;
    static const enum nn_sched_type type[] = {
        [PL_SCHED_CONSTANT] = NN_SCHED_CONSTANT,
        [PL_SCHED_STEP] = NN_SCHED_STEP,
        [PL_SCHED_COSINE] = NN_SCHED_COSINE,
    };

    t->sched.type = type[s->type];
    t->sched.base = t->with->lr;
    t->sched.warmup_steps = s->warmup_steps;
    t->sched.step_every = s->step_epochs * t->steps_per_epoch;
    t->sched.gamma = s->gamma;
    t->sched.min_lr = s->min_lr;
    t->sched.total_steps = t->with->epochs * t->steps_per_epoch;
}

/* Nothing is trained with gradients that are wrong. */
static int check_operators(struct pl_train *t, struct err *err)
{
    const struct pl_config *c = t->ctx->config;
    const struct pl_train_with *w = t->with;
    const struct pl_operator *loss =
        w->own_loss ? pl_config_operator(c, w->own_loss) : NULL;

    return pl_operators_must_hold(t->ctx, pl_config_model(c, w->model), loss,
                                  err);
}

int pl_train_open(struct pl_train *t, struct pl_stage_ctx *ctx, struct err *err)
{
    const struct pl_train_with *w = ctx->stage->with;
    struct nn_loader_opts order = {
        .batch_size = w->batch_size,
        .shuffle = w->shuffle,
        .drop_last = w->drop_last,
        .extra_iters = (int)w->torch_extra_iters_per_epoch,
    };
    const struct nn_backend_config device = {.numerics =
                                                 (enum nn_numerics)w->numerics,
                                             .data = (enum nn_data_path)w->data,
                                             .fuse = w->fusion != 0};
    int rc;

    memset(t, 0, sizeof *t);
    t->ctx = ctx;
    t->with = w;
    t->best = NAN;
    rc = pl_train_recipe(t->recipe, ctx->stage, err);
    if (rc == 0)
        rc = pl_open_dataset(ctx, w->dataset, &t->sets, err);
    if (rc != 0)
        return rc;
    t->loss = pl_loss_of(ctx->config, w, t->sets.train);
    rc = check_operators(t, err);
    if (rc != 0)
        return rc;
    rng_mt_seed(&t->gen, (uint64_t)w->seed);
    rc = pl_device_configure(ctx->be, &device, err);
    if (rc != 0)
        return rc;
    rc = pl_model_new(&t->model, ctx->config, w->model, ctx->be,
                      &t->sets.train->sample, &t->gen, err);
    if (rc == 0 && w->init_from)
        rc = pl_model_load(t->model, w->init_from, err);
    if (rc == 0)
        rc = nn_loader_new(&t->loader, t->sets.train, &t->gen, &order, err);
    if (rc != 0)
        return rc;
    t->steps_per_epoch = nn_loader_batches(t->loader);
    set_schedule(t);
    return open_trainer(t, err);
}

void pl_train_close(struct pl_train *t)
{
    nn_evaluator_free(t->validation.evaluator);
    nn_evaluator_free(t->test.evaluator);
    nn_trainer_free(t->trainer);
    nn_loader_free(t->loader);
    nn_model_free(t->model);
    pl_sets_close(&t->sets);
    pl_curve_free(&t->curve);
}
