#include "pipeline/expect_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"

enum { PIECE = 1 << 16 };

/* One of the two files, and the piece of it that is looked at. */
struct side {
    const char *shown; /* its name in messages */
    int fd;
    uint64_t bytes;
    dev_t device; /* with the inode: which file it is */
    ino_t inode;
    char *piece;
};

/* false: it cannot be read, and s says so. */
static bool open_side(struct side *f, const char *path, struct str *s)
{
    struct stat st;

    /* O_NONBLOCK: a pipe without a writer must not hang us. */
    f->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (f->fd < 0 || fstat(f->fd, &st) != 0) {
        str_addf(s, "%s %s", f->shown,
                 errno == ENOENT ? "is missing" : "cannot be read");
        return false;
    }
    if (!S_ISREG(st.st_mode)) {
        str_addf(s, "%s is no regular file", f->shown);
        return false;
    }
    f->bytes = (uint64_t)st.st_size;
    f->device = st.st_dev;
    f->inode = st.st_ino;
    f->piece = mem_alloc(PIECE);
    if (!f->piece)
        s->failed = true;
    return f->piece != NULL;
}

static void close_side(struct side *f)
{
    if (f->fd >= 0)
        (void)close(f->fd);
    mem_free(f->piece);
}

/* Up to PIECE bytes from offset at on; -1: they cannot be read. */
static ssize_t read_piece(const struct side *f, uint64_t at)
{
    size_t n = 0;

    while (n < PIECE) {
        ssize_t k = pread(f->fd, f->piece + n, PIECE - n, (off_t)(at + n));

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return -1;
        if (k == 0)
            break;
        n += (size_t)k;
    }
    return (ssize_t)n;
}

/* The first of n bytes that differs, or n. */
static size_t first_difference(const char *a, const char *b, size_t n)
{
    size_t i = 0;

    if (memcmp(a, b, n) == 0)
        return n;
    while (a[i] == b[i])
        i++;
    return i;
}

/* Compares from the start; true if all is equal, else *at is the first offset
 * where it is not. false with s filled: a file could not be read. */
static bool same_bytes(const struct side *a, const struct side *b, uint64_t *at,
                       struct str *s)
{
    for (*at = 0;;) {
        ssize_t n = read_piece(a, *at), m = read_piece(b, *at);
        size_t both = (size_t)(n < m ? n : m), same;

        if (n < 0 || m < 0) {
            str_addf(s, "%s cannot be read", n < 0 ? a->shown : b->shown);
            return false;
        }
        same = first_difference(a->piece, b->piece, both);
        *at += same;
        if (same < both || n != m)
            return false;
        if (n == 0)
            return true;
    }
}

static bool compare(struct str *measured, struct side *a, struct side *b)
{
    uint64_t at;

    /* A file equals itself whatever a stage wrote. */
    if (a->device == b->device && a->inode == b->inode) {
        str_addf(measured, "%s is the same file: name the one to compare with",
                 b->shown);
        return false;
    }
    if (same_bytes(a, b, &at, measured)) {
        str_addf(measured, "the same %llu bytes", (unsigned long long)at);
        return true;
    }
    if (measured->len == 0)
        str_addf(measured,
                 "%llu bytes beside %llu; the first difference is at offset "
                 "%llu",
                 (unsigned long long)a->bytes, (unsigned long long)b->bytes,
                 (unsigned long long)at);
    return false;
}

static bool same_as(struct str *measured, const struct pl_expect *e,
                    const char *path)
{
    struct side a = {.shown = e->file, .fd = -1};
    struct side b = {.shown = e->same_as_shown, .fd = -1};
    bool ok = open_side(&a, path, measured) &&
              open_side(&b, e->same_as, measured) && compare(measured, &a, &b);

    close_side(&a);
    close_side(&b);
    return ok;
}

bool pl_expect_file(struct str *measured, const struct pl_expect *e,
                    const char *dir)
{
    char *path = io_join(dir, e->file);
    bool ok;

    if (!path) {
        measured->failed = true;
        return false;
    }
    if (e->relation == PL_REL_SAME_AS)
        ok = same_as(measured, e, path);
    else {
        ok = io_exists(path);
        str_add(measured, ok ? "there" : "missing");
    }
    mem_free(path);
    return ok;
}
