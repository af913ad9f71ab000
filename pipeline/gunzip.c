#include "pipeline/gunzip.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <zlib.h>

#include "nn/base/mem.h"

enum { BUF_SIZE = 1 << 16, MAGIC_0 = 0x1f, MAGIC_1 = 0x8b };

struct unpack {
    const struct pl_gunzip *g;
    z_stream z;
    int fd;
    uint64_t read_to; /* offset in the file behind the bytes in `in` */
    uint64_t member;  /* offset where the current member begins */
    uint64_t written;
    unsigned char in[BUF_SIZE], out[BUF_SIZE];
};

bool pl_is_gzip(const void *data, size_t len)
{
    const unsigned char *p = data;

    return len >= 2 && p[0] == MAGIC_0 && p[1] == MAGIC_1;
}

bool pl_is_html(const void *data, size_t len)
{
    static const char *const starts[] = {"<!doctype html", "<html", "<head",
                                         "<body", "<!--"};
    const char *p = data, *end = p + len;
    size_t i;

    if (len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3;
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
        p++;
    for (i = 0; i < sizeof starts / sizeof *starts; i++) {
        size_t n = strlen(starts[i]);

        if ((size_t)(end - p) >= n && strncasecmp(p, starts[i], n) == 0)
            return true;
    }
    return false;
}

static void *z_alloc(void *opaque, uInt n, uInt size)
{
    (void)opaque;
    return mem_array(n, size);
}

static void z_free(void *opaque, void *p)
{
    (void)opaque;
    mem_free(p);
}

static const char *name(const struct unpack *u)
{
    return u->g->name ? u->g->name : u->g->path;
}

/* The offset of the next byte that zlib has not taken. */
static unsigned long long offset(const struct unpack *u)
{
    return u->read_to - u->z.avail_in;
}

/* Fills `in` when it is empty; at the end of the file it stays empty. */
static int refill(struct unpack *u, struct err *err)
{
    ssize_t got;

    if (u->z.avail_in)
        return 0;
    do
        got = read(u->fd, u->in, sizeof u->in);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return err_sys(err, "cannot read '%s' at offset %llu", name(u),
                       offset(u));
    u->z.next_in = u->in;
    u->z.avail_in = (uInt)got;
    u->read_to += (uint64_t)got;
    return 0;
}

static int check_start(const struct unpack *u, struct err *err)
{
    if (u->z.avail_in == 0)
        return err_set(err, ERR_CORRUPT, "'%s' is empty, not a gzip file",
                       name(u));
    if (pl_is_html(u->in, u->z.avail_in))
        return err_set(err, ERR_CORRUPT,
                       "'%s' looks like an HTML page, not a gzip file",
                       name(u));
    if (u->z.avail_in >= 2 && !pl_is_gzip(u->in, u->z.avail_in))
        return err_set(err, ERR_CORRUPT,
                       "'%s' is not a gzip file: it starts with the bytes "
                       "%02x %02x, not 1f 8b",
                       name(u), u->in[0], u->in[1]);
    return 0;
}

static int trailing(const struct unpack *u, struct err *err)
{
    return err_set(err, ERR_CORRUPT,
                   "'%s' has bytes at offset %llu, behind its last gzip "
                   "member, that belong to no member",
                   name(u), (unsigned long long)u->member);
}

static int failed(const struct unpack *u, int z, struct err *err)
{
    const char *msg = u->z.msg ? u->z.msg : "needs a dictionary";

    if (z == Z_MEM_ERROR)
        return err_set(err, ERR_NOMEM, "out of memory unpacking '%s'", name(u));
    if (u->member > 0 && u->z.total_out == 0 && strstr(msg, "header check"))
        return trailing(u, err);
    return err_set(err, ERR_CORRUPT, "'%s' is damaged near offset %llu: %s",
                   name(u), offset(u), msg);
}

static int flush(struct unpack *u, struct err *err)
{
    size_t n = sizeof u->out - u->z.avail_out;

    u->z.next_out = u->out;
    u->z.avail_out = sizeof u->out;
    if (n == 0)
        return 0;
    if (n > u->g->max - u->written)
        return err_set(err, ERR_CORRUPT,
                       "'%s' unpacks to more than %llu bytes (reached at "
                       "offset %llu)",
                       name(u), (unsigned long long)u->g->max, offset(u));
    u->written += n;
    return u->g->write(u->g->user, u->out, n, err);
}

/* One member, from its header to the CRC and length behind it. */
static int member(struct unpack *u, struct err *err)
{
    int z = Z_OK, rc;

    u->member = offset(u);
    while (z != Z_STREAM_END) {
        rc = refill(u, err);
        if (rc != 0)
            return rc;
        if (u->z.avail_in == 0)
            return err_set(err, ERR_CORRUPT,
                           "'%s' is cut short: it ends at offset %llu inside "
                           "the gzip member that begins at offset %llu",
                           name(u), offset(u), (unsigned long long)u->member);
        do {
            z = inflate(&u->z, Z_NO_FLUSH);
            if (z != Z_OK && z != Z_STREAM_END && z != Z_BUF_ERROR)
                return failed(u, z, err);
            rc = flush(u, err);
            if (rc != 0)
                return rc;
        } while (z == Z_OK);
    }
    return 0;
}

static int members(struct unpack *u, struct err *err)
{
    int rc = refill(u, err);

    if (rc == 0)
        rc = check_start(u, err);
    while (rc == 0) {
        rc = member(u, err);
        if (rc == 0)
            rc = refill(u, err);
        if (rc != 0 || u->z.avail_in == 0)
            break;
        u->member = offset(u);
        if (u->z.next_in[0] != MAGIC_0)
            return trailing(u, err);
        (void)inflateReset(&u->z);
    }
    return rc;
}

int pl_gunzip(const struct pl_gunzip *g, uint64_t *bytes, struct err *err)
{
    struct unpack *u = mem_zalloc(sizeof *u);
    int rc;

    *bytes = 0;
    if (!u)
        return err_set(err, ERR_NOMEM, "out of memory unpacking '%s'", g->path);
    u->g = g;
    u->z.zalloc = z_alloc;
    u->z.zfree = z_free;
    u->z.next_out = u->out;
    u->z.avail_out = sizeof u->out;
    u->fd = open(g->path, O_RDONLY | O_CLOEXEC);
    if (u->fd < 0)
        rc = err_sys(err, "cannot open '%s'", g->path);
    else if (inflateInit2(&u->z, 15 + 16) != Z_OK) /* 16: gzip and no other */
        rc = failed(u, Z_MEM_ERROR, err);
    else
        rc = members(u, err);
    (void)inflateEnd(&u->z);
    if (u->fd >= 0)
        (void)close(u->fd);
    *bytes = u->written;
    mem_free(u);
    return rc;
}
