#include "pipeline/trace_text.h"

#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "nn/base/mem.h"
#include "pipeline/utf8.h"

struct pl_gzip {
    z_stream z;
    unsigned char out[TRACE_BUFFER];
};

enum { GZIP_WINDOW = 15 + 16, GZIP_LEVEL = 1, GZIP_MEMORY = 8 };

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

static struct pl_gzip *gzip_new(void)
{
    struct pl_gzip *g = mem_zalloc(sizeof *g);

    if (!g)
        return NULL;
    g->z.zalloc = z_alloc;
    g->z.zfree = z_free;
    if (deflateInit2(&g->z, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                     Z_DEFAULT_STRATEGY) == Z_OK)
        return g;
    mem_free(g);
    return NULL;
}

static void gzip_free(struct pl_gzip *g)
{
    if (!g)
        return;
    (void)deflateEnd(&g->z);
    mem_free(g);
}

static bool ends_in_gz(const char *path)
{
    size_t n = strlen(path);

    return n >= 3 && strcmp(path + n - 3, ".gz") == 0;
}

int pl_trace_text_open(struct pl_trace_text *o, const char *path,
                       struct err *err)
{
    int rc;

    memset(o, 0, sizeof *o);
    rc = io_out_open(&o->io, path, err);
    if (rc != 0)
        return rc;
    o->buf = mem_alloc(TRACE_BUFFER);
    if (ends_in_gz(path))
        o->gzip = gzip_new();
    if (o->buf && (o->gzip || !ends_in_gz(path)))
        return 0;
    pl_trace_text_abort(o);
    return err_set(err, ERR_NOMEM, "out of memory writing '%s'", path);
}

static void deflate_all(struct pl_trace_text *o, int flush)
{
    struct pl_gzip *g = o->gzip;
    size_t n;

    g->z.next_in = (unsigned char *)o->buf;
    g->z.avail_in = (uInt)o->fill;
    do {
        g->z.next_out = g->out;
        g->z.avail_out = sizeof g->out;
        (void)deflate(&g->z, flush); /* fails only for a broken stream */
        n = sizeof g->out - g->z.avail_out;
        if (o->err.code == 0)
            (void)io_out_write(&o->io, g->out, n, &o->err);
    } while (g->z.avail_out == 0);
}

static void flush(struct pl_trace_text *o, int mode)
{
    if (o->gzip)
        deflate_all(o, mode);
    else if (o->err.code == 0)
        (void)io_out_write(&o->io, o->buf, o->fill, &o->err);
    o->fill = 0;
}

int pl_trace_text_failed(const struct pl_trace_text *o, struct err *err)
{
    if (o->err.code == 0)
        return 0;
    if (err)
        *err = o->err;
    return o->err.code;
}

int pl_trace_text_close(struct pl_trace_text *o, struct err *err)
{
    int rc;

    flush(o, Z_FINISH);
    rc = pl_trace_text_failed(o, err);
    if (rc == 0)
        rc = io_out_commit(&o->io, err);
    else
        io_out_abort(&o->io);
    gzip_free(o->gzip);
    mem_free(o->buf);
    return rc;
}

void pl_trace_text_abort(struct pl_trace_text *o)
{
    io_out_abort(&o->io);
    gzip_free(o->gzip);
    mem_free(o->buf);
    o->gzip = NULL;
    o->buf = NULL;
}

/* ---- text ---- */

void pl_trace_addn(struct pl_trace_text *o, const char *text, size_t n)
{
    while (n > TRACE_BUFFER - o->fill) {
        size_t room = TRACE_BUFFER - o->fill;

        memcpy(o->buf + o->fill, text, room);
        o->fill += room;
        text += room;
        n -= room;
        flush(o, Z_NO_FLUSH);
    }
    memcpy(o->buf + o->fill, text, n);
    o->fill += n;
}

void pl_trace_addc(struct pl_trace_text *o, char c)
{
    if (o->fill == TRACE_BUFFER)
        flush(o, Z_NO_FLUSH);
    o->buf[o->fill++] = c;
}

void pl_trace_int(struct pl_trace_text *o, int64_t v)
{
    char digits[24];
    size_t at = sizeof digits;
    uint64_t u = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;

    do {
        digits[--at] = (char)('0' + u % 10);
        u /= 10;
    } while (u > 0);
    if (v < 0)
        digits[--at] = '-';
    pl_trace_addn(o, digits + at, sizeof digits - at);
}

static void escape_one(struct pl_trace_text *o, char c)
{
    static const char from[] = "\"\\\n\t\r\b\f", to[] = "\"\\ntrbf";
    const char *at = strchr(from, c);
    char text[8];

    if (at) {
        text[0] = '\\';
        text[1] = to[at - from];
        pl_trace_addn(o, text, 2);
    } else {
        (void)snprintf(text, sizeof text, "\\u%04x", (unsigned)c & 0xffU);
        pl_trace_add(o, text);
    }
}

static bool is_plain(char c)
{
    return (unsigned char)c >= 0x20 && (unsigned char)c < 0x7f && c != '"' &&
           c != '\\';
}

void pl_trace_escape(struct pl_trace_text *o, const char *text)
{
    size_t n = strlen(text), run;

    while (n > 0) {
        uint32_t cp;

        for (run = 0; run < n && is_plain(text[run]);)
            run++;
        if (run > 0)
            pl_trace_addn(o, text, run);
        else if ((unsigned char)*text < 0x80) {
            run = 1;
            escape_one(o, *text);
        } else {
            run = utf8_decode(text, n, &cp);
            if (run > 0)
                pl_trace_addn(o, text, run);
            else
                pl_trace_add(o, "\\ufffd");
            run = run ? run : 1;
        }
        text += run;
        n -= run;
    }
}

void pl_trace_quote(struct pl_trace_text *o, const char *text)
{
    pl_trace_addc(o, '"');
    pl_trace_escape(o, text);
    pl_trace_addc(o, '"');
}
