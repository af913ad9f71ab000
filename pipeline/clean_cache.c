/* Emptying the cache of downloads (pipeline/fetch_cache.h has its shape). */
#include "pipeline/clean.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/fetch_cache.h"

enum { HEX = 64 };

/* How many hexadecimal digits a name begins with. */
static size_t digits(const char *name)
{
    return strspn(name, "0123456789abcdef");
}

struct place {
    struct pl_clean *c;
    const char *path;
};

static int keep(const struct place *p, const char *name, struct err *err)
{
    char *path = io_join(p->path, name);
    int rc = path ? pl_clean_kept(p->c, path, err)
                  : err_set(err, ERR_NOMEM, "out of memory cleaning");

    mem_free(path);
    return rc;
}

/* sha256/ab/HEX */
static int blob_entry(void *user, int dir, const char *name, struct err *err)
{
    const struct place *p = user;
    bool ours = digits(name) == HEX && name[HEX] == '\0';

    if (ours && pl_clean_file(p->c, dir, name, err))
        return 0;
    return err->code != 0 ? err->code : keep(p, name, err);
}

/* sha256/ab */
static int shelf_entry(void *user, int dir, const char *name, struct err *err)
{
    const struct place *p = user;
    char *path;
    struct place in = {p->c, NULL};
    int rc, fd = -1;

    if (digits(name) == 2 && name[2] == '\0')
        fd = pl_clean_open(dir, name);
    if (fd < 0)
        return keep(p, name, err);
    in.path = path = io_join(p->path, name);
    if (path)
        rc = pl_clean_each(fd, path, blob_entry, &in, err);
    else {
        rc = err_set(err, ERR_NOMEM, "out of memory cleaning");
        (void)close(fd);
    }
    pl_clean_folder(p->c, dir, name);
    mem_free(path);
    return rc;
}

/* partial/KEY.lock: held by a download that is under way. */
static int lock_entry(void *user, int dir, const char *name, struct err *err)
{
    const struct place *p = user;
    int fd, rc = 0;

    if (digits(name) != HEX || strcmp(name + HEX, ".lock") != 0)
        return 0;
    fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return 0;
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        rc = err_set(err, ERR_LOCKED, "a download into '%s' is under way",
                     p->path);
    (void)close(fd);
    return rc;
}

/* partial/KEY.part, KEY.lock, ... */
static int partial_entry(void *user, int dir, const char *name, struct err *err)
{
    const struct place *p = user;
    bool ours = digits(name) == HEX && name[HEX] == '.';

    if (ours && pl_clean_file(p->c, dir, name, err))
        return 0;
    return err->code != 0 ? err->code : keep(p, name, err);
}

/* The folder `name` of the cache: fn for all that it holds. */
static int in_folder(const struct place *cache, const char *name,
                     int (*fn)(void *user, int dir, const char *entry,
                               struct err *err),
                     struct err *err)
{
    char *path = io_join(cache->path, name);
    struct place in = {cache->c, path};
    int fd, rc = 0;

    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory cleaning");
    fd = pl_clean_open(AT_FDCWD, path);
    if (fd >= 0) {
        rc = pl_clean_each(fd, path, fn, &in, err);
        if (rc == 0)
            rc = pl_clean_tell(cache->c, path, err);
        if (fn != lock_entry)
            pl_clean_folder(cache->c, AT_FDCWD, path);
    } else if (errno != ENOENT)
        rc = err_sys(err, "cannot clean '%s'", path);
    mem_free(path);
    return rc;
}

int pl_clean_cache(struct pl_clean *c, struct err *err)
{
    struct place cache = {c, NULL};
    char *dir;
    int rc = pl_cache_dir(&dir, NULL, err);

    if (rc != 0)
        return rc;
    cache.path = dir;
    rc = in_folder(&cache, "partial", lock_entry, err);
    if (rc == 0)
        rc = in_folder(&cache, "partial", partial_entry, err);
    if (rc == 0)
        rc = in_folder(&cache, "sha256", shelf_entry, err);
    mem_free(dir);
    return rc;
}
