#include "pipeline/fetch.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nn/base/mem.h"
#include "nn/base/str.h"
#include "pipeline/fetch_cache.h"
#include "pipeline/fetch_job.h"
#include "pipeline/hash.h"
#include "pipeline/url.h"

static const uint64_t DEFAULT_MAX = (uint64_t)4 << 30;

static int no_memory(struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory for a download");
}

void pl_fetch_note(const struct pl_fetch_run *f, const char *fmt, ...)
{
    struct str line = {0}, shown = {0};
    va_list ap;

    if (!f->opts.note)
        return;
    va_start(ap, fmt);
    str_addv(&line, fmt, ap);
    va_end(ap);
    if (line.text && !line.failed)
        pl_url_mask(&shown, line.text);
    if (shown.text && !shown.failed)
        f->opts.note(f->opts.user, shown.text);
    str_free(&line);
    str_free(&shown);
}

bool pl_fetch_name_ok(const char *path)
{
    const char *p;

    for (p = path;; p++) {
        if ((p == path || p[-1] == '/') &&
            (*p == '\0' || *p == '/' || *p == '.' || *p == '-'))
            return false;
        if (*p == '\0')
            return true;
        if (*p == '\\' || (unsigned char)*p < 0x20 || *p == 0x7f)
            return false;
    }
}

/* 1: the blob of hex is whole; 0: it is not there, a damaged one removed. */
static int usable(struct pl_fetch_job *j, const char *hex, bool locked,
                  uint64_t *bytes, struct err *err)
{
    bool damaged;
    char *path;
    int rc = pl_cache_check(j->f->cache, hex, bytes, &damaged, err);

    if (!damaged || !locked) /* unlocked, another may be replacing it */
        return rc;
    path = pl_cache_blob(j->f->cache, hex);
    if (!path)
        return no_memory(err);
    pl_fetch_note(
        j->f, "warning: %s: the copy in the cache was damaged; fetched again",
        j->label);
    if (unlink(path) != 0 && errno != ENOENT)
        rc = err_sys(err, "cannot remove the damaged '%s'", path);
    mem_free(path);
    return rc;
}

/* 1: done; 0: not there. */
static int contents_in_cache(struct pl_fetch_job *j, bool locked,
                             struct err *err)
{
    const char *hex = j->file->sha256_unpacked;
    uint64_t bytes;
    int rc = hex ? usable(j, hex, locked, &bytes, err) : 0;

    if (rc != 1)
        return rc;
    if (j->file->sha256)
        (void)snprintf(j->out->packed, sizeof j->out->packed, "%s",
                       j->file->sha256);
    pl_fetch_note(j->f, "%s: in the cache", j->label);
    rc = pl_fetch_keep(j, hex, bytes, err);
    return rc == 0 ? 1 : rc;
}

/* The same from the file as it was fetched once. */
static int packed_in_cache(struct pl_fetch_job *j, struct err *err)
{
    const char *hex = j->file->sha256;
    uint64_t bytes;
    char *path;
    int rc = hex ? usable(j, hex, true, &bytes, err) : 0;

    if (rc != 1)
        return rc;
    path = pl_cache_blob(j->f->cache, hex);
    if (!path)
        return no_memory(err);
    rc = pl_fetch_unpack(j, path, hex, bytes, err);
    mem_free(path);
    if (rc != 0)
        return rc;
    (void)snprintf(j->out->packed, sizeof j->out->packed, "%s", hex);
    pl_fetch_note(j->f, "%s: in the cache, unpacked", j->label);
    return 1;
}

static bool keep_waiting(void *user)
{
    struct pl_fetch_job *j = user;
    const struct pl_fetch_opts *o = &j->f->opts;

    if (!j->waiting)
        pl_fetch_note(j->f, "%s: waiting for another process that fetches it",
                      j->label);
    j->waiting = true;
    return !o->progress || o->progress(o->user, j->label, 0, 0);
}

static int with_lock(struct pl_fetch_job *j, struct err *err)
{
    struct pl_cache_lock lock;
    int rc = pl_cache_lock(&lock, j->f->cache, j->key, keep_waiting, j, err);

    if (rc != 0)
        return rc;
    rc = contents_in_cache(j, true, err);
    if (rc == 0)
        rc = packed_in_cache(j, err);
    if (rc == 0)
        rc = pl_fetch_mirrors(j, err);
    pl_cache_unlock(&lock);
    return rc > 0 ? 0 : rc;
}

/* Equal keys are the same work: the hash of the file, else of its contents,
 * else of where it comes from. */
static int make_key(struct pl_fetch_job *j, struct err *err)
{
    const struct pl_data_file *file = j->file;
    const char *hex = file->sha256 ? file->sha256 : file->sha256_unpacked;
    struct str s = {0};
    size_t i;
    int rc;

    if (hex) {
        (void)snprintf(j->key, sizeof j->key, "%s", hex);
        return 0;
    }
    for (i = 0; i < j->f->n_sources; i++)
        str_addf(&s, "%s\n", j->f->source[i].place);
    str_add(&s, file->path);
    rc = s.failed ? no_memory(err) : pl_hash_bytes(j->key, s.text, s.len, err);
    str_free(&s);
    return rc;
}

