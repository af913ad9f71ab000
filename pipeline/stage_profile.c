/* profile: a run of training steps, timed one by one without a profiler; then
 * the same run anew, traced. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/device_settings.h"
#include "pipeline/facts.h"
#include "pipeline/memory_timeline.h"
#include "pipeline/operator_report.h"
#include "pipeline/profile.h"
#include "pipeline/train_run.h"

struct profile {
    struct pl_stage_ctx *ctx;
    const struct pl_profile_with *with;
    struct pl_sets sets;
    struct rng_mt gen;
    struct nn_model *model;
    struct nn_loader *loader;
    struct nn_trainer *trainer;
    struct nn_loss loss;
    double *first, *timed; /* with->n_step, with->repeat */
    struct prof *prof;
    struct pl_traced traced;
};

enum { MOST_SPANS = 1 << 22 };

static const struct pl_operator *own_loss(const struct pl_config *c,
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

static int open_model(struct profile *p, struct err *err)
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
                                    own_loss(ctx->config, w), err);

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

static int open_trainer(struct profile *p, struct err *err)
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

static void close_trainer(struct profile *p)
{
    nn_trainer_free(p->trainer);
    nn_loader_free(p->loader);
    nn_model_free(p->model);
    p->trainer = NULL;
    p->loader = NULL;
    p->model = NULL;
}

static int open_all(struct profile *p, struct err *err)
{
    int rc = open_data(p, err);

    if (rc == 0)
        rc = open_model(p, err);
    if (rc == 0)
        rc = open_trainer(p, err);
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
static int clock_step(struct profile *p, double *seconds, struct err *err)
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

static bool has_marks(const struct profile *p)
{
    return p->ctx->be->ops->mark != NULL;
}

static void show_progress(struct profile *p)
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
    bool lead = most > 1, ahead = has_marks(p);
    int64_t i;
    int rc = 0, k;

    for (i = 0; rc == 0 && i < n; i += k) {
        double *to = seconds ? seconds + i : unasked;

        if (pl_stopping(p->ctx))
            return err_set(err, ERR_INTERRUPTED,
                           "stopped before all steps were timed");
        k = !ahead ? 1 : n - i < most ? (int)(n - i) : most;
        rc = ahead ? mark_steps(p, lead, k, to, err) : clock_step(p, to, err);
        show_progress(p);
    }
    return rc;
}

static int measure(struct profile *p, struct pl_step_times *t, struct err *err)
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

/* ---- the traced steps ---- */

static int trace_step(struct profile *p, struct err *err)
{
    double unasked;
    int rc;

    prof_step_begin(p->prof);
    rc = clock_step(p, &unasked, err);
    if (rc == 0)
        prof_step_end(p->prof);
    show_progress(p);
    return rc;
}

/* From the first step on: a model, optimizer and order as they began. */
static int trace_steps(struct profile *p, struct err *err)
{
    int64_t i;
    int rc;

    close_trainer(p);
    rc = open_model(p, err);
    if (rc == 0)
        rc = open_trainer(p, err);
    if (rc == 0)
        rc = prof_new(&p->prof, &p->with->schedule, MOST_SPANS, err);
    if (rc != 0)
        return rc;
    p->ctx->be->prof = p->prof;
    for (i = 0; rc == 0 && i < p->with->n_step && !pl_stopping(p->ctx); i++)
        rc = trace_step(p, err);
    p->ctx->be->prof = NULL;
    return rc;
}

/* The width of the first linear layer; 0: there is none. */
static int64_t first_width(const struct nn_model *m)
{
    int i;

    for (i = 0; i < m->n_layers; i++)
        if (m->layer[i].type == NN_LAYER_LINEAR)
            return m->layer[i].out.dim[m->layer[i].out.ndim - 1];
    return 0;
}

/* What was recorded before a stop is written all the same. */
static int trace(struct profile *p, struct err *err)
{
    int rc = trace_steps(p, err);

    if (rc == 0)
        rc = pl_traced_read(&p->traced, p->prof, err);
    if (rc == 0)
        rc = pl_profile_report(p->ctx, &p->traced, first_width(p->model), err);
    if (rc == 0 && p->trainer->step < p->with->n_step)
        rc = err_set(err, ERR_INTERRUPTED,
                     "stopped before all steps were traced");
    return rc;
}

static void give_traced_metrics(struct pl_stage_ctx *ctx,
                                const struct pl_step_times *t)
{
    const struct pl_traced *r = t->traced;
    const struct prof_span *last;
    char name[64];
    double ms;
    int k;

    pl_metric(ctx, "traced.steps", (double)r->n_steps);
    pl_metric(ctx, "traced.lost", (double)r->lost);
    if (r->n_steps == 0)
        return;
    last = r->step[r->n_steps - 1];
    ms = pl_ms(last->end - last->begin);
    pl_metric(ctx, "traced.last_ms", ms);
    pl_metric(ctx, "traced.ratio", ms / (1e3 * t->sum.median));
    for (k = NN_PHASE_H2D; k < NN_PHASE_COUNT; k++) {
        (void)snprintf(name, sizeof name, "traced.share.%s",
                       nn_phase_name((enum nn_phase)k));
        if (strchr(name, ' '))
            *strchr(name, ' ') = '_';
        pl_metric(ctx, name, (double)r->phase_ns[k] / (double)r->steps_ns);
    }
}

