#include "pipeline/run.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/base/str.h"
#include "pipeline/fetch.h"
#include "pipeline/hash.h"
#include "pipeline/recipe.h"
#include "pipeline/stage.h"

/* Whether name stays below the folder that it is joined to. */
static bool stays_below(const char *name)
{
    const char *p = name;

    if (*name == '\0' || *name == '/')
        return false;
    while (p) {
        size_t len = strcspn(p, "/");

        if (len == 0 || (len == 1 && p[0] == '.') ||
            (len == 2 && p[0] == '.' && p[1] == '.'))
            return false;
        p = p[len] ? p + len + 1 : NULL;
    }
    return true;
}

static int make_parent(const char *path, struct err *err)
{
    char *dir = io_dirname(path);
    int rc;

    if (!dir)
        return err_set(err, ERR_NOMEM, "out of memory writing '%s'", path);
    rc = io_mkdirs(dir, err);
    mem_free(dir);
    return rc;
}

const char *pl_artifact_path(struct pl_stage_ctx *ctx, const char *name,
                             struct err *err)
{
    char *path;

    if (!stays_below(name)) {
        (void)err_set(err, ERR_CONFIG,
                      "'%s' cannot name an artifact: it leaves the folder of "
                      "stage '%s'",
                      name, ctx->stage->id);
        return NULL;
    }
    path = arena_printf(&ctx->run->work.arena, "%s/%s", ctx->dir, name);
    if (!path) {
        (void)err_set(err, ERR_NOMEM, "out of memory naming '%s'", name);
        return NULL;
    }
    if (strchr(name, '/') && make_parent(path, err) != 0)
        return NULL;
    return path;
}

static struct pl_output *find_artifact(struct pl_work *w, const char *name)
{
    size_t i;

    for (i = 0; i < w->n_artifacts; i++)
        if (strcmp(w->artifact[i].name, name) == 0)
            return &w->artifact[i];
    return NULL;
}

static bool add_artifact(struct pl_work *w, const char *name)
{
    struct pl_output *p;
    size_t cap = w->cap_artifacts ? w->cap_artifacts * 2 : 16;

    if (find_artifact(w, name))
        return true;
    if (w->n_artifacts == w->cap_artifacts) {
        p = arena_array(&w->arena, cap, sizeof *p);
        if (!p)
            return false;
        if (w->n_artifacts)
            memcpy(p, w->artifact, w->n_artifacts * sizeof *p);
        w->artifact = p;
        w->cap_artifacts = cap;
    }
    p = &w->artifact[w->n_artifacts];
    p->name = arena_strdup(&w->arena, name);
    if (!p->name)
        return false;
    w->n_artifacts++;
    return true;
}

int pl_artifact_add(struct pl_stage_ctx *ctx, const char *name, struct err *err)
{
    if (!add_artifact(&ctx->run->work, name))
        return err_set(err, ERR_NOMEM, "out of memory recording '%s'", name);
    return 0;
}

int pl_artifact_write(struct pl_stage_ctx *ctx, const char *name,
                      const void *data, size_t len, struct err *err)
{
    const char *path = pl_artifact_path(ctx, name, err);
    int rc;

    if (!path)
        return err ? err->code : ERR_NOMEM;
    rc = io_write_file(path, data, len, err);
    return rc != 0 ? rc : pl_artifact_add(ctx, name, err);
}

int pl_artifact_remove(struct pl_stage_ctx *ctx, const char *name,
                       struct err *err)
{
    struct pl_work *w = &ctx->run->work;
    struct pl_output *p = find_artifact(w, name);
    const char *path = pl_artifact_path(ctx, name, err);

    if (!path)
        return err ? err->code : ERR_NOMEM;
    if (unlink(path) != 0 && errno != ENOENT)
        return err_sys(err, "cannot remove '%s'", path);
    if (p)
        *p = w->artifact[--w->n_artifacts];
    return 0;
}

void pl_metric(struct pl_stage_ctx *ctx, const char *name, double value)
{
    pl_metrics_set(&ctx->run->work.metrics, name, value);
}

