/* The training steps of a profile: what they are made of, and their times
 * without a profiler. */
#include "nn/base/mem.h"
#include "pipeline/device_settings.h"
#include "pipeline/facts.h"
#include "pipeline/operator_report.h"
#include "pipeline/profile_run.h"

const struct pl_operator *pl_profile_own_loss(const struct pl_config *c,
                                              const struct pl_profile_with *w)
{
    return w->own_loss ? pl_config_operator(c, w->own_loss) : NULL;
}

static int open_data(struct profile *p, struct err *err)
{
    const struct pl_profile_with *w = p->with;
    const struct pl_train_with loss = {
        .loss = w->loss, .own_loss = w->own_loss, .pos_weight = 1.0};
    int rc = pl_open_dataset(p->ctx, w->dataset, &p->sets, err);

    if (rc != 0)
        return rc;
    p->loss = pl_loss_of(p->ctx->config, &loss, p->sets.train);
    if (w->batch_size <= p->sets.train->n)
        return 0;
    rc = err_set(err, ERR_CONFIG,
                 "batch_size %lld is more than the %lld training samples of "
                 "'%s': every step of a profile has a full batch",
                 (long long)w->batch_size, (long long)p->sets.train->n,
                 w->dataset);
    pl_err_at_node(err, pl_node_get(w->node, "batch_size"));
    return rc;
}

int profile_open_model(struct profile *p, struct err *err)
{
    struct pl_stage_ctx *ctx = p->ctx;
    const struct pl_profile_with *w = p->with;
    const struct nn_loader_opts order = {
        .batch_size = w->batch_size, .shuffle = true, .drop_last = true};
    const struct nn_backend_config device = {.numerics =
                                                 (enum nn_numerics)w->numerics,
                                             .data = (enum nn_data_path)w->data,
                                             .fuse = w->fusion != 0};
    int rc = pl_operators_must_hold(ctx, pl_config_model(ctx->config, w->model),
                                    pl_profile_own_loss(ctx->config, w), err);

    if (rc == 0)
        rc = pl_device_configure(ctx->be, &device, err);
    if (rc != 0)
        return rc;
    rng_mt_seed(&p->gen, (uint64_t)w->seed);
    rc = pl_model_new(&p->model, ctx->config, w->model, ctx->be,
                      &p->sets.train->sample, &p->gen, err);
    if (rc == 0)
        rc = nn_loader_new(&p->loader, p->sets.train, &p->gen, &order, err);
    if (rc == 0)
        nn_loader_begin_epoch(p->loader);
    return rc;
}

int profile_open_trainer(struct profile *p, struct err *err)
{
    const struct pl_profile_with *w = p->with;
    const struct nn_trainer_opts opts = {
        .loss = p->loss,
        .optim = pl_optimizer_spec(&w->optimizer),
        .microbatches = 1,
        .fusion = w->fusion ? NN_FUSION_ALL : NN_FUSION_NONE,
        .execution = (enum nn_execution)w->execution,
        .dropout_seed = (uint64_t)w->seed,
    };
    int rc = nn_trainer_new(&p->trainer, p->model, p->sets.train, &opts, err);

    if (rc == ERR_CONFIG)
        pl_err_at_node(err, pl_config_model(p->ctx->config, w->model)->node);
    return rc;
}

void profile_close_trainer(struct profile *p)
{
    nn_trainer_free(p->trainer);
    nn_loader_free(p->loader);
    nn_model_free(p->model);
    p->trainer = NULL;
    p->loader = NULL;
    p->model = NULL;
}

int profile_open(struct profile *p, struct err *err)
{
    int rc = open_data(p, err);

    if (rc == 0)
        rc = profile_open_model(p, err);
    if (rc == 0)
        rc = profile_open_trainer(p, err);
    if (rc != 0)
        return rc;
    p->first = mem_array((size_t)p->with->n_step, sizeof *p->first);
    p->timed = mem_array((size_t)p->with->repeat, sizeof *p->timed);
    if (!p->first || !p->timed)
        return err_set(err, ERR_NOMEM, "out of memory for a profile");
    return 0;
}

