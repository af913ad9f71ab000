#include "pipeline/memory_timeline.h"

#include "pipeline/memory_file.h"
#include "pipeline/number.h"

void pl_memory_add_bytes(struct str *s, int64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double v = (double)bytes;
    size_t u = 0;

    while (v >= 1024 && u < 4) {
        v /= 1024;
        u++;
    }
    pl_add_number(s, v, u ? 2 : 0, false);
    str_addf(s, " %s", units[u]);
}

static int write_text(struct pl_stage_ctx *ctx, const char *name,
                      struct str *text, struct err *err)
{
    int rc;

    if (text->failed)
        rc = err_set(err, ERR_NOMEM, "out of memory for %s", name);
    else
        rc = pl_artifact_write(ctx, name, text->text, text->len, err);
    str_free(text);
    return rc;
}

static int write_named(struct pl_stage_ctx *ctx, const char *name,
                       const char *suffix, struct str *text, struct err *err)
{
    struct str path = {0};
    int rc;

    str_addf(&path, "%s%s", name, suffix);
    if (path.failed) {
        str_free(text);
        rc = err_set(err, ERR_NOMEM, "out of memory for a memory timeline");
    } else {
        rc = write_text(ctx, path.text, text, err);
    }
    str_free(&path);
    return rc;
}

static int write_torch(struct pl_stage_ctx *ctx, const struct nn_step_memory *m,
                       struct err *err)
{
    struct str json = {0}, zipped = {0};
    int rc;

    pl_memory_json(m, &json);
    rc = write_text(ctx, "memory.json", &json, err);
    if (rc != 0)
        return rc;
    json = (struct str){0};
    pl_memory_raw_json(m, &json);
    if (!json.failed)
        pl_gzip(&zipped, json.text, json.len);
    zipped.failed = zipped.failed || json.failed;
    str_free(&json);
    return write_text(ctx, "memory.raw.json.gz", &zipped, err);
}

/* What a stage that compares reads back. */
static int write_record(struct pl_stage_ctx *ctx,
                        const struct pl_memory_run *run, struct err *err)
{
    struct str csv = {0}, zipped = {0};

    pl_memory_csv(run, ctx->be->description, &csv);
    if (!csv.failed)
        pl_gzip(&zipped, csv.text, csv.len);
    zipped.failed = zipped.failed || csv.failed;
    str_free(&csv);
    return write_text(ctx, "memory_events.csv.gz", &zipped, err);
}

static void give_metrics(struct pl_stage_ctx *ctx,
                         const struct nn_step_memory *m)
{
    struct nn_memory_sums s;
    static const struct {
        const char *name;
        enum nn_memory_kind kind;
    } metric[] = {
        {"memory.parameters", NN_MEMORY_PARAMETER},
        {"memory.gradients", NN_MEMORY_GRADIENT},
        {"memory.optimizer_state", NN_MEMORY_OPTIMIZER},
        {"memory.activations_peak", NN_MEMORY_ACTIVATION},
        {"memory.inputs", NN_MEMORY_INPUT},
    };
    size_t i;

    nn_memory_sum_up(m, &s);
    for (i = 0; i < sizeof metric / sizeof *metric; i++)
        pl_metric(ctx, metric[i].name, (double)s.most[metric[i].kind]);
    pl_metric(ctx, "memory.peak", (double)s.peak);
}

int pl_memory_write(struct pl_stage_ctx *ctx, const char *name,
                    const struct pl_memory_runs *runs, struct err *err)
{
    struct str page = {0}, picture = {0};
    int rc;

    pl_memory_html(runs, &page);
    rc = write_named(ctx, name, "_memory.html", &page, err);
    if (rc != 0)
        return rc;
    pl_memory_svg(runs, &picture);
    rc = write_named(ctx, name, "_memory.svg", &picture, err);
    if (rc == 0)
        rc = write_torch(ctx, runs->run[0].memory, err);
    if (rc == 0)
        rc = write_record(ctx, &runs->run[0], err);
    if (rc == 0)
        give_metrics(ctx, runs->run[0].memory);
    return rc;
}
