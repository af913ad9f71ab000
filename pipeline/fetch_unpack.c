#include "pipeline/fetch_job.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "pipeline/fetch_cache.h"
#include "pipeline/gunzip.h"

int pl_fetch_keep(struct pl_fetch_job *j, const char *hex, uint64_t bytes,
                  struct err *err)
{
    memcpy(j->out->sha256, hex, sizeof j->out->sha256);
    j->out->bytes = bytes;
    j->out->path = pl_cache_blob(j->f->cache, hex);
    if (j->out->path)
        return 0;
    return err_set(err, ERR_NOMEM, "out of memory for a download");
}

struct unpacking {
    struct pl_fetch_job *job;
    struct pl_blob blob;
    uint64_t told;
};

static int unpacked(void *user, const void *data, size_t len, struct err *err)
{
    enum { TELL_EVERY = 16 << 20 };
    struct unpacking *u = user;
    const struct pl_fetch_opts *o = &u->job->f->opts;

    if (o->progress && u->blob.bytes - u->told >= TELL_EVERY) {
        u->told = u->blob.bytes;
        if (!o->progress(o->user, u->job->label, 1, 1))
            return err_set(err, ERR_INTERRUPTED, "unpacking '%s' was stopped",
                           u->job->label);
    }
    return pl_blob_write(&u->blob, data, len, err);
}

static int check_contents(const struct pl_fetch_job *j, const char *hex,
                          struct err *err)
{
    const char *wanted = j->file->sha256_unpacked;

    if (!wanted || strcmp(wanted, hex) == 0)
        return 0;
    return err_set(err, ERR_CORRUPT, "the contents have sha256 %s, not %s", hex,
                   wanted);
}

static int unpack_gzip(struct pl_fetch_job *j, const char *path,
                       struct err *err)
{
    struct unpacking u = {.job = j};
    const struct pl_gunzip g = {.path = path,
                                .name = j->file->path,
                                .max = j->f->opts.max_bytes,
                                .write = unpacked,
                                .user = &u};
    uint64_t bytes;
    int rc = pl_blob_open(&u.blob, j->f->cache, j->key, err);

    if (rc != 0)
        return rc;
    rc = pl_gunzip(&g, &bytes, err);
    if (rc == 0) {
        pl_blob_hash(&u.blob);
        rc = check_contents(j, u.blob.hex, err);
    }
    if (rc != 0) {
        pl_blob_abort(&u.blob);
        return rc;
    }
    rc = pl_blob_commit(&u.blob, err);
    return rc == 0 ? pl_fetch_keep(j, u.blob.hex, bytes, err) : rc;
}

int pl_fetch_peek(unsigned char *buf, size_t size, size_t *n, const char *path,
                  struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got;

    *n = 0;
    if (fd < 0)
        return err_sys(err, "cannot open '%s'", path);
    do
        got = pread(fd, buf, size, 0);
    while (got < 0 && errno == EINTR);
    if (got > 0)
        *n = (size_t)got;
    (void)close(fd);
    return got < 0 ? err_sys(err, "cannot read '%s'", path) : 0;
}

int pl_fetch_unpack(struct pl_fetch_job *j, const char *path, const char *hex,
                    uint64_t bytes, struct err *err)
{
    unsigned char magic[2];
    size_t n;
    int rc = pl_fetch_peek(magic, sizeof magic, &n, path, err);

    if (rc == 0 && pl_is_gzip(magic, n))
        return unpack_gzip(j, path, err);
    if (rc == 0)
        rc = check_contents(j, hex, err);
    return rc == 0 ? pl_fetch_keep(j, hex, bytes, err) : rc;
}