/* Where the next batch begins. The order is that of the first epoch, over and
 * over: no shuffling comes between two steps. */
static int64_t next_batch(const struct profile *p)
{
    int64_t first, count;

    nn_loader_batch(p->loader, p->trainer->step % nn_loader_batches(p->loader),
                    &first, &count);
    return first;
}

/* One step, from an idle device to an idle device. */
int profile_step(struct profile *p, double *seconds, struct err *err)
{
    int64_t first = next_batch(p);
    double begin = pl_clock();
    float loss;
    int rc = nn_trainer_step(p->trainer, p->loader->order, first,
                             p->with->batch_size, p->with->lr, &loss, err);

    if (rc == 0)
        rc = nn_backend_sync(p->ctx->be, err);
    *seconds = pl_clock() - begin;
    return rc;
}

static int launch(struct profile *p, struct err *err)
{
    return nn_trainer_launch(p->trainer, p->loader->order, next_batch(p),
                             p->with->batch_size, p->with->lr, err);
}

/* n < NN_MARKS steps that the host does not wait between. lead: one more goes
 * before them, so that the device has work when the first of them comes. */
static int mark_steps(struct profile *p, bool lead, int n, double *seconds,
                      struct err *err)
{
    struct nn_backend *be = p->ctx->be;
    struct nn_step_result result[NN_RESULTS];
    int rc = lead ? launch(p, err) : 0;
    int i, done;

    if (rc == 0)
        rc = be->ops->mark(be, 0, err);
    for (i = 0; rc == 0 && i < n; i++) {
        rc = launch(p, err);
        if (rc == 0)
            rc = be->ops->mark(be, i + 1, err);
    }
    if (rc == 0)
        rc = nn_trainer_collect(p->trainer, result, &done, err);
    for (i = 0; rc == 0 && i < n; i++)
        rc = be->ops->elapsed(be, i, i + 1, &seconds[i], err);
    return rc;
}

bool profile_has_marks(const struct profile *p)
{
    return p->ctx->be->ops->mark != NULL;
}

void profile_show_progress(struct profile *p)
{
    const struct pl_profile_with *w = p->with;
    const struct pl_progress now = {
        .text = "steps",
        .done = (double)p->trainer->step,
        .total =
            (double)(p->prof ? w->n_step : w->n_step + w->warmup + w->repeat),
        .unit = "step",
    };

    pl_progress(p->ctx, &now);
}

/* n steps, and how long each took; seconds NULL: nobody asks. most: that a
 * device with a clock of its own is given at once. */
static int take_steps(struct profile *p, int64_t n, int most, double *seconds,
                      struct err *err)
{
    double unasked[NN_MARKS];
    bool lead = most > 1, ahead = profile_has_marks(p);
    int64_t i;
    int rc = 0, k;

    for (i = 0; rc == 0 && i < n; i += k) {
        double *to = seconds ? seconds + i : unasked;

        if (pl_stopping(p->ctx))
            return err_set(err, ERR_INTERRUPTED,
                           "stopped before all steps were timed");
        k = !ahead ? 1 : n - i < most ? (int)(n - i) : most;
        rc = ahead ? mark_steps(p, lead, k, to, err) : profile_step(p, to, err);
        profile_show_progress(p);
    }
    return rc;
}

int profile_measure(struct profile *p, struct pl_step_times *t, struct err *err)
{
    const struct pl_profile_with *w = p->with;
    int rc = take_steps(p, w->n_step, 1, p->first, err);

    if (rc == 0)
        rc = take_steps(p, w->warmup, NN_MARKS - 1, NULL, err);
    pl_host_state(&t->before, t->be);
    if (rc == 0)
        rc = take_steps(p, w->repeat, NN_MARKS - 1, p->timed, err);
    pl_host_state(&t->after, t->be);
    return rc == 0 ? pl_times_sum_up(&t->sum, p->timed, (size_t)w->repeat, err)
                   : rc;
}