static int prepare(struct pl_fetch_job *j, struct err *err)
{
    struct str s = {0};
    int rc = make_key(j, err);

    if (rc != 0)
        return rc;
    str_addf(&s, "%s/%s", j->f->ds->name, j->file->path);
    j->label = s.text;
    j->part = pl_cache_partial(j->f->cache, j->key, ".part");
    j->out->name = mem_strdup(j->file->path);
    (void)snprintf(j->out->role, sizeof j->out->role, "%s", j->file->role);
    return s.failed || !j->part || !j->out->name ? no_memory(err) : 0;
}

static void place_of_error(struct err *err, const struct pl_node *node)
{
    if (node && node->loc.file)
        err_at(err, "%s:%d:%d", node->loc.file->path, node->loc.line,
               node->loc.col);
}

static int fetch_file(struct pl_fetch_run *f, const struct pl_data_file *file,
                      size_t number, struct pl_fetched_file *out,
                      struct err *err)
{
    struct pl_fetch_job j = {
        .f = f, .file = file, .out = out, .number = number};
    int rc;

    if (!pl_fetch_name_ok(file->path) || strlen(file->role) >= sizeof out->role)
        rc = err_set(err, ERR_CONFIG,
                     "'%s' is no file name below a mirror: parts may not be "
                     "empty or begin with '.' or '-'",
                     file->path);
    else
        rc = prepare(&j, err);
    if (rc == 0)
        rc = contents_in_cache(&j, false, err);
    if (rc == 0)
        rc = with_lock(&j, err);
    if (rc == ERR_CORRUPT) { /* the config's two hashes contradict each other */
        struct err why = *err;

        err_clear(err);
        rc = err_set(err, ERR_FETCH,
                     "'%s' has the sha256 that is asked for, but: %s", j.label,
                     why.msg);
    }
    if (rc < 0)
        place_of_error(err, file->node);
    pl_fetch_sources_forget(f);
    mem_free(j.label);
    mem_free(j.part);
    return rc > 0 ? 0 : rc;
}

static const char *variable(const char *name)
{
    const char *v = getenv(name);

    return v && v[0] ? v : NULL;
}

static void fill_defaults(struct pl_fetch_opts *o)
{
    if (!o->mirror)
        o->mirror = variable("PIPELINE_MIRROR");
    if (!o->cacert) /* libcurl itself does not ask for these */
        o->cacert = variable("CURL_CA_BUNDLE");
    if (!o->cacert)
        o->cacert = variable("SSL_CERT_FILE");
    if (!o->user_agent)
        o->user_agent = "pipeline";
    if (o->connect_timeout <= 0)
        o->connect_timeout = 10;
    if (o->stall_timeout <= 0)
        o->stall_timeout = 30;
    if (o->retries < 0)
        o->retries = 3;
    if (o->backoff <= 0)
        o->backoff = 1;
    if (o->max_bytes == 0)
        o->max_bytes = DEFAULT_MAX;
}

int pl_fetch_check(const char *mirror, const char *cacert, struct err *err)
{
    struct str shown = {0};
    int rc = 0;

    if (mirror &&
        (!mirror[0] || (strstr(mirror, "://") != NULL && !pl_url_is(mirror)))) {
        pl_url_mask(&shown, mirror);
        rc = err_set(err, ERR_CONFIG,
                     "--mirror takes a folder or an http(s) address, not '%s'",
                     shown.failed ? "" : shown.text);
    }
    str_free(&shown);
    if (rc == 0 && cacert && access(cacert, R_OK) != 0)
        rc = err_set(err, ERR_CONFIG,
                     "--cacert takes a file of certificates, not '%s': %s",
                     cacert, strerror(errno));
    return rc;
}

/* What libcurl says, for one, may name a proxy. */
static void hand_over(struct err *err, const struct err *why)
{
    struct str shown = {0};

    if (!err || err->code != 0)
        return;
    *err = *why;
    pl_url_mask(&shown, why->msg);
    if (shown.text && !shown.failed)
        (void)snprintf(err->msg, sizeof err->msg, "%s", shown.text);
    str_free(&shown);
}

int pl_fetch_dataset(struct pl_fetched *out, const struct pl_dataset *ds,
                     const struct pl_fetch_opts *opts, struct err *err)
{
    struct pl_fetch_run f = {.ds = ds, .opts = *opts};
    const struct pl_data_file *files = ds->files.items;
    struct err why = {0};
    size_t i;
    int rc = pl_cache_dir(&f.cache, opts->cache, &why);

    memset(out, 0, sizeof *out);
    fill_defaults(&f.opts);
    if (rc == 0)
        rc = pl_fetch_sources_open(&f, &why);
    if (rc == 0) {
        out->file = mem_array(ds->files.n + 1, sizeof *out->file);
        if (!out->file)
            rc = no_memory(&why);
    }
    for (i = 0; rc == 0 && i < ds->files.n; i++) {
        out->n = i + 1;
        rc = fetch_file(&f, &files[i], i + 1, &out->file[i], &why);
    }
    if (rc != 0)
        pl_fetched_free(out);
    hand_over(err, &why);
    pl_fetch_sources_close(&f);
    mem_free(f.cache);
    return rc;
}
