#include "pipeline/view_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nn/base/mem.h"

/* Not waiting for the other end of a pipe. */
static int open_in(int dir, const char *name)
{
    return openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

/* The part before the first slash, opened; *rel moves behind it. */
static int open_part(int dir, const char **rel)
{
    const char *slash = strchrnul(*rel, '/');
    char *name = mem_strndup(*rel, (size_t)(slash - *rel));
    int fd = name ? open_in(dir, name) : -1;

    mem_free(name);
    *rel = *slash ? slash + 1 : slash;
    return fd;
}

int view_open(int root, const char *rel, bool *folder, uint64_t *bytes)
{
    int fd = open_in(root, "."), next;
    struct stat st;

    while (fd >= 0 && *rel) {
        next = open_part(fd, &rel);
        (void)close(fd);
        fd = next;
    }
    if (fd < 0)
        return -1;
    if (fstat(fd, &st) != 0 || !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))) {
        (void)close(fd);
        return -1;
    }
    *folder = S_ISDIR(st.st_mode);
    *bytes = (uint64_t)st.st_size;
    return fd;
}

static bool add(struct view_list *l, struct view_file **list, size_t *n,
                size_t *cap, const struct view_file *f)
{
    struct view_file *grown;

    if (*n == VIEW_FILES_MAX) {
        l->more = true;
        return true;
    }
    if (*n == *cap) {
        size_t more = *cap ? *cap * 2 : 64;

        grown = mem_grow(*list, more, sizeof **list);
        if (!grown)
            return false;
        *list = grown;
        *cap = more;
    }
    (*list)[(*n)++] = *f;
    return true;
}

static bool is_run(int dir)
{
    struct stat st;

    return fstatat(dir, "resolved.yaml", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st.st_mode);
}

static bool add_folder(struct view_list *l, int dir, const char *at, int depth);

/* at is "" or ends with a slash. */
static bool add_entry(struct view_list *l, int dir, const char *at,
                      const char *name, int depth)
{
    struct view_file f = {.path = arena_printf(&l->arena, "%s%s", at, name)};
    bool folder, ok = true;
    int fd = view_open(dir, name, &folder, &f.bytes);

    if (fd < 0)
        return true; /* a link, or gone meanwhile */
    if (!f.path)
        ok = false;
    else if (!folder)
        ok = add(l, &l->file, &l->n, &l->cap, &f);
    else if (is_run(fd))
        ok = add(l, &l->run, &l->n_runs, &l->run_cap, &f);
    else if (depth == VIEW_DEPTH_MAX)
        l->more = true;
    else
        ok = add_folder(l, fd, arena_printf(&l->arena, "%s/", f.path),
                        depth + 1);
    (void)close(fd);
    return ok;
}

static bool is_folder(int dir, const char *name)
{
    struct stat st;

    return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISDIR(st.st_mode);
}

static int by_name(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

/* The names in a folder, sorted, those with a dot in front left out. */
struct names {
    const char **name;
    size_t n;
};

static bool add_name(struct view_list *l, struct names *out, const char *name)
{
    const char **grown;

    if ((out->n & (out->n + 1)) == 0) { /* full: 1, 3, 7, ... */
        grown = mem_grow(out->name, 2 * out->n + 1, sizeof *grown);
        if (!grown)
            return false;
        out->name = grown;
    }
    out->name[out->n] = arena_strdup(&l->arena, name);
    return out->name[out->n++] != NULL;
}

static bool read_names(struct view_list *l, struct names *out, int dir)
{
    int copy = open_in(dir, ".");
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    struct dirent *e;
    bool ok = true;

    if (!d && copy >= 0)
        (void)close(copy);
    while (ok && d && (e = readdir(d)) != NULL) {
        if (e->d_name[0] == '.')
            continue;
        if (out->n == VIEW_FILES_MAX) {
            l->more = true;
            break;
        }
        ok = add_name(l, out, e->d_name);
    }
    if (d)
        (void)closedir(d);
    if (ok && out->n)
        qsort(out->name, out->n, sizeof *out->name, by_name);
    return ok;
}

/* Its files, then its folders. */
static bool add_folder(struct view_list *l, int dir, const char *at, int depth)
{
    struct names names = {0};
    bool ok = at && read_names(l, &names, dir);
    int folders;
    size_t i;

    for (folders = 0; folders < 2; folders++)
        for (i = 0; ok && i < names.n; i++)
            if (is_folder(dir, names.name[i]) == (folders != 0))
                ok = add_entry(l, dir, at, names.name[i], depth);
    mem_free(names.name);
    return ok;
}

int view_list_make(struct view_list *list, int fd, struct err *err)
{
    memset(list, 0, sizeof *list);
    if (!add_folder(list, fd, "", 0))
        return err_set(err, ERR_NOMEM, "out of memory listing files");
    return 0;
}

void view_list_free(struct view_list *list)
{
    mem_free(list->file);
    mem_free(list->run);
    arena_free(&list->arena);
}
