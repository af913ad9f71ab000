#include "pipeline/fetch_cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "nn/base/mem.h"
#include "nn/base/str.h"

enum { ROOM_KEPT = 64 << 20, ROOM_EVERY = 16 << 20 };

static int no_memory(struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory for the download cache");
}

static char *taken(struct str *s)
{
    if (s->failed)
        str_free(s);
    return s->text;
}

static const char *variable(const char *name)
{
    const char *v = getenv(name);

    return v && v[0] ? v : NULL;
}

int pl_cache_dir(char **out, const char *dir, struct err *err)
{
    const char *xdg = variable("XDG_CACHE_HOME");
    const char *home = variable("HOME");
    struct str s = {0};

    if (!dir || !dir[0])
        dir = variable("PIPELINE_CACHE");
    *out = NULL;
    if (dir)
        str_add(&s, dir);
    else if (xdg && xdg[0] == '/') /* the XDG specification: else ignore it */
        str_addf(&s, "%s/pipeline", xdg);
    else if (home)
        str_addf(&s, "%s/.cache/pipeline", home);
    else
        return err_set(err, ERR_IO,
                       "no folder for downloads: neither PIPELINE_CACHE nor "
                       "XDG_CACHE_HOME nor HOME is set");
    *out = taken(&s);
    return *out ? 0 : no_memory(err);
}

char *pl_cache_blob(const char *cache, const char *hex)
{
    struct str s = {0};

    str_addf(&s, "%s/sha256/%.2s/%s", cache, hex, hex);
    return taken(&s);
}

char *pl_cache_partial(const char *cache, const char *key, const char *suffix)
{
    struct str s = {0};

    str_addf(&s, "%s/partial/%s%s", cache, key, suffix);
    return taken(&s);
}

int pl_cache_check(const char *cache, const char *hex, uint64_t *bytes,
                   bool *damaged, struct err *err)
{
    char *path = pl_cache_blob(cache, hex);
    char found[65];
    int rc = 0;

    *damaged = false;
    *bytes = 0;
    if (!path)
        return no_memory(err);
    if (io_exists(path)) {
        rc = pl_hash_file(found, bytes, path, err);
        *damaged = rc == 0 && strcmp(found, hex) != 0;
        if (rc == 0 && !*damaged)
            rc = 1;
    }
    mem_free(path);
    return rc;
}

int pl_cache_room(const char *cache, uint64_t need, struct err *err)
{
    struct statvfs fs;
    uint64_t have;

    if (statvfs(cache, &fs) != 0)
        return err_sys(err, "cannot ask '%s' for its free space", cache);
    have = (uint64_t)fs.f_bavail * fs.f_frsize;
    if (have >= ROOM_KEPT && have - ROOM_KEPT >= need)
        return 0;
    return err_set(err, ERR_IO,
                   "the disk of '%s' has %llu MiB free; %llu MiB are needed",
                   cache, (unsigned long long)(have >> 20),
                   (unsigned long long)((need >> 20) + (ROOM_KEPT >> 20) + 1));
}

/* Removes what killed processes left: we hold the lock of key, so nobody is
 * writing KEY.tmp-*. */
static void sweep(const char *cache, const char *key)
{
    char *dir = pl_cache_partial(cache, "", "");
    DIR *d = dir ? opendir(dir) : NULL;
    size_t n = strlen(key);
    struct dirent *e;

    while (d && (e = readdir(d)) != NULL)
        if (strncmp(e->d_name, key, n) == 0 && e->d_name[n] == '.' &&
            io_is_temp(e->d_name))
            (void)unlinkat(dirfd(d), e->d_name, 0);
    if (d)
        (void)closedir(d);
    mem_free(dir);
}

static int make_folders(const char *cache, struct err *err)
{
    char *dir = pl_cache_partial(cache, "", "");
    int rc = dir ? io_mkdirs(dir, err) : no_memory(err);

    mem_free(dir);
    return rc;
}

/* Whoever ends removes the lock file: a lock on a file that has lost its name
 * keeps nobody out. */
static bool still_named(int fd, const char *path)
{
    struct stat mine, named;

    return fstat(fd, &mine) == 0 && stat(path, &named) == 0 &&
           mine.st_ino == named.st_ino && mine.st_dev == named.st_dev;
}

static int wait_a_little(bool (*wait)(void *user), void *user, struct err *err)
{
    const struct timespec nap = {0, 50000000};

    if (wait && !wait(user))
        return err_set(err, ERR_INTERRUPTED,
                       "stopped while another process "
                       "fetches the same file");
    (void)nanosleep(&nap, NULL);
    return 0;
}

