#include "pipeline/run.h"

#include <string.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/base/str.h"
#include "pipeline/facts.h"
#include "pipeline/hash.h"
#include "pipeline/json_file.h"

enum { RESOLVED_MAX = 64 * 1024 * 1024 };

static bool same_content(const char *path, const struct str *text)
{
    struct err none = {0};
    char *now;
    size_t len;
    bool same = false;

    if (!io_exists(path))
        return false;
    if (io_read_file(&now, &len, path, RESOLVED_MAX, &none) == 0)
        same = len == text->len && memcmp(now, text->text, len) == 0;
    mem_free(now);
    return same;
}

int pl_write_resolved(bool *changed, const struct pl_job *job, struct err *err)
{
    struct str text = {0};
    char *path = io_join(job->dir, "resolved.yaml");
    int rc = 0;

    *changed = false;
    pl_job_resolved(job, &text);
    if (!path || text.failed || !text.text)
        rc = err_set(err, ERR_NOMEM, "out of memory writing resolved.yaml");
    else if (!same_content(path, &text)) {
        *changed = true;
        rc = io_write_file(path, text.text, text.len, err);
    }
    str_free(&text);
    mem_free(path);
    return rc;
}

/* name: SHA-256, for every output of a whole stage. */
static json_t *outputs_value(const struct pl_record *r)
{
    json_t *o = json_object();
    size_t i;

    for (i = 0; i < r->n_outputs; i++)
        (void)json_object_set_new(o, r->output[i].name,
                                  json_string(r->output[i].sha256));
    return o;
}

static json_t *stage_value(const struct pl_run *run, const char *id,
                           struct arena *arena)
{
    struct pl_record r;
    const char *is;
    char *dir = io_join(run->job->dir, id);
    json_t *v;

    if (dir && pl_record_read(&r, dir, PL_WHOLE_FILE, arena, &is))
        v = json_pack("{ss ss ss sf ss so}", "state", r.state, "fingerprint",
                      r.fingerprint, "started", r.started, "seconds", r.seconds,
                      "device", r.device, "outputs", outputs_value(&r));
    else
        v = json_pack("{ss}", "state", "not done");
    mem_free(dir);
    return v;
}

static json_t *stages_value(const struct pl_run *run)
{
    const struct pl_config *c = run->job->config;
    struct arena arena = {0};
    json_t *o = json_object();
    size_t i;

    for (i = 0; i < c->n_stages; i++)
        (void)json_object_set_new(o, c->stages[i].id,
                                  stage_value(run, c->stages[i].id, &arena));
    arena_free(&arena);
    return o;
}

static json_t *overrides_value(const struct pl_opts *o)
{
    json_t *list = json_array();
    size_t i;

    for (i = 0; i < o->overrides.n; i++) {
        json_t *text = json_string(o->overrides.item[i]);

        (void)json_array_append_new(list,
                                    text ? text : json_string("(not UTF-8)"));
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

int pl_write_lockfile(const struct pl_run *run, struct err *err)
{
    char config[65], resolved[65], host[PL_HOST_LEN], now[PL_TIME_LEN];
    char *path = io_join(run->job->dir, "pipeline.lock.json");
    char *yaml = io_join(run->job->dir, "resolved.yaml");
    int rc;

    hash_or_empty(config, run->job->opts->file);
    hash_or_empty(resolved, yaml);
    pl_host_name(host);
    pl_time_now(now);
    if (!path || !yaml)
        rc = err_set(err, ERR_NOMEM, "out of memory writing the lock file");
    else
        rc = pl_json_write(
            json_pack("{ss ss ss ss so ss ss ss so}", "format", PL_FORMAT,
                      "program", PL_VERSION, "config_sha256", config,
                      "resolved_sha256", resolved, "overrides",
                      overrides_value(run->job->opts), "host", host, "device",
                      run->device_line, "written", now, "stages",
                      stages_value(run)),
            path, err);
    mem_free(path);
    mem_free(yaml);
    return rc;
}