void pl_fact(struct pl_stage_ctx *ctx, const char *name, double value)
{
    pl_metrics_set(&ctx->run->work.facts, name, value);
}

const char *pl_stage_file(struct pl_stage_ctx *ctx, const char *stage,
                          const char *file, struct err *err)
{
    const struct pl_stage *s = pl_config_stage(ctx->config, stage);
    char *dir = s ? pl_job_stage_dir(ctx->run->job, s) : NULL;
    char *path = NULL;

    if (dir)
        path = arena_printf(&ctx->run->work.arena, "%s%s%s", dir,
                            file ? "/" : "", file ? file : "");
    mem_free(dir);
    if (!s)
        (void)err_set(err, ERR_CONFIG, "there is no stage '%s'", stage);
    else if (!path)
        (void)err_set(err, ERR_NOMEM, "out of memory naming '%s'",
                      file ? file : stage);
    return path;
}

int pl_stage_metric(struct pl_stage_ctx *ctx, const char *stage,
                    const char *name, double *out, struct err *err)
{
    const char *path = pl_stage_file(ctx, stage, "metrics.json", err);
    struct pl_metrics m = {0};
    const double *v;
    int rc;

    *out = NAN;
    if (!path)
        return err ? err->code : ERR_NOMEM;
    rc = pl_metrics_read(&m, path, err);
    v = rc == 0 ? pl_metrics_get(&m, name) : NULL;
    if (v)
        *out = *v;
    else if (rc == 0)
        rc = err_set(err, ERR_CONFIG, "stage '%s' has no metric '%s'", stage,
                     name);
    pl_metrics_clear(&m);
    return rc;
}

/* The stage that downloads the data set called name, or NULL. */
static const struct pl_stage *find_fetch(const struct pl_config *c,
                                         const char *name)
{
    size_t i;

    for (i = 0; i < c->n_stages; i++) {
        const struct pl_stage *s = &c->stages[i];
        const struct pl_fetch_with *with = s->with;

        if (s->kind == &pl_kind_fetch && strcmp(with->dataset, name) == 0)
            return s;
    }
    return NULL;
}

/* A file of the cache may have been changed since it was fetched: it is hashed
 * before it is used, and thrown away if it is not what was recorded. */
static int verify_cached(const struct pl_fetched *files, struct err *err)
{
    char hex[65];
    uint64_t bytes;
    size_t i;
    int rc = 0;

    for (i = 0; rc == 0 && i < files->n; i++) {
        const struct pl_fetched_file *f = &files->file[i];

        rc = pl_hash_file(hex, &bytes, f->path, err);
        if (rc != 0 || strcmp(hex, f->sha256) == 0)
            continue;
        (void)unlink(f->path);
        rc = err_set(err, ERR_CORRUPT,
                     "'%s' was changed in the cache and is thrown away; the "
                     "same command fetches it again",
                     f->name ? f->name : f->role);
    }
    return rc;
}

int pl_open_dataset(struct pl_stage_ctx *ctx, const char *name,
                    struct pl_sets *out, struct err *err)
{
    const struct pl_dataset *ds = pl_config_dataset(ctx->config, name);
    const struct pl_stage *fetch = find_fetch(ctx->config, name);
    struct pl_fetched files = {0};
    const char *path;
    int rc = 0;

    memset(out, 0, sizeof *out);
    if (!ds)
        return err_set(err, ERR_CONFIG, "there is no data set '%s'", name);
    if (pl_dataset_needs_fetch(ds)) {
        if (!fetch)
            return err_set(err, ERR_CONFIG, "no stage fetches '%s'", name);
        path = pl_stage_file(ctx, fetch->id, "files.json", err);
        if (!path)
            return err ? err->code : ERR_NOMEM;
        rc = pl_fetched_read(&files, path, NULL, err);
    }
    if (rc == 0)
        rc = verify_cached(&files, err);
    if (rc == 0)
        rc = pl_dataset_open(out, ds, &files, err);
    pl_fetched_free(&files);
    return rc;
}
