#include "nn/base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nn/base/mem.h"
#include "nn/base/str.h"

enum { OUT_BUFFER = 65536 };

int io_read_file(char **out, size_t *len, const char *path, size_t max,
                 struct err *err)
{
    struct str s = {0};
    struct stat st;
    ssize_t got;
    char *buf = NULL;
    int fd, rc = 0;

    *out = NULL;
    *len = 0;
    /* O_NONBLOCK: a pipe without a writer must not hang us. */
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_sys(err, "cannot open '%s'", path);
    if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        rc = err_set(err, ERR_IO, "'%s' is not a regular file", path);
        goto done;
    }
    buf = mem_alloc(OUT_BUFFER);
    if (!buf) {
        rc = err_set(err, ERR_NOMEM, "out of memory reading '%s'", path);
        goto done;
    }
    str_add(&s, "");
    for (;;) {
        got = read(fd, buf, OUT_BUFFER);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        str_addn(&s, buf, (size_t)got);
        if (s.failed || s.len > max)
            break;
    }
    if (got < 0)
        rc = err_sys(err, "cannot read '%s' at offset %zu", path, s.len);
    else if (s.failed)
        rc = err_set(err, ERR_NOMEM, "out of memory reading '%s'", path);
    else if (s.len > max)
        rc = err_set(err, ERR_IO, "'%s' is larger than %zu bytes", path, max);
done:
    mem_free(buf);
    (void)close(fd);
    if (rc != 0) {
        str_free(&s);
        return rc;
    }
    *out = s.text;
    *len = s.len;
    return 0;
}

char *io_dirname(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return mem_strdup(".");
    if (slash == path)
        return mem_strdup("/");
    return mem_strndup(path, (size_t)(slash - path));
}

