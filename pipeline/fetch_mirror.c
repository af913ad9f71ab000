#include "pipeline/fetch_mirror.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/base/str.h"
#include "pipeline/fetch_cache.h"
#include "pipeline/fetch_http.h"
#include "pipeline/url.h"

enum { COPY_SIZE = 1 << 18 };
#define JITTER 0.25

/* RFC 3986: all but the unreserved characters are encoded. */
static void add_encoded(struct str *s, const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";

    for (; *path; path++) {
        if (strchr(plain, *path))
            str_addc(s, *path);
        else
            str_addf(s, "%%%02X", (unsigned)(unsigned char)*path);
    }
}

char *pl_mirror_place(const char *mirror, const char *path)
{
    struct str s = {0};

    if (!pl_url_is(mirror))
        return io_join(mirror, path);
    str_add(&s, mirror);
    if (mirror[strlen(mirror) - 1] != '/')
        str_addc(&s, '/');
    add_encoded(&s, path);
    if (s.failed)
        str_free(&s);
    return s.text;
}

/* ---- folders ---- */

struct copy {
    const struct pl_mirror_get *get;
    int in, out;
    uint64_t done, total;
    char *buf;
};

static int write_all(const struct copy *c, size_t n, struct err *err)
{
    size_t done = 0;

    while (done < n) {
        ssize_t k = write(c->out, c->buf + done, n - done);

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return err_sys(err, "cannot write '%s' at offset %llu",
                           c->get->part, (unsigned long long)c->done + done);
        done += (size_t)k;
    }
    return 0;
}

static int tell(const struct copy *c, struct err *err)
{
    const struct pl_fetch_opts *o = c->get->opts;

    if (!o->progress || o->progress(o->user, c->get->name, c->done, c->total))
        return 0;
    return err_set(err, ERR_INTERRUPTED, "the copy of '%s' was stopped",
                   c->get->place);
}

static int copy_all(struct copy *c, struct err *err)
{
    uint64_t max = c->get->opts->max_bytes;
    int rc = 0;

    while (rc == 0) {
        ssize_t n = read(c->in, c->buf, COPY_SIZE);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, ERR_FETCH, "cannot be read: %s",
                           strerror(errno));
        if (n == 0)
            break;
        if ((size_t)n > max - c->done)
            return err_set(err, ERR_FETCH, "has more than %llu bytes",
                           (unsigned long long)max);
        rc = write_all(c, (size_t)n, err);
        c->done += (uint64_t)n;
        if (rc == 0)
            rc = tell(c, err);
    }
    return rc;
}

/* Opens the mirror's file; what is wrong with it is the mirror's fault. */
static int open_source(struct copy *c, struct err *err)
{
    const struct pl_mirror_get *g = c->get;
    struct stat st;

    /* O_NONBLOCK: a pipe without a writer must not hang us. */
    c->in = open(g->place, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (c->in < 0 || fstat(c->in, &st) != 0)
        return err_set(err, ERR_FETCH, "%s", strerror(errno));
    if (!S_ISREG(st.st_mode))
        return err_set(err, ERR_FETCH, "not a regular file");
    c->total = (uint64_t)st.st_size;
    if (g->size && c->total != g->size)
        return err_set(err, ERR_FETCH, "has %llu bytes, not %llu",
                       (unsigned long long)c->total,
                       (unsigned long long)g->size);
    return pl_cache_room(g->cache, c->total, err);
}

static int copy_file(const struct pl_mirror_get *get, struct err *err)
{
    struct copy c = {.get = get, .in = -1, .out = -1};
    int rc = open_source(&c, err);

    if (rc == 0) {
        c.out = open(get->part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        c.buf = mem_alloc(COPY_SIZE);
        if (c.out < 0)
            rc = err_sys(err, "cannot write '%s'", get->part);
        else if (!c.buf)
            rc = err_set(err, ERR_NOMEM, "out of memory copying '%s'",
                         get->place);
    }
    if (rc == 0)
        rc = copy_all(&c, err);
    mem_free(c.buf);
    if (c.in >= 0)
        (void)close(c.in);
    if (c.out >= 0)
        (void)close(c.out);
    return rc;
}

/* ---- addresses ---- */

static bool http_progress(void *user, uint64_t done, uint64_t total)
{
    const struct pl_mirror_get *g = user;

    return g->opts->progress(g->opts->user, g->name, done, total);
}

static void http_note(void *user, const char *line)
{
    const struct pl_mirror_get *g = user;
    struct str named = {0};

    str_addf(&named, "%s: ", g->name);
    pl_url_mask(&named, line);
    if (!named.failed)
        g->opts->note(g->opts->user, named.text);
    str_free(&named);
}

static int download(const struct pl_mirror_get *get, bool *resumed,
                    struct err *err)
{
    const struct pl_fetch_opts *o = get->opts;
    struct pl_mirror_get user = *get;
    const struct pl_http_get http = {
        .url = get->place,
        .shown = get->shown,
        .part = get->part,
        .resume = get->resume,
        .size = get->size,
        .max = get->size ? get->size : o->max_bytes,
        .cache = get->cache,
        .cacert = o->cacert,
        .user_agent = o->user_agent,
        .public_only = get->public_only,
        .connect_timeout = o->connect_timeout,
        .stall_timeout = o->stall_timeout,
        .backoff = o->backoff,
        .jitter = JITTER,
        .retries = o->retries,
        .progress = o->progress ? http_progress : NULL,
        .note = o->note ? http_note : NULL,
        .user = &user,
    };

    return pl_http_get(&http, resumed, err);
}

int pl_mirror_fetch(const struct pl_mirror_get *get, bool *resumed,
                    struct err *err)
{
    *resumed = false;
    if (pl_url_is(get->place))
        return download(get, resumed, err);
    return copy_file(get, err);
}
