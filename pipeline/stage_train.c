#include <math.h>
#include <stdio.h>
#include <time.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/train_run.h"

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int write_text(struct pl_stage_ctx *ctx, const char *name,
                      struct str *text, struct err *err)
{
    int rc;

    if (text->failed)
        rc = err_set(err, ERR_NOMEM, "out of memory writing %s", name);
    else
        rc = pl_artifact_write(ctx, name, text->text, text->len, err);
    str_free(text);
    return rc;
}

static int write_curve(struct pl_train *t, struct err *err)
{
    struct str csv = {0}, svg = {0}, title = {0};
    int rc;

    pl_curve_csv(&t->curve, &csv);
    rc = write_text(t->ctx, "curve.csv", &csv, err);
    if (rc != 0)
        return rc;
    str_addf(&title, "%s: %s", t->ctx->config->name, t->ctx->config->recipe);
    if (t->ctx->config->recipe[0] == '\0') {
        str_clear(&title);
        str_addf(&title, "%s: %s", t->ctx->config->name, t->ctx->stage->local);
    }
    rc = title.failed
             ? err_set(err, ERR_NOMEM, "out of memory for the loss curve")
             : pl_curve_svg(&t->curve, t->steps_per_epoch, title.text, &svg,
                            err);
    str_free(&title);
    if (rc != 0) {
        str_free(&svg);
        return rc;
    }
    return write_text(t->ctx, "curve.svg", &svg, err);
}

static int measure(struct pl_train *t, const struct nn_data *data,
                   struct pl_measured *m, struct err *err)
{
    /* Not stopped half way: an epoch that ended is evaluated and saved. */
    struct nn_eval_opts opts = {.batch_size = t->with->eval_batch_size};
    int rc = 0;

    if (!data)
        return 0;
    if (!m->evaluator)
        rc = nn_evaluator_new(&m->evaluator, t->model, data, &t->loss, &opts,
                              err);
    if (rc == 0)
        rc = nn_evaluator_run(&m->r, m->evaluator, err);
    m->has = rc == 0;
    return rc;
}

static void note_measured(struct pl_train *t, const struct pl_measured *m,
                          int loss_column)
{
    double *row = t->curve.row[t->curve.n - 1];

    if (!m->has)
        return;
    row[loss_column] = m->r.loss;
    if (m->r.has_accuracy)
        row[loss_column + 1] = m->r.accuracy;
}

/* The value that decides which model is the best, or NaN. */
static double monitored(const struct pl_train *t)
{
    const struct pl_measured *m = &t->validation;

    if (!m->has)
        return NAN;
    if (t->with->monitor && t->with->monitor->metric == 1)
        return m->r.has_accuracy ? m->r.accuracy : NAN;
    return m->r.loss;
}

/* Whether a larger value is better: of an accuracy, unless said otherwise. */
static bool more_is_better(const struct pl_monitor *m)
{
    return m && (m->mode == 0 ? m->metric == 1 : m->mode == 2);
}

static int keep_best(struct pl_train *t, struct err *err)
{
    double v = monitored(t);
    bool most = more_is_better(t->with->monitor);
    bool better = most ? v > t->best : v < t->best;

    if (isnan(v) || !(isnan(t->best) || better))
        return 0;
    t->best = v;
    t->best_epoch = t->epoch;
    return pl_train_save_model(t, "best", err);
}

static int keep_epoch(struct pl_train *t, struct err *err)
{
    int64_t every = t->with->checkpoint.every_n_epochs;
    char name[64];

    if (every == 0 || t->epoch % every != 0)
        return 0;
    (void)snprintf(name, sizeof name, "epoch-%lld", (long long)t->epoch);
    return pl_train_save_model(t, name, err);
}

/* Away with what is more than keep_last_n: after the state was saved, so that
 * a run killed here can still be gone on from. */
static int drop_old_epochs(struct pl_train *t, struct err *err)
{
    char name[64];
    const char *path;
    int64_t e;
    int rc = 0;

    if (t->with->checkpoint.keep_last_n == 0)
        return 0;
    for (e = 1; rc == 0 && e <= t->epoch; e++) {
        if (pl_train_keeps(t, e, name))
            continue;
        path = pl_artifact_path(t->ctx, name, err);
        if (!path)
            return ERR_NOMEM;
        if (io_exists(path))
            rc = pl_artifact_remove(t->ctx, name, err);
    }
    return rc;
}

static bool evaluation_due(const struct pl_train *t)
{
    int64_t every = t->with->eval_every_n_epochs;

    return t->epoch == t->with->epochs || (every > 0 && t->epoch % every == 0);
}

/* Evaluation, checkpoints and records after a whole epoch. */
static int end_epoch(struct pl_train *t, struct err *err)
{
    int rc = 0;

    if (evaluation_due(t)) {
        rc = measure(t, t->sets.validation, &t->validation, err);
        if (rc == 0)
            rc = measure(t, t->sets.test, &t->test, err);
        if (rc != 0)
            return rc;
        note_measured(t, &t->validation, PL_CURVE_VALIDATION_LOSS);
        note_measured(t, &t->test, PL_CURVE_TEST_LOSS);
        rc = keep_best(t, err);
    }
    if (rc == 0)
        rc = keep_epoch(t, err);
    if (rc == 0)
        rc = pl_train_save_model(t, "last", err);
    nn_loader_end_epoch(t->loader);
    if (rc == 0)
        rc = pl_train_save_state(t, err);
    return rc == 0 ? drop_old_epochs(t, err) : rc;
}