const char *io_basename(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

char *io_join(const char *dir, const char *name)
{
    struct str s = {0};

    if (name[0] != '/' && dir[0] != '\0' && strcmp(dir, ".") != 0) {
        str_add(&s, dir);
        if (s.len && s.text[s.len - 1] != '/')
            str_addc(&s, '/');
    }
    str_add(&s, name);
    if (s.failed)
        str_free(&s);
    return s.text;
}

bool io_exists(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0;
}

bool io_is_temp(const char *name)
{
    const char *mark = strstr(name, IO_TEMP_MARK);

    return mark && strlen(mark) == strlen(IO_TEMP_MARK) + 6;
}

int io_mkdirs(const char *path, struct err *err)
{
    char *p = mem_strdup(path);
    char *s;
    int rc = 0;

    if (!p)
        return err_set(err, ERR_NOMEM, "out of memory making '%s'", path);
    for (s = p + 1; rc == 0; s++) {
        char c = *s;

        if (c != '/' && c != '\0')
            continue;
        *s = '\0';
        if (mkdir(p, 0777) != 0 && errno != EEXIST)
            rc = err_sys(err, "cannot make the folder '%s'", p);
        *s = c;
        if (c == '\0')
            break;
    }
    mem_free(p);
    return rc;
}

int io_out_open(struct io_out *o, const char *path, struct err *err)
{
    struct str s = {0};

    memset(o, 0, sizeof *o);
    o->fd = -1;
    o->path = mem_strdup(path);
    o->buf = mem_alloc(OUT_BUFFER);
    str_addf(&s, "%s" IO_TEMP_MARK "XXXXXX", path);
    o->temp = s.text;
    if (!o->path || !o->buf || s.failed) {
        io_out_abort(o);
        return err_set(err, ERR_NOMEM, "out of memory writing '%s'", path);
    }
    o->fd = mkostemp(o->temp, O_CLOEXEC);
    if (o->fd < 0) {
        int rc = err_sys(err, "cannot write '%s'", path);

        mem_free(o->temp);
        o->temp = NULL;
        io_out_abort(o);
        return rc;
    }
    return 0;
}

static int out_flush(struct io_out *o, struct err *err)
{
    size_t done = 0;

    while (done < o->fill) {
        ssize_t n = write(o->fd, o->buf + done, o->fill - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(err, "cannot write '%s' at offset %llu", o->path,
                           (unsigned long long)(o->written + done));
        done += (size_t)n;
    }
    o->written += done;
    o->fill = 0;
    return 0;
}

int io_out_write(struct io_out *o, const void *data, size_t len,
                 struct err *err)
{
    const unsigned char *p = data;

    while (len) {
        size_t n = OUT_BUFFER - o->fill;

        if (n > len)
            n = len;
        memcpy(o->buf + o->fill, p, n);
        o->fill += n;
        p += n;
        len -= n;
        if (o->fill == OUT_BUFFER && out_flush(o, err) != 0)
            return err ? err->code : ERR_IO;
    }
    return 0;
}

static int sync_folder(const char *path, struct err *err)
{
    char *dir = io_dirname(path);
    int rc = 0, fd;

    if (!dir)
        return err_set(err, ERR_NOMEM, "out of memory writing '%s'", path);
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* Some file systems cannot sync a folder: the rename stands all the same.
     */
    if (fd >= 0) {
        (void)fsync(fd);
        (void)close(fd);
    }
    mem_free(dir);
    return rc;
}

int io_out_commit(struct io_out *o, struct err *err)
{
    mode_t mask = umask(0);
    int rc, fd;

    (void)umask(mask);
    rc = out_flush(o, err);
    if (rc == 0 && fchmod(o->fd, 0666 & ~mask) != 0)
        rc = err_sys(err, "cannot set the mode of '%s'", o->path);
    if (rc == 0 && fsync(o->fd) != 0)
        rc = err_sys(err, "cannot write '%s' to disk", o->path);
    fd = o->fd;
    o->fd = -1;
    if (close(fd) != 0 && rc == 0)
        rc = err_sys(err, "cannot close '%s'", o->path);
    if (rc == 0 && rename(o->temp, o->path) != 0)
        rc = err_sys(err, "cannot replace '%s'", o->path);
    if (rc == 0) {
        mem_free(o->temp);
        o->temp = NULL;
        rc = sync_folder(o->path, err);
    }
    io_out_abort(o);
    return rc;
}

void io_out_abort(struct io_out *o)
{
    if (o->fd >= 0)
        (void)close(o->fd);
    if (o->temp)
        (void)unlink(o->temp);
    mem_free(o->temp);
    mem_free(o->path);
    mem_free(o->buf);
    memset(o, 0, sizeof *o);
    o->fd = -1;
}

int io_write_file(const char *path, const void *data, size_t len,
                  struct err *err)
{
    struct io_out o;
    int rc = io_out_open(&o, path, err);

    if (rc != 0)
        return rc;
    rc = io_out_write(&o, data, len, err);
    if (rc == 0)
        return io_out_commit(&o, err);
    io_out_abort(&o);
    return rc;
}

int io_map_open(struct io_map *m, const char *path, struct err *err)
{
    struct stat st;
    void *p;
    int fd, rc = 0;

    m->data = NULL;
    m->len = 0;
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_sys(err, "cannot open '%s'", path);
    if (fstat(fd, &st) != 0)
        rc = err_sys(err, "cannot read '%s'", path);
    else if (!S_ISREG(st.st_mode))
        rc = err_set(err, ERR_IO, "'%s' is not a regular file", path);
    else if (st.st_size > 0) {
        p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (p == MAP_FAILED)
            rc = err_sys(err, "cannot map '%s'", path);
        else {
            m->data = p;
            m->len = (size_t)st.st_size;
        }
    }
    (void)close(fd);
    return rc;
}

void io_map_close(struct io_map *m)
{
    if (m->data)
        (void)munmap((void *)m->data, m->len);
    m->data = NULL;
    m->len = 0;
}
