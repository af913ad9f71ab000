#include "pipeline/trace_read.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nn/base/mem.h"
#include "pipeline/gunzip.h"
#include "pipeline/trace_read_parts.h"
#include "pipeline/trace_sum.h"

enum { CHUNK = 1 << 16 };

int trace_no_memory(const struct trace *t, struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory reading '%s'", t->path);
}

struct source {
    struct trace *t;
    struct json_reader *json;
};

static int take(void *user, const void *data, size_t len, struct err *err)
{
    struct source *s = user;

    s->t->n_bytes += len;
    return json_feed(s->json, data, len, err);
}

static ssize_t read_some(int fd, void *buf, size_t len)
{
    ssize_t got;

    do
        got = read(fd, buf, len);
    while (got < 0 && errno == EINTR);
    return got;
}

/* From the file's beginning; *gzip: that it is packed, and nothing was read. */
static int read_plain(struct source *s, int fd, bool *gzip, struct err *err)
{
    unsigned char buf[CHUNK];
    const char *path = s->t->path;
    bool first = true;
    int rc = 0;

    while (rc == 0) {
        ssize_t got = read_some(fd, buf, sizeof buf);

        if (got < 0)
            return err_sys(err, "cannot read '%s' at offset %llu", path,
                           (unsigned long long)s->t->n_bytes);
        if (got == 0)
            break;
        if (first && pl_is_html(buf, (size_t)got))
            return err_set(err, ERR_CORRUPT,
                           "'%s' looks like an HTML page, not a trace", path);
        *gzip = first && pl_is_gzip(buf, (size_t)got);
        if (*gzip)
            return 0;
        first = false;
        rc = take(s, buf, (size_t)got, err);
    }
    return rc;
}

static int read_text(struct source *s, struct err *err)
{
    struct pl_gunzip g = {
        .path = s->t->path, .max = UINT64_C(1) << 40, .write = take, .user = s};
    bool gzip = false;
    uint64_t bytes;
    int fd = open(s->t->path, O_RDONLY | O_CLOEXEC), rc;

    if (fd < 0)
        return err_sys(err, "cannot open '%s'", s->t->path);
    rc = read_plain(s, fd, &gzip, err);
    (void)close(fd);
    if (rc == 0 && gzip)
        rc = pl_gunzip(&g, &bytes, err);
    return rc ? rc : json_end(s->json, err);
}

static int read_events(struct trace *t, struct err *err)
{
    struct trace_events *events = trace_events_new(t);
    struct source s = {.t = t};
    const char *forgiven;
    uint64_t offset;
    int rc;

    if (events)
        s.json = json_reader_new(t->path, trace_events_take, events);
    rc = s.json ? read_text(&s, err) : trace_no_memory(t, err);
    if (rc == 0 && !trace_events_found(events))
        rc = err_set(err, ERR_CORRUPT,
                     "'%s' is no trace: it has no list of events, neither "
                     "traceEvents nor an array",
                     t->path);
    if (s.json) {
        forgiven = json_forgiven(s.json, &offset);
        if (forgiven)
            trace_fault(&t->faults, &t->arena, RULE_JSON, "%s at offset %llu",
                        forgiven, (unsigned long long)offset);
    }
    json_reader_free(s.json);
    trace_events_free(events);
    return rc;
}

/* *disorder: it failed as the events cannot be summed up while they come;
 * NULL: they are all kept. */
static int read_trace(struct trace **out, const char *path, bool *disorder,
                      struct err *err)
{
    struct trace *t = mem_zalloc(sizeof *t);
    int rc;

    *out = NULL;
    if (t && disorder) {
        t->sum = trace_sum_new();
        if (!t->sum) {
            mem_free(t);
            t = NULL;
        }
    }
    if (!t)
        return err_set(err, ERR_NOMEM, "out of memory reading '%s'", path);
    t->path = path;
    t->process = "";
    t->faults.checked[RULE_JSON] = 1;
    rc = read_events(t, err);
    if (rc == 0 && t->sum)
        rc = trace_sum_end(t, err);
    if (rc == 0 && t->faults.failed)
        rc = trace_no_memory(t, err);
    if (rc != 0) {
        if (disorder)
            *disorder = t->sum && t->sum->disorder;
        pl_trace_free(t);
        return rc;
    }
    trace_sort(t);
    *out = t;
    return 0;
}

int pl_trace_read(struct trace **out, const char *path, struct err *err)
{
    return read_trace(out, path, NULL, err);
}

int pl_trace_read_summed(struct trace **out, const char *path, struct err *err)
{
    struct err first = {0};
    bool disorder = false;
    struct stat st;
    int rc;

    /* A pipe can be read only once. */
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return pl_trace_read(out, path, err);
    rc = read_trace(out, path, &disorder, &first);
    if (rc == 0)
        return 0;
    if (disorder)
        return pl_trace_read(out, path, err);
    if (err && !err->code)
        *err = first;
    return rc;
}

void pl_trace_free(struct trace *t)
{
    if (!t)
        return;
    trace_sum_free(t->sum);
    mem_free(t->slice);
    mem_free(t->track);
    mem_free(t->wait);
    name_index_free(&t->names);
    name_index_free(&t->track_names);
    arena_free(&t->arena);
    mem_free(t);
}
