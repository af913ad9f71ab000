/* Taking back what runs wrote. Ours are: a stage's folder, which has a record,
 * with what the record lists (all plain files, if the stage did not end), and
 * what stands beside the folders. Everything is reached from the folder above
 * by its open descriptor, so that no link is ever followed. */
#include "pipeline/clean.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/base/str.h"
#include "pipeline/job.h"
#include "pipeline/lock.h"
#include "pipeline/record.h"

int pl_clean_open(int fd, const char *name)
{
    return openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

bool pl_clean_file(struct pl_clean *c, int fd, const char *name,
                   struct err *err)
{
    struct stat st;

    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(st.st_mode))
        return false;
    if (!c->opts->dry && unlinkat(fd, name, 0) != 0) {
        (void)err_sys(err, "cannot remove '%s'", name);
        return false;
    }
    c->files++;
    c->bytes += (unsigned long long)st.st_size;
    return true;
}

void pl_clean_folder(const struct pl_clean *c, int fd, const char *name)
{
    if (!c->opts->dry)
        (void)unlinkat(fd, name, AT_REMOVEDIR); /* not empty: it stays */
}

int pl_clean_kept(const struct pl_clean *c, const char *path, struct err *err)
{
    struct str s = {0};

    str_addf(&s, "%s %s: not made by a run", c->opts->dry ? "keep" : "kept",
             path);
    if (s.failed)
        return err_set(err, ERR_NOMEM, "out of memory cleaning");
    c->opts->tell(c->opts->user, s.text);
    str_free(&s);
    return 0;
}

int pl_clean_tell(struct pl_clean *c, const char *path, struct err *err)
{
    struct str s = {0};

    if (c->files == 0)
        return 0;
    str_addf(&s, "%s %s (%llu file%s, ", c->opts->dry ? "remove" : "removed",
             path, c->files, c->files == 1 ? "" : "s");
    if (c->bytes < 1000000)
        str_addf(&s, "%.1f kB)", (double)c->bytes / 1e3);
    else
        str_addf(&s, "%.1f MB)", (double)c->bytes / 1e6);
    c->files = c->bytes = 0;
    if (s.failed)
        return err_set(err, ERR_NOMEM, "out of memory cleaning");
    c->opts->tell(c->opts->user, s.text);
    str_free(&s);
    return 0;
}

struct names {
    char **item;
    size_t n, cap;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool add_name(struct names *l, const char *name)
{
    size_t cap = l->cap ? l->cap * 2 : 16;
    char **more;

    if (l->n == l->cap) {
        more = mem_grow(l->item, cap, sizeof *more);
        if (!more)
            return false;
        l->item = more;
        l->cap = cap;
    }
    l->item[l->n] = mem_strdup(name);
    return l->item[l->n] && ++l->n;
}

static int list_names(struct names *l, DIR *d, const char *path,
                      struct err *err)
{
    const struct dirent *e;

    errno = 0;
    while ((e = readdir(d)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (!add_name(l, e->d_name))
            return err_set(err, ERR_NOMEM, "out of memory cleaning '%s'", path);
        errno = 0;
    }
    if (errno)
        return err_sys(err, "cannot read the folder '%s'", path);
    if (l->n)
        qsort(l->item, l->n, sizeof *l->item, by_name);
    return 0;
}

int pl_clean_each(int fd, const char *path,
                  int (*fn)(void *user, int dir, const char *name,
                            struct err *err),
                  void *user, struct err *err)
{
    struct names l = {0};
    DIR *d = fdopendir(fd);
    size_t i;
    int rc;

    if (!d) {
        rc = err_sys(err, "cannot read the folder '%s'", path);
        (void)close(fd);
        return rc;
    }
    rc = list_names(&l, d, path, err);
    for (i = 0; rc == 0 && i < l.n; i++)
        rc = fn(user, dirfd(d), l.item[i], err);
    for (i = 0; i < l.n; i++)
        mem_free(l.item[i]);
    mem_free(l.item);
    (void)closedir(d);
    return rc;
}

/* A folder on the way. Paths are for messages and for reading records. */
struct folder {
    struct pl_clean *c;
    const char *path;
    const char *below; /* in a stage's folder: the path from there, or "" */
    const struct pl_record *record; /* whole; NULL: all plain files are ours */
};

static bool listed(const struct folder *f, const char *below)
{
    size_t i;

    if (!f->record || io_is_temp(io_basename(below)) ||
        strcmp(below, "metrics.json") == 0 || strcmp(below, "log.txt") == 0)
        return true;
    for (i = 0; i < f->record->n_outputs; i++)
        if (strcmp(below, f->record->output[i].name) == 0)
            return true;
    return false;
}

static int out_of_memory(struct err *err)
{
    return err_set(err, ERR_NOMEM, "out of memory cleaning");
}

static bool is_record(const char *below)
{
    return strcmp(below, PL_WHOLE_FILE) == 0 ||
           strcmp(below, PL_UNFINISHED_FILE) == 0;
}

/* One name in a stage's folder, or in a folder in it. */
static int stage_entry(void *user, int dir, const char *name, struct err *err)
{
    const struct folder *f = user;
    char *path = io_join(f->path, name), *below = io_join(f->below, name);
    struct folder in = {f->c, path, below, f->record};
    int fd, rc = 0;

    if (!path || !below)
        rc = out_of_memory(err);
    else if (is_record(below) ||
             (listed(f, below) && pl_clean_file(f->c, dir, name, err)))
        ;
    else if (err->code != 0)
        rc = err->code;
    else if ((fd = pl_clean_open(dir, name)) >= 0) {
        rc = pl_clean_each(fd, path, stage_entry, &in, err);
        pl_clean_folder(f->c, dir, name);
    } else
        rc = pl_clean_kept(f->c, path, err);
    mem_free(path);
    mem_free(below);
    return rc;
}

/* Whether the folder is a stage's; f->record then says which files are. */
static bool find_record(struct folder *f, struct pl_record *r,
                        struct arena *arena)
{
    struct pl_record begun;
    const char *whole, *unfinished;

