#include "pipeline/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/facts.h"

enum { HOLDER_LEN = 200 };

/* What the holder wrote into the file, on one line. */
static void read_holder(int fd, char text[HOLDER_LEN])
{
    ssize_t n = pread(fd, text, HOLDER_LEN - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    if (text[0] == '\0')
        (void)snprintf(text, HOLDER_LEN, "another run");
}

static int write_holder(int fd, const char *path, struct err *err)
{
    char text[HOLDER_LEN], now[PL_TIME_LEN], host[PL_HOST_LEN];
    int n;

    pl_host_name(host);
    pl_time_now(now);
    n = snprintf(text, sizeof text, "pid %ld on %.80s since %s\n",
                 (long)getpid(), host, now);
    if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)n, 0) != n)
        return err_sys(err, "cannot write '%s'", path);
    return 0;
}

/* flock that tries again for a moment: `pipeline status` holds a shared lock
 * for as long as it looks. */
static int try_lock(int fd)
{
    const struct timespec pause = {.tv_nsec = 20000000L};
    int tries;

    for (tries = 0; tries < 5; tries++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -1;
        (void)nanosleep(&pause, NULL);
    }
    errno = EWOULDBLOCK;
    return -1;
}

/* Whether the file that is locked still lies there: `pipeline clean` removes
 * it, and a lock on a file without a name keeps nobody out. */
static bool still_named(int fd, const char *path)
{
    struct stat mine, named;

    return fstat(fd, &mine) == 0 && stat(path, &named) == 0 &&
           mine.st_ino == named.st_ino && mine.st_dev == named.st_dev;
}

static int lock_file(struct pl_lock *l, const char *dir, const char *path,
                     struct err *err)
{
    char holder[HOLDER_LEN];

    l->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (l->fd < 0)
        return err_sys(err, "cannot write '%s'", path);
    if (try_lock(l->fd) == 0) {
        if (still_named(l->fd, path))
            return write_holder(l->fd, path, err);
        return err_set(err, ERR_LOCKED, "'%s' is being removed", dir);
    }
    if (errno != EWOULDBLOCK)
        return err_sys(err, "cannot lock '%s'", path);
    read_holder(l->fd, holder);
    return err_set(err, ERR_LOCKED, "'%s' is in use by %s", dir, holder);
}

int pl_lock_take(struct pl_lock *l, const char *dir, struct err *err)
{
    char *path = io_join(dir, ".lock");
    int rc;

    l->fd = -1;
    if (!path)
        return err_set(err, ERR_NOMEM, "out of memory locking '%s'", dir);
    rc = lock_file(l, dir, path, err);
    mem_free(path);
    if (rc != 0)
        pl_lock_drop(l);
    return rc;
}

void pl_lock_drop(struct pl_lock *l)
{
    if (l->fd >= 0)
        (void)close(l->fd);
    l->fd = -1;
}

bool pl_lock_held(const char *dir, char text[HOLDER_LEN])
{
    char *path = io_join(dir, ".lock");
    bool held = false;
    int fd;

    text[0] = '\0';
    if (!path)
        return false;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    mem_free(path);
    if (fd < 0)
        return false;
    if (flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        held = true;
        read_holder(fd, text);
    }
    (void)close(fd);
    return held;
}
