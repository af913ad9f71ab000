#include "pipeline/history.h"

#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "nn/base/str.h"

enum { WALK_FDS = 16, COPY_MAX = 64 * 1024 * 1024 };

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static int remove_temp(const char *path, const struct stat *st, int type,
                       struct FTW *ftw)
{
    (void)st;
    if (type == FTW_F && io_is_temp(path + ftw->base))
        return unlink(path);
    return 0;
}

int pl_clear_temps(const char *dir, struct err *err)
{
    if (nftw(dir, remove_temp, WALK_FDS, FTW_PHYS) != 0 && errno != ENOENT)
        return err_sys(err, "cannot clear '%s' of temporary files", dir);
    return 0;
}

/* The number that a name under .runs/ stands for, or 0. */
static int run_number(const char *name)
{
    char *end;
    long n = strtol(name, &end, 10);

    return *end == '\0' && n > 0 && n < 1000000000 ? (int)n : 0;
}

static int last_number(const char *runs)
{
    DIR *d = opendir(runs);
    const struct dirent *e;
    int last = 0;

    while (d && (e = readdir(d)) != NULL) {
        int n = run_number(e->d_name);

        if (n > last)
            last = n;
    }
    if (d)
        (void)closedir(d);
    return last;
}

/* Drops runs that are too old. A failure leaves more history than wanted,
 * which harms nothing. */
static void drop_old(const char *runs, int newest)
{
    DIR *d = opendir(runs);
    const struct dirent *e;

    while (d && (e = readdir(d)) != NULL) {
        int n = run_number(e->d_name);
        char *path = NULL;

        if (n > 0 && n <= newest - PL_HISTORY_KEPT)
            path = io_join(runs, e->d_name);
        if (path)
            (void)nftw(path, remove_one, WALK_FDS, FTW_DEPTH | FTW_PHYS);
        mem_free(path);
    }
    if (d)
        (void)closedir(d);
}

static int copy_small(const char *out, const char *to, const char *name,
                      struct err *err)
{
    char *from = io_join(out, name), *into = io_join(to, name);
    char *text = NULL;
    size_t len;
    int rc = 0;

    if (!from || !into)
        rc = err_set(err, ERR_NOMEM, "out of memory copying '%s'", name);
    else if (io_exists(from)) {
        rc = io_read_file(&text, &len, from, COPY_MAX, err);
        if (rc == 0)
            rc = io_write_file(into, text, len, err);
    }
    mem_free(text);
    mem_free(from);
    mem_free(into);
    return rc;
}

static int begin_number(int *n, const char *out, const char *runs,
                        struct err *err)
{
    struct str to = {0};
    int rc;

    *n = last_number(runs) + 1;
    str_addf(&to, "%s/%d", runs, *n);
    if (to.failed)
        rc = err_set(err, ERR_NOMEM, "out of memory moving old results");
    else
        rc = io_mkdirs(to.text, err);
    if (rc == 0)
        rc = copy_small(out, to.text, "resolved.yaml", err);
    if (rc == 0)
        rc = copy_small(out, to.text, "pipeline.lock.json", err);
    str_free(&to);
    drop_old(runs, *n);
    return rc;
}

static int move_folder(const char *from, const char *to, struct err *err)
{
    char *parent = io_dirname(to);
    int rc;

    if (!parent)
        return err_set(err, ERR_NOMEM, "out of memory moving '%s'", from);
    rc = io_mkdirs(parent, err);
    mem_free(parent);
    if (rc == 0 && rename(from, to) != 0)
        rc = err_sys(err, "cannot move '%s' to '%s'", from, to);
    return rc;
}

int pl_history_move(int *n, const char *out, const char *stage, struct err *err)
{
    struct str from = {0}, runs = {0}, to = {0};
    int rc = 0;

    str_addf(&from, "%s/%s", out, stage);
    str_addf(&runs, "%s/.runs", out);
    if (from.failed || runs.failed)
        rc = err_set(err, ERR_NOMEM, "out of memory moving '%s'", stage);
    else if (!io_exists(from.text))
        goto done;
    else if (*n == 0)
        rc = begin_number(n, out, runs.text, err);
    str_addf(&to, "%s/%d/%s", runs.failed ? "" : runs.text, *n, stage);
    if (rc == 0 && to.failed)
        rc = err_set(err, ERR_NOMEM, "out of memory moving '%s'", stage);
    if (rc == 0)
        rc = move_folder(from.text, to.text, err);
done:
    str_free(&from);
    str_free(&runs);
    str_free(&to);
    return rc;
}

int pl_history_resolved(int n, const char *out, const char *text,
                        struct err *err)
{
    struct str path = {0};
    int rc;

    str_addf(&path, "%s/.runs/%d/resolved.yaml", out, n);
    if (path.failed)
        rc = err_set(err, ERR_NOMEM, "out of memory keeping resolved.yaml");
    else
        rc = io_write_file(path.text, text, strlen(text), err);
    str_free(&path);
    return rc;
}