    f->record = r;
    if (pl_record_read(r, f->path, PL_WHOLE_FILE, arena, &whole))
        return true;
    if (pl_record_read(&begun, f->path, PL_UNFINISHED_FILE, arena,
                       &unfinished)) {
        f->record = NULL; /* no list: whatever the stage got to */
        return true;
    }
    r->n_outputs = 0;
    return strcmp(whole, "damaged") == 0 || strcmp(unfinished, "damaged") == 0;
}

/* 1: the folder was a stage's, and is empty but for what is not ours. Its
 * records go last: until then it is known for what it is. */
static int clean_stage(struct pl_clean *c, int fd, const char *path,
                       struct err *err)
{
    struct arena arena = {0};
    struct pl_record r;
    struct folder in = {c, path, "", NULL};
    int copy, rc;

    if (!find_record(&in, &r, &arena)) {
        arena_free(&arena);
        return 0;
    }
    copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    rc = copy < 0 ? err_sys(err, "cannot read the folder '%s'", path)
                  : pl_clean_each(copy, path, stage_entry, &in, err);
    if (rc == 0) {
        (void)pl_clean_file(c, fd, PL_WHOLE_FILE, err);
        (void)pl_clean_file(c, fd, PL_UNFINISHED_FILE, err);
        rc = err->code != 0 ? err->code : pl_clean_tell(c, path, err);
    }
    arena_free(&arena);
    return rc != 0 ? rc : 1;
}

static bool is_results_file(const char *name)
{
    return strcmp(name, "resolved.yaml") == 0 ||
           strcmp(name, "pipeline.lock.json") == 0 || io_is_temp(name);
}

/* One name in out/<name>, in a run of its history, or in a folder that holds
 * the cells of a stage. */
static int results_entry(void *user, int dir, const char *name, struct err *err)
{
    const struct folder *f = user;
    char *path = io_join(f->path, name);
    struct folder in = {f->c, path, NULL, NULL};
    int fd, rc = 0;

    if (!path)
        return out_of_memory(err);
    if (is_results_file(name) && pl_clean_file(f->c, dir, name, err))
        rc = pl_clean_tell(f->c, path, err);
    else if (err->code != 0)
        rc = err->code;
    else if (strcmp(name, ".lock") == 0)
        ; /* the last to go, with the folder */
    else if ((fd = pl_clean_open(dir, name)) < 0)
        rc = pl_clean_kept(f->c, path, err);
    else {
        rc = clean_stage(f->c, fd, path, err);
        if (rc == 0)
            rc = pl_clean_each(fd, path, results_entry, &in, err);
        else
            (void)close(fd);
        rc = rc > 0 ? 0 : rc;
        pl_clean_folder(f->c, dir, name);
    }
    mem_free(path);
    return rc;
}

static int clean_history(struct folder *f, int fd, struct err *err)
{
    char *path = io_join(f->path, ".runs");
    struct folder in = {f->c, path, NULL, NULL};
    int runs, rc = 0;

    if (!path)
        return out_of_memory(err);
    runs = pl_clean_open(fd, ".runs");
    if (runs >= 0)
        rc = pl_clean_each(runs, path, results_entry, &in, err);
    else if (errno != ENOENT)
        rc = pl_clean_kept(f->c, path, err);
    pl_clean_folder(f->c, fd, ".runs");
    mem_free(path);
    return rc;
}

static int clean_results(struct pl_clean *c, const char *dir, int fd,
                         struct err *err)
{
    struct folder f = {c, dir, NULL, NULL};
    int copy;

    if (c->opts->what == PL_CLEAN_HISTORY)
        return clean_history(&f, fd, err);
    copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (copy < 0)
        return err_sys(err, "cannot read the folder '%s'", dir);
    return pl_clean_each(copy, dir, results_entry, &f, err);
}

/* The lock goes while it is held: nobody can take it any more. */
static void remove_lock(const struct pl_clean *c, const char *dir, int fd)
{
    if (c->opts->dry || c->opts->what != PL_CLEAN_ALL)
        return;
    (void)unlinkat(fd, ".lock", 0);
    (void)rmdir(dir);
}

static int clean_job(struct pl_clean *c, const char *dir, struct err *err)
{
    struct pl_lock lock = {-1};
    char holder[200];
    int rc = 0, fd = pl_clean_open(AT_FDCWD, dir);

    if (fd < 0 && errno == ENOENT)
        return 0;
    if (fd < 0)
        return err_sys(err, "cannot clean '%s'", dir);
    if (!c->opts->dry)
        rc = pl_lock_take(&lock, dir, err);
    else if (pl_lock_held(dir, holder))
        rc = err_set(err, ERR_LOCKED, "'%s' is in use by %s", dir, holder);
    if (rc == 0)
        rc = clean_results(c, dir, fd, err);
    if (rc == 0)
        remove_lock(c, dir, fd);
    pl_lock_drop(&lock);
    (void)close(fd);
    return rc;
}

int pl_clean(const struct pl_job *job, const struct pl_clean_opts *opts,
             struct err *err)
{
    struct pl_clean c = {.opts = opts};

    if (opts->what == PL_CLEAN_CACHE)
        return pl_clean_cache(&c, err);
    return clean_job(&c, pl_job_dir(job), err);
}
