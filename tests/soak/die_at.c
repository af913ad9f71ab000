/* Preloaded, it kills the process just before its DIE_AT-th call that changes
 * or opens a file; a write that is to be the last gets half of its bytes out.
 * Without DIE_AT it counts: the number goes to the file COUNT_TO at the end. */
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_long calls;

/* Whether this call is the last. */
static bool due(void)
{
    const char *at = getenv("DIE_AT");
    long n = atomic_fetch_add(&calls, 1) + 1;

    return at && n == strtol(at, NULL, 10);
}

static void die(void)
{
    (void)kill(getpid(), SIGKILL);
}

/* The function of that name behind ours. */
static void find(void *fn, const char *name)
{
    void *sym = dlsym(RTLD_NEXT, name);

    memcpy(fn, &sym, sizeof sym);
}

__attribute__((destructor)) static void tell(void)
{
    const char *to = getenv("COUNT_TO");
    long n = atomic_load(&calls);
    FILE *f = to ? fopen(to, "w") : NULL;

    if (f) {
        (void)fprintf(f, "%ld\n", n);
        (void)fclose(f);
    }
}

int open(const char *path, int flags, ...)
{
    int (*next)(const char *, int, ...);
    va_list ap;
    mode_t mode = 0;

    if (due())
        die();
    if (flags & (O_CREAT | O_TMPFILE)) {
        va_start(ap, flags);
        mode = va_arg(ap, mode_t);
        va_end(ap);
    }
    find(&next, "open");
    return next(path, flags, mode);
}

int mkostemp(char *path, int flags)
{
    int (*next)(char *, int);

    if (due())
        die();
    find(&next, "mkostemp");
    return next(path, flags);
}

ssize_t write(int fd, const void *data, size_t len)
{
    ssize_t (*next)(int, const void *, size_t);

    find(&next, "write");
    if (due()) {
        (void)next(fd, data, len / 2);
        die();
    }
    return next(fd, data, len);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t at)
{
    ssize_t (*next)(int, const void *, size_t, off_t);

    find(&next, "pwrite");
    if (due()) {
        (void)next(fd, data, len / 2, at);
        die();
    }
    return next(fd, data, len, at);
}

/* int name(int fd), int name(const char *path), ... */
#define SIMPLE(name, params, args) \
    int name params \
    { \
        int(*next) params; \
\
        if (due()) \
            die(); \
        find(&next, #name); \
        return next args; \
    }

SIMPLE(fsync, (int fd), (fd))
SIMPLE(fchmod, (int fd, mode_t mode), (fd, mode))
SIMPLE(ftruncate, (int fd, off_t len), (fd, len))
SIMPLE(close, (int fd), (fd))
SIMPLE(unlink, (const char *path), (path))
SIMPLE(rename, (const char *from, const char *to), (from, to))
SIMPLE(mkdir, (const char *path, mode_t mode), (path, mode))