/* Saves what a stopped run needs to go on, and says so. */
static int stop_here(struct pl_train *t, struct err *err)
{
    int rc = pl_train_collect(t, err);

    if (rc == 0)
        rc = pl_train_save_state(t, err);
    if (rc == 0)
        rc = write_curve(t, err);
    if (rc != 0)
        return rc;
    return err_set(err, ERR_INTERRUPTED,
                   "stopped after step %lld of %lld, which is saved; the same "
                   "command goes on from there",
                   (long long)t->trainer->step, (long long)pl_train_steps(t));
}

static int run_epoch(struct pl_train *t, struct err *err)
{
    int64_t every = t->with->checkpoint.every_n_steps;
    int64_t begun = t->step_in_epoch;
    double start = now();
    int rc = 0;

    nn_loader_begin_epoch(t->loader);
    while (rc == 0 && t->step_in_epoch < t->steps_per_epoch) {
        if (pl_stopping(t->ctx))
            return stop_here(t, err);
        rc = pl_train_one_step(t, err);
        if (rc == 0 && every > 0 && t->trainer->step % every == 0 &&
            t->step_in_epoch < t->steps_per_epoch) {
            rc = pl_train_collect(t, err);
            if (rc == 0)
                rc = pl_train_save_state(t, err);
        }
    }
    if (rc == 0)
        rc = pl_train_collect(t, err);
    if (rc != 0)
        return rc;
    start = now() - start;
    begun = t->step_in_epoch - begun;
    t->train_loss = t->loss_sum / (double)t->loss_samples;
    t->loss_sum = 0.0;
    t->loss_samples = 0;
    t->step_in_epoch = 0;
    t->epoch++;
    rc = end_epoch(t, err);
    if (rc == 0)
        pl_train_say_epoch(t, start, begun);
    return rc;
}

static void give_measured(struct pl_stage_ctx *ctx, const char *set,
                          const struct pl_measured *m)
{
    char name[64];

    if (!m->has)
        return;
    (void)snprintf(name, sizeof name, "%s.loss", set);
    pl_metric(ctx, name, m->r.loss);
    if (!m->r.has_accuracy)
        return;
    (void)snprintf(name, sizeof name, "%s.accuracy", set);
    pl_metric(ctx, name, m->r.accuracy);
}

static void give_metrics(struct pl_train *t)
{
    struct pl_stage_ctx *ctx = t->ctx;

    pl_metric(ctx, "parameters", (double)nn_model_count(t->model));
    pl_metric(ctx, "epochs", (double)t->epoch);
    pl_metric(ctx, "steps", (double)t->trainer->step);
    pl_metric(ctx, "train.loss", t->train_loss);
    give_measured(ctx, "validation", &t->validation);
    give_measured(ctx, "test", &t->test);
    if (!isnan(t->best)) {
        pl_metric(ctx, "best.epoch", (double)t->best_epoch);
        pl_metric(ctx, "best.value", t->best);
    }
}

/* Records the checkpoints that an earlier, stopped run of this recipe left. */
static int adopt_checkpoints(struct pl_train *t, struct err *err)
{
    char name[64];
    int64_t e;
    int rc = 0;

    for (e = 0; rc == 0 && e <= t->epoch; e++)
        if (pl_train_keeps(t, e, name))
            rc = pl_artifact_add(t->ctx, name, err);
    return rc == 0 ? drop_old_epochs(t, err) : rc;
}

static int start(struct pl_train *t, struct err *err)
{
    bool resumed;
    int rc = pl_train_load_state(t, &resumed, err);

    if (rc == 0)
        pl_train_say_labels(t);
    if (rc != 0 || !resumed)
        return rc;
    pl_train_say_resumed(t);
    return adopt_checkpoints(t, err);
}

/* A run whose last epoch was saved but which ended before its stage was whole:
 * what it measured last is measured again, to the same numbers. */
static int finish_resumed(struct pl_train *t, struct err *err)
{
    int rc = 0;

    if (!t->test.has)
        rc = measure(t, t->sets.test, &t->test, err);
    if (rc == 0 && !t->validation.has)
        rc = measure(t, t->sets.validation, &t->validation, err);
    if (rc == 0)
        rc = pl_artifact_add(t->ctx, "checkpoints/last.safetensors", err);
    return rc == 0
               ? pl_artifact_add(t->ctx, "checkpoints/resume.safetensors", err)
               : rc;
}