/* ---- report ---- */

static void give_metrics(struct pl_stage_ctx *ctx,
                         const struct pl_step_times *t)
{
    const struct pl_times *s = &t->sum;

    pl_metric(ctx, "step_ms.median", 1e3 * s->median);
    pl_metric(ctx, "step_ms.p10", 1e3 * s->p10);
    pl_metric(ctx, "step_ms.p90", 1e3 * s->p90);
    pl_metric(ctx, "samples_per_s", (double)t->with->batch_size / s->median);
    pl_metric(ctx, "flag.drift", s->drifts);
    pl_metric(ctx, "flag.noise", s->noisy);
}

static void say_times(struct pl_stage_ctx *ctx, const struct pl_step_times *t)
{
    const struct pl_profile_with *w = t->with;
    const struct pl_times *s = &t->sum;

    pl_say(ctx,
           "batch %lld, %s: a step takes %.4g ms (p10 %.4g, p90 %.4g, n %zu), "
           "%.4g samples/s",
           (long long)w->batch_size, pl_optimizer_types[w->optimizer.type],
           1e3 * s->median, 1e3 * s->p10, 1e3 * s->p90, s->n,
           (double)w->batch_size / s->median);
    pl_log(ctx, "by %s; execution %s, data %s, fusion %s, numerics %s, on %s",
           t->method, w->execution == NN_EXEC_EAGER ? "eager" : "recorded",
           pl_data_path_on(t->be, w->data), pl_fusions[w->fusion],
           pl_numerics_on(t->be, w->numerics), t->be->description);
    if (w->execution == NN_EXEC_RECORDED && !t->be->ops->step_run)
        pl_log(ctx, "this device has no replay: a recorded step runs operator "
                    "by operator, as an eager one does");
    if (s->drifts)
        pl_log(ctx,
               "warning: the second half's median is %+.1f %% off the first "
               "half's (flag: drift, above 5 %%)",
               100 * s->drift);
    if (s->noisy)
        pl_log(ctx,
               "warning: p90 is %.2f times the median (flag: noise, above 1.5)",
               s->p90 / s->median);
}

static int report(struct profile *p, const struct pl_step_times *t,
                  struct err *err)
{
    struct str csv = {0};
    int rc;

    pl_step_times_csv(t, &csv);
    if (csv.failed)
        rc = err_set(err, ERR_NOMEM, "out of memory for step_times.csv");
    else
        rc =
            pl_artifact_write(p->ctx, "step_times.csv", csv.text, csv.len, err);
    str_free(&csv);
    if (rc == 0) {
        give_metrics(p->ctx, t);
        if (t->traced)
            give_traced_metrics(p->ctx, t);
        say_times(p->ctx, t);
    }
    return rc;
}

static int profile(struct pl_stage_ctx *ctx, struct err *err)
{
    struct profile p = {.ctx = ctx, .with = ctx->stage->with};
    struct pl_step_times t = {.with = p.with, .be = ctx->be};
    int rc = open_all(&p, err);

    t.method = has_marks(&p) ? "events" : "clock";
    t.first = p.first;
    t.timed = p.timed;
    if (rc == 0)
        rc = measure(&p, &t, err);
    if (rc == 0 && p.with->trace && !has_marks(&p)) {
        rc = trace(&p, err);
        t.traced = &p.traced;
    } else if (rc == 0 && p.with->trace)
        pl_log(ctx, "no trace: this device works on its own time, which only "
                    "its own records tell");
    if (rc == 0)
        rc = pl_memory_profile(ctx, p.trainer, t.traced, first_width(p.model),
                               err);
    if (rc == 0)
        rc = report(&p, &t, err);
    pl_traced_clear(&p.traced);
    prof_free(p.prof);
    mem_free(p.first);
    mem_free(p.timed);
    close_trainer(&p);
    pl_sets_close(&p.sets);
    return rc;
}

static bool ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);

    return n > k && strcmp(text + n - k, end) == 0;
}

/* HTA takes all that ends so for a trace, and nothing else. */
static bool good_file(const char *name)
{
    return (ends_in(name, ".json") || ends_in(name, ".json.gz")) &&
           !strchr(name, '/') && name[0] != '.' && name[0] != '-';
}

static void check_profile(const struct pl_config *c, const struct pl_stage *s,
                          struct pl_diag *d)
{
    const struct pl_profile_with *w = s->with;
    const struct pl_operator *loss = own_loss(c, w);
    struct nn_optim_spec o = pl_optimizer_spec(&w->optimizer);

    if (loss)
        pl_operator_check_loss(loss, pl_node_key_loc(w->node, "loss", s->loc),
                               d);
    if (w->file && !good_file(w->file))
        pl_diag_error(d, pl_node_key_loc(w->node, "file", s->loc),
                      "file must be a name that ends in .json or .json.gz, "
                      "without a folder, not '%s'",
                      w->file);
    if (o.nesterov && o.momentum == 0.0)
        pl_diag_error(d, pl_node_key_loc(w->optimizer.node, "nesterov", s->loc),
                      "nesterov needs a momentum");
}

const struct pl_stage_kind pl_kind_profile = {
    .name = "profile",
    .help = "how long a training step takes, and what it does meanwhile",
    .with = &pl_profile_schema,
    .needs_device = true,
    .measures = true,
    .version = 2,
    .check = check_profile,
    .run = profile,
};
