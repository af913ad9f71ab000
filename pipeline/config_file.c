/* Files: the config and what it extends. */
#include <string.h>
#include <sys/stat.h>

#include "nn/base/io.h"
#include "nn/base/mem.h"
#include "pipeline/config_load.h"
#include "pipeline/hash.h"
#include "pipeline/merge.h"
#include "pipeline/untrusted.h"
#include "pipeline/yaml.h"

enum { MAX_BYTES = 1 << 20, MAX_NESTED = 16 };

/* The files that are being read: each extends the one below it. */
struct chain {
    const struct chain *up;
    const char *path;
    struct stat st;
    int depth;
};

static struct pl_node *no_memory(struct pl_loader *l)
{
    l->d->nomem = true;
    return NULL;
}

/* The text of a file, without a byte order mark. */
static int read_file(const struct pl_file **out, struct arena *a,
                     const char *path, struct err *err)
{
    struct pl_file *f = arena_alloc(a, sizeof *f);
    char *text = NULL, *dir = io_dirname(path);
    size_t len, skip;
    int rc = io_read_file(&text, &len, path, MAX_BYTES, err);

    if (rc == 0) {
        skip = len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
        if (f && dir) {
            f->path = arena_strdup(a, path);
            f->text = arena_strndup(a, text + skip, len - skip);
            f->len = len - skip;
            f->dir = arena_strdup(a, dir);
        }
        if (!f || !f->path || !f->text || !f->dir)
            rc = err_set(err, ERR_NOMEM, "out of memory reading '%s'", path);
        else
            rc = pl_hash_bytes(f->sha256, text, len, err);
    }
    mem_free(text);
    mem_free(dir);
    *out = f;
    return rc;
}

static struct pl_node *load_file(struct pl_loader *l, const char *path,
                                 const struct pl_node *from,
                                 const struct chain *up, struct err *err);

/* True, after an error, if the file is already being read further up. */
static bool in_circle(struct pl_loader *l, const struct chain *c,
                      struct pl_loc loc)
{
    const struct chain *p;
    struct str s = {0};

    for (p = c->up; p; p = p->up)
        if (p->st.st_dev == c->st.st_dev && p->st.st_ino == c->st.st_ino)
            break;
    if (!p)
        return false;
    str_add(&s, c->path);
    for (p = c->up; p; p = p->up)
        str_addf(&s, " <- %s", p->path);
    if (s.failed)
        (void)no_memory(l);
    else
        pl_diag_error(l->d, loc, "files extend each other in a circle: %s",
                      s.text);
    str_free(&s);
    return true;
}

/* The tree of one entry of `extends`. */
static struct pl_node *load_base(struct pl_loader *l,
                                 const struct pl_node *entry,
                                 const struct chain *up)
{
    struct err err = {0};
    struct pl_node *base;
    const char *path;
    char words[80];

    if (entry->kind != PL_SCALAR || entry->len == 0) {
        pl_diag_error(l->d, entry->loc, "extends takes paths, not %s",
                      pl_node_words(entry, words));
        return NULL;
    }
    if (strstr(entry->text, "${")) {
        pl_diag_error(l->d, entry->loc, "extends cannot hold references");
        return NULL;
    }
    path = pl_schema_path(entry, l->arena);
    if (!path)
        return no_memory(l);
    if (!pl_untrusted_path(l, path, entry->loc))
        return NULL;
    base = load_file(l, path, entry, up, &err);
    if (!base && err.code == ERR_NOMEM)
        return no_memory(l);
    if (!base && err.code != 0)
        pl_diag_error(l->d, entry->loc, "%s", err.msg);
    return base;
}

void pl_load_check_version(struct pl_loader *l, const struct pl_node *root)
{
    const struct pl_node *v = pl_node_get(root, "version");
    char words[80];

    if (!v || (v->kind == PL_SCALAR && strcmp(v->text, "1") == 0 && !v->quoted))
        return;
    pl_diag_error(l->d, v->loc, "version must be 1, not %s",
                  pl_node_words(v, words));
    if (v->quoted)
        pl_diag_help(l->d, "remove the quotes");
}

