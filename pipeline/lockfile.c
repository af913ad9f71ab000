#include "pipeline/run.h"

#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/base/str.h"
#include "pipeline/facts.h"
#include "pipeline/hash.h"
#include "pipeline/json_file.h"
#include "pipeline/locked.h"
#include "pipeline/url.h"

enum { RESOLVED_MAX = 64 * 1024 * 1024 };

/* What the file holds, the caller's; NULL if it is not there or not to be
 * read. */
static char *content(const char *path)
{
    struct err none = {0};
    char *text = NULL;
    size_t len;

    if (!io_exists(path) ||
        io_read_file(&text, &len, path, RESOLVED_MAX, &none) != 0)
        return NULL;
    return text;
}

static int write_resolved(struct pl_run *run, size_t home, const char *path,
                          struct err *err)
{
    struct str text = {0};
    char *was = content(path);
    int rc = 0;

    pl_config_resolved(run->job->config->homes[home], &text);
    if (text.failed || !text.text)
        rc = err_set(err, ERR_NOMEM, "out of memory writing resolved.yaml");
    else if (!was || strcmp(was, text.text) != 0) {
        if (was)
            run->was[home] = arena_strdup(&run->arena, was);
        rc = io_write_file(path, text.text, text.len, err);
    }
    mem_free(was);
    str_free(&text);
    return rc;
}

int pl_write_resolved(struct pl_run *run, struct err *err)
{
    const struct pl_config *c = run->job->config;
    size_t i;
    int rc = 0;

    for (i = 0; rc == 0 && i < c->n_homes; i++) {
        char *dir = pl_job_home(run->job, c->homes[i]);
        char *path = dir ? io_join(dir, "resolved.yaml") : NULL;

        if (path)
            rc = write_resolved(run, i, path, err);
        else
            rc = err_set(err, ERR_NOMEM, "out of memory writing resolved.yaml");
        mem_free(path);
        mem_free(dir);
    }
    return rc;
}

json_t *pl_outputs_value(const struct pl_record *r)
{
    json_t *o = json_object();
    size_t i;

    for (i = 0; i < r->n_outputs; i++)
        (void)json_object_set_new(o, r->output[i].name,
                                  json_string(r->output[i].sha256));
    return o;
}

static json_t *stage_value(const struct pl_run *run, const struct pl_stage *s,
                           struct arena *arena)
{
    struct pl_record r;
    const char *is;
    char *dir = pl_job_stage_dir(run->job, s);
    json_t *v;

    if (dir && pl_record_read(&r, dir, PL_WHOLE_FILE, arena, &is))
        v = json_pack("{ss ss ss sf ss so}", "state", r.state, "fingerprint",
                      r.fingerprint, "started", r.started, "seconds", r.seconds,
                      "device", r.device, "outputs", pl_outputs_value(&r));
    else
        v = json_pack("{ss}", "state", "not done");
    if (!pl_locked_describe(v, s, arena)) {
        json_decref(v);
        v = NULL;
    }
    mem_free(dir);
    return v;
}

static json_t *stages_value(const struct pl_run *run)
{
    const struct pl_config *c = run->job->config;
    struct arena arena = {0};
    json_t *o = json_object();
    size_t i;

    for (i = 0; i < c->n_stages; i++) {
        if (json_object_set_new(o, c->stages[i].id,
                                stage_value(run, &c->stages[i], &arena))) {
            json_decref(o);
            o = NULL;
        }
    }
    arena_free(&arena);
    return o;
}

static json_t *overrides_value(const struct pl_opts *o)
{
    json_t *list = json_array();
    size_t i;

    for (i = 0; i < o->overrides.n; i++) {
        struct str shown = {0};
        json_t *text;

        pl_url_mask(&shown, o->overrides.item[i]);
        text = json_string(shown.text ? shown.text : "");
        (void)json_array_append_new(list,
                                    text ? text : json_string("(not UTF-8)"));
        str_free(&shown);
    }
    return list;
}

/* The hash of a file, "" if it cannot be read any more. */
static void hash_or_empty(char hex[65], const char *path)
{
    struct err none = {0};
    uint64_t bytes;

    if (!path || pl_hash_file(hex, &bytes, path, &none) != 0)
        hex[0] = '\0';
}

static json_t *lock_value(const struct pl_run *run, const char *yaml)
{
    const struct pl_file *file = run->job->config->file;
    char resolved[65], host[PL_HOST_LEN], now[PL_TIME_LEN];

    hash_or_empty(resolved, yaml);
    pl_host_name(host);
    pl_time_now(now);
    return json_pack("{ss ss ss ss so ss ss ss so}", "format", PL_FORMAT,
                     "program", PL_VERSION, "config_sha256",
                     file ? file->sha256 : "", "resolved_sha256", resolved,
                     "overrides", overrides_value(run->job->opts), "host", host,
                     "device", run->device_line, "written", now, "stages",
                     stages_value(run));
}

/* Whether the file says of the stages what there is to say. A run that was
 * killed at its very end left an older one. */
static bool is_current(const char *path, const json_t *now)
{
    struct err none = {0};
    json_t *was = NULL;
    bool same;

    if (!now || !io_exists(path) || pl_json_read(&was, path, &none) != 0)
        return false;
    same = json_equal(json_object_get(was, "stages"),
                      json_object_get(now, "stages")) &&
           json_equal(json_object_get(was, "resolved_sha256"),
                      json_object_get(now, "resolved_sha256"));
    json_decref(was);
    return same;
}

int pl_write_lockfile(const struct pl_run *run, struct err *err)
{
    char *path = io_join(run->job->dir, "pipeline.lock.json");
    char *yaml = io_join(run->job->dir, "resolved.yaml");
    json_t *now = path && yaml ? lock_value(run, yaml) : NULL;
    int rc = 0;

    if (!path || !yaml)
        rc = err_set(err, ERR_NOMEM, "out of memory writing the lock file");
    else if (is_current(path, now))
        json_decref(now);
    else
        rc = pl_json_write(now, path, err);
    mem_free(path);
    mem_free(yaml);
    return rc;
}
