#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nn/base/mem.h"
#include "nn/eval.h"
#include "pipeline/chart.h"
#include "pipeline/device_settings.h"
#include "pipeline/recipe.h"
#include "pipeline/stage.h"
#include "pipeline/train_run.h"

enum { MAX_CONFUSION = 1000 }; /* classes */

struct evaluate {
    struct pl_stage_ctx *ctx;
    const struct pl_evaluate_with *with;
    const struct pl_train_with *train; /* of the stage it comes from */
    struct pl_sets sets;
    const struct nn_data *data; /* the set asked for */
    struct nn_model *model;
    int64_t *confusion; /* classes * classes, or NULL */
    struct nn_eval_result result;
};

static const char *const set_names[] = {"test", "validation", "train"};

static int choose_set(struct evaluate *e, struct err *err)
{
    const struct nn_data *const sets[] = {
        e->sets.test,
        e->sets.validation,
        e->sets.train,
    };

    e->data = sets[e->with->set];
    if (!e->data)
        return err_set(err, ERR_CONFIG, "data set '%s' has no %s set",
                       e->train->dataset, set_names[e->with->set]);
    return 0;
}

/* Fills the model from a checkpoint of the train stage. */
static int load_model(struct evaluate *e, struct err *err)
{
    const char *path;
    char file[128];

    (void)snprintf(file, sizeof file, "checkpoints/%s.safetensors",
                   e->with->checkpoint);
    path = pl_stage_file(e->ctx, e->with->from, file, err);
    return path ? pl_model_load(e->model, path, err) : ERR_NOMEM;
}

static void confusion_csv(const struct evaluate *e, struct str *out)
{
    int64_t n = e->data->classes, i, k;

    str_add(out, "label\\predicted");
    for (k = 0; k < n; k++)
        str_addf(out, ",%lld", (long long)k);
    str_addc(out, '\n');
    for (i = 0; i < n; i++) {
        str_addf(out, "%lld", (long long)i);
        for (k = 0; k < n; k++)
            str_addf(out, ",%lld", (long long)e->confusion[i * n + k]);
        str_addc(out, '\n');
    }
}

static int write_confusion(struct evaluate *e, struct err *err)
{
    struct pl_matrix m = {.count = e->confusion, .n = (size_t)e->data->classes};
    struct str csv = {0}, svg = {0}, title = {0};
    int rc;

    confusion_csv(e, &csv);
    str_addf(&title, "%s: confusion on the %s set", e->ctx->config->name,
             set_names[e->with->set]);
    m.title = title.text;
    rc = pl_matrix_svg(&svg, &m, err);
    if (rc == 0 && (csv.failed || svg.failed || title.failed))
        rc = err_set(err, ERR_NOMEM, "out of memory for a confusion matrix");
    if (rc == 0)
        rc = pl_artifact_write(e->ctx, "confusion.csv", csv.text, csv.len, err);
    if (rc == 0)
        rc = pl_artifact_write(e->ctx, "confusion.svg", svg.text, svg.len, err);
    str_free(&csv);
    str_free(&svg);
    str_free(&title);
    return rc;
}

static bool asked_to_stop(void *user)
{
    return pl_stopping(user);
}

static int measure(struct evaluate *e, struct err *err)
{
    const struct pl_stage *from =
        pl_config_stage(e->ctx->config, e->with->from);
    struct nn_loss loss = pl_loss_of(from->home, e->train, e->data);
    struct nn_eval_opts opts = {.batch_size = e->with->batch_size,
                                .stop = asked_to_stop,
                                .user = e->ctx};
    int64_t n = e->data->classes;

    if (e->data->label && n <= MAX_CONFUSION) {
        e->confusion = mem_array((size_t)(n * n), sizeof *e->confusion);
        if (!e->confusion)
            return err_set(err, ERR_NOMEM,
                           "out of memory for a confusion "
                           "matrix");
    }
    opts.confusion = e->confusion;
    return nn_evaluate(&e->result, e->model, e->data, &loss, &opts, err);
}

static int report(struct evaluate *e, struct err *err)
{
    const struct nn_eval_result *r = &e->result;

    pl_metric(e->ctx, "samples", (double)r->samples);
    pl_metric(e->ctx, "loss", r->loss);
    if (!r->has_accuracy) {
        pl_say(e->ctx, "%s set, checkpoint %s: %lld samples, loss %.4f",
               set_names[e->with->set], e->with->checkpoint,
               (long long)r->samples, r->loss);
        return 0;
    }
    pl_metric(e->ctx, "accuracy", r->accuracy);
    pl_metric(e->ctx, "correct", (double)r->correct);
    pl_say(e->ctx,
           "%s set, checkpoint %s: %lld of %lld right, accuracy %.2f %%, loss "
           "%.4f",
           set_names[e->with->set], e->with->checkpoint, (long long)r->correct,
           (long long)r->samples, 100.0 * r->accuracy, r->loss);
    return e->confusion ? write_confusion(e, err) : 0;
}