/* root without the keys that a file does not hand on. */
static struct pl_node *heritage(struct pl_loader *l, struct pl_node *root)
{
    static const char *const own[] = {"version", "name", "extends"};
    struct pl_loc none = {NULL, 0, 0, 0};
    size_t i;

    for (i = 0; i < 3 && root; i++)
        if (pl_node_get(root, own[i]))
            root = pl_node_set(l->arena, root, own[i], none, NULL);
    return root ? root : no_memory(l);
}

/* root laid over the files that it extends. */
static struct pl_node *with_bases(struct pl_loader *l, struct pl_node *root,
                                  const struct chain *up)
{
    struct pl_node *e = pl_node_get(root, "extends"), *all = NULL;
    struct pl_node *const *entry = &e;
    size_t n = 1, i;

    if (!e)
        return root;
    if (e->kind == PL_SEQ) {
        entry = e->items;
        n = e->n;
    }
    for (i = 0; i < n; i++) {
        struct pl_node *base = load_base(l, entry[i], up);

        if (base)
            base = heritage(l, base);
        if (base)
            all = pl_merge(l->arena, all, base);
        if (l->d->nomem || (base && !all))
            return no_memory(l);
    }
    root = pl_merge(l->arena, all, root);
    if (!root)
        return no_memory(l);
    if (root->weight > PL_MAX_NODES) {
        pl_diag_error(l->d, e->loc,
                      "with what it extends the file holds more than %d values",
                      PL_MAX_NODES);
        return NULL;
    }
    return root;
}

/* A config is a file: its paths begin where it lies, and a pipe or a device
 * could keep us waiting for ever. */
static int look_at(struct stat *st, const char *path, struct err *err)
{
    if (strcmp(path, "-") == 0 || strcmp(path, "/dev/stdin") == 0 ||
        strncmp(path, "/dev/fd/", 8) == 0)
        return err_set(err, ERR_IO,
                       "'%s': a config is not read from standard input or "
                       "another open file, since paths in it begin where it "
                       "lies; name a file",
                       path);
    if (stat(path, st) != 0)
        return err_sys(err, "cannot open '%s'", path);
    if (!S_ISREG(st->st_mode))
        return err_set(err, ERR_IO, "'%s' is %s, not a file", path,
                       S_ISDIR(st->st_mode)    ? "a folder"
                       : S_ISFIFO(st->st_mode) ? "a pipe"
                       : S_ISSOCK(st->st_mode) ? "a socket"
                                               : "a device");
    return 0;
}

static struct pl_node *load_file(struct pl_loader *l, const char *path,
                                 const struct pl_node *from,
                                 const struct chain *up, struct err *err)
{
    struct chain c = {.up = up, .path = path, .depth = up ? up->depth + 1 : 1};
    const struct pl_file *file;
    struct pl_node *root;
    char words[80];

    if (look_at(&c.st, path, err) != 0)
        return NULL;
    if (from && in_circle(l, &c, from->loc))
        return NULL;
    l->session->files++;
    if (from && (l->session->files > PL_MAX_FILES || c.depth > MAX_NESTED)) {
        pl_diag_error(l->d, from->loc,
                      "more than %d files, or %d one below the other, are "
                      "extended",
                      PL_MAX_FILES, MAX_NESTED);
        return NULL;
    }
    if (read_file(&file, l->arena, path, err) != 0)
        return NULL;
    if (!up)
        l->c->file = file;
    if (!l->session->main) {
        l->session->main = file;
        l->d->quotable = l->session->untrusted ? file : NULL;
    } else {
        l->d->others = true;
    }
    root = pl_yaml_parse(file, 0, l->arena, l->d);
    if (!root)
        return NULL;
    if (root->kind != PL_MAP) {
        pl_diag_error(l->d, root->loc, "a file must hold a map, not %s",
                      pl_node_words(root, words));
        pl_diag_help(l->d, "it begins with 'version: 1'");
        return NULL;
    }
    pl_load_check_version(l, root);
    return with_bases(l, root, &c);
}

struct pl_node *pl_load_tree(struct pl_loader *l, const char *path,
                             struct err *err)
{
    return load_file(l, path, NULL, NULL, err);
}
