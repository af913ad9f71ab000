#include "pipeline/stage.h"

#include <stdlib.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/fetch.h"
#include "pipeline/recipe.h"
#include "pipeline/run.h"

static bool on_progress(void *user, const char *name, uint64_t done,
                        uint64_t total)
{
    struct pl_stage_ctx *ctx = user;
    const struct pl_progress p = {.text = name,
                                  .done = (double)done,
                                  .total = (double)total,
                                  .unit = "B"};

    pl_progress(ctx, &p);
    return !pl_stopping(ctx);
}

static void on_note(void *user, const char *line)
{
    pl_log(user, "%s", line);
}

static void check(const struct pl_config *c, const struct pl_stage *s,
                  struct pl_diag *d)
{
    const struct pl_fetch_with *w = s->with;
    const struct pl_dataset *ds = pl_config_dataset(c, w->dataset);

    if (ds && !pl_dataset_needs_fetch(ds))
        pl_diag_error(d, w->node ? w->node->loc : s->loc,
                      "dataset '%s' is synthetic: there is nothing to fetch",
                      ds->name);
}

/* files.json says what was fetched and nothing about the machine. */
static int record(struct pl_stage_ctx *ctx, const struct pl_fetched *f,
                  struct err *err)
{
    const char *path = pl_artifact_path(ctx, "files.json", err);
    double bytes = 0;
    size_t i;
    int rc;

    if (!path)
        return ERR_NOMEM;
    for (i = 0; i < f->n; i++)
        bytes += (double)f->file[i].bytes;
    rc = pl_fetched_write(f, path, err);
    if (rc == 0)
        rc = pl_artifact_add(ctx, "files.json", err);
    pl_metric(ctx, "files", (double)f->n);
    pl_metric(ctx, "bytes", bytes);
    return rc;
}

static int run(struct pl_stage_ctx *ctx, struct err *err)
{
    const struct pl_fetch_with *w = ctx->stage->with;
    const struct pl_dataset *ds = pl_config_dataset(ctx->config, w->dataset);
    const struct pl_opts *asked = ctx->run->job->opts;
    const struct pl_fetch_opts opts = {.mirror = asked->mirror,
                                       .cacert = asked->cacert,
                                       .user_agent = "pipeline/" PL_VERSION,
                                       .offline = w->offline || ctx->offline,
                                       .public_only = ctx->config->untrusted,
                                       .connect_timeout = w->connect_timeout,
                                       .stall_timeout = w->stall_timeout,
                                       .retries = w->retries,
                                       .progress = on_progress,
                                       .note = on_note,
                                       .user = ctx};
    struct pl_fetched f;
    int rc;

    if (!ds)
        return err_set(err, ERR_CONFIG, "there is no dataset '%s'", w->dataset);
    rc = pl_fetch_dataset(&f, ds, &opts, err);
    if (rc != 0)
        return rc;
    rc = record(ctx, &f, err);
    pl_fetched_free(&f);
    return rc;
}

/* The folder holds the record alone: the files lie in the cache. */
static bool intact(const char *dir, struct str *why)
{
    char *path = io_join(dir, "files.json");
    struct pl_fetched f = {0};
    struct err err = {0};
    bool ok;

    ok = path && pl_fetched_read(&f, path, NULL, &err) == 0;
    if (!ok)
        str_add(why, path ? err.msg : "out of memory");
    if (ok)
        pl_fetched_free(&f);
    mem_free(path);
    return ok;
}

const struct pl_stage_kind pl_kind_fetch = {
    .name = "fetch",
    .help = "brings a dataset's files into the cache, verified and unpacked",
    .with = &pl_fetch_schema,
    .version = 1,
    .check = check,
    .run = run,
    .intact = intact,
};