static int train(struct pl_stage_ctx *ctx, struct err *err)
{
    struct pl_train t;
    int64_t begun;
    double start_time;
    int rc = pl_train_open(&t, ctx, err);

    if (rc == 0)
        rc = start(&t, err);
    if (rc != 0)
        goto done;
    begun = t.trainer->step;
    start_time = now();
    while (rc == 0 && t.epoch < t.with->epochs)
        rc = run_epoch(&t, err);
    if (rc == ERR_NONFINITE) { /* the curve shows what led there */
        struct err none = {0};

        (void)write_curve(&t, &none);
    }
    if (rc == 0 && !t.test.has && !t.validation.has)
        rc = finish_resumed(&t, err);
    if (rc == 0)
        rc = pl_train_tell_step(&t, true, err);
    if (rc == 0)
        rc = write_curve(&t, err);
    if (rc == 0) {
        give_metrics(&t);
        pl_fact(ctx, "steps_per_s",
                (double)(t.trainer->step - begun) / (now() - start_time));
    }
done:
    pl_train_close(&t);
    return rc;
}

/* One logit a class: what can be known before the data are there. */
static void check_outputs(const struct pl_config *c,
                          const struct pl_train_with *w,
                          const struct pl_dataset *ds, struct pl_diag *d)
{
    const struct pl_model *m = pl_config_model(c, w->model);
    const struct pl_layer *l = m ? m->layers.items : NULL;
    const struct pl_layer *last = NULL;
    size_t i;

    for (i = 0; m && i < m->layers.n; i++)
        if (l[i].type == NN_LAYER_LINEAR || l[i].type == NN_LAYER_OWN)
            last = l[i].own ? NULL : &l[i];
    if (!ds || !last || ds->classes < 2 || last->out >= ds->classes)
        return;
    if (w->loss != PL_LOSS_AUTO && w->loss != PL_LOSS_CROSS_ENTROPY)
        return;
    pl_diag_error(d, last->node->loc,
                  "the last linear layer has %lld outputs for the %lld classes "
                  "of dataset '%s'",
                  (long long)last->out, (long long)ds->classes, w->dataset);
    pl_diag_help(d, "write out: %lld", (long long)ds->classes);
}

/* Settings that would be silently without effect. */
static void check_idle(const struct pl_train_with *w, const struct pl_stage *s,
                       struct pl_diag *d)
{
    struct nn_optim_spec o = pl_optimizer_spec(&w->optimizer);

    if (w->pos_weight != 1.0 && w->loss != PL_LOSS_BCE &&
        w->loss != PL_LOSS_AUTO)
        pl_diag_error(d, pl_node_key_loc(w->node, "pos_weight", s->loc),
                      "pos_weight needs loss: bce_with_logits");
    if (w->label_smoothing != 0.0 && w->loss != PL_LOSS_CROSS_ENTROPY &&
        w->loss != PL_LOSS_AUTO)
        pl_diag_error(d, pl_node_key_loc(w->node, "label_smoothing", s->loc),
                      "label_smoothing needs loss: cross_entropy");
    if (o.nesterov && o.momentum == 0.0)
        pl_diag_error(d, pl_node_key_loc(w->optimizer.node, "nesterov", s->loc),
                      "nesterov needs a momentum");
}

static void check_own_loss(const struct pl_config *c, const struct pl_stage *s,
                           struct pl_diag *d)
{
    const struct pl_train_with *w = s->with;
    const struct pl_operator *o =
        w->own_loss ? pl_config_operator(c, w->own_loss) : NULL;

    if (o)
        pl_operator_check_loss(o, pl_node_key_loc(w->node, "loss", s->loc), d);
}

/* best needs a validation split: nothing is chosen on the test set. */
static void check_train(const struct pl_config *c, const struct pl_stage *s,
                        struct pl_diag *d)
{
    const struct pl_train_with *w = s->with;
    const struct pl_dataset *ds = pl_config_dataset(c, w->dataset);

    if (w->monitor && ds && ds->split.validation == 0) {
        pl_diag_error(d, pl_node_key_loc(w->node, "monitor", s->loc),
                      "monitor needs a validation split, and "
                      "dataset '%s' has none",
                      w->dataset);
        pl_diag_help(d, "add split: {validation: N, seed: 0} to the data set; "
                        "N of its training samples then validate");
    }
    check_outputs(c, w, ds, d);
    check_own_loss(c, s, d);
    check_idle(w, s, d);
    pl_train_check_resume(c, s, d);
    pl_step_order_check(s, d);
    if (w->checkpoint.keep_last_n > 0 && w->checkpoint.every_n_epochs == 0) {
        pl_diag_error(d, pl_node_key_loc(w->node, "checkpoint", s->loc),
                      "checkpoint.keep_last_n needs "
                      "checkpoint.every_n_epochs");
        pl_diag_help(d, "add every_n_epochs: 1");
    }
}

/* A cosine is stretched over all epochs: more of them change every step. */
static bool may_grow(const void *with)
{
    const struct pl_train_with *w = with;

    return w->schedule.type != PL_SCHED_COSINE;
}

const struct pl_stage_kind pl_kind_train = {
    .name = "train",
    .help = "train a model on a data set, with checkpoints and a loss curve",
    .with = &pl_train_schema,
    .needs_device = true,
    .version = 2,
    .check = check_train,
    .grows = "with.epochs",
    .may_grow = may_grow,
    .run = train,
};
