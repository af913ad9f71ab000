#include "pipeline/stage.h"

#include <stdio.h>
#include <string.h>

#include "nn/base/mem.h"
#include "pipeline/recipe.h"
#include "pipeline/summary.h"

/* Says text line by line; it ends with a newline. */
static void say_lines(struct pl_stage_ctx *ctx, const char *text)
{
    const char *end;

    for (; (end = strchr(text, '\n')) != NULL; text = end + 1)
        pl_say(ctx, "%.*s", (int)(end - text), text);
}

static int write_md(struct pl_stage_ctx *ctx, const struct pl_summary *s,
                    struct err *err)
{
    struct str text = {0};
    int rc = pl_summary_write(&text, s, true, err);

    if (rc == 0)
        rc = pl_artifact_write(ctx, "summary.md", text.text, text.len, err);
    str_free(&text);
    return rc;
}

static int write_csv(struct pl_stage_ctx *ctx, const struct pl_summary *s,
                     struct err *err)
{
    struct str text = {0};
    int rc;

    pl_summary_csv(&text, s);
    if (text.failed)
        rc = err_set(err, ERR_NOMEM, "out of memory for a summary");
    else
        rc = pl_artifact_write(ctx, "summary.csv", text.text, text.len, err);
    str_free(&text);
    return rc;
}

static int say(struct pl_stage_ctx *ctx, const struct pl_summary *s,
               struct err *err)
{
    struct str text = {0};
    int rc = pl_summary_write(&text, s, false, err);

    if (rc == 0)
        say_lines(ctx, text.text);
    str_free(&text);
    return rc;
}

static void add_metrics(struct pl_stage_ctx *ctx, const struct pl_summary *s)
{
    int64_t n = nn_model_count(s->model);
    char name[80];
    size_t i;

    pl_metric(ctx, "layers", s->model->n_layers);
    pl_metric(ctx, "parameters", (double)n);
    pl_metric(ctx, "parameter_bytes", (double)n * 4);
    pl_metric(ctx, "gradient_bytes", (double)n * 4);
    for (i = 0; i < s->n_optimizers; i++) {
        (void)snprintf(name, sizeof name, "state_bytes.%s", s->optimizers[i]);
        pl_metric(ctx, name,
                  (double)pl_summary_state_bytes(s->optimizers[i], n));
    }
}

static int summarise(struct pl_stage_ctx *ctx, const struct nn_model *m,
                     struct err *err)
{
    const struct pl_summary_with *w = ctx->stage->with;
    const struct pl_summary s = {.model = m,
                                 .name = w->model,
                                 .dataset = w->dataset,
                                 .batch = w->batch_size,
                                 .optimizers = w->optimizers.items,
                                 .n_optimizers = w->optimizers.n};
    int rc = write_md(ctx, &s, err);

    if (rc == 0)
        rc = write_csv(ctx, &s, err);
    if (rc == 0)
        rc = say(ctx, &s, err);
    if (rc == 0)
        add_metrics(ctx, &s);
    return rc;
}

/* Adds where the layer stands that does not fit. */
static void place_error(const struct pl_model *model, size_t bad,
                        struct err *err)
{
    const struct pl_layer *l = model->layers.items;
    const struct pl_node *node = bad < model->layers.n ? l[bad].node : NULL;

    if (node && node->loc.file)
        err_at(err, "%s:%d:%d", node->loc.file->path, node->loc.line,
               node->loc.col);
}

static int build(struct nn_model **out, struct nn_backend *be,
                 const struct pl_model *model, const struct nn_shape *sample,
                 struct err *err)
{
    struct nn_layer_spec *spec;
    size_t n, bad = SIZE_MAX;
    int rc;

    *out = NULL;
    rc = pl_model_layers(&spec, &n, model, err);
    if (rc != 0)
        return rc;
    rc = nn_model_new(out, be, &(struct nn_model_spec){spec, n, *sample}, NULL,
                      &bad, err);
    if (rc == ERR_CONFIG)
        place_error(model, bad, err);
    mem_free(spec);
    return rc;
}

static int run(struct pl_stage_ctx *ctx, struct err *err)
{
    const struct pl_summary_with *w = ctx->stage->with;
    const struct pl_model *model = pl_config_model(ctx->config, w->model);
    struct nn_backend *be = NULL;
    struct nn_model *m = NULL;
    struct pl_sets sets = {0};
    int rc;

    if (!model)
        return err_set(err, ERR_CONFIG, "there is no model '%s'", w->model);
    rc = pl_open_dataset(ctx, w->dataset, &sets, err);
    if (rc == 0)
        rc = nn_cpu_open(&be, 1, NULL, err);
    if (rc == 0)
        rc = build(&m, be, model, &sets.train->sample, err);
    if (rc == 0)
        rc = summarise(ctx, m, err);
    nn_model_free(m);
    nn_backend_close(be);
    pl_sets_close(&sets);
    return rc;
}

const struct pl_stage_kind pl_kind_summary = {
    .name = "summary",
    .help = "a model's layers, parameters and memory, worked out step by step",
    .with = &pl_summary_schema,
    .version = 1,
    .run = run,
};