int pl_cache_lock(struct pl_cache_lock *l, const char *cache, const char *key,
                  bool (*wait)(void *user), void *user, struct err *err)
{
    int rc = make_folders(cache, err);

    l->fd = -1;
    l->path = rc == 0 ? pl_cache_partial(cache, key, ".lock") : NULL;
    if (rc == 0 && !l->path)
        rc = no_memory(err);
    while (rc == 0) {
        l->fd = open(l->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (l->fd < 0) {
            rc = err_sys(err, "cannot make '%s'", l->path);
            break;
        }
        if (flock(l->fd, LOCK_EX | LOCK_NB) == 0) {
            if (still_named(l->fd, l->path))
                break;
        } else if (errno == EWOULDBLOCK)
            rc = wait_a_little(wait, user, err);
        else if (errno != EINTR)
            rc = err_sys(err, "cannot lock '%s'", l->path);
        (void)close(l->fd);
        l->fd = -1;
    }
    if (rc == 0)
        sweep(cache, key);
    else
        pl_cache_unlock(l);
    return rc;
}

void pl_cache_unlock(struct pl_cache_lock *l)
{
    if (l->fd >= 0) {
        (void)unlink(l->path);
        (void)close(l->fd);
    }
    mem_free(l->path);
    l->path = NULL;
    l->fd = -1;
}

int pl_blob_open(struct pl_blob *b, const char *cache, const char *key,
                 struct err *err)
{
    char *path = pl_cache_partial(cache, key, "");
    int rc;

    memset(b, 0, sizeof *b);
    b->out.fd = -1;
    b->cache = cache;
    if (!path)
        return no_memory(err);
    rc = pl_hash_new(&b->hash, err);
    if (rc == 0)
        rc = io_out_open(&b->out, path, err);
    if (rc != 0)
        pl_blob_abort(b);
    mem_free(path);
    return rc;
}

int pl_blob_write(struct pl_blob *b, const void *data, size_t len,
                  struct err *err)
{
    if (b->bytes / ROOM_EVERY != (b->bytes + len) / ROOM_EVERY) {
        int rc = pl_cache_room(b->cache, 0, err);

        if (rc != 0)
            return rc;
    }
    pl_hash_add(b->hash, data, len);
    b->bytes += len;
    return io_out_write(&b->out, data, len, err);
}

void pl_blob_hash(struct pl_blob *b)
{
    pl_hash_end(b->hash, b->hex);
    b->hash = NULL;
}

/* The path of a blob, its folder made. */
static int blob_place(char **out, const char *cache, const char *hex,
                      struct err *err)
{
    char *path = pl_cache_blob(cache, hex);
    char *dir = path ? io_dirname(path) : NULL;
    int rc = dir ? io_mkdirs(dir, err) : no_memory(err);

    if (rc == 0 && !hex[0])
        rc = err_set(err, ERR_IO, "libcrypto gave no SHA-256 sum");
    mem_free(dir);
    if (rc != 0) {
        mem_free(path);
        path = NULL;
    }
    *out = path;
    return rc;
}

int pl_blob_commit(struct pl_blob *b, struct err *err)
{
    char *path;
    int rc = blob_place(&path, b->cache, b->hex, err);

    if (rc == 0) {
        mem_free(b->out.path); /* commit renames to what it finds here */
        b->out.path = path;
        rc = io_out_commit(&b->out, err);
    }
    pl_blob_abort(b);
    return rc;
}

void pl_blob_abort(struct pl_blob *b)
{
    io_out_abort(&b->out);
    pl_hash_free(b->hash);
    b->hash = NULL;
}

static int sync_file(const char *path, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = 0;

    if (fd < 0)
        return err_sys(err, "cannot open '%s'", path);
    if (fsync(fd) != 0)
        rc = err_sys(err, "cannot write '%s' to disk", path);
    (void)close(fd);
    return rc;
}

int pl_cache_adopt(const char *cache, const char *path, const char *hex,
                   struct err *err)
{
    char *blob = NULL;
    int rc = sync_file(path, err);

    if (rc == 0)
        rc = blob_place(&blob, cache, hex, err);
    if (rc == 0 && rename(path, blob) != 0)
        rc = err_sys(err, "cannot move '%s' to '%s'", path, blob);
    mem_free(blob);
    return rc;
}