static int evaluate(struct pl_stage_ctx *ctx, struct err *err)
{
    struct evaluate e = {.ctx = ctx, .with = ctx->stage->with};
    const struct pl_stage *from = pl_config_stage(ctx->config, e.with->from);
    struct pl_stage_ctx other = *ctx; /* of the file that trained it */
    const struct nn_backend_config device = {
        .numerics = (enum nn_numerics)e.with->numerics, .fuse = true};
    int rc;

    e.train = from->with;
    other.config = from->home;
    rc = pl_open_dataset(&other, e.train->dataset, &e.sets, err);
    if (rc == 0)
        rc = choose_set(&e, err);
    if (rc == 0)
        rc = pl_device_configure(ctx->be, &device, err);
    if (rc == 0)
        rc = pl_model_new(&e.model, from->home, e.train->model, ctx->be,
                          &e.data->sample, NULL, err);
    if (rc == 0)
        rc = load_model(&e, err);
    if (rc == 0)
        rc = measure(&e, err);
    if (rc == 0)
        rc = report(&e, err);
    mem_free(e.confusion);
    nn_model_free(e.model);
    pl_sets_close(&e.sets);
    return rc;
}

/* Whether stage train will leave that checkpoint. */
static void check_checkpoint(const struct pl_evaluate_with *w,
                             const struct pl_train_with *train,
                             const struct pl_stage *s, struct pl_diag *d)
{
    static const char *const names[] = {"best", "last"};
    struct pl_loc loc = pl_node_key_loc(w->node, "checkpoint", s->loc);
    const struct pl_checkpointing *k = &train->checkpoint;
    char *end;
    long n;

    if (strcmp(w->checkpoint, "best") == 0 ||
        strcmp(w->checkpoint, "last") == 0)
        return;
    if (strncmp(w->checkpoint, "epoch-", 6) != 0) {
        pl_diag_error(d, loc, "checkpoint '%s' is none of best, last, epoch-N",
                      w->checkpoint);
        pl_diag_suggest(d, w->checkpoint, names, 2);
        return;
    }
    n = strtol(w->checkpoint + 6, &end, 10);
    if (*end == '\0' && n >= 1 && n <= train->epochs && k->every_n_epochs > 0 &&
        n % k->every_n_epochs == 0)
        return;
    pl_diag_error(d, loc, "stage '%s' leaves no checkpoint '%s'", w->from,
                  w->checkpoint);
    pl_diag_help(d, "it has %lld epochs and checkpoint.every_n_epochs: %lld",
                 (long long)train->epochs, (long long)k->every_n_epochs);
}

/* best, last or epoch-N, of a stage that trains and writes it. */
static void check_evaluate(const struct pl_config *c, const struct pl_stage *s,
                           struct pl_diag *d)
{
    const struct pl_evaluate_with *w = s->with;
    const struct pl_stage *from = w->from ? pl_config_stage(c, w->from) : NULL;
    const struct pl_train_with *train;
    const struct pl_dataset *ds;

    if (!from)
        return;
    if (from->kind != &pl_kind_train) {
        pl_diag_error(d, pl_node_key_loc(w->node, "from", s->loc),
                      "'%s' is a stage of kind %s; evaluate takes "
                      "the model of a train stage",
                      w->from, from->kind->name);
        return;
    }
    train = from->with;
    ds = pl_config_dataset(from->home, train->dataset);
    if (strcmp(w->checkpoint, "best") == 0 && ds && ds->split.validation == 0) {
        pl_diag_error(d, pl_node_key_loc(w->node, "checkpoint", s->loc),
                      "checkpoint: best needs a validation split, "
                      "and dataset '%s' has none",
                      train->dataset);
        pl_diag_help(d, "add split: {validation: 5000, seed: 0} to the data "
                        "set, or use checkpoint: last");
    }
    check_checkpoint(w, train, s, d);
    if (w->set == 0 && ds && !pl_dataset_has_test(ds))
        pl_diag_error(d, pl_node_key_loc(w->node, "set", s->loc),
                      "data set '%s' has no test set", train->dataset);
    if (w->set == 1 && ds && ds->split.validation == 0)
        pl_diag_error(d, pl_node_key_loc(w->node, "set", s->loc),
                      "data set '%s' has no validation split", train->dataset);
}

const struct pl_stage_kind pl_kind_evaluate = {
    .name = "evaluate",
    .help = "loss, accuracy and confusion matrix of a trained model on a set",
    .with = &pl_evaluate_schema,
    .needs_device = true,
    .version = 1,
    .check = check_evaluate,
    .run = evaluate,
};
